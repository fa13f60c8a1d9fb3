"""The chance to guess a cell from its position: the paper's formula, and the correct one.

Source    Xue and others, sections VI-B and VII-A, Tables II and III. A position is a sum of b + c joint numbers. The
          paper counts one uniform number for each. But a joint number is the sum of two, so its mean and variance are
          doubled; and the collector, who alone sees positions, knows one of the two. So its chance is about twice as
          high as the paper says.

All three are of the form 2 Phi(x) - 1, away from the ends of the curve, for whoever knows nothing else:

    the paper       x = mean / (2 deviation sqrt(b + c))
    an outsider     x = mean / (deviation sqrt(2 (b + c)))
    the collector   x = mean / (deviation sqrt(b + c))

An *anchor*, someone whose cell the collector knows, replaces b + c by the distance: b protects against no one who is
known. `attack` measures that, the ends, and all positions together with the released classes.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()
ACCEPTED = 0.1
"""The chance that the paper aims at."""


def spread(low: float, high: float) -> tuple[float, float]:
    """Mean and standard deviation of a uniform number between the two."""
    return (low + high) / 2, (high - low) / math.sqrt(12)


def paper_chance(low: float, high: float, summands: float) -> float:
    """The chance that the paper's Tables II and III print for so many joint numbers."""
    mean, deviation = spread(low, high)
    return _within(mean / (2 * deviation * math.sqrt(summands)))


def outsider_chance(low: float, high: float, summands: float) -> float:
    """The chance of someone who sees a position and knows none of the random numbers."""
    mean, deviation = spread(low, high)
    return _within(mean / (deviation * math.sqrt(2 * summands)))


def collector_chance(low: float, high: float, summands: float) -> float:
    """The chance of the collector, who drew half of the random numbers."""
    mean, deviation = spread(low, high)
    return _within(mean / (deviation * math.sqrt(summands)))


def offset_needed(low: float, high: float, chance: float = ACCEPTED) -> int:
    """The b that keeps the collector's chance from one position alone at or below `chance`, away from the ends."""
    mean, deviation = spread(low, high)
    reach = _NORMAL.inv_cdf((1 + chance) / 2)
    return math.ceil((mean / (deviation * reach)) ** 2)


def _within(deviations: float) -> float:
    return 2 * _NORMAL.cdf(deviations) - 1
