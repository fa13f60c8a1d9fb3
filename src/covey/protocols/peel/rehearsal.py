"""A rehearsal of the visits: one who has all records plays them in the clear, and counts what several would spend.

What is visited, tested and opened, and in which order, is decided by the run's own code. Only the answers about joint
numbers come from the numbers themselves, and their cost from the declaration of the block that would give them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import ParamSpec, Self, cast

import numpy as np

from covey.arrays import Bits, Ints, Longs, Words
from covey.crypto.factorial import field_for
from covey.crypto.field import Field
from covey.crypto.rng import Label
from covey.protocols.peel import choice, closeness, comparing, purity
from covey.protocols.peel.classes import FrequentTuples
from covey.protocols.peel.closeness import Closeness
from covey.protocols.peel.diversity import Histograms
from covey.protocols.peel.lending import Lending
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.records import OwnRecords
from covey.protocols.peel.search import BucketTable, Finder, HeavyBuckets
from covey.protocols.peel.supply import LANES, JointNumbers, Supply
from covey.protocols.peel.tuples import Lattice
from covey.protocols.peel.two_party import lowest
from covey.protocols.peel.visits import Peeling
from covey.protocols.shared.cost import CostEstimate
from covey.protocols.shared.peeling.marginals import Marginals, study_seed
from covey.protocols.shared.peeling.narrowing import Narrowing
from covey.secure import absolute, conjunction, match, threshold_test
from covey.secure import sum as secure_sum
from covey.secure.absolute import Signs
from covey.secure.declare import Cost
from covey.secure.threshold_test import Prepared
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, depth, gather

P = ParamSpec("P")


@dataclass
class Spent(CostEstimate):
    """The messages and bytes so far of all parties together, and the rounds once the rehearsal is over."""

    parties: tuple[str, ...] = ()
    tests: int = 0
    classes: int = 0

    def pay(self, cost: Cost[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """Adds what a block costs; what is done next in this task comes so many rounds later."""
        block = cost.of(*args, **kwargs)
        self.count(block.messages, block.bytes)
        depth.consume(depth.current() + block.rounds)


@dataclass(frozen=True)
class _Silent:
    """A channel in whose place nothing is sent: every step of it is the same."""

    spent: Spent

    @property
    def parties(self) -> tuple[str, ...]:
        return self.spent.parties

    @property
    def me(self) -> str:
        return self.spent.parties[0]

    def at(self, *labels: Label) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Does nothing."""


def _spent(channel: Channel) -> Spent:
    return cast("_Silent", channel).spent


class _Tests(JointNumbers):
    """The part that tests by shares and between two have in common."""

    async def total(self, channel: Channel, mine: Words) -> Words:
        spent = _spent(channel)
        spent.pay(secure_sum.COST, len(spent.parties), len(mine))
        return mine


class _Shares(_Tests, Supply):
    """A supply whose tests cost what real ones do, and are prepared when real ones are."""

    async def prepare(self, channel: Channel, bound: int, width: int, field: Field | None) -> Prepared:
        spent = _spent(channel)
        field = field_for(len(spent.parties), bound) if field is None else field
        spent.pay(threshold_test.PREPARATION_COST, len(spent.parties), bound, width, field)
        nothing: Words = np.zeros((1, width), dtype=np.uint64)
        return Prepared(bound, field, nothing[0], nothing[:0], nothing)

    async def open_products(
        self, channel: Channel, prepared: Prepared, mine: Words | Longs, *, together: int = 1
    ) -> Words:
        spent = _spent(channel)
        spent.pay(threshold_test.COST, len(spent.parties), prepared.bound, len(mine), prepared.field)
        spent.tests += len(mine)
        return np.asarray(((mine < 0) | (mine >= prepared.bound)).reshape(-1, together).any(axis=1), dtype=np.uint64)

    async def signs(self, channel: Channel, width: int) -> Signs:
        spent, nothing = _spent(channel), np.zeros(width, dtype=np.uint64)
        spent.pay(absolute.SIGNS_COST, len(spent.parties), width)
        return Signs(nothing, nothing, nothing)

    async def absolutes(self, channel: Channel, signs: Signs, prepared: Prepared, mine: Longs) -> Longs:
        spent = _spent(channel)
        spent.pay(absolute.COST, len(spent.parties), prepared.bound, len(mine))
        spent.tests += len(mine)
        return np.abs(mine)


class _Pair(_Tests):
    """The tests between two."""

    def __init__(self, bound: int) -> None:
        self._bound = bound

    def foresee(self, tests: int) -> None:
        """Nothing is prepared."""

    async def reaches(self, channel: Channel, mine: Words) -> Bits:
        spent = _spent(channel)
        spent.pay(choice.COST, self._bound, len(mine))
        spent.tests += len(mine)
        return np.asarray(mine >= self._bound)

    async def none_negative(self, channel: Channel, mine: Longs) -> Bits:
        _spent(channel).pay(comparing.COST, *mine.shape)
        return np.asarray((mine >= 0).all(axis=1))

    def prepared(self, use: str, bound: int, width: int, field: Field | None = None) -> Awaitable[Prepared]:
        raise TypeError("nothing is prepared between two")


