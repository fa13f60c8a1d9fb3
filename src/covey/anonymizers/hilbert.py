"""FALL (Ghinita, Karras, Kalnis, Mamoulis 2007): the records on Hilbert's curve, and the curve cut as well as can be.

All columns are rescaled to one range and the curve visits their cells; then an optimal cut of that line gives the
classes. Records with equal codes may fall into two neighbouring classes. For l and t
the records that share a cell are interleaved, so that their sensitive values are spread along the line.

The cut keeps every constraint, by dynamic programming: best(i) = min over j of best(j) + cost(j+1 .. i), j <= i - k. A
group of 2k or more is never needed for k alone, so that only k values of j are looked at, and the whole takes O(k x)
steps for x records. Where l or t must hold as well, j goes back until a group satisfies them: 4k records from any i,
further from rounder i (16 x 2^p from every 2^p-th), and to the beginning from the last, so that the work stays
O((k + log x) x) and an answer is found whenever there is one. Of equally good j the smallest is taken.

    FALL              (number of records) x (distance from the first to the last): Ghinita and others 2007
    HANSEN_MUKHERJEE  sum of squared distances from the mean: Hansen and Mukherjee 2003
    LOSS              what the records' cells cost once the group is closed
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from covey.anonymizers import curve
from covey.anonymizers.constraints import Limits, diverse, flat_codes, limits_of, require_feasible
from covey.anonymizers.kernels import Forest, forest
from covey.anonymizers.problem import Cancel, Partition, Problem, Progress, closed, never, report, silent
from covey.arrays import Floats, Ints, Longs
from covey.compiled import jit

FALL, HANSEN_MUKHERJEE, LOSS = 0, 1, 2


class RecordLine(NamedTuple):
    """Records in the order of the line."""

    position: Floats
    item: Longs
    codes: Ints  # columns x items
    sensitive: Longs  # items x watched columns: places in a flat histogram
    trees: Forest


@jit
def advance(line: RecordLine, limits: Limits, kind: int, best: Floats, previous: Longs, start: int, stop: int) -> None:
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
            size, item = i - j, line.item[j]
            for column in range(watched):
                histogram[line.sensitive[item, column]] += 1
            if kind == HANSEN_MUKHERJEE:
                deviation = line.position[j] - mean
                mean += deviation / size
                squares += deviation * (line.position[j] - mean)
            elif kind == LOSS:
                _widen(nodes, line.codes[:, item], line.trees)
            if size < limits.k or best[j] == np.inf:
                continue
            if kind == FALL:
                cost = size * (line.position[i - 1] - line.position[j])
            else:
                cost = squares if kind == HANSEN_MUKHERJEE else size * _cost(nodes, line.trees)
            if best[j] + cost <= best[i] and (not watched or diverse(limits, histogram, size)):
                best[i], previous[i] = best[j] + cost, j
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
def groups(previous: Longs) -> Longs:
    """Each record's group, numbered along the line."""
    ends = [len(previous) - 1]
    while ends[-1] > 0:
        ends.append(previous[ends[-1]])
    group = np.empty(len(previous) - 1, dtype=np.int64)
    for number in range(len(ends) - 1):
        group[ends[number + 1] : ends[number]] = len(ends) - 2 - number
    return group


Cost = Literal["fall", "hansen-mukherjee", "loss"]
_COSTS = {"fall": FALL, "hansen-mukherjee": HANSEN_MUKHERJEE, "loss": LOSS}
_STEP = 20_000_000  # pairs (i, j) looked at between two reports


def hilbert(
    problem: Problem,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress = silent,
    cancel: Cancel = never,
    cost: Cost = "fall",
) -> Partition:
    """Classes of neighbours on the curve. Nothing is random, one thread is used: `seed` and `threads` change nothing.

    Raises Unmet if even the whole table breaks a constraint.
    """
    require_feasible(problem)
    watched = problem.watched
    codes, farthest = problem.spaced()
    positions = curve.places(codes, (farthest + 1).tolist()).astype(np.float64)
    # A run of 5k equal records has a class of its own inside it, which takes any number of further ones at no cost.
    counts = problem.counts if watched else np.minimum(problem.counts, 5 * problem.k)
    order = np.argsort(positions, kind="stable")
    item = spread(positions, counts) if watched else np.repeat(order, counts[order])
    group = cut(problem, positions[item], item, cost=cost, progress=progress, cancel=cancel)
    return _gathered(problem, item, group, cost)


def spread(positions: Floats, counts: Longs) -> Longs:
    """The records' items along the line. Those at one position are interleaved by their counts."""
    item = np.repeat(np.arange(len(counts)), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    part = (np.arange(len(item)) - first + 0.5) / counts[item]
    return item[np.lexsort((item, part, positions[item]))]


def cut(
    problem: Problem,
    positions: Floats,
    item: Longs,
    *,
    cost: Cost = "fall",
    progress: Progress = silent,
    cancel: Cancel = never,
) -> Longs:
    """The group of each record of a sorted line, by the cheapest cut that keeps the constraints."""
    limits, bins = limits_of(problem), flat_codes(problem)
    line = RecordLine(positions, item, problem.codes, bins, forest(problem))
    records = len(item)
    best, previous = np.full(records + 1, np.inf), np.zeros(records + 1, dtype=np.int64)
    best[0] = 0.0
    step = max(_STEP // (2 * problem.k), 1)
    for start in range(1, records + 1, step):
        stop = min(start + step, records + 1)
        advance(line, limits, _COSTS[cost], best, previous, start, stop)
        report("cutting the curve", (stop - 1) / records, progress, cancel)
    return groups(previous)


def _gathered(problem: Problem, item: Longs, group: Longs, cost: Cost) -> Partition:
    """Pieces from records. What was left out of a long run of equal records joins a class that lies inside the run."""
    key, count = np.unique(group * problem.items + item, return_counts=True)
    group, item = key // problem.items, key % problem.items
    count = count.astype(np.int64)
    unplaced = problem.counts - np.bincount(item, weights=count, minlength=problem.items).astype(np.int64)
    singles = np.flatnonzero((np.bincount(group)[group] == 1) & (unplaced[item] > 0))
    extra, first = np.unique(item[singles], return_index=True)
    count[singles[first]] += unplaced[extra]
    return closed(problem, item, group, count, cost=cost)
