"""A trusted party's release: the same peeling on the pooled records, in plain lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.errors import Unmet
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs
from covey.protocols.peel import closeness, lending_rules, site
from covey.protocols.peel.closeness import Closeness
from covey.protocols.peel.diversity import Histograms
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.records import OwnRecords
from covey.protocols.protocol import Result
from covey.protocols.shared import insiders, query_errors
from covey.protocols.shared.peeling.classes import Admits, peel
from covey.protocols.shared.peeling.ideal import peel_all
from covey.protocols.shared.peeling.leftover import cheapest_to_lift, doublings
from covey.protocols.shared.peeling.marginals import measure_of
from covey.protocols.shared.rows import Rows, carried
from covey.study import Study
from covey.table import Table, group


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """The trusted party's release. Raises Unmet as the parties would."""
    params = Parameters.of(study)
    pooled = site.ideal(params, [tables[party.name] for party in study.parties])
    trees, records = pooled[0].trees, sum(table.rows for table in pooled)
    if records < params.k:
        raise Unmet(f"the parties together have fewer than k = {params.k} records; nothing can be released")
    codes = np.concatenate([table.codes for table in pooled], axis=1)
    owner = np.repeat(np.arange(len(pooled)), [table.rows for table in pooled])
    published, klass = peel_all(
        study, trees, codes, admits(params, pooled), nodes=params.nodes, merge=params.merge,
        pairs=params.pairs, refine=params.refine,
        close=None if params.near is None else partial(release_rest, params, pooled),
        owner=None if params.none_or_many is None else owner,
        visits=partial(visit_and_lend, study, owner) if params.lend else peel,
    )  # fmt: skip
    out = np.flatnonzero(klass >= 0)
    cells = {
        column.name: [text for table in pooled for text in _texts(table, column.name)] for column in carried(study)
    }
    kept = {name: [texts[row] for row in out.tolist()] for name, texts in cells.items()}
    owns = [published.count(klass[owner == party]) for party in range(len(pooled))]
    figures = published.figures(study, trees, records)
    known = replace(figures, insider_k=insiders.fewest_of_all(published.sizes, owns))
    known = query_errors.ideal(study, trees, published.boxes, published.sizes, codes, known)
    return published.result(study, trees, known, Rows(klass[out], kept))


def visit_and_lend(
    study: Study, owner: Longs, trees: Sequence[Hierarchy], nodes: Ints, codes: Ints, k: int, admits: Admits
) -> tuple[list[Ints], list[int], Longs]:
    """The classes of visits in which earlier classes lend what they do not need; `owner` is each record's party."""
    params, names = Parameters.of(study), [party.name for party in study.parties]
    turn = np.array([sorted(names).index(name) for name in names])[owner]
    costs, scale = integer_costs(trees, measure_of(study), None, params.weights)
    klass, spare, paid = np.full(len(owner), -1), np.zeros(len(owner), dtype=bool), np.zeros(len(owner), dtype=np.int64)
    ripe, boxes = spare.copy(), list[Ints]()
    for number, levels in enumerate(nodes):
        if number in lending_rules.stages(len(nodes)):
            if (klass < 0).sum() < k:
                break
            ripe = spare.copy()
        own = np.stack([tree.up[level][codes[c]] for c, (tree, level) in enumerate(zip(trees, levels, strict=True))])
        price = np.sum([cost[own[c]] for c, cost in enumerate(costs)], axis=0)
        loses = price - paid
        lines: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
        for record in np.flatnonzero(spare & ripe).tolist():
            lines[int(turn[record]), *own[:, record].tolist()].append((int(loses[record]), record))
        counted = [
            record
            for (party, *_), line in lines.items()
            for before, (more, record) in enumerate(sorted(line))
            if lending_rules.pays(
                k, before * len(names) + (party + number) % len(names) + 1, more, int(price[record]), scale
            )
        ]
        remaining = np.flatnonzero(klass < 0)
        rows = np.append(remaining, np.array(counted, dtype=np.int64))
        place, first = group([*own[:, rows]], len(rows))
        alone = np.bincount(place[: len(remaining)], minlength=len(first)) >= k
        leaves = (np.arange(len(rows)) < len(remaining)) | ~alone[place]
        members, place, tuples = rows[leaves], place[leaves], own[:, rows[first]].T
        good = admits(members, place, np.bincount(place, minlength=len(first)).astype(np.int64))
        for each in np.flatnonzero(good).tolist():
            of_class = np.sort(members[place == each])
            by_party = [of_class[turn[of_class] == party] for party in range(len(names))]
            limit = next(
                limit
                for limit in lending_rules.limits(k, len(names), params.none_or_many or 1)
                if sum(min(len(part), limit) for part in by_party) >= k
            )
            klass[of_class], paid[of_class] = len(boxes), price[of_class]
            spare[of_class] = ripe[of_class] = False
            for part in by_party:
                spare[part[limit : limit + k]] = True
            boxes.append(tuples[each])
    return boxes, np.bincount(klass[klass >= 0], minlength=len(boxes)).tolist(), klass


