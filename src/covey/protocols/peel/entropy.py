"""Entropy of a class's sensitive values (l by entropy), as a number that is tested with others.

Measure    a class of s records keeps l if the sum of f ln(f / s) over the values, of which f records have each, is at
           most -s ln l. The curve r ln r is replaced by chords between some parts r of a class, which lie above it; and
           chords are sums of absolute values. So what is tested is the sum of d |f - r s| over values and parts, with
           the bend d of the chords at r: where it is small enough l is kept for sure.
Numbers    each party rounds a multiple of d (f - r s) for its own records, as for t (`closeness`); what rounding may be
           off counts against the class.
Precision  a class that keeps l by little is refused: chords lie up to .06 above the curve for values of 1/32 of a class
           or more, in natural logarithms, and `rounding` says what rounding may add. Rarer values count as 1/32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from covey.arrays import Bits, Longs
from covey.protocols.peel.measured import FRACTION, Measured

PARTS = (1, 2, 4, 6, 8, 12, 16, 24)
"""Parts of a class between which chords are drawn, in parts of OF: closer for large ones, which weigh more."""
OF = 32
WEIGHT = 1 << 12
"""The weight of the sharpest bend."""
COARSEST, FINEST = 1 << 12, 1 << 15
"""Bounds of the numbers |x|: the larger they may be, the less is lost by rounding, and the more a test costs."""
_DIGITS = Decimal("1e-9")


@dataclass(frozen=True)
class Entropy(Measured):
    """At least the entropy of l values that are equally frequent, in each column."""

    least: Fraction
    columns: tuple[slice, ...]
    parties: int
    name = "entropy"
    rounds = True

    @classmethod
    def of(cls, least: Fraction, values: Sequence[int], parties: int) -> Entropy:
        """The condition on columns that have so many values each."""
        ends = np.cumsum([0, *(len(PARTS) * own for own in values)]).tolist()
        return cls(least, tuple(slice(first, last) for first, last in pairwise(ends)), parties)

    @property
    def values(self) -> list[int]:
        """The number of values of each column."""
        return [(own.stop - own.start) // len(PARTS) for own in self.columns]

    @property
    def bound(self) -> int:
        wanted = 64 * max(self.values) * len(PARTS) * (self.parties + 1)
        return min(FINEST, max(COARSEST, 1 << (wanted - 1).bit_length()))

    @property
    def most(self) -> int:
        return 2 + max(int(2 * self.bound * (_logarithm(Fraction(own)) - self._lost) / _BEND) for own in self.values)

    @cached_property
    def _lost(self) -> Fraction:
        return _logarithm(self.least)

    @cached_property
    def _allowed(self) -> tuple[Fraction, ...]:
        """For each column what half of the sum of d |f - r s| may be at most, as a part of s."""
        slopes, bends = _chords()
        shared = -self._lost - slopes[0] - sum(bends, Fraction(0)) / 2
        return tuple(
            shared
            + own * sum((bend * Fraction(part, 2 * OF) for bend, part in zip(bends, PARTS, strict=True)), Fraction(0))
            for own in self.values
        )

    @property
    def rounding(self) -> Fraction:
        """The most by which rounding may be off, in natural logarithms, for the smallest tuples of their size."""
        places = max(self.values) * len(PARTS)
        return (places * (self.parties + 1) + self.parties) * _BEND / self._unit

    @property
    def reachable(self) -> bool:
        """True if values that are equally frequent keep it, whatever rounding does."""
        slopes, bends = _chords()
        for own in self.values:
            over = zip(bends, (Fraction(1, own) - Fraction(part, OF) for part in PARTS), strict=True)
            height = slopes[0] / own + sum((bend * max(part, Fraction(0)) for bend, part in over), Fraction(0))
            if -own * height - self._lost <= self.rounding:
                return False
        return True

    @property
    def _unit(self) -> int:
        return self.bound - self.parties - 2

    def odd(self, below: Longs, counts: Longs, values: Longs, *, first: bool) -> Longs:
        part = 2 * WEIGHT * OF * below[:, np.newaxis]
        scaled = self._unit * self._far(counts, values)
        return np.asarray(2 * ((2 * scaled + part) // (2 * part)) + first, dtype=np.int64)

    def allowed(self, below: Longs, counts: Longs, values: Longs, *, first: bool) -> Longs:
        most, of_tuple = np.unique(below, return_inverse=True)
        scale = 2 * self._unit << FRACTION
        each = [[scale * (own / _BEND) // size for own in self._allowed] for size in most.tolist()]
        off = np.array([(own.stop - own.start) * (self.parties + 1) * first for own in self.columns])
        rates = np.array(each, dtype=np.int64).reshape(-1, len(self.values))[of_tuple.ravel()]
        return np.asarray((rates * counts[:, np.newaxis] >> FRACTION) - off, dtype=np.int64)

    def kept_exactly(self, counts: Longs, values: Longs) -> Bits:
        answer, far = np.ones(len(counts), dtype=bool), np.abs(self._far(counts, values))
        for own, part in zip(self.columns, self._allowed, strict=True):
            most = 2 * WEIGHT * OF * part / _BEND
            lacks = far[:, own].sum(axis=1).astype(object) * most.denominator
            answer &= (lacks <= counts.astype(object) * most.numerator).astype(bool)
        return answer

    def _far(self, counts: Longs, values: Longs) -> Longs:
        """The weight times OF f - r s, for each value and part (tuples x places)."""
        parts, weights = np.array(PARTS), np.array(_weights())
        far = OF * values[:, :, np.newaxis] - parts * counts[:, np.newaxis, np.newaxis]
        return np.asarray((weights * far).reshape(len(counts), self.width), dtype=np.int64)


def _logarithm(value: Fraction) -> Fraction:
    """The natural logarithm, or a little more: the same on every machine."""
    exact = Decimal(value.numerator).ln() - Decimal(value.denominator).ln()
    return Fraction(exact.quantize(_DIGITS, ROUND_CEILING) + _DIGITS)


def _chords() -> tuple[Sequence[Fraction], Sequence[Fraction]]:
    """The slopes of the chords, and how much each is steeper than the one before."""
    places = [Fraction(part, OF) for part in (0, *PARTS, OF)]
    heights = [Fraction(0), *(place * _logarithm(place) for place in places[1:-1]), Fraction(0)]
    rises = zip(pairwise(places), pairwise(heights), strict=True)
    slopes = [(after - before) / (right - left) for (left, right), (before, after) in rises]
    return slopes, [after - before for before, after in pairwise(slopes)]


def _weights() -> list[int]:
    """The bends as whole numbers, of which the sharpest is WEIGHT; none is less than it is."""
    return [-(-WEIGHT * bend // _BEND) for bend in _chords()[1]]


_BEND = max(_chords()[1])
