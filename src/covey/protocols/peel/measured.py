"""Conditions on a tuple's sensitive values that are measured by absolute values of joint odd numbers.

Each value of a column has an odd number x, the sum of the parties' parts. What the column is allowed less the sum of
its |x| is 0 or more where the condition is kept; that difference is tested, and nothing else is opened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from covey.arrays import Bits, Longs

FRACTION = 20
"""Bits behind the point of what a condition allows for each record."""


class Measured(ABC):
    """A condition that is measured so."""

    name: str
    """The step of its tests."""
    columns: tuple[slice, ...]
    """The places of each column's numbers x, all columns side by side."""
    rounds: bool = False
    """True if the parties round, so that what is tested depends on who has which records."""

    @property
    def width(self) -> int:
        """The number of numbers x of a tuple."""
        return int(self.columns[-1].stop)

    @property
    @abstractmethod
    def bound(self) -> int:
        """The bound of every |x|."""

    @property
    @abstractmethod
    def most(self) -> int:
        """The bound of what is tested."""

    @abstractmethod
    def odd(self, below: Longs, counts: Longs, values: Longs, *, first: bool) -> Longs:
        """A party's part of the numbers x of tuples that have fewer than `below` records each; one party is first."""

    @abstractmethod
    def allowed(self, below: Longs, counts: Longs, values: Longs, *, first: bool) -> Longs:
        """A party's part of what |x| may add up to, tuples x columns."""

    @abstractmethod
    def kept_exactly(self, counts: Longs, values: Longs) -> Bits:
        """The tuples that keep it for sure, from joint numbers."""

    def kept(self, below: Longs, parts: Sequence[tuple[Longs, Longs]]) -> Bits:
        """The answer of the test, from each party's numbers of records of the tuples and of their values."""
        odd = np.sum([self.odd(below, *own, first=not place) for place, own in enumerate(parts)], axis=0)
        left = np.sum([self.allowed(below, *own, first=not place) for place, own in enumerate(parts)], axis=0)
        far = np.stack([np.abs(odd[:, own]).sum(axis=1) for own in self.columns], axis=1)
        return np.asarray((left >= far).all(axis=1))


@dataclass(frozen=True)
class Distinct(Measured):
    """At least so many different values: x is twice the number of parties that have a value, less 1.

    |x| is x but for a value that nobody has, whose |x| is x and 2. So the size of a tuple does not matter, and its
    records are not counted.
    """

    least: int
    columns: tuple[slice, ...]
    parties: int
    name = "distinct"

    @property
    def bound(self) -> int:
        return 2 * self.parties

    @property
    def most(self) -> int:
        return 2 * int(max(own.stop - own.start for own in self.columns)) + 1

    def odd(self, below: Longs, counts: Longs, values: Longs, *, first: bool) -> Longs:
        return np.asarray(2 * (values > 0) - int(first), dtype=np.int64)

    def allowed(self, below: Longs, counts: Longs, values: Longs, *, first: bool) -> Longs:
        odd = self.odd(below, counts, values, first=first)
        lacking = [2 * (own.stop - own.start - self.least) * first for own in self.columns]
        held = np.stack([odd[:, own].sum(axis=1) for own in self.columns], axis=1)
        return np.asarray(held + np.array(lacking), dtype=np.int64)

    def too_few(self) -> list[list[int]]:
        """All sets of values, of one column each, that are one too few."""
        ranges = [range(own.start, own.stop) for own in self.columns]
        return [list(few) for values in ranges for few in combinations(values, self.least - 1)]

    def kept_exactly(self, counts: Longs, values: Longs) -> Bits:
        return np.asarray(np.all([(values[:, own] > 0).sum(axis=1) >= self.least for own in self.columns], axis=0))
