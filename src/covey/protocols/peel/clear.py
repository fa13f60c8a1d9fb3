"""What a trusted party would publish: the same peeling on the pooled records, in plain lines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from covey.arrays import Ints, Longs
from covey.errors import Unmet
from covey.protocols.peel import leftover, marginals, site
from covey.protocols.peel.diverse import Histograms
from covey.protocols.peel.nodes import list_nodes
from covey.protocols.peel.own import Own
from covey.protocols.peel.release import Published, figures, result
from covey.protocols.peel.terms import Terms
from covey.protocols.protocol import Result
from covey.protocols.shared.rows import Rows, carried
from covey.study import Study
from covey.table import Table, group


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """The trusted party's release."""
    terms = Terms.of(study)
    pooled = site.ideal(terms, [tables[party.name] for party in study.parties])
    trees, records = pooled[0].trees, sum(table.rows for table in pooled)
    if records < terms.k:
        raise Unmet(f"the parties together have fewer than k = {terms.k} records; nothing can be released")
    nodes = list_nodes(study, trees, marginals.ideal(study, pooled), terms.nodes)
    boxes, sizes, labels = peel(terms, nodes, pooled)
    published = Published.of(len(trees), boxes, sizes)
    klass = np.concatenate(labels)
    klass = np.where(klass >= 0, published.number[np.maximum(klass, 0)], -1) if len(published.sizes) else klass
    left = np.flatnonzero(klass < 0)
    if terms.merge and len(left) and len(published.sizes):
        codes = np.concatenate([table.codes for table in pooled], axis=1)[:, left]
        joined = leftover.cheapest(study, trees, published, codes)
        klass[left] = joined.klass
        published = leftover.widened(published, trees, joined)
        klass = published.number[klass]
    out = np.flatnonzero(klass >= 0)
    cells = {
        column.name: [
            table.values(column.name).labels[code]
            for table in pooled
            for code in table.values(column.name).codes.tolist()
        ]
        for column in carried(study)
    }
    kept = {name: [texts[row] for row in out.tolist()] for name, texts in cells.items()}
    known = figures(study, trees, published, records)
    return result(study, trees, published, known, Rows(klass[out], kept))


def peel(terms: Terms, nodes: Ints, tables: list[Table]) -> tuple[list[Ints], list[int], list[Longs]]:
    """The classes' boxes and sizes, and each table's rows' classes (-1 for those left over)."""
    owner = np.repeat(np.arange(len(tables)), [table.rows for table in tables])
    codes = np.concatenate([table.codes for table in tables], axis=1)
    owns = [Own.of(table, terms) for table in tables]
    values = [np.concatenate([own.values[place] for own in owns]) for place in range(len(terms.watched))]
    klass = np.full(len(owner), -1, dtype=np.int64)
    boxes: list[Ints] = []
    sizes: list[int] = []
    for levels in nodes:
        rows = np.flatnonzero(klass < 0)
        if len(rows) < terms.k:
            break
        tuples = np.stack([tree.up[levels[c]][codes[c, rows]] for c, tree in enumerate(tables[0].trees)])
        place, first = group([*tuples], len(rows))
        by_owner = np.zeros((len(first), len(tables)), dtype=np.int64)
        np.add.at(by_owner, (place, owner[rows]), 1)
        size = by_owner.sum(axis=1)
        most = terms.k if terms.most_of_one is None else terms.most_of_one
        leaves = np.minimum(by_owner, most).sum(axis=1) >= terms.k
        if terms.none_or_many is not None:
            others = size[:, np.newaxis] - by_owner
            leaves &= ((others == 0) | (others >= terms.none_or_many)).all(axis=1)
        if terms.diverse is not None:
            histogram = np.zeros((len(first), owns[0].width), dtype=np.int64)
            for column in values:
                np.add.at(histogram, (place, column[rows]), 1)
            leaves &= Histograms(size, histogram).diverse(terms.diverse)
        number = np.where(leaves, len(sizes) + np.cumsum(leaves) - 1, -1)
        klass[rows] = number[place]
        boxes += list(tuples[:, first[leaves]].T)
        sizes += size[leaves].tolist()
    return boxes, sizes, np.split(klass, np.cumsum([table.rows for table in tables])[:-1])
