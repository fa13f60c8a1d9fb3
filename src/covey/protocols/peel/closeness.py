"""Closeness of a tuple's sensitive values to the whole table's (t, equal distance), as a number tested with others.

Distance   half the sum over the values of |f / s - w|, where f of the tuple's s records and the part w of all have it.
Numbers    each party rounds a multiple of f - w s for its own records. x is twice their sum and 1: odd, so that it has
           a sign. From shares of |x| (`covey.secure.absolute`) follow shares of what t leaves over, which is 0 or more
           only where t is kept: what rounding may be off is taken from t first.
Reference  the counts of the values that k or more of all records have, but for one where another is rarer (as for
           quasi columns). So w lies between bounds; it is taken to be their middle, and what that may be off is taken
           from t too. No record is withheld where t is asked for: the whole table is what is published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import Aborted
from covey.protocols.peel.comparing import MOST
from covey.protocols.peel.marginals import Reaches
from covey.protocols.peel.measured import FRACTION, Measured
from covey.protocols.shared.peeling.marginals import RARE, WITHHELD, Marginals, opened_of
from covey.secure import sum as secure_sum
from covey.secure.declare import Leakage
from covey.study import Study
from covey.wire import Channel

COARSEST, FINEST = 1 << 10, 1 << 13
"""Bounds of the numbers |x|: the larger they may be, the less is lost by rounding, and the more a test costs."""
_FINEST_PART = 1 << 12
"""The largest denominator of what a set of values may have of a tuple."""

LEAKAGE = Leakage(
    everyone=(
        "which of the {values} sensitive values {k} or more records have, and how many records have each of these; one "
        "such value is left out in every column that also has a rarer one. The release tells all of them",
    )
)


def bound_of(values: int, parties: int) -> int:
    """The bound of |x| for a column of so many values: a power of two that makes rounding cost less than 1% of t."""
    return min(FINEST, max(COARSEST, 1 << (128 * values * (parties + 1) - 1).bit_length()))


def rounding(values: int, parties: int) -> Fraction:
    """The most by which rounding may be off, as a part of a tuple's records."""
    return Fraction(values * (parties + 1) + parties, bound_of(values, parties) - parties - 2)


