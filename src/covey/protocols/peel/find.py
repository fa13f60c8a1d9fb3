"""Finding: which tuples at some lattice nodes do k or more remaining records share?

Tuples lie in *tables* of buckets: one bucket per possible tuple where these are few (dense), else buckets by a hash. Of
each bucket everyone learns whether it is heavy, of a heavy hashed one whether it is pure, of a pure one its tuple. What
is in impure buckets is hashed again into a smaller table, and nothing else: the records concerned only grow fewer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count, pairwise

import numpy as np

from covey.arrays import Bits, Ints, Longs, Words
from covey.crypto.secret import Secret
from covey.errors import Aborted
from covey.protocols.peel.classes import Candidates, Openings
from covey.protocols.peel.course import Course
from covey.protocols.peel.diverse import Histograms, diverse
from covey.protocols.peel.own import Own
from covey.protocols.peel.pair import lowest, name_own, same_tuple
from covey.protocols.peel.pure import Examination, own_sums
from covey.protocols.peel.supply import Tests
from covey.protocols.peel.terms import Terms
from covey.protocols.peel.tuples import Grid, buckets, marks, match
from covey.wire import Channel

CHUNK = 1 << 19
"""Buckets that are tested in one exchange."""
TABLES = 64
"""Tables of one search; more mean that somebody does not keep to the protocol."""
SMALLEST = 64
PER_IMPURE = 16
"""Buckets of a table for what was in impure ones."""


@dataclass(frozen=True)
class Table:
    """One node's remaining tuples in buckets, as far as this party has them."""

    node: int
    number: int
    items: Longs
    keys: Words  # limbs x items
    bucket: Longs
    size: int
    dense: bool

    def counts(self, own: Own) -> Longs:
        """This party's number of records in each bucket."""
        weights = own.counts[self.items].astype(np.float64)
        return np.bincount(self.bucket, weights=weights, minlength=self.size).astype(np.int64)

    def places(self, heavy: Longs) -> Longs:
        """For each item its bucket's place among the heavy ones, or -1."""
        place = np.full(self.size, -1, dtype=np.int64)
        place[heavy] = np.arange(len(heavy))
        return place[self.bucket]


@dataclass(frozen=True)
class Heavy:
    """A table's heavy buckets, and for each of the table's items its bucket's place among them, or -1."""

    table: Table
    buckets: Longs
    place: Longs

    @classmethod
    def of(cls, table: Table, heavy: Longs) -> Heavy:
        """These buckets of the table."""
        return cls(table, heavy, table.places(heavy))


