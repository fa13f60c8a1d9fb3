"""Diversity of a class, jointly: everyone learns if each sensitive value has at most 1/l of its records, and no more.

A value fits if a c - b f lies in 0 … a c, where f of the c records have it and l = b / a. The parties find, by tests,
between which powers of two times k the count c lies; then one opening says whether all values fit. That is two times
two exchanges: all powers of two that were ever needed are tested at once, and all tuples, whatever their size.
"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.field import F31
from covey.protocols.peel.supply import JointNumbers
from covey.secure.threshold_test import Prepared
from covey.wire import Channel, gather

LARGEST = 1 << 13
"""The largest bound that is tested; of tuples too large for that the joint numbers of records per value are opened."""
_TESTS = 1 << 15


@dataclass
class DiversityOpenings:
    """Counts of what tests of diversity opened."""

    tuples: int = 0
    failed: int = 0
    rungs: int = 1
    """The number of powers of two times k that tuples were compared with so far."""
    opened: int = 0
    """Tuples so large that the numbers of records per value were opened."""


@dataclass(frozen=True)
class Histograms:
    """Some tuples' records: how many there are, and how many have each value of the watched columns."""

    counts: Longs
    values: Longs  # tuples x values of all columns
    of_all: Longs | None = None
    """For each value the number of records of which it may have a part (tuples x values); None where it is `counts`."""

    @classmethod
    def join(cls, parts: Sequence[Histograms]) -> Histograms:
        """All of these, in order."""
        return cls(np.concatenate([part.counts for part in parts]), np.concatenate([part.values for part in parts]))

    @classmethod
    def by_party(cls, counts: Longs) -> Histograms:
        """The parties (tuples x parties) in place of the values: diverse is what no party has too much of."""
        return cls(counts.sum(axis=1), counts)

    def without_each(self, me: int, parties: int) -> Histograms:
        """The same without the records of each party in turn; this party, whose place is `me`, has none without its."""
        width = self.values.shape[1]
        values = np.tile(self.values, parties)
        of_all = np.repeat(self.counts[:, np.newaxis], values.shape[1], axis=1)
        values[:, me * width : (me + 1) * width] = 0
        of_all[:, me * width : (me + 1) * width] = 0
        return Histograms(self.counts, values, of_all)

    def of(self, which: Longs | Bits) -> Histograms:
        """Those of some of the tuples."""
        return Histograms(self.counts[which], self.values[which], None if self.of_all is None else self.of_all[which])

    def spare(self, ratio: Fraction) -> Longs:
        """The distance of each value from too many records; below 0 where it has them."""
        of_all = self.counts[:, np.newaxis] if self.of_all is None else self.of_all
        return np.asarray(ratio.denominator * of_all - ratio.numerator * self.values)

    def diverse(self, ratio: Fraction) -> Bits:
        """The tuples that are diverse."""
        return np.asarray((self.spare(ratio) >= 0).all(axis=1))