def release_rest(
    params: Parameters, tables: Sequence[Table], boxes: list[Ints], sizes: list[int], klass: Longs
) -> tuple[list[Ints], list[int], Longs]:
    """The classes with what is left over: one class without labels, for which others are taken back."""
    trees, taken = tables[0].trees, _NONE
    if (klass >= 0).all():
        return boxes, sizes, klass
    order = cheapest_to_lift(trees, params.weights, boxes, sizes)
    for number in doublings(len(order)):
        taken = order[:number]
        rows = np.flatnonzero(np.isin(klass, [-1, *taken]))
        asked = params if len(rows) < len(klass) else replace(params, near=None)  # all records keep every t
        fits = admits(asked, tables)(rows, np.zeros(len(rows), dtype=np.int64), np.array([len(rows)]))
        if fits.all():
            break
    stay = np.setdiff1d(np.arange(len(sizes)), taken)
    place = np.full(len(sizes) + 1, len(stay) if fits.all() else -1)  # the last one's is that of -1
    place[stay] = np.arange(len(stay))
    boxes, sizes = [boxes[each] for each in stay], [sizes[each] for each in stay]
    if fits.all():
        boxes.append(np.array([tree.root for tree in trees], dtype=np.int32))
        sizes.append(len(rows))
    return boxes, sizes, place[klass]


_NONE: Longs = np.zeros(0, dtype=np.int64)


def admits(params: Parameters, tables: Sequence[Table]) -> Admits:
    """The rule by which tuples of the pooled records become classes: k, l, t, and what is asked against insiders."""
    owner = np.repeat(np.arange(len(tables)), [table.rows for table in tables])
    owns = [OwnRecords.of(table, params) for table in tables]
    near = None
    if params.near is not None:
        parts = [own.value_counts(params.watched) for own in owns]
        counts = [np.sum(each, axis=0) for each in zip(*parts, strict=True)]
        near = Closeness.of(params.near, closeness.ideal(tables[0].study, counts), len(tables))
    asked = params.conditions(near)
    values = [np.concatenate([own.values[place] for own in owns]) for place in range(len(params.watched))]
    most = params.k if params.most_of_one is None else params.most_of_one

    def rule(rows: Longs, place: Longs, size: Longs) -> Bits:
        by_owner = np.zeros((len(size), len(tables)), dtype=np.int64)
        np.add.at(by_owner, (place, owner[rows]), 1)
        leaves = np.minimum(by_owner, most).sum(axis=1) >= params.k
        if params.none_or_many is not None:
            others = size[:, np.newaxis] - by_owner
            leaves &= ((others == 0) | (others >= params.none_or_many)).all(axis=1)
        if params.split is not None:
            leaves &= Histograms.by_party(by_owner).diverse(params.split)
        if params.watched:
            histogram = np.zeros((len(size), len(tables), owns[0].width), dtype=np.int64)
            for column in values:
                np.add.at(histogram, (place, owner[rows], column[rows]), 1)
            all_of = histogram.sum(axis=1)
            each = [Histograms(by_owner[:, party], histogram[:, party]) for party in range(len(tables))]
            leaves &= asked.kept(params.k, each)
            if params.diverse_beside is not None:
                for party in range(len(tables)):
                    rest = Histograms(size - by_owner[:, party], all_of - histogram[:, party])
                    leaves &= rest.diverse(params.diverse_beside)
        return np.asarray(leaves)

    return rule


def _texts(table: Table, column: str) -> list[str]:
    values = table.values(column)
    return [values.labels[code] for code in values.codes.tolist()]
