"""The constraints k, l and t on every class, decided from its size and its histogram of sensitive values.

Size        k records or more.
l, frequency  no value in more than size / l of the class's records.
l, distinct   l different values or more.
l, entropy    exp(H) >= l for the class's entropy H in natural logarithms (the base does not matter).
c           besides l: the most frequent value is rarer than c times all from the l-th most frequent on, together.
t           the distance between the class's and the table's distribution is t at most: half the L1 distance (equal),
            the earth mover's over ordered values that are one step apart of m - 1, or the earth mover's over a tree,
            two leaves being their common ancestor's level of the height apart.

Several sensitive columns must each satisfy them. A value that no record has takes no part.

A class's histogram is one flat array, the columns side by side: column c's value v stands at `starts[c] + v`.
Two classes that satisfy everything do so when they are merged: equal labels in a release never break what was kept.
Counts are compared as integers: t's distances are exact until the last division.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from covey.anonymizers.problem import Problem
from covey.arrays import Bits, Floats, Longs
from covey.compiled import jit
from covey.errors import InputError, Unmet
from covey.measures import diversity_of

NONE, FREQUENCY, DISTINCT, ENTROPY = 0, 1, 2, 3
EQUAL, ORDERED, HIERARCHY = 0, 1, 2
_KINDS = {"frequency": FREQUENCY, "distinct": DISTINCT, "entropy": ENTROPY}
_DISTANCES = {"equal": EQUAL, "ordered": ORDERED, "hierarchy": HIERARCHY}
SLACK = 1e-9  # a rounding error never decides


class Limits(NamedTuple):
    """A problem's constraints as arrays and numbers, for compiled code."""

    k: int
    kind: int  # NONE, FREQUENCY, DISTINCT or ENTROPY
    l: Floats  # noqa: E741 - the field's name for it; per sensitive column, 1 where none is asked
    c: Floats  # likewise, infinite where none is asked
    t: Floats  # likewise
    starts: Longs  # where each sensitive column begins in a flat histogram; the last entry is its width
    table: Longs  # the table's flat histogram
    records: int
    distances: Longs  # per column EQUAL, ORDERED or HIERARCHY
    tree_starts: Longs  # where each column's tree begins in `parents` and `levels`
    parents: Longs  # each node's parent, per tree, children before parents
    levels: Longs  # each node's level
    heights: Longs


@jit
def frequency_kept(histogram: Longs, start: int, stop: int, size: int, l: float) -> bool:  # noqa: E741
    """True if no value has more than size / l of the records."""
    top = 0
    for value in range(start, stop):
        top = max(top, histogram[value])
    return top * l <= size + SLACK


@jit
def distinct_kept(histogram: Longs, start: int, stop: int, l: float) -> bool:  # noqa: E741
    """True if l different values occur."""
    values = 0
    for value in range(start, stop):
        if histogram[value] > 0:
            values += 1
    return values >= l


@jit
def entropy(histogram: Longs, start: int, stop: int, size: int) -> float:
    """The entropy of the values, in natural logarithms."""
    total = 0.0
    for value in range(start, stop):
        if histogram[value] > 0:
            total += histogram[value] * np.log(histogram[value])
    return float(np.log(size) - total / size)


@jit
def recursive_kept(histogram: Longs, start: int, stop: int, l: float, c: float) -> bool:  # noqa: E741
    """True if r1 < c (rl + … + rm) for the values' counts in falling order."""
    falling = -np.sort(-histogram[start:stop])
    tail = falling[int(np.ceil(l)) - 1 :].sum()
    return bool(falling[0] < c * tail)


@jit
def equal_distance(histogram: Longs, table: Longs, start: int, stop: int, size: int, records: int) -> float:
    """Half the L1 distance between a class and the table."""
    work = 0
    for value in range(start, stop):
        work += abs(histogram[value] * records - table[value] * size)
    return work / 2 / size / records


