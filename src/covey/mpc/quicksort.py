"""A quicksort that asks for many comparisons at once and never sees a word: it gets answers and keeps positions.

The pivots are the first records of a segment. They are a random choice, since all words differ and come shuffled.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits, Longs
from covey.compiled import jit

PIVOTS = 2
"""As many save bytes (22 comparisons a record and 14 levels at 30,000 records); 8 save rounds (38 and 7)."""

_MOST_PIVOTS = 31


class Quicksort:
    """Segments of positions that are each sorted among themselves; `order[position]` is the record that stands there.

    `pivots` is the number of a segment's pivots while all records are unsettled. Later there are more, so that no level
    asks for fewer comparisons than the first: a level costs rounds, whatever their number.
    """

    def __init__(self, records: int, pivots: int = PIVOTS) -> None:
        self.order = np.arange(records)
        self._comparisons = pivots * records
        self._starts = np.array([0] if records > 1 else [], np.int64)
        self._sizes = np.array([records] if records > 1 else [], np.int64)
        self._pivots = 0

    @property
    def unsettled(self) -> bool:
        """Returns True while comparisons are left to ask for."""
        return len(self._starts) > 0

    def pairs(self) -> tuple[Longs, Longs]:
        """Returns the records to compare next; `settle` takes the answers."""
        self._pivots = min(_MOST_PIVOTS, self._comparisons // int(self._sizes.sum()))
        return _pairs(self.order, self._starts, self._sizes, self._pivots)

    def settle(self, less: Bits) -> None:
        """Moves every record to its part of the segment; `less[i]` tells if the left record of pair i comes first."""
        less = np.ascontiguousarray(less)
        self._starts, self._sizes = _settle(self.order, self._starts, self._sizes, self._pivots, less)


@jit
def _heads(size: int, pivots: int) -> int:
    """Returns the number of records of a segment that are compared with all others: of a small one all."""
    return size if size <= max(4, 2 * pivots) else pivots


@jit
def _pairs(order: Longs, starts: Longs, sizes: Longs, pivots: int) -> tuple[Longs, Longs]:
    """Returns the pairs of each segment's first records with all records behind them."""
    total = 0
    for s in range(starts.size):
        size, heads = sizes[s], _heads(sizes[s], pivots)
        total += heads * size - heads * (heads + 1) // 2
    left, right = np.empty(total, np.int64), np.empty(total, np.int64)
    pair = 0
    for s in range(starts.size):
        start, size, heads = starts[s], sizes[s], _heads(sizes[s], pivots)
        for i in range(start, start + heads):
            for j in range(i + 1, start + size):
                left[pair], right[pair] = order[i], order[j]
                pair += 1
    return left, right


@jit
def _settle(order: Longs, starts: Longs, sizes: Longs, pivots: int, less: Bits) -> tuple[Longs, Longs]:
    """Puts each record between the pivots where it belongs; returns the parts of two records or more."""
    new_starts, new_sizes = np.empty(order.size, np.int64), np.empty(order.size, np.int64)
    longest = max(1, sizes.max())
    before, segment = np.empty(longest, np.int64), np.empty(longest, np.int64)
    positions = np.empty(2 * pivots + 5, np.int64)
    parts = pair = 0
    for s in range(starts.size):
        start, size = starts[s], sizes[s]
        heads = _heads(size, pivots)
        segment[:size] = order[start : start + size]
        before[:size] = 0  # becomes the number of pivots before each record
        for i in range(heads):
            for j in range(i + 1, heads):
                before[j] += less[pair]
                before[i] += not less[pair]
                pair += 1
            for j in range(max(i + 1, heads), size):
                before[j] += less[pair]
                pair += 1
        positions[: heads + 1] = 0
        for j in range(heads, size):
            positions[before[j]] += 1
        position = start
        for part in range(heads + 1):
            records = positions[part]
            if records > 1:
                new_starts[parts], new_sizes[parts] = position, records
                parts += 1
            positions[part] = position  # from here on the next free position of a part
            position += records + 1
        for i in range(heads):
            order[positions[before[i] + 1] - 1] = segment[i]
        for j in range(heads, size):
            order[positions[before[j]]] = segment[j]
            positions[before[j]] += 1
    return new_starts[:parts].copy(), new_sizes[:parts].copy()