async def diverse(
    channel: Channel,
    tests: JointNumbers,
    ratio: Fraction,
    k: int,
    most: int,
    own: Histograms,
    seen: DiversityOpenings,
) -> Bits:
    """The tuples that are diverse, given this party's part of their histograms; `most` bounds their counts.

    Every tuple must have k or more records. Each call needs a step of its own.
    """
    number, bounds = len(own.counts), _bounds(k, ratio)
    answer = np.zeros(number, dtype=bool)
    rung = await _rungs(channel.at("size"), tests, [bound for bound in bounds if bound <= most], own.counts, seen)
    huge = np.flatnonzero(rung == len(bounds))
    pieces = [
        (bounds[place], part)
        for place in range(len(bounds))
        for part in _cut(np.flatnonzero(rung == place), max(1, _TESTS // own.values.shape[1]))
    ]
    if len(huge):
        answer[huge] = await _open(channel.at("huge"), tests, ratio, own.of(huge))
    for turn, some in enumerate(_together(pieces, own.values.shape[1])):
        at = channel.at("fit", turn)
        work = [_fit(at.at(place), tests, ratio, bound, own.of(here)) for place, (bound, here) in enumerate(some)]
        for (_, here), fits in zip(some, await gather(*work), strict=True):
            answer[here] = fits
    seen.tuples += number
    seen.failed += int((~answer).sum())
    seen.opened += len(huge)
    return answer


def _bounds(k: int, ratio: Fraction) -> list[int]:
    """The powers of two times k that can be tested."""
    bounds = [2 * k]
    while bounds[-1] * ratio.denominator <= LARGEST:
        bounds.append(2 * bounds[-1])
    return bounds[:-1]


def opened_from(k: int, ratio: Fraction) -> int:
    """From how many records on a tested tuple's numbers of records per value are opened."""
    return [k, *_bounds(k, ratio)][-1]


async def _rungs(
    channel: Channel, tests: JointNumbers, bounds: list[int], counts: Longs, seen: DiversityOpenings
) -> Longs:
    """For each tuple how many of the bounds it reaches: at once for those needed before, then one by one."""
    answer = np.zeros(len(counts), dtype=np.int64)
    waiting, first = np.arange(len(counts)), 0
    while len(waiting) and first < len(bounds):
        last = min(max(first + 1, seen.rungs), len(bounds))
        mine, asked = counts[waiting], bounds[first:last]
        ordered = [tests.prepared("size", bound, len(mine)) for bound in asked]
        at = [channel.at(bound) for bound in asked]
        work = [_reaches(step, tests, own, mine) for step, own in zip(at, ordered, strict=True)]
        larger = np.logical_and.accumulate(np.stack(await gather(*work)), axis=0)
        answer[waiting] += larger.sum(axis=0)
        waiting, first = waiting[larger[-1]], last
    seen.rungs = max(seen.rungs, int(answer.max(initial=0)) + 1)
    return answer


async def _reaches(channel: Channel, tests: JointNumbers, ordered: Awaitable[Prepared], mine: Longs) -> Bits:
    return np.asarray(await tests.open_products(channel, await ordered, mine) != 0)


def _fit(
    channel: Channel, tests: JointNumbers, ratio: Fraction, below: int, own: Histograms
) -> Coroutine[object, object, Bits]:
    """The tuples of fewer than `below` records that are diverse. The tests are ordered by the call itself."""
    spare = own.spare(ratio)
    ordered = tests.prepared("fit", below * ratio.denominator, spare.size, F31)  # numbers may be negative
    return _all_fit(channel, tests, ordered, spare.ravel(), spare.shape[1])


async def _all_fit(
    channel: Channel, tests: JointNumbers, ordered: Awaitable[Prepared], mine: Longs, width: int
) -> Bits:
    return np.asarray(await tests.open_products(channel, await ordered, mine, together=width) == 0)


def _cut(places: Longs, most: int) -> list[Longs]:
    return [places[start : start + most] for start in range(0, len(places), most)]


def _together(pieces: list[tuple[int, Longs]], width: int) -> Iterator[list[tuple[int, Longs]]]:
    """Pieces that are tested at once: as many as memory is meant to hold."""
    some: list[tuple[int, Longs]] = []
    for piece in pieces:
        if some and sum(len(here) for _, here in (*some, piece)) * width > _TESTS:
            yield some
            some = []
        some.append(piece)
    if some:
        yield some


async def _open(channel: Channel, tests: JointNumbers, ratio: Fraction, own: Histograms) -> Bits:
    parts = [own.counts, own.values, *(() if own.of_all is None else (own.of_all,))]
    mine = np.concatenate([part.ravel() for part in parts]).astype(np.uint64)
    total = (await tests.total(channel.at("values"), mine)).astype(np.int64)
    ends = np.cumsum([part.size for part in parts])[:-1]
    opened = [each.reshape(part.shape) for each, part in zip(np.split(total, ends), parts, strict=True)]
    return Histograms(*opened).diverse(ratio)
