"""Diversity of a class, jointly: everyone learns if each sensitive value has at most 1/l of its records, and no more.

A value fits if a c - b f lies in 0 … a c, where f of the c records have it and l = b / a. The parties find, by tests,
between which powers of two times k the count c lies; then one opening says whether all values fit. That is two times
two exchanges: all powers of two that were ever needed are tested at once, and all tuples, whatever their size. With t,
the same opening says whether also t is kept (`covey.protocols.peel.closeness`), which takes three exchanges more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.field import F31
from covey.protocols.peel.closeness import Closeness
from covey.protocols.peel.entropy import Entropy
from covey.protocols.peel.measured import Distinct, Measured
from covey.protocols.peel.supply import JointNumbers
from covey.secure.absolute import Signs
from covey.secure.threshold_test import Prepared
from covey.wire import Channel, gather
from covey.wire.depth import while_sending

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

    def note(self, kept: Bits) -> Bits:
        """Counts tuples of which it became known whether they are kept, and returns that."""
        self.tuples += len(kept)
        self.failed += int((~kept).sum())
        return kept


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


@dataclass(frozen=True)
class Conditions:
    """The conditions on a tuple's sensitive values: no value has more than one of `ratio` of its records, and more."""

    ratio: Fraction | None
    near: Closeness | None = None
    distinct: Distinct | None = None
    entropy: Entropy | None = None

    @property
    def measured(self) -> list[Measured]:
        """Those that are measured by absolute values."""
        return [each for each in (self.distinct, self.entropy, self.near) if each is not None]

    @property
    def any(self) -> bool:
        """True if there are any."""
        return self.ratio is not None or bool(self.measured)

    @property
    def sized(self) -> bool:
        """True if it matters how many records a tuple has."""
        return self.ratio is not None or any(rule.rounds for rule in self.measured)

    def bounds(self, k: int) -> list[int]:
        """The powers of two times k that a tuple's records can be compared with."""
        return _bounds(k, Fraction(1) if self.ratio is None else self.ratio)

    def of_two(self, own: Histograms, *, first: bool) -> Longs:
        """A party's part of numbers, tuples x conditions, that are 0 or more where all is kept: between two."""
        spare = [] if self.ratio is None else [own.spare(self.ratio)]
        if self.distinct is not None:
            few = self.distinct.too_few()  # somebody has another value than these
            spare += [(own.counts - own.values[:, each].sum(axis=1) - first)[:, np.newaxis] for each in few]
        if self.near is not None:
            spare.append(self.near.of_two(own.counts, own.values))
        return np.concatenate(spare, axis=1)

    def bound(self, below: int) -> int:
        """The bound of what is tested of tuples with fewer records than that."""
        spare = 1 if self.ratio is None else below * self.ratio.denominator
        return max(spare, *(each.most for each in self.measured)) if self.measured else spare

    def kept_exactly(self, joint: Histograms) -> Bits:
        """The tuples that keep them, from joint numbers."""
        answer = np.ones(len(joint.counts), dtype=bool)
        if self.ratio is not None:
            answer &= joint.diverse(self.ratio)
        for each in self.measured:
            answer &= each.kept_exactly(joint.counts, joint.values)
        return answer

    def kept(self, k: int, parts: Sequence[Histograms]) -> Bits:
        """A trusted party's answer, from every party's part: what the parties would learn."""
        counts, values = np.sum([own.counts for own in parts], axis=0), np.sum([own.values for own in parts], axis=0)
        joint = Histograms(counts, values)
        rounded = [rule for rule in self.measured if rule.rounds]
        if not rounded:
            return self.kept_exactly(joint)
        if self.near is not None and self.near.parties == 2:
            return np.asarray((self.of_two(joint, first=True) >= 0).all(axis=1))
        bounds = np.array(self.bounds(k), dtype=np.int64)
        rung = np.searchsorted(bounds, joint.counts, side="right")
        small, huge = np.flatnonzero(rung < len(bounds)), np.flatnonzero(rung == len(bounds))
        answer = replace(self, near=None, entropy=None).kept_exactly(joint)
        for rule in rounded:
            answer[small] &= rule.kept(bounds[rung[small]], [(own.counts[small], own.values[small]) for own in parts])
            answer[huge] &= rule.kept_exactly(joint.counts[huge], joint.values[huge])
        return answer


