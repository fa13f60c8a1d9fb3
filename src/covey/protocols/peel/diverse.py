"""Diversity of a class, jointly: whether each sensitive value has at most 1/l of its records, and nothing else.

A value fits if a c - b f lies in 0 … a c, where f of the c records have it and l = b / a. The parties find, by tests,
between which powers of two times k the count c lies; then one opening says whether all values fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from covey.crypto.field import F31
from covey.secure import sum as secure_sum
from covey.secure import threshold
from covey.wire import Channel

Longs = NDArray[np.int64]
Bits = NDArray[np.bool_]

LARGEST = 1 << 13
"""The largest bound that is tested; of larger tuples the joint numbers of records per value are opened."""
_TESTS = 1 << 15


@dataclass
class Watched:
    """What tests of diversity opened, counted."""

    tuples: int = 0
    failed: int = 0
    opened: int = 0
    """Tuples so large that the numbers of records per value were opened."""


@dataclass(frozen=True)
class Histograms:
    """Some tuples' records: how many there are, and how many have each value of the watched columns."""

    counts: Longs
    values: Longs  # tuples x values of all columns

    @classmethod
    def join(cls, parts: Sequence[Histograms]) -> Histograms:
        """All of these, in order."""
        return cls(np.concatenate([part.counts for part in parts]), np.concatenate([part.values for part in parts]))

    def of(self, which: Longs | Bits) -> Histograms:
        """Those of some of the tuples."""
        return Histograms(self.counts[which], self.values[which])

    def diverse(self, ratio: Fraction) -> Bits:
        """Which of the tuples are diverse."""
        return np.asarray(self.values.max(axis=1, initial=0) * ratio.numerator <= self.counts * ratio.denominator)


async def diverse(channel: Channel, ratio: Fraction, k: int, most: int, own: Histograms, seen: Watched) -> Bits:
    """Which tuples are diverse, given this party's part of their histograms; `most` bounds their counts.

    Every tuple must have k or more records. Each call needs a step of its own.
    """
    number = len(own.counts)
    answer = np.zeros(number, dtype=bool)
    waiting = np.arange(number)
    bound, turn = 2 * k, 0
    while len(waiting):
        at = channel.at(turn)
        if bound * ratio.denominator > LARGEST:
            answer[waiting] = await _open(at, ratio, own.of(waiting))
            seen.opened += len(waiting)
            break
        larger = np.zeros(len(waiting), dtype=bool)
        if bound <= most:
            prepared = await threshold.prepare(at.at("size"), bound, len(waiting))
            larger = await threshold.reaches(at.at("larger"), prepared, _elements(own.counts[waiting]))
        here = waiting[~larger]
        answer[here] = await _fit(at.at("fit"), ratio, bound, own.of(here))
        waiting = waiting[larger]
        bound, turn = 2 * bound, turn + 1
    seen.tuples += number
    seen.failed += int((~answer).sum())
    return answer


async def _fit(channel: Channel, ratio: Fraction, below: int, own: Histograms) -> Bits:
    """Which tuples of fewer than `below` records are diverse."""
    width = own.values.shape[1]
    spare = ratio.denominator * own.counts[:, np.newaxis] - ratio.numerator * own.values
    step = max(1, _TESTS // width)
    parts = [np.zeros(0, dtype=bool)]
    for start in range(0, len(spare), step):
        mine = _elements(spare[start : start + step].ravel())
        prepared = await threshold.prepare(channel.at("before", start), below * ratio.denominator, len(mine))
        parts.append(await threshold.all_below(channel.at("all", start), prepared, mine, together=width))
    return np.concatenate(parts)


async def _open(channel: Channel, ratio: Fraction, own: Histograms) -> Bits:
    mine = np.concatenate([own.counts, own.values.ravel()]).astype(np.uint64)
    total = (await secure_sum.total(channel.at("values"), mine)).astype(np.int64)
    number = len(own.counts)
    return Histograms(total[:number], total[number:].reshape(own.values.shape)).diverse(ratio)


def _elements(numbers: Longs) -> NDArray[np.uint64]:
    return (numbers % F31.prime).astype(np.uint64)
