"""Every released row needs an original of its own that it covers.

Rows are published in another order than they were in, so who stands for whom is a matching: a released row may stand
for an original if its sensitive and plain values are the very same and each of its labels stands above the original's
value; no original serves twice. Equal rows are taken together with their number, and the largest such matching is a
maximum flow from the released rows to the originals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Ints, Longs
from covey.compiled import jit
from covey.errors import InputError
from covey.judge.flow import largest_matching
from covey.judge.original import Spans
from covey.judge.released import Released
from covey.judge.tuples import Tuples, aligned, alike

_PAIRS_AT_ONCE = 4_000_000  # of a few kinds together; one kind is never divided
_MOST_PAIRS = 30_000_000


@dataclass(frozen=True)
class Boxes:
    """Released rows as boxes of labels, originals as points, rows x columns; only equal kinds can match."""

    first: Ints
    last: Ints
    kind: Longs
    points: Ints
    point_kind: Longs


def unmatched(released: Released, original: Tuples, spans: Sequence[Spans]) -> int:
    """The number of released rows without an original of their own in the best matching."""
    kind, point_kind = _kinds(released, original)
    boxes = _boxes(released, original, spans, np.arange(len(kind)), kind, point_kind)
    search = _Search(boxes)
    matched = 0
    pairs = search.pairs(np.ones(len(point_kind), dtype=np.int64))
    for batch in _batches(kind, pairs):
        rows, points = search.list(batch, int(pairs[batch].sum()))
        matched += largest_matching(rows, points, released.table.counts, original.counts)
    return released.rows - matched


def meant(released: Released, original: Tuples, spans: Sequence[Spans]) -> Longs:
    """The number of originals that each class's labels cover, whatever their sensitive and plain values."""
    nothing = np.zeros(released.classes, dtype=np.int64), np.zeros(len(original.counts), dtype=np.int64)
    return _Search(_boxes(released, original, spans, released.example, *nothing)).pairs(original.counts)


def _kinds(released: Released, original: Tuples) -> tuple[Longs, Longs]:
    """Numbers for the combinations of sensitive and plain values, the same in both tables."""
    columns = [aligned(cells, *original.of([cells.column])) for cells in released.carried]
    rows = len(released.table.counts)
    kinds, _ = alike(columns, rows + len(original.counts))
    return kinds[:rows], kinds[rows:]


def _boxes(
    released: Released, original: Tuples, spans: Sequence[Spans], rows: Longs, kind: Longs, point_kind: Longs
) -> Boxes:
    owns = original.of([cells.column for cells in released.quasi])
    return Boxes(
        first=np.stack(
            [span.first[cells.codes[rows]] for cells, span in zip(released.quasi, spans, strict=True)], axis=1
        ),
        last=np.stack(
            [span.last[cells.codes[rows]] for cells, span in zip(released.quasi, spans, strict=True)], axis=1
        ),
        kind=kind,
        points=np.stack([span.place[own.codes] for own, span in zip(owns, spans, strict=True)], axis=1),
        point_kind=point_kind,
    )


class _Search:
    """Finds the points in a box: among those that lie in its narrowest column, all other columns are compared."""

    def __init__(self, boxes: Boxes) -> None:
        self.boxes = boxes
        rows = len(boxes.kind)
        self.order = np.empty(boxes.points.T.shape, dtype=np.int64)
        self.narrowest = np.zeros(rows, dtype=np.int64)
        self.start = np.zeros(rows, dtype=np.int64)
        self.stop = np.full(rows, np.iinfo(np.int64).max, dtype=np.int64)
        for column, places in enumerate(boxes.points.T):
            width = int(max(places.max(initial=0), boxes.last[:, column].max(initial=0))) + 1
            key = boxes.point_kind * width + places
            self.order[column] = np.argsort(key, kind="stable")
            row = key[self.order[column]]
            start = np.searchsorted(row, boxes.kind * width + boxes.first[:, column])
            stop = np.searchsorted(row, boxes.kind * width + boxes.last[:, column], side="right")
            better = stop - start < self.stop - self.start
            self.narrowest[better] = column
            self.start[better], self.stop[better] = start[better], stop[better]

    def pairs(self, weight: Longs) -> Longs:
        """For each box the weight of the points in it."""
        box = self.boxes
        found: Longs = _weigh(
            box.first, box.last, box.points, self.order, self.narrowest, self.start, self.stop, weight
        )
        return found

    def list(self, rows: Longs, pairs: int) -> tuple[Longs, Longs]:
        """The pairs of these boxes and the points in them; how many there are is known."""
        box = self.boxes
        found: tuple[Longs, Longs] = _list(
            box.first, box.last, box.points, self.order, self.narrowest, self.start, self.stop, rows, pairs
        )
        return found


def _batches(kind: Longs, pairs: Longs) -> list[Longs]:
    """The released rows in some parts, whole kinds together, so that no part has too many pairs."""
    if int(pairs.sum()) and int(np.bincount(kind, weights=pairs).max()) > _MOST_PAIRS:
        raise InputError(
            f"more than {_MOST_PAIRS:,} pairs of a released row and an original with equal sensitive and plain values "
            "would have to be compared; verify without the original, or release less general rows"
        )
    order = np.argsort(kind, kind="stable")
    per_kind = np.bincount(kind, weights=pairs)
    part = (np.cumsum(per_kind) // _PAIRS_AT_ONCE)[kind[order]]
    return np.split(order, np.flatnonzero(np.diff(part)) + 1)


@jit
def _inside(first: Ints, last: Ints, points: Ints, row: int, point: int) -> bool:
    for column in range(points.shape[1]):  # noqa: SIM110 - a generator would not compile
        if not first[row, column] <= points[point, column] <= last[row, column]:
            return False
    return True


@jit
def _weigh(
    first: Ints, last: Ints, points: Ints, order: Longs, narrowest: Longs, start: Longs, stop: Longs, weight: Longs
) -> Longs:
    total = np.zeros(len(start), dtype=np.int64)
    for row in range(len(start)):
        for place in range(start[row], stop[row]):
            point = order[narrowest[row], place]
            if _inside(first, last, points, row, point):
                total[row] += weight[point]
    return total


@jit
def _list(
    first: Ints,
    last: Ints,
    points: Ints,
    order: Longs,
    narrowest: Longs,
    start: Longs,
    stop: Longs,
    rows: Longs,
    pairs: int,
) -> tuple[Longs, Longs]:
    out_row, out_point = np.empty(pairs, dtype=np.int64), np.empty(pairs, dtype=np.int64)
    found = 0
    for row in rows:
        for place in range(start[row], stop[row]):
            point = order[narrowest[row], place]
            if _inside(first, last, points, row, point):
                out_row[found], out_point[found] = row, point
                found += 1
    return out_row, out_point
