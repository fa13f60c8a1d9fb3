"""Search for the tuples at some lattice nodes that k or more remaining records share.

Tuples lie in *tables* of buckets: one bucket per possible tuple where these are few (dense), else buckets by a hash. Of
each bucket everyone learns whether it is heavy, of a heavy hashed one whether it is pure, of a pure one its tuple. What
is in impure buckets is hashed again into a smaller table, and nothing else: the records concerned only grow fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count, pairwise

import numpy as np

from covey.arrays import Bits, Ints, Longs, Words
from covey.crypto.secret import Secret
from covey.errors import Aborted
from covey.protocols.peel.classes import FrequentTuples, Openings
from covey.protocols.peel.closeness import Closeness
from covey.protocols.peel.diversity import Conditions, DiversityOpenings, Histograms, kept
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.purity import Examination, own_sums
from covey.protocols.peel.records import OwnRecords
from covey.protocols.peel.ruled_out import RemainingAtMost
from covey.protocols.peel.supply import JointNumbers
from covey.protocols.peel.tuples import Lattice, buckets, marks, match
from covey.protocols.peel.two_party import lowest, name_own, same_tuple
from covey.protocols.shared.peeling.marginals import Marginals
from covey.wire import Channel

CHUNK = 1 << 20
"""Buckets that are tested in one exchange."""
TABLES = 64
"""Tables of one search; more mean that somebody does not keep to the protocol."""
SMALLEST = 64
PER_IMPURE = 128
"""Buckets of a table for what was in impure ones: so many that another table is hardly ever needed."""


@dataclass(frozen=True)
class BucketTable:
    """One node's remaining tuples in buckets, as far as this party has them."""

    node: int
    number: int
    items: Longs
    keys: Words  # limbs x items
    bucket: Longs
    size: int
    parts: tuple[Longs, ...] | None = None
    """Of a dense table, the places of each column's nodes that its buckets stand for."""

    @property
    def dense(self) -> bool:
        """True if there is a bucket for each tuple that k records may share."""
        return self.parts is not None

    def counts(self, own: OwnRecords) -> Longs:
        """This party's number of records in each bucket."""
        weights = own.counts[self.items].astype(np.float64)
        return np.bincount(self.bucket, weights=weights, minlength=self.size).astype(np.int64)

    def places(self, heavy: Longs) -> Longs:
        """For each item its bucket's place among the heavy ones, or -1."""
        place = np.full(self.size, -1, dtype=np.int64)
        place[heavy] = np.arange(len(heavy))
        return place[self.bucket]


@dataclass(frozen=True)
class HeavyBuckets:
    """A table's heavy buckets, and for each of the table's items its bucket's place among them, or -1."""

    table: BucketTable
    buckets: Longs
    place: Longs

    @classmethod
    def of(cls, table: BucketTable, heavy: Longs) -> HeavyBuckets:
        """These buckets of the table."""
        return cls(table, heavy, table.places(heavy))


