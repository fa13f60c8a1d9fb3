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

from covey.anonymizers.closure import closed
from covey.anonymizers.constraints import Limits, flat_codes, kept, limits_of, require_feasible
from covey.anonymizers.pace import Cancel, Progress, never, report, silent
from covey.anonymizers.problem import Partition, Problem
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
    limits, places = limits_of(problem), flat_codes(problem)
    most_cuts = problem.records // max(problem.k, 1) if relaxed else 0
    room = min(problem.items + most_cuts, problem.records) + 1
    pieces, out = np.zeros((2, room), dtype=np.int64), np.zeros((3, room), dtype=np.int64)
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
        _halve(codes, widths, flat, bounds, limits, places, relaxed, pieces, starts, out, state)
        report("cutting", int(state[_PLACED]) / problem.records, progress, cancel)
    item, group, count = out[:, : int(state[_OUT])]
    return closed(problem, item, group, count, cuts=int(state[_CLASSES]) - 1, relaxed=relaxed, aligned=aligned)


def _seams(problem: Problem, column: int, aligned: bool) -> Ints:
    """The depth of the lowest node above each leaf code and the next one; nothing where any cut will do."""
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
    places: Longs,
    relaxed: bool,
    pieces: Longs,
    starts: Longs,
    out: Longs,
    state: Longs,
) -> None:
    """Cut the part on top of the stack, or write it out as a class, until the stack is empty or a step is done.

    A part is the pieces (item, records) from its start to the top; its two halves take its place, the left one on top.
    """
    looked = 0
    while state[_PARTS] and looked < _STEP:
        start = starts[state[_PARTS] - 1]
        part = pieces[:, start : state[_TOP]].copy()
        looked += part.shape[1]
        for column in _widest_first(codes, widths, part):
            order = np.argsort(codes[column, part[0]], kind="mergesort")
            own = seams[bounds[column] : bounds[column + 1]]
            left, right = _cut(codes[column], own, part[:, order], relaxed)
            if left.shape[1] and right.shape[1] and _holds(limits, places, left) and _holds(limits, places, right):
                middle = start + right.shape[1]
                pieces[:, start:middle] = right
                state[_TOP] = middle + left.shape[1]
                pieces[:, middle : state[_TOP]] = left
                starts[state[_PARTS]] = middle
                state[_PARTS] += 1
                break
        else:
            end = state[_OUT] + part.shape[1]
            out[0, state[_OUT] : end] = part[0]
            out[1, state[_OUT] : end] = state[_CLASSES]
            out[2, state[_OUT] : end] = part[1]
            state[_OUT], state[_TOP] = end, start
            state[_PARTS] -= 1
            state[_CLASSES] += 1
            state[_PLACED] += part[1].sum()


@jit
def _widest_first(codes: Ints, widths: Floats, part: Longs) -> Longs:
    """The columns in which the part is not a single code, the widest first: its share of the domain, weighted."""
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
    """A part, sorted by code, in two: at exactly half of its records, or between two codes as near to it as can be.

    Where there are seams, only the topmost of those inside the part are cut.
    """
    total = part[1].sum()
    top = _topmost(seams, codes[part[0, 0]], codes[part[0, -1]])
    below, best, where = 0, total, 0
    for piece in range(part.shape[1]):
        before, code = codes[part[0, max(piece - 1, 0)]], codes[part[0, piece]]
        if code != before and abs(2 * below - total) < best and _topmost(seams, before, code) == top:
            best, where = abs(2 * below - total), piece
        if relaxed and 2 * (below + part[1, piece]) > total:
            inside = total // 2 - below
            left, right = part[:, : piece + 1].copy(), part[:, piece:].copy()
            left[1, -1], right[1, 0] = inside, part[1, piece] - inside
            return (left if inside else left[:, :-1]), right
        below += part[1, piece]
    return part[:, :where], part[:, where:]


@jit
def _topmost(seams: Ints, low: int, high: int) -> int:
    """The depth of the lowest node above both codes."""
    return int(seams[low:high].min()) if len(seams) and high > low else 0


@jit
def _holds(limits: Limits, places: Longs, part: Longs) -> bool:
    size = part[1].sum()
    if size < limits.k:
        return False
    histogram = np.zeros(limits.starts[-1], dtype=np.int64)
    for piece in range(part.shape[1]):
        for column in range(places.shape[1]):
            histogram[places[part[0, piece], column]] += part[1, piece]
    return kept(limits, histogram, size)
