"""Hierarchies whose domain the study does not list: flat values, prefix masks of codes, intervals.

Each says, from the study alone, how much of the domain a label stands for; `close` makes the tree over
the values at hand, for the algorithms. A protocol that must agree on a domain needs it listed in the study
(`values`); the centralized algorithms do not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

import numpy as np

from covey.cells import SUPPRESSED, Kind, number, spell
from covey.errors import InputError
from covey.hierarchy.numbers import label as interval_label
from covey.hierarchy.tree import Hierarchy

_INTERVAL = re.compile(r"\[([^,\[\]]+), ([^,\[\]]+)\]")
_MOST_DIGITS = 17
_LEVELS_OF_INTERVALS = 8
_STEPS_OF_A_RANGE = 20


@dataclass(frozen=True)
class Flat:
    """A value, or `*`. A leaf costs nothing and the root everything."""

    kind: Kind = "text"
    closed = False
    height = 1

    def close(self, values: Sequence[str]) -> Hierarchy:
        leaves = sorted(set(values))
        if not leaves:
            leaves = [" "]
        tree = Hierarchy.from_paths([(value, SUPPRESSED) for value in leaves], self.kind)
        sizes = np.ones(tree.nodes, dtype=np.int64)
        sizes[tree.root] = max(2, tree.leaves)
        return Hierarchy(tree.labels, tree.up, kind=self.kind, sizes=sizes)

    def level(self, label: str) -> int | None:
        return 1 if label == SUPPRESSED else 0

    def share(self, label: str) -> float | None:
        """The part of the domain that a label stands for, from 0 to 1."""
        return 1.0 if label == SUPPRESSED else 0.0

    def describe(self) -> object:
        return "flat"


@dataclass(frozen=True)
class Prefix:
    """Codes with masked tails. `{ prefix = [4, 3, 2] }` turns 12345 into 1234*, 123*, 12*, then *.

    Unless the study lists the values, a masked character stands for ten, so that on five-digit codes `12*`
    stands for 10^3 of 10^5.
    """

    keep: tuple[int, ...]
    kind: Kind = "text"
    closed = False

    def __post_init__(self) -> None:
        falling = all(a > b for a, b in zip(self.keep, self.keep[1:], strict=False))
        if not self.keep or not falling or self.keep[-1] < 1 or self.keep[0] > _MOST_DIGITS:
            raise InputError(f"prefix takes lengths from {_MOST_DIGITS} down to 1, each shorter than the one before")

    @property
    def height(self) -> int:
        return len(self.keep) + 1

    def path(self, value: str) -> tuple[str, ...]:
        masks = [value if len(value) <= keep else value[:keep] + SUPPRESSED for keep in self.keep]
        return (value, *masks, SUPPRESSED)

    def close(self, values: Sequence[str], *, closed: bool = False) -> Hierarchy:
        leaves = sorted(set(values)) or [" "]
        for value in leaves:
            if value.endswith(SUPPRESSED):
                raise InputError("a code ends with *, which marks a masked tail; rename it in the data")
        tree = Hierarchy.from_paths([self.path(value) for value in leaves], self.kind)
        if closed:
            return tree
        width = self.keep[0] + 1
        sizes = np.ones(tree.nodes, dtype=np.int64)
        for node in range(tree.leaves, tree.nodes):
            length = len(tree.labels[node]) - 1
            sizes[node] = 10 ** (width - length)
        return Hierarchy(tree.labels, tree.up, kind=self.kind, sizes=sizes)

    def level(self, label: str) -> int | None:
        if not label.endswith(SUPPRESSED):
            return 0
        length = len(label) - 1
        if length == 0:
            return self.height
        return self.keep.index(length) + 1 if length in self.keep else None

    def share(self, label: str) -> float | None:
        level = self.level(label)
        if not level:
            return level
        width = self.keep[0] + 1
        return float((10 ** (width - len(label) + 1) - 1) / (10**width - 1))

    def describe(self) -> object:
        return {"prefix": list(self.keep)}


@dataclass(frozen=True)
class Interval:
    """A column of numbers published as `[lo, hi]`. A cell costs its width as a part of the range.

    The ends are multiples of a public step at or beyond the class's least and greatest value, and never equal: who
    reads them learns the values to a step, and nobody's own.
    """

    low: Decimal | None = None
    high: Decimal | None = None
    step: Decimal = Decimal(1)
    kind: Kind = "number"
    closed = False
    height = _LEVELS_OF_INTERVALS + 1

    def outward(self, low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
        """The published ends of an interval with these values: the nearest steps around them."""
        first, last = _steps_below(low, self.step), -_steps_below(-high, self.step)
        if first == last:
            at_the_end = self.high is not None and (last + 1) * self.step > self.stop_of(self.high)
            first, last = (first - 1, last) if at_the_end else (first, last + 1)
        return first * self.step, last * self.step

    def stop_of(self, high: Decimal) -> Decimal:
        """The step at or above the end of the range. Above it where the range is that one step."""
        last = -_steps_below(-high, self.step)
        single = self.low is not None and last == _steps_below(self.low, self.step)
        return (last + 1 if single else last) * self.step

    def whole(self) -> tuple[Decimal, Decimal] | None:
        """The range, rounded outward to steps."""
        if self.low is None or self.high is None:
            return None
        return _steps_below(self.low, self.step) * self.step, self.stop_of(self.high)

    def is_step(self, value: Decimal) -> bool:
        """True if the value is a multiple of the step."""
        return _steps_below(value, self.step) * self.step == value

    def on_steps(self, label: str) -> bool:
        """True if a released cell is no interval, or one whose ends are two steps. A single value is somebody's."""
        ends = self.ends(label)
        return ends is None or (ends[0] < ends[1] and all(map(self.is_step, ends)))

    def close(self, values: Sequence[str]) -> Hierarchy:
        """Halves of halves over the range, or that of the values at hand. Every end is a step."""
        numbers = sorted({parsed for value in values if (parsed := number(value)) is not None})
        if not numbers:
            numbers = [self.low or Decimal(0)]
        if (self.low is not None and numbers[0] < self.low) or (self.high is not None and numbers[-1] > self.high):
            low, high = self.low or Decimal(0), self.high or Decimal(0)
            raise InputError(f"values outside the column's range [{spell(low)}, {spell(high)}]")
        start, stop = self.whole() or self.outward(numbers[0], numbers[-1])
        power = max(1, (int((stop - start) / self.step) - 1).bit_length())
        powers = range(max(0, power - _LEVELS_OF_INTERVALS), power)
        parts = [[_part(value, self.step * 2**exponent, start, stop) for value in numbers] for exponent in powers]
        columns = [[spell(value) for value in numbers], *([interval_label(*ends) for ends in part] for part in parts)]
        paths = [[*path, SUPPRESSED] for path in zip(*columns, strict=True)]
        tree = Hierarchy.from_paths(paths, "number")
        unit = Decimal(10**9)
        sizes = np.ones(tree.nodes, dtype=np.int64)
        for node in range(tree.leaves, tree.nodes):
            low, high = self.ends(tree.labels[node]) or (start, stop)
            sizes[node] = int((high - low) / (stop - start) * unit) + 1
        return Hierarchy(tree.labels, tree.up, kind="number", sizes=sizes)

    def ends(self, label: str) -> tuple[Decimal, Decimal] | None:
        """The interval that a released cell spells. A single value is an interval of no width."""
        single = number(label)
        if single is not None:
            return single, single
        match = _INTERVAL.fullmatch(label)
        if match is None:
            return None
        low, high = number(match[1]), number(match[2])
        return None if low is None or high is None or low > high else (low, high)

    def level(self, label: str) -> int | None:
        if label == SUPPRESSED:
            return self.height
        ends = self.ends(label)
        return None if ends is None else int(ends[0] != ends[1])

    def share(self, label: str) -> float | None:
        if label == SUPPRESSED:
            return 1.0
        ends, bounds = self.ends(label), self.whole()
        return None if ends is None or bounds is None else float((ends[1] - ends[0]) / (bounds[1] - bounds[0]))

    def describe(self) -> object:
        ends = None if self.low is None or self.high is None else [spell(self.low), spell(self.high)]
        return {"interval": ends, "step": spell(self.step)}


def public_step(low: Decimal, high: Decimal, parts: int = _STEPS_OF_A_RANGE) -> Decimal:
    """The step of a range without one: 1, 2 or 5 times a power of ten."""
    width = (high - low) / parts or Decimal(1)
    ten = Decimal(1).scaleb(width.adjusted())
    return min((ten * factor for factor in (1, 2, 5, 10)), key=lambda step: max(step / width, width / step))


def _steps_below(value: Decimal, step: Decimal) -> int:
    """The number of steps from 0 to the last one at or below a value."""
    return int((value / step).to_integral_value(ROUND_FLOOR))


def _part(value: Decimal, width: Decimal, start: Decimal, stop: Decimal) -> tuple[Decimal, Decimal]:
    """The part of a value if the range is cut into parts of that width. The last one ends where the range does."""
    parts = -_steps_below(start - stop, width)
    part = min(_steps_below(value - start, width), parts - 1)
    return start + part * width, min(start + (part + 1) * width, stop)


Open = Flat | Prefix | Interval