@jit
def ordered_distance(histogram: Longs, table: Longs, start: int, stop: int, size: int, records: int) -> float:
    """The earth mover's distance between a class and the table, over the values in order."""
    work, surplus, occurring = 0, 0, 0
    for value in range(start, stop):
        if table[value] > 0:
            occurring += 1
            surplus += histogram[value] * records - table[value] * size
            work += abs(surplus)
    return work / max(occurring - 1, 1) / size / records


@jit
def tree_distance(limits: Limits, histogram: Longs, column: int, size: int) -> float:
    """The earth mover's distance between a class and the table, over the column's hierarchy."""
    start, stop = limits.starts[column], limits.starts[column + 1]
    base, end = limits.tree_starts[column], limits.tree_starts[column + 1]
    extra, demand, spare = np.zeros(end - base), np.zeros(end - base), np.zeros(end - base)
    work = 0.0
    for node in range(end - base):
        if node < stop - start:
            extra[node] = histogram[start + node] * limits.records - limits.table[start + node] * size
        work += min(spare[node], demand[node]) * limits.levels[base + node]
        parent = limits.parents[base + node]
        if parent != node:
            extra[parent] += extra[node]
            spare[parent] += max(extra[node], 0.0)
            demand[parent] += max(-extra[node], 0.0)
    return float(work / max(limits.heights[column], 1) / size / limits.records)


@jit
def distance(limits: Limits, histogram: Longs, column: int, size: int) -> float:
    """The distance of one sensitive column of a class from the table's, by its own definition."""
    start, stop = limits.starts[column], limits.starts[column + 1]
    if limits.distances[column] == ORDERED:
        return ordered_distance(histogram, limits.table, start, stop, size, limits.records)
    if limits.distances[column] == HIERARCHY:
        return tree_distance(limits, histogram, column, size)
    return equal_distance(histogram, limits.table, start, stop, size, limits.records)


@jit
def diverse(limits: Limits, histogram: Longs, size: int) -> bool:
    """True if a class of this histogram keeps l and t, whatever its size."""
    for column in range(len(limits.starts) - 1):
        start, stop = limits.starts[column], limits.starts[column + 1]
        if limits.kind == FREQUENCY:
            if not frequency_kept(histogram, start, stop, size, limits.l[column]):
                return False
        elif limits.kind == DISTINCT:
            if not distinct_kept(histogram, start, stop, limits.l[column]):
                return False
        elif limits.kind == ENTROPY and entropy(histogram, start, stop, size) < np.log(limits.l[column]) - SLACK:
            return False
        if limits.c[column] < np.inf and not recursive_kept(histogram, start, stop, limits.l[column], limits.c[column]):
            return False
        if limits.t[column] < np.inf and distance(limits, histogram, column, size) > limits.t[column] + SLACK:
            return False
    return True


@jit
def diverse_with(limits: Limits, histogram: Longs, size: int, bins: Longs, amount: int) -> bool:
    """True if a class keeps l and t with more (or less) records of these sensitive values."""
    add(histogram, bins, amount)
    answer = diverse(limits, histogram, size + amount)
    add(histogram, bins, -amount)
    return answer


@jit
def add(histogram: Longs, bins: Longs, amount: int) -> None:
    """Counts records into a class's histogram."""
    for column in range(len(bins)):
        histogram[bins[column]] += amount


@jit
def kept(limits: Limits, histogram: Longs, size: int) -> bool:
    """True if a class of this histogram and size keeps k, l and t."""
    return size >= limits.k and diverse(limits, histogram, size)


@jit
def broken(limits: Limits, histograms: Longs, sizes: Longs) -> Bits:
    """Marks the classes that do not keep k, l and t. `histograms` is classes x width."""
    result = np.zeros(len(sizes), dtype=np.bool_)
    for number in range(len(sizes)):
        result[number] = not kept(limits, histograms[number], sizes[number])
    return result


