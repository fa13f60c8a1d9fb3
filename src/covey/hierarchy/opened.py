"""Hierarchies whose domain the study does not list: flat values, prefix masks of codes, intervals.

Each says, from the study alone, how much of the domain a label stands for; `close` makes the tree over
the values at hand, for the algorithms. A protocol that must agree on a domain needs it listed in the study
(`values`); the centralized algorithms do not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from covey.cells import SUPPRESSED, Kind, number, spell
from covey.errors import InputError
from covey.hierarchy.numbers import label as interval_label
from covey.hierarchy.tree import Hierarchy

_INTERVAL = re.compile(r"\[([^,\[\]]+), ([^,\[\]]+)\]")
_MOST_DIGITS = 17
_LEVELS_OF_INTERVALS = 8


@dataclass(frozen=True)
class Flat:
    """A value, or `*`: a leaf costs nothing and the root everything, however many values there are."""

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
        """The part of the domain that a label stands for: 0 for a leaf, 1 for the root."""
        return 1.0 if label == SUPPRESSED else 0.0

    def covers(self, label: str, value: str) -> bool:
        return label in (SUPPRESSED, value)

    def describe(self) -> object:
        return "flat"


@dataclass(frozen=True)
class Prefix:
    """Codes whose tails are masked: `{ prefix = [4, 3, 2] }` turns 12345 into 1234*, 123*, 12*, then *.

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

    def close(self, values: Sequence[str], *, listed: bool = False) -> Hierarchy:
        leaves = sorted(set(values)) or [" "]
        for value in leaves:
            if value.endswith(SUPPRESSED):
                raise InputError("a code ends with *, which marks a masked tail; rename it in the data")
        tree = Hierarchy.from_paths([self.path(value) for value in leaves], self.kind)
        if listed:
            return tree
        width = self.keep[0] + 1
        sizes = np.ones(tree.nodes, dtype=np.int64)
        for node in range(tree.leaves, tree.nodes):
            kept = len(tree.labels[node]) - 1
            sizes[node] = 10 ** (width - kept)
        return Hierarchy(tree.labels, tree.up, kind=self.kind, sizes=sizes)

    def level(self, label: str) -> int | None:
        if not label.endswith(SUPPRESSED):
            return 0
        kept = len(label) - 1
        if kept == 0:
            return self.height
        return self.keep.index(kept) + 1 if kept in self.keep else None

    def share(self, label: str) -> float | None:
        level = self.level(label)
        if not level:
            return level
        width = self.keep[0] + 1
        return float((10 ** (width - len(label) + 1) - 1) / (10**width - 1))

    def covers(self, label: str, value: str) -> bool:
        return label in (SUPPRESSED, value) or label in self.path(value)

    def describe(self) -> object:
        return {"prefix": list(self.keep)}


@dataclass(frozen=True)
class Interval:
    """A column of numbers published as `[lo, hi]`; a cell costs its width as a part of the range."""

    low: Decimal | None = None
    high: Decimal | None = None
    kind: Kind = "number"
    closed = False
    height = _LEVELS_OF_INTERVALS + 1

    def close(self, values: Sequence[str]) -> Hierarchy:
        """Halves of halves over the values at hand; each label's ends are values that occur below it."""
        known = sorted({found for value in values if (found := number(value)) is not None})
        if not known:
            known = [self.low or Decimal(0)]
        low = known[0] if self.low is None else self.low
        high = known[-1] if self.high is None else self.high
        if known[0] < low or known[-1] > high:
            raise InputError(f"values outside the column's range [{spell(low)}, {spell(high)}]")
        span = high - low
        levels = min(_LEVELS_OF_INTERVALS, max(1, (len(known) - 1).bit_length()))
        parts = [_halves(known, low, span, 2**power) for power in range(levels, 0, -1)]
        columns = [[spell(value) for value in known], *parts]
        paths = [[*path, SUPPRESSED] for path in zip(*columns, strict=True)]
        tree = Hierarchy.from_paths(paths, "number")
        unit = Decimal(10**9)
        ends = [(known[a], known[b]) for a, b in zip(tree.first, tree.last, strict=True)]
        widths = [int((b - a) / span * unit) + 1 if span else 1 for a, b in ends]
        widths[tree.root] = int(unit) + 1
        return Hierarchy(tree.labels, tree.up, kind="number", sizes=np.array(widths, dtype=np.int64))

    def ends(self, label: str) -> tuple[Decimal, Decimal] | None:
        """The interval that a released cell spells; a single value is an interval of no width."""
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
        ends = self.ends(label)
        if ends is None or self.low is None or self.high is None:
            return None
        span = self.high - self.low
        return float((ends[1] - ends[0]) / span) if span else 0.0

    def covers(self, label: str, value: str) -> bool:
        found, ends = number(value), self.ends(label)
        if label == SUPPRESSED:
            return True
        return found is not None and ends is not None and ends[0] <= found <= ends[1]

    def describe(self) -> object:
        ends = None if self.low is None or self.high is None else [spell(self.low), spell(self.high)]
        return {"interval": ends}


def _halves(known: Sequence[Decimal], low: Decimal, span: Decimal, parts: int) -> list[str]:
    """Each value's part of the range cut into that many equal parts, labelled by the values that occur in it."""
    part_of = [min(parts - 1, int((value - low) / span * parts)) if span else 0 for value in known]
    ends: dict[int, tuple[Decimal, Decimal]] = {}
    for part, value in zip(part_of, known, strict=True):
        ends[part] = (ends[part][0], value) if part in ends else (value, value)
    return [interval_label(*ends[part]) for part in part_of]


Open = Flat | Prefix | Interval
