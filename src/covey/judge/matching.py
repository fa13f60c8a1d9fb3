"""Every released row needs an original of its own that it covers.

Rows are published in another order than they were in, so who stands for whom is a matching: a released row may stand
for an original if its sensitive and plain values are the very same and each of its labels stands above the original's
value; no original serves twice. Equal rows are taken together with their number, and the largest such matching is a
maximum flow from the released rows to the originals (Dinic's algorithm): a phase finds the shortest ways from rows with
something left to points with room, and fills them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Ints, Longs
from covey.compiled import jit
from covey.errors import InputError
from covey.judge.released import Released
from covey.judge.tuples import Spans, Tuples, aligned, alike

_FAR = np.iinfo(np.int64).max


def largest_matching(rows: Longs, points: Longs, supply: Longs, room: Longs) -> int:
    """The most that rows can give to points along these pairs, within supply and room."""
    if not len(rows):
        return 0
    row_of, edge_row = np.unique(rows, return_inverse=True)
    point_of, edge_point = np.unique(points, return_inverse=True)
    by_row = np.argsort(edge_row, kind="stable")
    edge_row, edge_point = edge_row[by_row], edge_point[by_row]
    by_point = np.argsort(edge_point, kind="stable")
    row_start = np.searchsorted(edge_row, np.arange(len(row_of) + 1))
    point_start = np.searchsorted(edge_point[by_point], np.arange(len(point_of) + 1))
    load, free = supply[row_of].astype(np.int64), room[point_of].astype(np.int64)
    flow = np.zeros(len(edge_row), dtype=np.int64)
    _fill_greedily(edge_row, edge_point, load, free, flow)
    while True:
        levels = _levels(edge_row, edge_point, row_start, point_start, by_point, load, free, flow)
        if not levels[2]:
            return int(flow.sum())
        _fill(edge_row, edge_point, row_start, point_start, by_point, load, free, flow, levels[0], levels[1])


@jit
def _fill_greedily(edge_row: Longs, edge_point: Longs, load: Longs, free: Longs, flow: Longs) -> None:
    for edge in range(len(edge_row)):
        amount = min(load[edge_row[edge]], free[edge_point[edge]])
        flow[edge] += amount
        load[edge_row[edge]] -= amount
        free[edge_point[edge]] -= amount


@jit
def _levels(
    edge_row: Longs, edge_point: Longs, row_start: Longs, point_start: Longs, by_point: Longs, load: Longs, free: Longs,
    flow: Longs,
) -> tuple[Longs, Longs, bool]:  # fmt: skip
    """The steps from rows with something left; True if a point with room is reached."""
    row_level = np.full(len(load), _FAR)
    point_level = np.full(len(free), _FAR)
    queue = np.empty(len(load), dtype=np.int64)
    first = last = 0
    for row in range(len(load)):
        if load[row]:
            row_level[row] = 0
            queue[last] = row
            last += 1
    reachable = False
    while first < last:
        row = queue[first]
        first += 1
        for edge in range(row_start[row], row_start[row + 1]):
            point = edge_point[edge]
            if point_level[point] != _FAR:
                continue
            point_level[point] = row_level[row] + 1
            reachable = reachable or free[point] > 0
            for index in range(point_start[point], point_start[point + 1]):
                edge_back = by_point[index]
                if flow[edge_back] and row_level[edge_row[edge_back]] == _FAR:
                    row_level[edge_row[edge_back]] = point_level[point] + 1
                    queue[last] = edge_row[edge_back]
                    last += 1
    return row_level, point_level, reachable


@jit
def _fill(
    edge_row: Longs, edge_point: Longs, row_start: Longs, point_start: Longs, by_point: Longs, load: Longs, free: Longs,
    flow: Longs, row_level: Longs, point_level: Longs,
) -> None:  # fmt: skip
    """Sends what it can along ways whose levels rise. A way is edges forth and back by turns."""
    next_edge, next_back = row_start[:-1].copy(), point_start[:-1].copy()
    path = np.empty(2 * len(load) + 2, dtype=np.int64)
    for source in range(len(load)):
        row, length = source, 0
        while load[source]:
            if next_edge[row] == row_start[row + 1]:  # a dead end: the way back is not taken again
                if not length:
                    break
                point = edge_point[path[length - 1]]
                next_back[point] += 1
                row, length = edge_row[path[length - 2]], length - 2
                continue
            edge = next_edge[row]
            point = edge_point[edge]
            if point_level[point] != row_level[row] + 1:
                next_edge[row] += 1
                continue
            if free[point]:
                path[length] = edge
                amount = min(load[source], free[point])
                for step in range(1, length, 2):
                    amount = min(amount, flow[path[step]])
                for step in range(length + 1):
                    flow[path[step]] += amount if step % 2 == 0 else -amount
                load[source] -= amount
                free[point] -= amount
                row, length = source, 0
                continue
            while next_back[point] < point_start[point + 1]:
                edge_back = by_point[next_back[point]]
                if flow[edge_back] and row_level[edge_row[edge_back]] == point_level[point] + 1:
                    path[length], path[length + 1] = edge, edge_back
                    row, length = edge_row[edge_back], length + 2
                    break
                next_back[point] += 1
            else:
                next_edge[row] += 1


_PAIRS_AT_ONCE = 4_000_000  # of a few kinds together; one kind is never divided
_MOST_PAIRS = 30_000_000


@dataclass(frozen=True)
class Boxes:
    """Released rows as boxes of labels, originals as points, rows x columns. Only equal kinds can match."""

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
    columns = original.of([cells.column for cells in released.quasi])
    return Boxes(
        first=np.stack(
            [span.first[cells.codes[rows]] for cells, span in zip(released.quasi, spans, strict=True)], axis=1
        ),
        last=np.stack(
            [span.last[cells.codes[rows]] for cells, span in zip(released.quasi, spans, strict=True)], axis=1
        ),
        kind=kind,
        points=np.stack([span.place[column.codes] for column, span in zip(columns, spans, strict=True)], axis=1),
        point_kind=point_kind,
    )


class _Search:
    """Finds the points in a box by its narrowest column, and compares all other columns there."""

    def __init__(self, boxes: Boxes) -> None:
        self.boxes = boxes
        rows = len(boxes.kind)
        self.order = np.empty(boxes.points.T.shape, dtype=np.int64)
        self.narrowest = np.zeros(rows, dtype=np.int64)
        self.start = np.zeros(rows, dtype=np.int64)
        self.stop = np.full(rows, np.iinfo(np.int64).max, dtype=np.int64)
        for column, positions in enumerate(boxes.points.T):
            width = int(max(positions.max(initial=0), boxes.last[:, column].max(initial=0))) + 1
            key = boxes.point_kind * width + positions
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
        counts: Longs = _weigh(
            box.first, box.last, box.points, self.order, self.narrowest, self.start, self.stop, weight
        )
        return counts

    def list(self, rows: Longs, pairs: int) -> tuple[Longs, Longs]:
        """The pairs of these boxes and the points in them. How many there are is known."""
        box = self.boxes
        edges: tuple[Longs, Longs] = _list(
            box.first, box.last, box.points, self.order, self.narrowest, self.start, self.stop, rows, pairs
        )
        return edges


def _batches(kind: Longs, pairs: Longs) -> list[Longs]:
    """The released rows in parts of whole kinds, so that no part has too many pairs."""
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
        for index in range(start[row], stop[row]):
            point = order[narrowest[row], index]
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
    edges = 0
    for row in rows:
        for index in range(start[row], stop[row]):
            point = order[narrowest[row], index]
            if _inside(first, last, points, row, point):
                out_row[edges], out_point[edges] = row, point
                edges += 1
    return out_row, out_point
