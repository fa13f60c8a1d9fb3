"""The best cut of a sorted line into groups that keep every constraint, by dynamic programming.

best(i) = min over j of best(j) + cost(j+1 .. i), j <= i - k. A group of 2k or more is never needed for k alone, so that
only k values of j are looked at, and the whole takes O(k x) steps for x records. Where l or t must hold as well, j goes
back until a group satisfies them: 4k records from any i, further from rounder i (16 x 2^p from every 2^p-th), and to
the beginning from the last, so that the work stays O((k + log x) x) and an answer is found whenever there is one.
Of equally good j the smallest is taken.

    FALL              (number of records) x (distance from the first to the last): Ghinita and others 2007
    HANSEN_MUKHERJEE  sum of squared distances from the mean: Hansen and Mukherjee 2003
    LOSS              what the records' cells cost once the group is closed
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covey.anonymizers.constraints import Limits, diverse
from covey.anonymizers.kernels import Forest
from covey.arrays import Floats, Ints, Longs
from covey.compiled import jit

FALL, HANSEN_MUKHERJEE, LOSS = 0, 1, 2


class RecordLine(NamedTuple):
    """Records in the order of the line."""

    place: Floats
    item: Longs
    codes: Ints  # columns x items
    sensitive: Longs  # items x watched columns: places in a flat histogram
    trees: Forest


@jit
def advance(line: RecordLine, limits: Limits, kind: int, best: Floats, back: Longs, start: int, stop: int) -> None:
    """Fill best and back for the prefixes of start .. stop - 1 records."""
    columns = len(line.codes)
    watched = line.sensitive.shape[1]
    histogram = np.zeros(limits.starts[-1], dtype=np.int64)
    nodes = np.empty(columns, dtype=np.int64)
    for i in range(max(start, limits.k), stop):
        histogram[:] = 0
        if columns:
            nodes[:] = line.codes[:, line.item[i - 1]] + line.trees.offsets
        mean, squares = 0.0, 0.0
        ready = kind == FALL and not watched
        reach = i if i == len(line.item) else max(4 * limits.k, 16 * (i & -i))
        for j in range(i - limits.k if ready else i - 1, max(i - reach, 0) - 1, -1):
            size, own = i - j, line.item[j]
            for column in range(watched):
                histogram[line.sensitive[own, column]] += 1
            if kind == HANSEN_MUKHERJEE:
                off = line.place[j] - mean
                mean += off / size
                squares += off * (line.place[j] - mean)
            elif kind == LOSS:
                _widen(nodes, line.codes[:, own], line.trees)
            if size < limits.k or best[j] == np.inf:
                continue
            if kind == FALL:
                cost = size * (line.place[i - 1] - line.place[j])
            else:
                cost = squares if kind == HANSEN_MUKHERJEE else size * _cost(nodes, line.trees)
            if best[j] + cost <= best[i] and (not watched or diverse(limits, histogram, size)):
                best[i], back[i] = best[j] + cost, j
            if size >= 2 * limits.k - 1 and best[i] < np.inf:
                break


@jit
def _widen(nodes: Longs, codes: Ints, trees: Forest) -> None:
    """Lifts each node until it stands above the code."""
    for column in range(len(nodes)):
        while not (trees.first[nodes[column]] <= codes[column] <= trees.last[nodes[column]]):
            nodes[column] = trees.parent[nodes[column]]


@jit
def _cost(nodes: Longs, trees: Forest) -> float:
    total = 0.0
    for node in nodes:
        total += trees.cost[node]
    return total


@jit
def groups(back: Longs) -> Longs:
    """Each record's group, numbered along the line."""
    ends = [len(back) - 1]
    while ends[-1] > 0:
        ends.append(back[ends[-1]])
    group = np.empty(len(back) - 1, dtype=np.int64)
    for number in range(len(ends) - 1):
        group[ends[number + 1] : ends[number]] = len(ends) - 2 - number
    return group
