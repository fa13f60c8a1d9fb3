"""Mondrian (LeFevre, DeWitt, Ramakrishnan 2006): halve the widest column while both halves keep every constraint.

Columns are leaf codes in tree order. A part is cut where the codes below and above hold as near to half of its records
as can be; if a half would break k, l or t the next widest column is tried, and if none can be cut the part is a class.
Strict cuts between codes, so that no two classes overlap; relaxed cuts at exactly half, and records with the middle
code fall on both sides. A class's box is closed to the lowest node above it; a column of intervals publishes the box.

Aligned (ours) cuts a tree's column only between two children of the node that closes the part, so that every cut lowers
a node. Such a cut may be far from half; where it would break k the next column is tried.
"""

from __future__ import annotations

import numpy as np

from covey.anonymizers.constraints import Limits, flat_codes, kept, limits_of, require_feasible
from covey.anonymizers.problem import Cancel, Partition, Problem, Progress, closed, never, report, silent
from covey.arrays import Floats, Ints, Longs
from covey.compiled import jit

_STEP = 2_000_000  # records looked at between two reports
_TOP, _PARTS, _OUT, _CLASSES, _PLACED = range(5)  # what `state` holds


def mondrian(
    problem: Problem,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress = silent,
    cancel: Cancel = never,
    relaxed: bool = False,
    aligned: bool = False,
) -> Partition:
    """Classes by repeated halving. Nothing is random and one thread is used: `seed` and `threads` change nothing.

    Raises Unmet if even the whole table breaks a constraint.
    """
    require_feasible(problem)
    limits, bins = limits_of(problem), flat_codes(problem)
    most_cuts = problem.records // max(problem.k, 1) if relaxed else 0
    room = min(problem.items + most_cuts, problem.records) + 1
    pieces, results = np.zeros((2, room), dtype=np.int64), np.zeros((3, room), dtype=np.int64)
    pieces[0, : problem.items], pieces[1, : problem.items] = np.arange(problem.items), problem.counts
    starts = np.zeros(problem.records // max(problem.k, 1) + 2, dtype=np.int64)
    state = np.zeros(5, dtype=np.int64)
    state[_TOP], state[_PARTS] = problem.items, 1
    codes, farthest = problem.spaced()
    weights = np.array(problem.weights)
    widths = np.divide(np.maximum(farthest, 1), weights, out=np.full(problem.columns, np.inf), where=weights > 0)
    seams = [_seams(problem, column, aligned) for column in range(problem.columns)]
    flat, bounds = np.concatenate(seams), np.cumsum([0, *map(len, seams)], dtype=np.int64)
    while state[_PARTS]:
        _halve(codes, widths, flat, bounds, limits, bins, relaxed, pieces, starts, results, state)
        report("cutting", int(state[_PLACED]) / problem.records, progress, cancel)
    item, group, count = results[:, : int(state[_OUT])]
    return closed(problem, item, group, count, cuts=int(state[_CLASSES]) - 1, relaxed=relaxed, aligned=aligned)


def _seams(problem: Problem, column: int, aligned: bool) -> Ints:
    """The depth of the lowest node above each leaf code and the next one. Nothing where any cut will do."""
    tree = problem.trees[column]
    if not aligned or (problem.spacing and problem.spacing[column] is not None):
        return np.zeros(0, dtype=np.int32)
    leaves = np.arange(tree.codes, dtype=np.int32)
    return tree.depth[tree.common_ancestor(leaves[:-1], leaves[1:])]


@jit
def _halve(
    codes: Ints,
    widths: Floats,
    seams: Ints,
    bounds: Longs,
    limits: Limits,
    bins: Longs,
    relaxed: bool,
    pieces: Longs,
    starts: Longs,
    results: Longs,
    state: Longs,
) -> None:
    """Cuts the parts of the stack, or writes them out as classes, until a step is done.

    A part is the pieces (item, records) from its start to the top; its two halves take its place, the left one on top.
    """
    looked = 0
    while state[_PARTS] and looked < _STEP:
        start = starts[state[_PARTS] - 1]
        part = pieces[:, start : state[_TOP]].copy()
        looked += part.shape[1]
        for column in _widest_first(codes, widths, part):
            order = np.argsort(codes[column, part[0]], kind="mergesort")
            column_seams = seams[bounds[column] : bounds[column + 1]]
            lower, right = _cut(codes[column], column_seams, part[:, order], relaxed)
            if lower.shape[1] and right.shape[1] and _holds(limits, bins, lower) and _holds(limits, bins, right):
                middle = start + right.shape[1]
                pieces[:, start:middle] = right
                state[_TOP] = middle + lower.shape[1]
                pieces[:, middle : state[_TOP]] = lower
                starts[state[_PARTS]] = middle
                state[_PARTS] += 1
                break
        else:
            end = state[_OUT] + part.shape[1]
            results[0, state[_OUT] : end] = part[0]
            results[1, state[_OUT] : end] = state[_CLASSES]
            results[2, state[_OUT] : end] = part[1]
            state[_OUT], state[_TOP] = end, start
            state[_PARTS] -= 1
            state[_CLASSES] += 1
            state[_PLACED] += part[1].sum()


@jit
def _widest_first(codes: Ints, widths: Floats, part: Longs) -> Longs:
    """The columns in which the part has several codes, the widest by weighted share first."""
    shares = np.zeros(len(codes))
    for column in range(len(codes)):
        low = high = codes[column, part[0, 0]]
        for piece in range(part.shape[1]):
            code = codes[column, part[0, piece]]
            low, high = min(low, code), max(high, code)
        shares[column] = (high - low) / widths[column]
    order = np.argsort(-shares, kind="mergesort")
    return order[: np.count_nonzero(shares)]


@jit
def _cut(codes: Ints, seams: Ints, part: Longs, relaxed: bool) -> tuple[Longs, Longs]:
    """Cuts a sorted part in two: at half of its records, or between the nearest two codes.

    Where there are seams, only the topmost of those inside the part are cut.
    """
    total = part[1].sum()
    top = _topmost(seams, codes[part[0, 0]], codes[part[0, -1]])
    lower_count, best, seam = 0, total, 0
    for piece in range(part.shape[1]):
        previous, code = codes[part[0, max(piece - 1, 0)]], codes[part[0, piece]]
        if code != previous and abs(2 * lower_count - total) < best and _topmost(seams, previous, code) == top:
            best, seam = abs(2 * lower_count - total), piece
        if relaxed and 2 * (lower_count + part[1, piece]) > total:
            share = total // 2 - lower_count
            lower, right = part[:, : piece + 1].copy(), part[:, piece:].copy()
            lower[1, -1], right[1, 0] = share, part[1, piece] - share
            return (lower if share else lower[:, :-1]), right
        lower_count += part[1, piece]
    return part[:, :seam], part[:, seam:]


@jit
def _topmost(seams: Ints, low: int, high: int) -> int:
    """The depth of the lowest node above both codes."""
    return int(seams[low:high].min()) if len(seams) and high > low else 0


@jit
def _holds(limits: Limits, bins: Longs, part: Longs) -> bool:
    size = part[1].sum()
    if size < limits.k:
        return False
    histogram = np.zeros(limits.starts[-1], dtype=np.int64)
    for piece in range(part.shape[1]):
        for column in range(bins.shape[1]):
            histogram[bins[part[0, piece], column]] += part[1, piece]
    return kept(limits, histogram, size)