@dataclass
class _Finder(Finder):
    """A finder that sees all records; each counts as `weight` of them."""

    weight: int = field(default=1, kw_only=True)

    async def _examine(self, channel: Channel, hashed: list[HeavyBuckets]) -> tuple[Bits, Longs, Words]:
        pure, which, tuples = self._seen(hashed)
        if self._diverse_early:
            parts = [self.histograms(each.table.items, each.place, len(each.buckets)) for each in hashed]
            which = which[await self.diverse(channel.at("diverse"), Histograms.join(parts).of(which))]
        spent = _spent(channel)
        spent.pay(purity.COST, len(spent.parties), len(pure), len(which), len(tuples))
        return pure, which, tuples[:, which]

    async def _compare(self, channel: Channel, hashed: list[HeavyBuckets]) -> tuple[Bits, Longs, Words]:
        pure, which, tuples = self._seen(hashed)
        _spent(channel).pay(match.COST, len(pure))
        return pure, which, tuples[:, which]

    async def _name_own(self, channel: Channel, tables: list[BucketTable], found: object) -> list[BucketTable]:
        return tables  # whose the records are is not known here; what one names alone costs little

    def _seen(self, hashed: list[HeavyBuckets]) -> tuple[Bits, Longs, Words]:
        """The heavy buckets that are pure, their places, and the least tuple of every bucket."""
        pure = [np.zeros(0, dtype=bool)]
        limbs, width = max(len(each.table.keys) for each in hashed), sum(len(each.buckets) for each in hashed)
        tuples, first = np.zeros((limbs, width), dtype=np.uint64), 0
        for each in hashed:
            low, single = lowest(each.table.keys, each.place, len(each.buckets))
            tuples[: len(low), first : first + len(single)] = low
            pure.append(single)
            first += len(single)
        joined = np.concatenate(pure)
        return joined, np.flatnonzero(joined), tuples

    def histograms(self, items: Longs, place: Longs, width: int) -> Histograms:
        own = super().histograms(items, place, width)
        return Histograms(own.counts, own.values * self.weight)


@dataclass
class _Peeling(Peeling):
    """Visits by one who knows whose each record is."""

    by_owner: Longs = field(kw_only=True)
    """Items x parties: how many of each item's records are whose."""

    async def _shared(self, channel: Channel, free: FrequentTuples) -> Bits:
        asked, spent, supply = self.finder.params.none_or_many, _spent(channel), self.finder.supply
        if asked is None or not len(free):
            return np.ones(len(free), dtype=bool)
        counts = self._by_party(channel, free)
        others = counts.sum(axis=1, keepdims=True) - counts
        if self.finder.params.two:
            spent.pay(conjunction.COST, 2, len(free))
        else:
            await supply.prepared("shared", asked - 1, others.size, field_for(len(spent.parties), asked))
            for _ in range(2):  # the tests, and the products of their outcomes, which cost about as much
                spent.pay(threshold_test.COST, len(spent.parties), asked - 1, others.size)
        return np.asarray(((others == 0) | (others >= asked)).all(axis=1))

    def _by_party(self, channel: Channel, free: FrequentTuples) -> Longs:
        items, place = self._members(free)
        counts = np.zeros((len(free), self.by_owner.shape[1]), dtype=np.int64)
        np.add.at(counts, place, self.by_owner[items])
        return counts


def rehearse(
    study: Study, params: Parameters, known: Marginals, nodes: Ints, table: Table, owners: Longs, weight: int
) -> Spent:
    """Counts the cost of the visits of these nodes, if the parties' records are these, each of them so many times."""
    spent = Spent(parties=tuple(party.name for party in study.parties))
    channel = cast("Channel", _Silent(spent))
    own = OwnRecords.of(table, params)
    by_owner = np.zeros((len(own.counts), len(spent.parties)), dtype=np.int64)
    np.add.at(by_owner, (own.item_of_row, owners), weight)
    own.counts[:] *= weight
    near = None
    if params.near is not None:
        values = closeness.ideal(study, [weight * counts for counts in own.value_counts(params.watched)])
        near = Closeness.of(params.near, values, len(spent.parties))

    async def play() -> None:
        depth.restart()
        supply: JointNumbers = _Pair(params.k) if params.two else _Shares(channel, params.k)
        finder = _Finder(
            params, Lattice.of(table.trees), nodes, own, study_seed(study), supply, known, near=near, weight=weight
        )
        turns = np.array([sorted(spent.parties).index(name) for name in spent.parties])[owners]
        lending = Lending.of(study, params, own, turns, finder.lattice, nodes) if params.lend else None
        peeling = _Peeling(finder, lending=lending, by_owner=by_owner)
        await gather(peeling.run(channel, lambda done: None), *(supply.work() for _ in range(LANES)))
        spent.rounds, spent.classes = depth.current(), len(peeling.classes.sizes)
        if params.refine and spent.classes:
            narrowing = Narrowing(np.stack(peeling.classes.boxes), table.trees)
            while len(asked := narrowing.questions()):
                spent.then(conjunction.COST, len(spent.parties), len(asked))
                narrowing.narrow(asked, narrowing.inside(asked, own.codes, own.label))

    with ThreadPoolExecutor(1) as beside:  # a plan may be made where an event loop runs already
        beside.submit(asyncio.run, play()).result()
    return spent