@dataclass
class Finder:
    """One party's means to find tuples; all but `own` is the same for everybody."""

    terms: Terms
    grid: Grid
    nodes: Ints
    own: Own
    seed: Secret
    supply: Tests
    remaining: int
    tables: int = 0
    openings: Openings = field(default_factory=Openings)

    @property
    def course(self) -> Course:
        """The sizes of what was exchanged so far."""
        return self.supply.course

    def tests(self, node: int) -> int:
        """How many buckets a node's first table has."""
        return min(self.grid.domain(self.nodes[node]), self.terms.buckets * self.remaining)

    def lay(self, node: int, items: Longs) -> Table:
        """A node's tuples in buckets; dense if that takes no more of them."""
        keys, domain = self._keys(node, items), self.grid.domain(self.nodes[node])
        size = self.tests(node)
        if size < domain:
            return self._hashed(node, items, keys, size)
        self.tables += 1
        return Table(node, self.tables, items, keys, keys[0].astype(np.int64), domain, dense=True)

    def lay_again(self, node: int, items: Longs, heavy: int) -> Table:
        """What was in that many heavy buckets of a node, hashed."""
        return self._hashed(node, items, self._keys(node, items), max(SMALLEST, PER_IMPURE * heavy))

    def _keys(self, node: int, items: Longs) -> Words:
        return self.grid.keys(self.nodes[node], self.own.codes[:, items])

    def _hashed(self, node: int, items: Longs, keys: Words, size: int) -> Table:
        self.tables += 1
        return Table(node, self.tables, items, keys, buckets(self.seed, size, keys, self.tables), size, dense=False)

    async def test(self, channel: Channel, mine: Longs) -> Bits:
        """Where the joint counts reach k; of each party's own, no more than the terms allow are counted."""
        if self.terms.most_of_one is not None:
            mine = np.minimum(mine, self.terms.most_of_one)
        self.openings.tests += len(mine)
        answers = [np.zeros(0, dtype=bool)]
        for start in range(0, len(mine), CHUNK):
            piece = mine[start : start + CHUNK].astype(np.uint64)
            self.course.tested.append(len(piece))
            with channel.at(start) as at:
                answers.append(await self.supply.reaches(at, piece))
        return np.concatenate(answers)

    async def test_tables(self, channel: Channel, tables: list[Table]) -> list[Heavy]:
        """The heavy buckets of each table. Raises Aborted, before more is opened, if there cannot be so many."""
        heavy = await self.test(channel, np.concatenate([table.counts(self.own) for table in tables]))
        ends = np.cumsum([0, *(table.size for table in tables)])
        places = [np.flatnonzero(heavy[first:last]) for first, last in pairwise(ends)]
        if any(len(here) * self.terms.k > self.remaining for here in places):
            raise astray("more buckets are heavy than there are records for")
        return [Heavy.of(table, here) for table, here in zip(tables, places, strict=True)]

    async def find(self, channel: Channel, tables: list[Table]) -> Candidates:
        """All tuples in these tables with k or more records."""
        found: list[Candidates] = []
        if self.terms.two and self.terms.most_of_one is None:
            tables = await self._name_own(channel.at("alone"), tables, found)
        return await self.name(channel, await self.test_tables(channel.at("test"), tables), found)

    async def name(self, channel: Channel, heavy: list[Heavy], found: list[Candidates]) -> Candidates:
        """All tuples with k or more records in these heavy buckets, as they were tested, and those found before."""
        for turn in count():
            heavy = [each for each in heavy if len(each.buckets)]
            found += [self.dense(each) for each in heavy if each.table.dense]
            hashed = [each for each in heavy if not each.table.dense]
            if not hashed:
                break
            if turn == TABLES:
                raise astray("tuples cannot be told apart")
            at = channel.at(turn)
            tables = await self._sort(at, hashed, found)
            heavy = await self.test_tables(at.at("test"), tables) if tables else []
        return Candidates.of(len(self.grid.trees), found)

    def dense(self, heavy: Heavy) -> Candidates:
        """The tuples of a dense table's buckets."""
        keys = heavy.buckets.astype(np.uint64)[np.newaxis]
        boxes, _ = self.grid.boxes(self.nodes[heavy.table.node], keys)
        self.openings.tuples += len(boxes)
        return Candidates.at(heavy.table.node, boxes, diverse=False)

    async def _sort(self, channel: Channel, hashed: list[Heavy], found: list[Candidates]) -> list[Table]:
        """Names the tuples of pure buckets, and lays what is in the others into tables anew."""
        ends = np.cumsum([0, *(len(each.buckets) for each in hashed)])
        if self.terms.two:
            return await self._compare(channel.at("same"), hashed, ends, found)
        examination = await self._examine(channel.at("pure"), hashed)
        pure = await examination.purity()
        which = np.flatnonzero(pure)
        early = self.terms.mode != "wave" and self.terms.diverse is not None
        if early:
            parts = [self.own.histograms(each.table.items, each.place, len(each.buckets)) for each in hashed]
            which = which[await self.diverse(channel.at("diverse"), Histograms.join(parts).of(which))]
        tuples = await examination.tuples(which)
        self.course.examined.append((len(pure), len(which), len(tuples)))
        return self._sorted(hashed, ends, pure, which, tuples, found, diverse=early)

    async def _compare(
        self, channel: Channel, hashed: list[Heavy], ends: Longs, found: list[Candidates]
    ) -> list[Table]:
        """The same between two, who know the tuple of a pure bucket by themselves."""
        keys, place = [each.table.keys for each in hashed], [each.place for each in hashed]
        pure = await same_tuple(channel, keys, place, [len(each.buckets) for each in hashed])
        limbs = max(map(len, keys))
        tuples = np.zeros((limbs, len(pure)), dtype=np.uint64)
        for each, (first, last) in zip(hashed, pairwise(ends), strict=True):
            low, _ = lowest(each.table.keys, each.place, len(each.buckets))
            tuples[: len(low), first:last] = low
        which = np.flatnonzero(pure)
        return self._sorted(hashed, ends, pure, which, tuples[:, which], found, diverse=False)

    async def _name_own(self, channel: Channel, tables: list[Table], found: list[Candidates]) -> list[Table]:
        """Names the tuples of which one of two parties has enough alone; the tables without them."""
        hashed = [table for table in tables if not table.dense]
        counts = [self.own.counts[table.items] for table in hashed]
        named = await name_own(channel, [table.keys for table in hashed], counts, self.terms.k) if hashed else []
        rest = {table.number: table for table in tables}
        for table, keys in zip(hashed, named, strict=True):
            boxes, real = self.grid.boxes(self.nodes[table.node], keys)
            if not real.all():
                raise astray("a tuple that was named is none")
            self.openings.tuples += len(boxes)
            self.openings.alone += len(boxes)
            found.append(Candidates.at(table.node, boxes, diverse=False))
            stay = match(table.keys, keys) < 0
            items, bucket = table.items[stay], table.bucket[stay]
            rest[table.number] = replace(table, items=items, keys=table.keys[:, stay], bucket=bucket)
        return list(rest.values())

    def _sorted(
        self, hashed: list[Heavy], ends: Longs, pure: Bits, which: Longs, tuples: Words, found: list[Candidates],
        *, diverse: bool,
    ) -> list[Table]:  # fmt: skip
        """Notes the tuples of pure buckets, and lays what is in the others into tables anew."""
        self.openings.heavy += len(pure)
        self.openings.impure += int((~pure).sum())
        self.openings.tuples += len(which)
        anew = []
        for each, (first, last) in zip(hashed, pairwise(ends), strict=True):
            here = np.flatnonzero((which >= first) & (which < last))
            boxes = self._decode(each.table, each.buckets[which[here] - first], tuples[:, here])
            found.append(Candidates.at(each.table.node, boxes, diverse=diverse))
            mixed = ~pure[first:last]
            if mixed.any():
                inside = (each.place >= 0) & mixed[each.place]
                anew.append(self.lay_again(each.table.node, each.table.items[inside], int(mixed.sum())))
        return anew

    async def _examine(self, channel: Channel, hashed: list[Heavy]) -> Examination:
        """Shares what this party has in the heavy buckets."""
        limbs = max(len(each.table.keys) for each in hashed)
        sums, keys = [], []
        for each in hashed:
            inside = np.flatnonzero(each.place >= 0)
            own = each.table.keys[:, inside]
            padded = np.concatenate([own, np.zeros((limbs - len(own), len(inside)), dtype=np.uint64)])
            counts = self.own.counts[each.table.items[inside]].astype(np.uint64)
            mark = marks(self.seed, own, each.table.number)
            added = own_sums(each.place[inside], len(each.buckets), counts, mark, padded)
            sums.append(added[0])
            keys.append(added[1])
        return await Examination.begin(channel, np.concatenate(sums, axis=1), np.concatenate(keys, axis=1))

    def _decode(self, table: Table, places: Longs, keys: Words) -> Ints:
        """The boxes of tuples that were opened. Raises Aborted for what is no tuple of its bucket."""
        own = np.ascontiguousarray(keys[: len(table.keys)])
        boxes, real = self.grid.boxes(self.nodes[table.node], own)
        if not real.all() or not np.array_equal(buckets(self.seed, table.size, own, table.number), places):
            raise astray("what was opened as a tuple is none of its bucket")
        return boxes

    async def diverse(self, channel: Channel, own: Histograms) -> Bits:
        """Which tuples, of k or more records each, are as diverse as is asked for."""
        if self.terms.diverse is None or not len(own.counts):
            return np.ones(len(own.counts), dtype=bool)
        asked, seen = self.terms.diverse, self.openings.diversity
        return await diverse(channel, self.supply, asked, self.terms.k, self.remaining, own, seen)


def astray(what: str) -> Aborted:
    """The error for an answer that honest parties never get."""
    return Aborted(f"{what}: a party did not keep to the protocol; nothing was released", resumable=False)
