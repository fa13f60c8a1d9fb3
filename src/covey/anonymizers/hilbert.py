"""FALL (Ghinita, Karras, Kalnis, Mamoulis 2007): the records on Hilbert's curve, and the curve cut as well as can be.

All columns are rescaled to one range and the curve visits their cells; then an optimal cut of that line gives the
classes (`line_cut` has the costs). Records with equal codes may fall into two neighbouring classes. For l and t
the records that share a cell are interleaved, so that their sensitive values are spread along the line.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from covey.anonymizers import curve
from covey.anonymizers.closure import closed
from covey.anonymizers.constraints import flat_codes, limits_of, require_feasible
from covey.anonymizers.kernels import forest
from covey.anonymizers.line_cut import FALL, HANSEN_MUKHERJEE, LOSS, RecordLine, advance, groups
from covey.anonymizers.pace import Cancel, Progress, never, report, silent
from covey.anonymizers.problem import Partition, Problem
from covey.arrays import Floats, Longs

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
    place = curve.places(codes, (farthest + 1).tolist()).astype(np.float64)
    # A run of 5k equal records has a class of its own inside it, which takes any number of further ones at no cost.
    counts = problem.counts if watched else np.minimum(problem.counts, 5 * problem.k)
    order = np.argsort(place, kind="stable")
    item = spread(place, counts) if watched else np.repeat(order, counts[order])
    group = cut(problem, place[item], item, cost=cost, progress=progress, cancel=cancel)
    return _gathered(problem, item, group, cost)


def spread(place: Floats, counts: Longs) -> Longs:
    """The records' items along the line, those at one place interleaved in proportion to their counts."""
    item = np.repeat(np.arange(len(counts)), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    part = (np.arange(len(item)) - first + 0.5) / counts[item]
    return item[np.lexsort((item, part, place[item]))]


def cut(
    problem: Problem,
    place: Floats,
    item: Longs,
    *,
    cost: Cost = "fall",
    progress: Progress = silent,
    cancel: Cancel = never,
) -> Longs:
    """The group of each record of a sorted line: the cheapest cut whose groups keep k, l and t."""
    limits, places = limits_of(problem), flat_codes(problem)
    line = RecordLine(place, item, problem.codes, places, forest(problem))
    records = len(item)
    best, back = np.full(records + 1, np.inf), np.zeros(records + 1, dtype=np.int64)
    best[0] = 0.0
    step = max(_STEP // (2 * problem.k), 1)
    for start in range(1, records + 1, step):
        stop = min(start + step, records + 1)
        advance(line, limits, _COSTS[cost], best, back, start, stop)
        report("cutting the curve", (stop - 1) / records, progress, cancel)
    return groups(back)


def _gathered(problem: Problem, item: Longs, group: Longs, cost: Cost) -> Partition:
    """Pieces from records; what was left out of a long run of equal records joins a class that lies inside the run."""
    key, count = np.unique(group * problem.items + item, return_counts=True)
    group, item = key // problem.items, key % problem.items
    count = count.astype(np.int64)
    left = problem.counts - np.bincount(item, weights=count, minlength=problem.items).astype(np.int64)
    inside = np.flatnonzero((np.bincount(group)[group] == 1) & (left[item] > 0))
    extra, first = np.unique(item[inside], return_index=True)
    count[inside[first]] += left[extra]
    return closed(problem, item, group, count, cost=cost)