async def kept(
    channel: Channel,
    tests: JointNumbers,
    asked: Conditions,
    k: int,
    most: int,
    own: Histograms,
    seen: DiversityOpenings,
) -> Bits:
    """The tuples that keep what is asked, given this party's part of their histograms; `most` bounds their counts.

    Every tuple must have k or more records. Each call needs a step of its own.
    """
    bounds = np.array(asked.bounds(k) if asked.sized else [most + 1], dtype=np.int64)
    number, widths = len(own.counts), [rule.width for rule in asked.measured]
    values = max(own.values.shape[1], *widths, 1)
    answer = np.zeros(number, dtype=bool)
    signs: list[Signs] = []

    async def draw() -> None:
        signs.append(await tests.signs(channel.at("signs"), number * sum(widths)))

    rungs = _rungs(channel.at("size"), tests, bounds[bounds <= most].tolist(), own.counts, seen)
    rung = await while_sending(draw(), rungs)
    huge = np.flatnonzero(rung == len(bounds))
    alike = [rung < len(bounds)] if asked.measured else [rung == place for place in range(len(bounds))]
    pieces = [piece for some in alike for piece in _cut(np.flatnonzero(some), max(1, _TESTS // values))]
    if len(huge):
        answer[huge] = await _open(channel.at("huge"), tests, asked, own.of(huge))
    for turn, some in enumerate(_together(pieces, values)):
        at = channel.at("fit", turn)
        work = [
            _fit(at.at(place), tests, asked, bounds[rung[here]], own.of(here), _signs_of(signs[0], asked, own, here))
            for place, here in enumerate(some)
        ]
        for here, fits in zip(some, await gather(*work), strict=True):
            answer[here] = fits
    seen.opened += len(huge)
    return seen.note(answer)


def _bounds(k: int, ratio: Fraction) -> list[int]:
    """The powers of two times k that can be tested."""
    bounds = [2 * k]
    while bounds[-1] * ratio.denominator <= LARGEST:
        bounds.append(2 * bounds[-1])
    return bounds[:-1]


def opened_from(k: int, ratio: Fraction | None) -> int:
    """From how many records on a tested tuple's numbers of records per value are opened."""
    return [k, *Conditions(ratio).bounds(k)][-1]


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


def _signs_of(signs: Signs, asked: Conditions, own: Histograms, here: Longs) -> list[Signs]:
    """The signs of some tuples, for each condition that needs them."""
    widths = [rule.width for rule in asked.measured]
    starts = len(own.counts) * np.cumsum([0, *widths])
    return [signs.of_rows(start, here, width) for start, width in zip(starts, widths, strict=False)]


def _fit(
    channel: Channel, tests: JointNumbers, asked: Conditions, below: Longs, own: Histograms, signs: list[Signs]
) -> Coroutine[object, object, Bits]:
    """The tuples, of fewer than `below` records each, that keep what is asked. Tests are ordered by the call itself."""
    spare = np.zeros((len(own.counts), 0), dtype=np.int64) if asked.ratio is None else own.spare(asked.ratio)
    width = spare.shape[1] + sum(len(rule.columns) for rule in asked.measured)
    signed = [tests.prepared(rule.name, rule.bound, len(own.counts) * rule.width, F31) for rule in asked.measured]
    ordered = tests.prepared("fit", asked.bound(int(below.max())), len(spare) * width, F31)  # numbers may be negative

    async def test() -> Bits:
        mine = [spare]
        for rule, each, random in zip(asked.measured, signed, signs, strict=True):
            mine.append(await _left(channel.at(rule.name), tests, rule, below, own, random, await each))
        whole = np.concatenate(mine, axis=1).ravel()
        return np.asarray(await tests.open_products(channel, await ordered, whole, together=width) == 0)

    return test()


async def _left(
    channel: Channel, tests: JointNumbers, rule: Measured, below: Longs, own: Histograms, signs: Signs, far: Prepared
) -> Longs:
    """This party's part of what a condition leaves over, tuples x columns: below 0 in all where it may not be kept."""
    first = channel.me == channel.parties[0]
    odd = rule.odd(below, own.counts, own.values, first=first)
    absolute = await tests.absolutes(channel, signs, far, odd.ravel())
    held = [absolute.reshape(odd.shape)[:, column].sum(axis=1) for column in rule.columns]
    return np.asarray(rule.allowed(below, own.counts, own.values, first=first) - np.stack(held, axis=1))


def _cut(places: Longs, most: int) -> list[Longs]:
    return [places[start : start + most] for start in range(0, len(places), most)]


def _together(pieces: list[Longs], width: int) -> Iterator[list[Longs]]:
    """Pieces that are tested at once: as many as memory is meant to hold."""
    some: list[Longs] = []
    for piece in pieces:
        if some and sum(map(len, (*some, piece))) * width > _TESTS:
            yield some
            some = []
        some.append(piece)
    if some:
        yield some


async def _open(channel: Channel, tests: JointNumbers, asked: Conditions, own: Histograms) -> Bits:
    parts = [own.counts, own.values, *(() if own.of_all is None else (own.of_all,))]
    mine = np.concatenate([part.ravel() for part in parts]).astype(np.uint64)
    total = (await tests.total(channel.at("values"), mine)).astype(np.int64)
    ends = np.cumsum([part.size for part in parts])[:-1]
    opened = [each.reshape(part.shape) for each, part in zip(np.split(total, ends), parts, strict=True)]
    return asked.kept_exactly(Histograms(*opened))
