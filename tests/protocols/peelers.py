"""Small tables for `peel`, the visits run without study and handshake, and a plain simulation of what they open."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from tests.harness.parties import Outcome, run_parties

from covey.arrays import Ints, Longs, Words
from covey.crypto.field import Field
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.party.session.data import load_table
from covey.protocols.peel import purity
from covey.protocols.peel.classes import Openings, PeeledClasses
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.records import OwnRecords
from covey.protocols.peel.role import lending_of
from covey.protocols.peel.search import Finder
from covey.protocols.peel.supply import LANES, Supply
from covey.protocols.peel.tuples import Lattice, buckets
from covey.protocols.peel.visits import Peeling
from covey.protocols.shared.peeling import marginals
from covey.protocols.shared.peeling.nodes import list_nodes
from covey.secure import coin, threshold_test
from covey.secure import sum as secure_sum
from covey.secure.threshold_test import Prepared
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, gather

Person = tuple[int, str, str, str]

SEXES, TOWNS, ILLS = ("F", "M"), ("a", "b", "c", "d"), ("none", "flu", "asthma", "ulcer")

COLUMNS = """
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 39, steps = [5, 10, 20] }
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]
[columns.town]
role = "quasi"
hierarchy = "flat"
values = ["a", "b", "c", "d"]
[columns.ill]
role = "sensitive"
values = ["none", "flu", "asthma", "ulcer"]
"""
NOTE = '[columns.note]\nrole = "plain"\n'


def names_of(parties: int) -> list[str]:
    return [f"p{place}" for place in range(parties)]


def study_of(
    parties: int = 3, *, k: int = 3, privacy: str = "", options: str = "", head: str = "", note: bool = False
) -> Study:
    """A small study; with `note` it carries a column whose values it does not list."""
    text = (
        f'[study]\nname = "small"\nprotocol = "peel"\npartition = "horizontal"\n{head}\n[privacy]\nk = {k}\n{privacy}\n'
    )
    sections = "".join(f"[parties.{name}]\n" for name in names_of(parties))
    return Study.parse(f"{text}[protocol]\n{options}\n{COLUMNS}{NOTE if note else ''}{sections}")


def draw_people(parties: int, rows: int, seed: int) -> dict[str, list[Person]]:
    """Random people; ages crowd, towns differ in size."""
    random = np.random.default_rng(seed)
    towns = random.choice(4, p=[0.5, 0.25, 0.15, 0.1], size=(parties, rows)).tolist()
    return {
        name: [
            (
                int(min(random.integers(40), random.integers(40))),
                SEXES[random.integers(2)],
                TOWNS[towns[place][row]],
                ILLS[random.integers(4)],
            )
            for row in range(rows)
        ]
        for place, name in enumerate(names_of(parties))
    }


def frame_of(study: Study, people: Sequence[Person]) -> pa.Table:
    cells = {
        "age": [str(person[0]) for person in people],
        "sex": [person[1] for person in people],
        "town": [person[2] for person in people],
        "ill": [person[3] for person in people],
        "note": [f"note {place}" for place in range(len(people))],
    }
    return pa.table({column.name: cells[column.name] for column in study.columns})


def tables_of(study: Study, people: Mapping[str, Sequence[Person]]) -> dict[str, Table]:
    tables = {name: load_table(study, name, frame_of(study, own)) for name, own in people.items()}
    return {name: table for name, table in tables.items() if table is not None}


def ends_of(labels: Ints, trees: Sequence[Hierarchy]) -> tuple[Ints, Longs]:
    """Two records (columns x records) of each class, at the first and last leaf of its labels, and their classes."""
    columns = zip(labels.T, trees, strict=True)
    codes = [np.concatenate([tree.first[own], tree.last[own]]) for own, tree in columns]
    return np.array(codes, dtype=np.int32), np.tile(np.arange(len(labels)), 2)


@dataclass
class Sizes:
    """The public sizes of what one party exchanged, from which the cost of the visits follows."""

    prepared: list[tuple[int, int]] = field(default_factory=list)
    """The bound and the number of tests of each batch."""
    tested: list[tuple[int, int]] = field(default_factory=list)
    examined: list[tuple[int, int, int]] = field(default_factory=list)
    """Heavy hashed buckets, tuples that were named, limbs."""
    counted: list[int] = field(default_factory=list)

    def messages(self, parties: int) -> int:
        """The messages of all parties, without tests of diversity."""
        return (
            sum(threshold_test.PREPARATION_COST.messages(parties, *batch) for batch in self.prepared)
            + sum(threshold_test.COST.messages(parties, *test) for test in self.tested)
            + sum(purity.COST.messages(parties, *sizes) for sizes in self.examined)
            + sum(secure_sum.COST.messages(parties, width) for width in self.counted)
        )

    def bytes(self, parties: int) -> int:
        """The bytes that these take on the wire."""
        return (
            sum(threshold_test.PREPARATION_COST.bytes(parties, *batch) for batch in self.prepared)
            + sum(threshold_test.COST.bytes(parties, *test) for test in self.tested)
            + sum(purity.COST.bytes(parties, *sizes) for sizes in self.examined)
            + sum(secure_sum.COST.bytes(parties, width) for width in self.counted)
        )

    def rounds(self, parties: int) -> tuple[int, int]:
        """The longest chain: at least that of the visits alone, at most that with every batch waited for."""
        online = (
            sum(threshold_test.COST.rounds(parties, *test) for test in self.tested)
            + sum(purity.COST.rounds(parties, *sizes) for sizes in self.examined)
            + len(self.counted)
        )
        return online, online + sum(threshold_test.PREPARATION_COST.rounds(parties, *batch) for batch in self.prepared)


@contextmanager
def noted() -> Iterator[dict[str, Sizes]]:
    """Notes by party the sizes of what is exchanged meanwhile."""
    notes: dict[str, Sizes] = defaultdict(Sizes)
    prepare, products, total = threshold_test.prepare, threshold_test.open_products, secure_sum.total
    tuples = purity.Examination.tuples

    async def noted_prepare(channel: Channel, bound: int, width: int, of: Field | None = None) -> Prepared:
        notes[channel.me].prepared.append((bound, width))
        return await prepare(channel, bound, width, of)

    async def noted_products(channel: Channel, prepared: Prepared, mine: Words, *, together: int = 1) -> Words:
        notes[channel.me].tested.append((prepared.bound, len(mine)))
        return await products(channel, prepared, mine, together=together)

    async def noted_total(channel: Channel, mine: Words) -> Words:
        notes[channel.me].counted.append(len(mine))
        return await total(channel, mine)

    async def noted_tuples(self: purity.Examination, which: Longs) -> Words:
        found = await tuples(self, which)
        notes[self.channel.me].examined.append((self._shares.shape[1], len(which), len(found)))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threshold_test, "prepare", noted_prepare)
        patch.setattr(threshold_test, "open_products", noted_products)
        patch.setattr(secure_sum, "total", noted_total)
        patch.setattr(purity.Examination, "tuples", noted_tuples)
        yield notes


@dataclass(frozen=True)
class Peeled:
    """What one party has after the visits."""

    classes: PeeledClasses
    openings: Openings
    own: OwnRecords
    seed: Secret
    nodes: Ints
    made: int
    sizes: Sizes


def list_of(study: Study, tables: Mapping[str, Table]) -> Ints:
    """The list of nodes of a run on these tables."""
    trees = next(iter(tables.values())).trees
    params = Parameters.of(study)
    return list_nodes(study, trees, marginals.ideal(study, list(tables.values()), params.pairs), params.nodes)


def visit(study: Study, tables: Mapping[str, Table], seed: int = 0) -> dict[str, Outcome[Peeled]]:
    """The visits alone, over memory."""
    params, nodes, known = Parameters.of(study), list_of(study, tables), marginals_of(study, tables)

    async def role(channel: Channel) -> Peeled:
        table = tables[channel.me]
        joint = await coin.toss(channel.at("coin"))
        own, supply = OwnRecords.of(table, params), Supply(channel.at("prepare"), params.k)
        finder = Finder(params, Lattice.of(table.trees), nodes, own, joint, supply, known)
        peeling = Peeling(finder, lending=lending_of(study, finder, channel) if params.lend else None)
        work = (supply.work() for _ in range(LANES))
        await gather(peeling.run(channel.at("visit"), lambda done: None), *work)
        return Peeled(peeling.classes, finder.openings, own, joint, nodes, supply.made, notes[channel.me])

    with noted() as notes:
        return run_parties(dict.fromkeys(tables, role), seed=seed)


def marginals_of(study: Study, tables: Mapping[str, Table]) -> marginals.Marginals:
    """The marginals of a run on these tables."""
    return marginals.ideal(study, list(tables.values()), Parameters.of(study).pairs)


def most_of(tree: Hierarchy, known: marginals.Marginals, column: int) -> dict[int, int]:
    """How many records have each node of a tree at most, for all that the marginals say."""
    counts = known.counts[column].tolist()
    hidden = known.records - sum(count for count in counts if count >= 0)
    most: dict[int, int] = {}
    for node in range(tree.nodes):
        below = [counts[leaf] for leaf in range(tree.codes) if node in tree.up[:, leaf]]
        unknown = sum(known.k - 1 if count == marginals.RARE else hidden for count in below if count < 0)
        most[node] = sum(count for count in below if count >= 0) + min(hidden, unknown)
    return most


def expected(study: Study, tables: Mapping[str, Table], nodes: Ints, seed: Secret) -> Openings:
    """What visits one by one open, on the pooled records, with dictionaries: shares no step with the protocol."""
    params, lattice = Parameters.of(study), Lattice.of(next(iter(tables.values())).trees)
    remaining = [tuple(codes) for table in tables.values() for codes in table.codes.T.tolist()]
    openings, number = Openings(), 0
    known = marginals_of(study, tables)
    most = [most_of(tree, known, column) for column, tree in enumerate(lattice.trees)]
    for levels in nodes:
        if len(remaining) < params.k:
            break
        openings.visits += 1
        codes = np.array(remaining, dtype=np.int32).T
        keys = [tuple(column) for column in lattice.keys(levels, codes).T.tolist()]
        here = [set(tree.up[level].tolist()) for tree, level in zip(lattice.trees, levels, strict=True)]
        able = [{node for node in own if most[c][node] >= params.k} for c, own in enumerate(here)]
        ups = [tree.up[level].tolist() for tree, level in zip(lattice.trees, levels, strict=True)]
        counts = Counter(
            key
            for key, record in zip(keys, remaining, strict=True)
            if all(ups[c][code] in able[c] for c, code in enumerate(record))
        )
        domain = math.prod(map(len, able))
        inside = min(sum(most[c][node] for node in own) for c, own in enumerate(able))
        room = params.buckets * min(len(remaining), inside)
        number += 1
        published = set()
        if domain <= room:
            openings.tests += domain
            published = {key for key, count in counts.items() if count >= params.k}
        else:
            survivors, size = set(counts), room
            while survivors:
                openings.tests += size
                contents: dict[int, list[tuple[int, ...]]] = defaultdict(list)
                listed = sorted(survivors)
                where = buckets(seed, size, np.array(listed, dtype=np.uint64).T, number)
                for key, bucket in zip(listed, where.tolist(), strict=True):
                    contents[bucket].append(key)
                heavy = [own for own in contents.values() if sum(counts[key] for key in own) >= params.k]
                mixed = [own for own in heavy if len(own) > 1]
                openings.heavy += len(heavy)
                openings.impure += len(mixed)
                published |= {own[0] for own in heavy if len(own) == 1}
                survivors = {key for own in mixed for key in own}
                size = max(64, 128 * len(mixed))
                if mixed:
                    number += 1
        openings.tuples += len(published)
        for record, key in zip(remaining, keys, strict=True):
            if key in published:
                for c, code in enumerate(record):
                    for node in {int(level[code]) for level in lattice.trees[c].up[levels[c] :]}:
                        most[c][node] -= 1
        remaining = [record for record, key in zip(remaining, keys, strict=True) if key not in published]
    return openings
