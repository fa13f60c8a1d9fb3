"""Visits: at each lattice node of the list, in turn, the tuples that k or more remaining records share become classes.

A *window* is one node, or in wave mode as many as some hundred thousand tests do for. Of a window's tuples those are
published that share no possible record with one of an earlier node; then the others are tested again, in waves. So each
mode publishes what visits one by one would. In skip mode a window only tells which of its nodes need a visit. That a
tuple is published is known before its records are counted: the counts of all waves are opened together, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.factorial import field_for
from covey.protocols.peel.classes import FrequentTuples, PeeledClasses
from covey.protocols.peel.diversity import Conditions, Histograms
from covey.protocols.peel.lending import Lending
from covey.protocols.peel.lending_rules import units
from covey.protocols.peel.search import BucketTable, Finder, HeavyBuckets, astray
from covey.protocols.shared.peeling.leftover import cheapest_to_lift, doublings
from covey.secure import conjunction, threshold_test
from covey.table import tally
from covey.wire import Channel

WINDOW = 1_000_000
"""Tests of a window of several nodes, at most."""
AHEAD = 4
"""Windows for which tests are prepared ahead,"""
AGAIN = 1 << 14
"""Tests more, at most, for what a window tests again."""
VISITS_AHEAD = 12
"""and visits, where a window is one."""


@dataclass
class Peeling:
    """One party's state of a run."""

    finder: Finder
    classes: PeeledClasses = field(default_factory=PeeledClasses)
    lending: Lending | None = None
    """The spare records, where classes lend."""

    async def run(self, channel: Channel, reach: Callable[[int], None]) -> None:
        """Visits all nodes of the list, until fewer than k records remain."""
        finder, position = self.finder, 0
        while position < len(finder.nodes) and finder.remaining >= finder.params.k:
            at = channel.at(position)
            if not await self._begin_stage(at.at("stage"), position):
                break
            window = self._window(position)
            finder.supply.foresee(self._soon(position))
            tables = [finder.lay(node, self._counted(node)) for node in window]
            if finder.params.mode == "skip" and len(window) > 1:
                await self._skip(at, tables)
            else:
                await self._settle(at.at("settle"), await finder.find(at.at("find"), tables))
            position += len(window)
            finder.openings.visits += len(window)
            reach(position)
        if finder.near is not None and finder.remaining:
            await self._release_rest(channel.at("rest"))
        if self.lending is not None:
            await self._open_sizes(channel.at("sizes"))
        finder.supply.close()

    async def _begin_stage(self, channel: Channel, position: int) -> bool:
        """Lets spare records be counted from here on, if a stage begins here; False if fewer than k are in no class."""
        finder, lending = self.finder, self.lending
        if lending is None or position not in lending.starts:
            return True
        left = int(finder.own.counts[finder.own.in_play()].sum())
        asked = units(finder.params.k, finder.remaining)
        reached = await finder.test(channel, np.array([left // unit for unit in asked], dtype=np.int64))
        if not reached.all():
            unit = asked[int(np.argmin(reached))]
            finder.crowd = (finder.params.k + finder.params.parties) * unit * 11 // 10  # and some that are spare
        lending.begin_stage()
        return bool(reached[0])

    def _counted(self, node: int) -> Longs:
        """This party's items that are counted at a node."""
        items = self.finder.own.in_play()
        return items if self.lending is None else np.concatenate([items, self.lending.counted(node)])

    async def _open_sizes(self, channel: Channel) -> None:
        """Opens how many records each class has, now that no class will lend any more."""
        finder, kept = self.finder, np.array(self.classes.sizes, dtype=np.int64)
        own = finder.own.label >= 0
        mine = tally(finder.own.label[own], len(kept), finder.own.counts[own])
        sizes = (await finder.supply.total(channel, mine.astype(np.uint64))).astype(np.int64)
        if (sizes < kept).any() or sizes.sum() > finder.known.records:
            raise astray("a class has an impossible number of records")
        self.classes.sizes = sizes.tolist()
        finder.remaining = finder.known.records - int(sizes.sum())

    def _window(self, position: int) -> list[int]:
        """The nodes that are looked at together."""
        finder, window = self.finder, [position]
        if finder.params.mode == "visit":
            return window
        tests, later = finder.tests(position), [] if self.lending is None else self.lending.starts
        end = min((start for start in later if start > position), default=len(finder.nodes))
        while window[-1] + 1 < end and tests + finder.tests(window[-1] + 1) <= WINDOW:
            window.append(window[-1] + 1)
            tests += finder.tests(window[-1])
        return window

    def _soon(self, position: int) -> int:
        """The number of tests that the next windows need, about: no table will be larger than it would be now."""
        finder, end = self.finder, len(self.finder.nodes)
        if finder.params.mode == "visit":
            return sum(finder.tests(node) for node in range(position, min(position + VISITS_AHEAD, end)))
        rest = sum(finder.tests(node) for node in range(position, end))
        return min(AHEAD * WINDOW, rest + min(rest // 4, AGAIN))

    async def _settle(self, channel: Channel, waiting: FrequentTuples) -> None:
        """Publishes candidates in the order of the list: each if it still has k records when its turn has come."""
        finder, first = self.finder, len(self.classes)
        for wave in count():
            if not len(waiting):
                break
            at = channel.at(wave)
            blocked = waiting.blocked(finder.lattice)
            free, waiting = waiting.take(~blocked), waiting.take(blocked)
            free = await self._admitted(at, await self._alone(at, free))
            self._leave(free)
            if len(waiting) and len(free):
                stay = ~waiting.touched(finder.lattice, free)
                again = waiting.take(~stay)
                stay[~stay] = await finder.test(at.at("again"), self._counts(again))
                waiting = waiting.take(stay)
        if len(self.classes) > first:
            mine = await self._leaving(channel.at("keep"), first)
            total = await finder.supply.total(channel.at("count"), mine.astype(np.uint64))
            sizes = total.astype(np.int64)
            if sizes.min() < finder.params.k or sizes.max() > finder.remaining or sizes.sum() > finder.remaining:
                raise astray("a class has an impossible number of records")
            self.classes.sizes += sizes.tolist()
            finder.left(np.stack(self.classes.boxes[first:]), sizes)

    async def _alone(self, channel: Channel, free: FrequentTuples) -> FrequentTuples:
        """The same tuples, where those that have k records without spare ones borrow none."""
        if not (len(free) and free.borrows.any()):
            return free
        remaining = replace(free, borrows=np.zeros(len(free), dtype=bool))
        return replace(free, borrows=~await self.finder.test(channel.at("alone"), self._counts(remaining)))

    def _leave(self, published: FrequentTuples) -> None:
        """Publishes tuples; this party's records in them leave for them."""
        items, place = self._members(published)
        self.finder.own.label[items] = self.classes.add(published)[place]
        if self.lending is not None:
            self.lending.move(items)

    async def _leaving(self, channel: Channel, first: int) -> Longs:
        """The number of this party's records that are out of play for good with each class from the first one on."""
        own, lending, number = self.finder.own, self.lending, len(self.classes) - first
        items = np.flatnonzero(own.label >= first)
        place = own.label[items] - first
        if lending is None:
            return tally(place, number, own.counts[items])
        clipped = lending.clipped(items, place, number)
        enough = (await self.finder.test(channel, clipped.ravel())).reshape(clipped.shape)
        if not enough[:, -1].all():
            raise astray("a class has fewer records than its tuple had")
        return lending.keep(items, place, np.stack(self.classes.boxes[first:]), enough)

    async def _release_rest(self, channel: Channel) -> None:
        """Makes one class, without labels, of what is left over and of classes that are taken back for it.

        t is measured against what is published, so that nothing may be withheld. Taken back are those that this costs
        least, twice as many each time, until the class keeps what is asked; all records together keep every t.
        """
        finder, trees = self.finder, self.finder.lattice.trees
        order = cheapest_to_lift(trees, finder.params.weights, self.classes.boxes, self.classes.sizes)
        root = np.array([[tree.root for tree in trees]], dtype=np.int32)
        rest = FrequentTuples.at(len(finder.nodes) - 1, root, diverse=False)
        for taken in doublings(len(order)):
            self._take_back(order[finder.openings.taken : taken])
            at = channel.at(taken)
            whole = finder.remaining == finder.known.records
            finder.asked = finder.params.conditions(None if whole else finder.near)
            if not taken:  # what was published reaches k; all records may not, as far as they count
                rest = rest.take(await finder.test(at.at("again"), self._counts(rest)))
            if len(admitted := await self._admitted(at, rest)):
                break
        number = self.classes.drop(order[: finder.openings.taken])
        own = finder.own.label >= 0
        finder.own.label[own] = number[finder.own.label[own]]
        if len(admitted):
            self._leave(admitted)
            self.classes.sizes.append(finder.remaining)
            finder.openings.tuples += 1
            finder.remaining = 0

    def _take_back(self, numbers: Longs) -> None:
        """Brings the records of some classes back into play."""
        finder, own = self.finder, self.finder.own
        own.label[np.isin(own.label, numbers)] = -1
        finder.remaining += sum(self.classes.sizes[number] for number in numbers.tolist())
        finder.openings.taken += len(numbers)

    async def _admitted(self, channel: Channel, free: FrequentTuples) -> FrequentTuples:
        """Those of the tuples that keep what the study asks for beside k."""
        finder, own = self.finder, self.finder.own
        free = free.take(await self._shared(channel.at("shared"), free))
        free = free.take(await self._split(channel.at("split"), free))
        free = free.take(await self._diverse_beside(channel.at("beside"), free))
        unknown = np.flatnonzero(~free.diverse)
        if finder.asked.any and len(unknown):
            asked = free.take(unknown)
            parts = finder.histograms(own.in_play(), self._place(asked), len(asked))
            keep = np.ones(len(free), dtype=bool)
            keep[unknown] = await finder.diverse(channel.at("diverse"), parts)
            free = free.take(keep)
        return free

    async def _shared(self, channel: Channel, free: FrequentTuples) -> Bits:
        """The tuples that have, for each party, no record of others or as many as are asked for."""
        asked = self.finder.params.none_or_many
        if asked is None or not len(free):
            return np.ones(len(free), dtype=bool)
        parties, own = channel.parties, self._counts(free)
        if self.finder.params.two:  # what one has is what the other sees of others
            fine = await conjunction.conjoin(channel.at("both"), (own == 0) | (own >= asked))
            return np.zeros(0, dtype=bool) if fine is None else fine
        others = np.repeat(own[:, np.newaxis], len(parties), axis=1)
        others[:, parties.index(channel.me)] = 0
        if channel.me == parties[0]:
            others -= 1  # 1 to asked - 1 are to be avoided, and tests know 0 to a bound
        prepared = await self.finder.supply.prepared("shared", asked - 1, others.size, field_for(len(parties), asked))
        return await threshold_test.none_below(channel.at("test"), prepared, others.ravel(), together=len(parties))

    async def _split(self, channel: Channel, free: FrequentTuples) -> Bits:
        """The tuples of which no party has more than its part."""
        asked, seen = self.finder.params.split, self.finder.openings.split
        if asked is None or not len(free):
            return np.ones(len(free), dtype=bool)
        parts = Histograms.by_party(self._by_party(channel, free))
        return await self.finder.fits(channel, Conditions(asked), parts, seen)

    async def _diverse_beside(self, channel: Channel, free: FrequentTuples) -> Bits:
        """The tuples that are diverse, for each party, without the party's own records."""
        asked, seen, parties = self.finder.params.diverse_beside, self.finder.openings.beside, channel.parties
        if asked is None or not len(free):
            return np.ones(len(free), dtype=bool)
        parts = self.finder.histograms(self.finder.own.in_play(), self._place(free), len(free))
        without = parts.without_each(parties.index(channel.me), len(parties))
        return await self.finder.fits(channel, Conditions(asked), without, seen)

    def _by_party(self, channel: Channel, candidates: FrequentTuples) -> Longs:
        """The number of each party's records in each candidate (candidates x parties), as far as this one knows it."""
        counts = np.zeros((len(candidates), len(channel.parties)), dtype=np.int64)
        counts[:, channel.parties.index(channel.me)] = self._counts(candidates)
        return counts

    def _place(self, candidates: FrequentTuples) -> Longs:
        """For each item in play which of the candidates it lies in, or -1; no item lies in two that are free."""
        return self._lie_in(candidates, self.finder.own.in_play())[1]

    def _counts(self, candidates: FrequentTuples) -> Longs:
        """This party's number of records in each candidate; a record may lie in several."""
        counts = self._lie_in(candidates, self.finder.own.in_play())[0]
        for which, items in self._spare(candidates):
            counts[which] += self._lie_in(candidates.take(which), items)[0]
        return counts

    def _members(self, candidates: FrequentTuples) -> tuple[Longs, Longs]:
        """This party's items that lie in one of these free candidates, and in which."""
        parts = [(np.arange(len(candidates)), self.finder.own.in_play()), *self._spare(candidates)]
        lying = [(items, which, self._lie_in(candidates.take(which), items)[1]) for which, items in parts]
        members = [(items[place >= 0], which[place[place >= 0]]) for items, which, place in lying]
        return np.concatenate([items for items, _ in members]), np.concatenate([place for _, place in members])

    def _spare(self, candidates: FrequentTuples) -> Iterator[tuple[Longs, Longs]]:
        """The candidates of each node that borrow, and this party's spare items that are counted there."""
        if self.lending is not None:
            for node in np.unique(candidates.node[candidates.borrows]).tolist():
                which = np.flatnonzero(candidates.borrows & (candidates.node == node))
                yield which, self.lending.counted(node)

    def _lie_in(self, candidates: FrequentTuples, items: Longs) -> tuple[Longs, Longs]:
        lattice, nodes, own = self.finder.lattice, self.finder.nodes, self.finder.own
        codes = np.ascontiguousarray(own.codes[:, items])
        return lattice.lie_in(nodes[candidates.node], candidates.boxes, codes, own.counts[items])

    async def _skip(self, channel: Channel, tables: list[BucketTable]) -> None:
        """Tests a window's nodes at once, then visits those with heavy buckets, and of these only what is in them."""
        finder, published = self.finder, len(self.classes.sizes)
        for heavy in await finder.test_tables(channel.at("all"), tables):
            if not len(heavy.buckets) or finder.remaining < finder.params.k:
                continue
            at = channel.at("node", heavy.table.node)
            if len(self.classes.sizes) == published:
                found = await finder.name(at.at("find"), [heavy], [])
            else:
                found = await self._find_again(at.at("again"), heavy)
            await self._settle(at.at("settle"), found)

    async def _find_again(self, channel: Channel, heavy: HeavyBuckets) -> FrequentTuples:
        """The frequent tuples of buckets that once were heavy, now that other classes were published."""
        finder, table = self.finder, heavy.table
        if table.dense:
            once = finder.dense(heavy)
            return once.take(await finder.test(channel, self._counts(once)))
        inside = (heavy.place >= 0) & (finder.own.label[table.items] < 0)
        return await finder.find(channel, [finder.lay_again(table.node, table.items[inside], len(heavy.buckets))])