@dataclass
class Finder:
    """One party's means to find tuples; all but `own` is the same for everybody."""

    params: Parameters
    lattice: Lattice
    nodes: Ints
    own: OwnRecords
    seed: Secret
    supply: JointNumbers
    known: Marginals
    tables: int = 0
    openings: Openings = field(default_factory=Openings)
    near: Closeness | None = None
    """What is known of the sensitive values of all records, where t is asked for."""
    crowd: int | None = None
    """About how many records are in no class yet, where it is known that some of those in play are spare ones."""

    def __post_init__(self) -> None:
        self.asked = self.params.conditions(self.near)
        self.remaining = self.known.records
        self._most = RemainingAtMost.of(self.lattice.trees, self.known)

    def left(self, boxes: Ints, sizes: Longs) -> None:
        """Counts so many records of each of these boxes as gone."""
        self.remaining -= int(sizes.sum())
        self._most.leave(boxes, sizes)

    def tests(self, node: int) -> int:
        """The number of buckets of a node's first table, which has only tuples that k records may share."""
        levels = self.nodes[node].tolist()
        crowd = self.remaining if self.crowd is None else min(self.crowd, self.remaining)
        return min(self._most.domain(levels), self.params.buckets * min(crowd, self._most.records(levels)))

    def lay(self, node: int, items: Longs) -> BucketTable:
        """A node's tuples in buckets, but for those that cannot be frequent; dense if that takes no more buckets."""
        size, levels = self.tests(node), self.nodes[node]
        parts = [self._most.frequent(c, self.lattice.nodes[c][level]) for c, level in enumerate(levels.tolist())]
        place = np.zeros(len(items), dtype=np.int64)
        frequent = np.ones(len(items), dtype=bool)
        for column, (level, part) in enumerate(zip(levels.tolist(), parts, strict=True)):
            rank = np.full(len(self.lattice.nodes[column][level]), -1, dtype=np.int64)
            rank[part] = np.arange(len(part))
            own = rank[self.lattice.places[column][level][self.own.codes[column, items]]]
            frequent &= own >= 0
            place = place * len(part) + own  # means nothing where there are too many for a dense table
        items = items[frequent]
        keys = self._keys(node, items)
        if size < self._most.domain(levels.tolist()):
            return self._hashed(node, items, keys, size)
        self.tables += 1
        return BucketTable(node, self.tables, items, keys, place[frequent], size, parts=tuple(parts))

    def lay_again(self, node: int, items: Longs, heavy: int) -> BucketTable:
        """A new table of the items that were in that many heavy buckets of a node."""
        return self._hashed(node, items, self._keys(node, items), max(SMALLEST, PER_IMPURE * heavy))

    def _keys(self, node: int, items: Longs) -> Words:
        return self.lattice.keys(self.nodes[node], self.own.codes[:, items])

    def _hashed(self, node: int, items: Longs, keys: Words, size: int) -> BucketTable:
        self.tables += 1
        return BucketTable(node, self.tables, items, keys, buckets(self.seed, size, keys, self.tables), size)

    async def test(self, channel: Channel, mine: Longs) -> Bits:
        """The places at which the joint counts reach k; each party's records count as far as the parameters allow."""
        if self.params.most_of_one is not None:
            mine = np.minimum(mine, self.params.most_of_one)
        self.openings.tests += len(mine)
        answers = [np.zeros(0, dtype=bool)]
        for start in range(0, len(mine), CHUNK):
            piece = mine[start : start + CHUNK].astype(np.uint64)
            with channel.at(start) as at:
                answers.append(await self.supply.reaches(at, piece))
        return np.concatenate(answers)

    async def test_tables(self, channel: Channel, tables: list[BucketTable]) -> list[HeavyBuckets]:
        """The heavy buckets of each table. Raises Aborted, before more is opened, if there cannot be so many."""
        heavy = await self.test(channel, np.concatenate([table.counts(self.own) for table in tables]))
        ends = np.cumsum([0, *(table.size for table in tables)])
        places = [np.flatnonzero(heavy[first:last]) for first, last in pairwise(ends)]
        if any(len(here) * self.params.k > self.remaining for here in places):
            raise astray("more buckets are heavy than there are records for")
        return [HeavyBuckets.of(table, here) for table, here in zip(tables, places, strict=True)]

    async def find(self, channel: Channel, tables: list[BucketTable]) -> FrequentTuples:
        """All tuples in these tables with k or more records."""
        found: list[FrequentTuples] = []
        if self.params.two and self.params.most_of_one is None:
            tables = await self._name_own(channel.at("alone"), tables, found)
        return await self.name(channel, await self.test_tables(channel.at("test"), tables), found)

    async def name(self, channel: Channel, heavy: list[HeavyBuckets], found: list[FrequentTuples]) -> FrequentTuples:
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
        return FrequentTuples.of(len(self.lattice.trees), found)

    def dense(self, heavy: HeavyBuckets) -> FrequentTuples:
        """The tuples of a dense table's buckets."""
        levels, rest = self.nodes[heavy.table.node], heavy.buckets
        boxes = np.zeros((len(rest), len(levels)), dtype=np.int32)
        for column, part in reversed(list(enumerate(heavy.table.parts or ()))):
            boxes[:, column] = self.lattice.nodes[column][int(levels[column])][part[rest % len(part)]]
            rest = rest // len(part)
        self.openings.tuples += len(boxes)
        return FrequentTuples.at(heavy.table.node, boxes, diverse=False, borrows=self.params.lend)

    async def _sort(
        self, channel: Channel, hashed: list[HeavyBuckets], found: list[FrequentTuples]
    ) -> list[BucketTable]:
        """Notes the tuples of pure buckets, and lays what is in the others into tables anew."""
        look = self._compare if self.params.two else self._examine
        pure, which, tuples = await look(channel, hashed)
        self.openings.heavy += len(pure)
        self.openings.impure += int((~pure).sum())
        self.openings.tuples += len(which)
        anew = []
        for each, (first, last) in zip(hashed, _bounds(hashed), strict=True):
            here = np.flatnonzero((which >= first) & (which < last))
            boxes = self._decode(each.table, each.buckets[which[here] - first], tuples[:, here])
            found.append(
                FrequentTuples.at(each.table.node, boxes, diverse=self._diverse_early, borrows=self.params.lend)
            )
            mixed = ~pure[first:last]
            if mixed.any():
                inside = (each.place >= 0) & mixed[each.place]
                anew.append(self.lay_again(each.table.node, each.table.items[inside], int(mixed.sum())))
        return anew

    @property
    def _diverse_early(self) -> bool:
        """True if diversity is tested before a tuple is named; in wave mode most named tuples are tested anyway."""
        return self.params.mode != "wave" and self.asked.any and not self.params.two

    async def _examine(self, channel: Channel, hashed: list[HeavyBuckets]) -> tuple[Bits, Longs, Words]:
        """The heavy buckets that are pure, the places of those whose tuples are named, and these tuples, by shares."""
        examination = await self._share_sums(channel.at("pure"), hashed)
        pure = await examination.purity()
        which = np.flatnonzero(pure)
        if self._diverse_early:
            parts = [self.histograms(each.table.items, each.place, len(each.buckets)) for each in hashed]
            which = which[await self.diverse(channel.at("diverse"), Histograms.join(parts).of(which))]
        return pure, which, await examination.tuples(which)

    async def _compare(self, channel: Channel, hashed: list[HeavyBuckets]) -> tuple[Bits, Longs, Words]:
        """The same between two, who know the tuple of a pure bucket by themselves."""
        keys, place = [each.table.keys for each in hashed], [each.place for each in hashed]
        pure = await same_tuple(channel.at("same"), keys, place, [len(each.buckets) for each in hashed])
        tuples = np.zeros((max(map(len, keys)), len(pure)), dtype=np.uint64)
        for each, (first, last) in zip(hashed, _bounds(hashed), strict=True):
            low, _ = lowest(each.table.keys, each.place, len(each.buckets))
            tuples[: len(low), first:last] = low
        which = np.flatnonzero(pure)
        return pure, which, tuples[:, which]

    async def _name_own(
        self, channel: Channel, tables: list[BucketTable], found: list[FrequentTuples]
    ) -> list[BucketTable]:
        """Names the tuples of which one of two parties has enough alone; the tables without them."""
        hashed = [table for table in tables if not table.dense]
        counts = [self.own.counts[table.items] for table in hashed]
        named = await name_own(channel, [table.keys for table in hashed], counts, self.params.k) if hashed else []
        rest = {table.number: table for table in tables}
        for table, keys in zip(hashed, named, strict=True):
            boxes, real = self.lattice.boxes(self.nodes[table.node], keys)
            if not real.all():
                raise astray("a tuple that was named is none")
            self.openings.tuples += len(boxes)
            self.openings.alone += len(boxes)
            found.append(FrequentTuples.at(table.node, boxes, diverse=False))
            stay = match(table.keys, keys) < 0
            items, bucket = table.items[stay], table.bucket[stay]
            rest[table.number] = replace(table, items=items, keys=table.keys[:, stay], bucket=bucket)
        return list(rest.values())

    async def _share_sums(self, channel: Channel, hashed: list[HeavyBuckets]) -> Examination:
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

    def _decode(self, table: BucketTable, places: Longs, keys: Words) -> Ints:
        """The boxes of tuples that were opened. Raises Aborted for what is no tuple of its bucket."""
        own = np.ascontiguousarray(keys[: len(table.keys)])
        boxes, real = self.lattice.boxes(self.nodes[table.node], own)
        if not real.all() or not np.array_equal(buckets(self.seed, table.size, own, table.number), places):
            raise astray("what was opened as a tuple is none of its bucket")
        return boxes

    def histograms(self, items: Longs, place: Longs, width: int) -> Histograms:
        """This party's part of the histograms of these items' records by place; place -1 takes no part."""
        return self.own.histograms(items, place, width)

    async def diverse(self, channel: Channel, own: Histograms) -> Bits:
        """The tuples, of k or more records each, that are as diverse as is asked for, and near enough to the table."""
        if not self.asked.any or not len(own.counts):
            return np.ones(len(own.counts), dtype=bool)
        if self.params.two:
            numbers = self.asked.of_two(own, first=channel.me == channel.parties[0])
            return self.openings.diversity.note(await self.supply.none_negative(channel, numbers))
        return await self.fits(channel, self.asked, own, self.openings.diversity)

    async def fits(self, channel: Channel, asked: Conditions, own: Histograms, seen: DiversityOpenings) -> Bits:
        """The tuples, of k or more records each, that keep the conditions."""
        return await kept(channel, self.supply, asked, self.params.k, self.remaining, own, seen)


def _bounds(hashed: list[HeavyBuckets]) -> Iterator[tuple[int, int]]:
    """The first and the last place of each table's heavy buckets, counted through all tables."""
    return pairwise(np.cumsum([0, *(len(each.buckets) for each in hashed)]).tolist())


def astray(what: str) -> Aborted:
    """The error for an answer that honest parties never get."""
    return Aborted(f"{what}: a party did not keep to the protocol; nothing was released", resumable=False)