def limits_of(problem: Problem) -> Limits:
    """The problem's constraints as compiled code reads them. Without l and t no sensitive column takes part."""
    columns = problem.sensitive if problem.watched else ()
    least_l = [problem.l_of(column) for column in columns]
    most_t = [problem.t_of(column) for column in columns]
    c = math.inf if problem.c is None else float(problem.c)
    starts = np.cumsum([0, *(column.values for column in columns)], dtype=np.int64)
    trees = [column.tree if column.distance == "hierarchy" else None for column in columns]
    parents = [np.empty(0, dtype=np.int64) if tree is None else tree.parent.astype(np.int64) for tree in trees]
    levels = [np.empty(0, dtype=np.int64) if tree is None else tree.level.astype(np.int64) for tree in trees]
    return Limits(
        k=problem.k,
        kind=_KINDS[problem.diversity] if any(value is not None for value in least_l) else NONE,
        l=np.array([1.0 if value is None else value for value in least_l], dtype=np.float64),
        c=np.array([math.inf if value is None else c for value in least_l], dtype=np.float64),
        t=np.array([math.inf if value is None else value for value in most_t], dtype=np.float64),
        starts=starts,
        table=_flat_histogram(problem, starts),
        records=problem.records,
        distances=np.array([_DISTANCES[column.distance] for column in columns], dtype=np.int64),
        tree_starts=np.cumsum([0, *(len(part) for part in parents)], dtype=np.int64),
        parents=np.concatenate([np.empty(0, dtype=np.int64), *parents]),
        levels=np.concatenate([np.empty(0, dtype=np.int64), *levels]),
        heights=np.array([1 if tree is None else tree.height for tree in trees], dtype=np.int64),
    )


def flat_codes(problem: Problem) -> Longs:
    """Each item's places in a flat histogram, items x sensitive columns. No column where nothing watches them."""
    limits = limits_of(problem)
    watched = len(limits.starts) - 1
    if not watched:
        return np.empty((problem.items, 0), dtype=np.int64)
    return np.stack([problem.sensitive[c].codes + limits.starts[c] for c in range(watched)], axis=1).astype(np.int64)


def _flat_histogram(problem: Problem, starts: Longs) -> Longs:
    parts = [
        np.bincount(problem.sensitive[c].codes, weights=problem.counts, minlength=problem.sensitive[c].values)
        for c in range(len(starts) - 1)
    ]
    return np.concatenate([np.empty(0), *parts]).astype(np.int64)


def histograms(
    problem: Problem, group: Longs, classes: int, item: Longs | None = None, count: Longs | None = None
) -> Longs:
    """Each class's flat histogram, classes x width. Without `item` and `count` each item is whole in its group."""
    bins = flat_codes(problem) if item is None else flat_codes(problem)[item]
    width = int(limits_of(problem).starts[-1])
    flat = np.zeros(classes * width, dtype=np.int64)
    for column in range(bins.shape[1]):
        np.add.at(flat, group * width + bins[:, column], problem.counts if count is None else count)
    return flat.reshape(classes, width)


def require_feasible(problem: Problem) -> None:
    """Raise Unmet, saying what would be feasible, if no partition could keep k and l.

    Merging classes never breaks a constraint, so what the whole table as one class does not keep, no partition does.
    """
    if problem.records < problem.k:
        raise Unmet(f"k = {problem.k} cannot be kept by {problem.records} records; k can be {problem.records} at most")
    if problem.watched and not problem.sensitive:
        raise InputError("l or t is asked for, but no column is sensitive; give one that role, or take l and t out")
    for column in problem.sensitive:
        limit, suffix = problem.l_of(column), f" for column {column.name!r}" if column.name else ""
        counts = np.bincount(column.codes, weights=problem.counts, minlength=column.values).astype(np.int64)
        if limit is not None and (diversity := diversity_of(counts, problem.diversity)) < limit - SLACK:
            raise Unmet(
                f"l = {limit:g} ({problem.diversity}) cannot be kept{suffix}: the whole table reaches "
                f"{_floored(diversity)}; lower l to that, or merge sensitive values"
            )
        if limit is not None and problem.c is not None and not recursive_kept(counts, 0, len(counts), limit, problem.c):
            raise Unmet(
                f"c = {problem.c:g} with l = {limit:g} cannot be kept{suffix} by the whole table; raise c, lower l, or "
                "merge sensitive values"
            )


def _floored(value: float) -> str:
    return f"{math.floor(value * 100 + SLACK) / 100:g}"
