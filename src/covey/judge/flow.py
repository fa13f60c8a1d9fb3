"""The largest matching of rows with points, each of which stands for a number of equal ones: Dinic's maximum flow.

Edges run from rows to points and carry any amount; a phase finds the shortest ways from rows with something left to
points with room, and fills them all.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs
from covey.compiled import jit

_FAR = np.iinfo(np.int64).max


def largest_matching(rows: Longs, points: Longs, supply: Longs, room: Longs) -> int:
    """The most that rows can give to points along these pairs, given what each row has and each point takes."""
    if not len(rows):
        return 0
    row_of, edge_row = np.unique(rows, return_inverse=True)
    point_of, edge_point = np.unique(points, return_inverse=True)
    by_row = np.argsort(edge_row, kind="stable")
    edge_row, edge_point = edge_row[by_row], edge_point[by_row]
    by_point = np.argsort(edge_point, kind="stable")
    row_start = np.searchsorted(edge_row, np.arange(len(row_of) + 1))
    point_start = np.searchsorted(edge_point[by_point], np.arange(len(point_of) + 1))
    left, free = supply[row_of].astype(np.int64), room[point_of].astype(np.int64)
    flow = np.zeros(len(edge_row), dtype=np.int64)
    _fill_greedily(edge_row, edge_point, left, free, flow)
    while True:
        levels = _levels(edge_row, edge_point, row_start, point_start, by_point, left, free, flow)
        if not levels[2]:
            return int(flow.sum())
        _fill(edge_row, edge_point, row_start, point_start, by_point, left, free, flow, levels[0], levels[1])


@jit
def _fill_greedily(edge_row: Longs, edge_point: Longs, left: Longs, free: Longs, flow: Longs) -> None:
    for edge in range(len(edge_row)):
        amount = min(left[edge_row[edge]], free[edge_point[edge]])
        flow[edge] += amount
        left[edge_row[edge]] -= amount
        free[edge_point[edge]] -= amount


@jit
def _levels(
    edge_row: Longs, edge_point: Longs, row_start: Longs, point_start: Longs, by_point: Longs, left: Longs, free: Longs,
    flow: Longs,
) -> tuple[Longs, Longs, bool]:  # fmt: skip
    """The number of steps to each row and point from rows with something left, and if a point with room is reached."""
    row_level = np.full(len(left), _FAR)
    point_level = np.full(len(free), _FAR)
    queue = np.empty(len(left), dtype=np.int64)
    first = last = 0
    for row in range(len(left)):
        if left[row]:
            row_level[row] = 0
            queue[last] = row
            last += 1
    reached = False
    while first < last:
        row = queue[first]
        first += 1
        for edge in range(row_start[row], row_start[row + 1]):
            point = edge_point[edge]
            if point_level[point] != _FAR:
                continue
            point_level[point] = row_level[row] + 1
            reached = reached or free[point] > 0
            for place in range(point_start[point], point_start[point + 1]):
                back = by_point[place]
                if flow[back] and row_level[edge_row[back]] == _FAR:
                    row_level[edge_row[back]] = point_level[point] + 1
                    queue[last] = edge_row[back]
                    last += 1
    return row_level, point_level, reached


@jit
def _fill(
    edge_row: Longs, edge_point: Longs, row_start: Longs, point_start: Longs, by_point: Longs, left: Longs, free: Longs,
    flow: Longs, row_level: Longs, point_level: Longs,
) -> None:  # fmt: skip
    """Sends what it can along ways whose levels rise; a way is edges forth and back by turns."""
    next_edge, next_back = row_start[:-1].copy(), point_start[:-1].copy()
    way = np.empty(2 * len(left) + 2, dtype=np.int64)
    for source in range(len(left)):
        row, length = source, 0
        while left[source]:
            if next_edge[row] == row_start[row + 1]:  # a dead end: the way back is not taken again
                if not length:
                    break
                point = edge_point[way[length - 1]]
                next_back[point] += 1
                row, length = edge_row[way[length - 2]], length - 2
                continue
            edge = next_edge[row]
            point = edge_point[edge]
            if point_level[point] != row_level[row] + 1:
                next_edge[row] += 1
                continue
            if free[point]:
                way[length] = edge
                amount = min(left[source], free[point])
                for place in range(1, length, 2):
                    amount = min(amount, flow[way[place]])
                for place in range(length + 1):
                    flow[way[place]] += amount if place % 2 == 0 else -amount
                left[source] -= amount
                free[point] -= amount
                row, length = source, 0
                continue
            while next_back[point] < point_start[point + 1]:
                back = by_point[next_back[point]]
                if flow[back] and row_level[edge_row[back]] == point_level[point] + 1:
                    way[length], way[length + 1] = edge, back
                    row, length = edge_row[back], length + 2
                    break
                next_back[point] += 1
            else:
                next_edge[row] += 1
