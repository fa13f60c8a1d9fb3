"""Seeded draws that give the same sample data on every machine and with every numpy.

Only `Generator.random` is used: numpy promises the stream of its bit generator for good, but not how `choice`,
`normal` or `integers` turn it into numbers. The rest is built here from plain multiplication and comparison.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Draws:
    """A stream of draws for one purpose: another purpose, another label, and neither disturbs the other."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._generator = np.random.Generator(np.random.PCG64([seed, zlib.crc32(purpose.encode())]))

    def unit(self) -> float:
        """A number from 0 up to, but not, 1."""
        return float(self._generator.random())

    def chance(self, probability: float) -> bool:
        """True as often as the probability says."""
        return self.unit() < probability

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included, each as likely as the others."""
        return low + int(self.unit() * (high - low + 1))

    def around(self, mean: float, spread: float) -> float:
        """A bell-shaped number: twelve uniform draws, added, are close to normal and need no logarithm."""
        return mean + spread * (sum(self.unit() for _ in range(12)) - 6.0)

    def pick(self, weights: Mapping[T, float]) -> T:
        """One of the keys, in proportion to its weight; a key of weight 0 never."""
        remainder = self.unit() * sum(weights.values())
        candidates = [key for key, weight in weights.items() if weight > 0]
        for key in candidates:
            remainder -= weights[key]
            if remainder < 0:
                return key
        return candidates[-1]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in random order (Fisher and Yates)."""
        order = list(items)
        for i in range(len(order) - 1, 0, -1):
            j = self.between(0, i)
            order[i], order[j] = order[j], order[i]
        return order
