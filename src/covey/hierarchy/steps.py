"""Intervals between public steps as a tree over a domain that everyone knows: for protocols that find ends unseen.

Leaves are the steps of the range and the gaps between them, in turn, so that a value's code says whether it is a step;
they are never published. A class publishes the interval from the last step at or below its least value to the first at
or above its greatest, as `Interval.outward` has it; the whole range is `*`. Levels, halves of halves, are for grids.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

import numpy as np

from covey.arrays import Ints
from covey.cells import SUPPRESSED, number, spell
from covey.errors import InputError
from covey.hierarchy.numbers import label
from covey.hierarchy.opened import Interval
from covey.hierarchy.tree import Hierarchy

MOST_STEPS = 200
_WHOLE = 10**9


class StepTree(Hierarchy):
    """The tree of an interval column with a public range."""

    def __init__(self, interval: Interval) -> None:
        """Raises InputError for a range of more steps than there may be."""
        bounds = interval.whole()
        if bounds is None:
            raise InputError("intervals need a public range here (range = [17, 90])")
        self._interval, (start, stop) = interval, bounds
        count = int((stop - start) / interval.step)
        if count > MOST_STEPS:
            raise InputError(f"its range has {count:,} steps; {MOST_STEPS} can be told apart: make `step` larger")
        ends = [start + interval.step * index for index in range(count + 1)]
        leaves = [text for low, high in pairwise(ends) for text in (spell(low), _gap(low, high))]
        pairs = [(low, high) for low in range(count) for high in range(low + 1, count + 1)]
        codes = 2 * count + 1
        self._node = np.full((count + 1, count + 1), -1, dtype=np.int32)
        for index, pair in enumerate(pairs):
            self._node[pair] = codes + index
        labels = [SUPPRESSED if pair == (0, count) else label(ends[pair[0]], ends[pair[1]]) for pair in pairs]
        widths = np.array([high - low for low, high in pairs], dtype=np.int64)
        super().__init__(
            [*leaves, spell(stop), *labels],
            self._levels(count),
            kind="number",
            sizes=np.concatenate([np.ones(codes, dtype=np.int64), widths * _WHOLE // count + 1]),
        )
        base = np.arange(codes, dtype=np.int32)
        self.__dict__["first"] = np.concatenate([base, np.array([2 * low for low, _ in pairs], dtype=np.int32)])
        self.__dict__["last"] = np.concatenate([base, np.array([2 * high for _, high in pairs], dtype=np.int32)])
        self._start, self._steps = start, count

    def _levels(self, count: int) -> Ints:
        """Each code's ancestors: itself, its step, and parts of two, four … steps."""
        cell = np.minimum(np.arange(2 * count + 1) // 2, count - 1)
        rows = [np.arange(2 * count + 1, dtype=np.int32)]
        width = 1
        while width < count:
            low = cell // width * width
            rows.append(self._node[low, np.minimum(low + width, count)])
            width *= 2
        return np.stack([*rows, np.full(2 * count + 1, self._node[0, count], dtype=np.int32)])

    def encode(self, cells: Sequence[str]) -> Ints:
        """The code of each number, by its step or the gap in which it lies, else -1."""
        return np.array([self._code(number(cell)) for cell in cells], dtype=np.int32)

    def _code(self, value: Decimal | None) -> int:
        if value is None or not self._start <= value <= self._start + self._interval.step * self._steps:
            return -1
        steps = (value - self._start) / self._interval.step
        return 2 * int(steps) + (steps != int(steps))

    def common_ancestor(self, a: Ints, b: Ints) -> Ints:
        """The intervals to publish for values from `a` to `b`. Their ends are steps, and differ."""
        low = np.minimum(self.first[a], self.first[b]) // 2
        high = (np.maximum(self.last[a], self.last[b]) + 1) // 2
        single = low == high
        at_end = single & (high == self._steps)
        low, high = np.where(at_end, low - 1, low), np.where(single & ~at_end, high + 1, high)
        return np.asarray(self._node[low, high], dtype=np.int32)


def _gap(low: Decimal, high: Decimal) -> str:
    return f"({spell(low)}, {spell(high)})"


def codes_on(trees: Sequence[Hierarchy], labels: Sequence[Sequence[str]], codes: Ints) -> Ints:
    """Codes (columns x records) of the labels' own trees as codes of these trees."""
    result = [tree.encode(texts)[column_codes] for tree, texts, column_codes in zip(trees, labels, codes, strict=True)]
    return np.stack(result).astype(np.int32)