@dataclass(frozen=True)
class Closeness(Measured):
    """t, and what is public of how often each sensitive value occurs in all records, all columns side by side."""

    records: int
    parties: int
    twice: Longs
    """The sum of the least and the most records that may have each value."""
    columns: tuple[slice, ...]
    left: tuple[Fraction, ...]
    """For each column t less what its frequencies may be off."""
    name = "near"
    rounds = True

    @classmethod
    def of(cls, wanted: Fraction, known: Marginals, parties: int) -> Closeness:
        """The rule where so much is known of the sensitive columns' frequencies."""
        bounds = [_bounds(known, counts) for counts in known.counts]
        ends = np.cumsum([0, *(len(low) for low, _ in bounds)]).tolist()
        off = [Fraction(int((high - low).sum()), 4 * known.records) for low, high in bounds]
        twice = np.concatenate([low + high for low, high in bounds])
        columns = tuple(slice(first, last) for first, last in pairwise(ends))
        return cls(known.records, parties, twice, columns, tuple(wanted - each for each in off))

    @property
    def bound(self) -> int:
        return max(bound_of(own.stop - own.start, self.parties) for own in self.columns)

    @property
    def most(self) -> int:
        return max(1, int(2 * self.bound * max(self.left)) + 1)

    def odd(self, below: Longs, counts: Longs, values: Longs, *, first: bool) -> Longs:
        far = 2 * self.records * values - self.twice * counts[:, np.newaxis]
        scale, part = 2 * (self.bound - self.parties - 2), 4 * self.records * below[:, np.newaxis]
        return np.asarray(2 * ((scale * far + part) // (2 * part)) + first, dtype=np.int64)

    def allowed(self, below: Longs, counts: Longs, values: Longs, *, first: bool) -> Longs:
        most, of_tuple = np.unique(below, return_inverse=True)
        scale = 2 * (self.bound - self.parties - 2) << FRACTION
        each = np.array([[scale * left // size for left in self.left] for size in most.tolist()], dtype=np.int64)
        off = np.array([(own.stop - own.start) * (self.parties + 1) * first for own in self.columns])
        each = each.reshape(-1, len(self.left))[of_tuple.ravel()]
        return np.asarray((each * counts[:, np.newaxis] >> FRACTION) - off, dtype=np.int64)

    def kept_exactly(self, counts: Longs, values: Longs) -> Bits:
        size, answer = counts.astype(object), np.ones(len(counts), dtype=bool)
        for own, left in zip(self.columns, self.left, strict=True):
            twice = self.twice[own].astype(object)
            far = np.abs(2 * self.records * values[:, own].astype(object) - twice * size[:, np.newaxis]).sum(axis=1)
            answer &= (far * left.denominator <= 4 * self.records * size * left.numerator).astype(bool)
        return answer

    @cached_property
    def sets(self) -> tuple[Longs, Longs, Longs]:
        """For two parties, all sets of a column's values (sets x values) with the part of a tuple that each may have.

        The part is a fraction, as exact as joint numbers below `MOST` allow, and never more than t says.
        """
        rows, parts, finest = [], [], min(_FINEST_PART, MOST // (self.records + 1))
        share = [Fraction(each, 2 * self.records) for each in self.twice.tolist()]
        for own, left in zip(self.columns, self.left, strict=True):
            for chosen in product((False, True), repeat=own.stop - own.start):
                signed = [part if inside else -part for part, inside in zip(share[own], chosen, strict=True)]
                most = left + (1 + sum(signed, Fraction(0))) / 2
                most = most if most.denominator <= finest else Fraction(math.floor(most * finest), finest)
                if most < 1 and (most < 0 or any(chosen)):
                    rows.append([0] * own.start + [int(inside) for inside in chosen] + [0] * (len(share) - own.stop))
                    parts.append((most.numerator, most.denominator))
        top, below = np.array(parts, dtype=np.int64).reshape(-1, 2).T
        return np.array(rows, dtype=np.int64).reshape(-1, len(share)), top, below

    def of_two(self, counts: Longs, values: Longs) -> Longs:
        """A party's part of numbers, tuples x sets, that are 0 or more where t is kept: between two."""
        sets, top, below = self.sets
        return np.asarray(top * counts[:, np.newaxis] - below * (values @ sets.T), dtype=np.int64)


def _bounds(known: Marginals, counts: Longs) -> tuple[Longs, Longs]:
    """The fewest and the most records that may have each value of a column."""
    hidden, rare = known.records - int(counts[counts >= 0].sum()), counts == RARE
    below = (known.k - 1) * int(rare.sum())
    low = np.where(rare, 0, np.where(counts == WITHHELD, max(known.k, hidden - below), counts))
    high = np.where(rare, min(known.k - 1, hidden), np.where(counts == WITHHELD, hidden, counts))
    return low.astype(np.int64), np.maximum(low, high).astype(np.int64)


async def learn(channel: Channel, study: Study, records: int, mine: Sequence[Longs], reaches: Reaches) -> Marginals:
    """The public part of the frequencies of sensitive values, from this party's counts of each column's values."""
    flat = np.concatenate(mine)
    ends = np.cumsum([len(own) for own in mine])[:-1]
    frequent = await reaches(channel.at("frequent"), flat.astype(np.uint64))
    opened = np.concatenate(_to_open(study, np.split(frequent, ends)))
    totals = np.zeros(len(flat), dtype=np.int64)
    totals[opened] = (await secure_sum.total(channel.at("counts"), flat[opened].astype(np.uint64))).astype(np.int64)
    if (totals < 0).any() or any(own.sum() > records for own in np.split(totals, ends)):
        raise Aborted("the joint numbers are impossible: a party did not keep to the protocol", resumable=False)
    return _known(study, records, np.split(totals, ends), np.split(frequent, ends))


def ideal(study: Study, counts: Sequence[Longs]) -> Marginals:
    """The same as a trusted party would publish it, from the joint counts of each column's values."""
    return _known(study, int(counts[0].sum()), counts, [own >= study.privacy.k for own in counts])


def _known(study: Study, records: int, counts: Sequence[Longs], frequent: Sequence[Bits]) -> Marginals:
    return Marginals.of(records, study.privacy.k, counts, frequent, _to_open(study, frequent))


def _to_open(study: Study, frequent: Sequence[Bits]) -> list[Bits]:
    """The values whose counts are opened, of each sensitive column; columns are counted on from the quasi columns."""
    return [opened_of(study, len(study.quasi) + place, own) for place, own in enumerate(frequent)]
