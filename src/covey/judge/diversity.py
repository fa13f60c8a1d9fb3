"""The diversity of the sensitive values in a class (l), and their distance from the whole table's (t).

In a class of n rows let r1 >= r2 >= ... >= rm be how often its sensitive values occur. A release has the l of its
worst class:

    distinct    m
    frequency   n / r1: no value is more likely than 1/l
    entropy     exp(H), with H the entropy of the values in natural logarithms
    recursive   the largest l with r1 < c (rl + ... + rm)

and the t of the class that is farthest from the whole table, when a step between two values costs

    equal       1, whichever the values: half the sum of the differences
    ordered     their distance in the order of the values that occur, the ends being 1 apart
    hierarchy   the level of their common ancestor as a part of the height

A missing value is a value of its own, the last one in an order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from covey.arrays import Floats, Ints, Longs
from covey.cells import MISSING, number
from covey.hierarchy import Hierarchy
from covey.judge.tuples import Cells, alike
from covey.judge.verdict import Diversity
from covey.schema import Column


@dataclass(frozen=True)
class Histogram:
    """The count of each value in each class: one entry per class and value that occur, in that order."""

    klass: Longs
    value: Longs
    count: Longs
    sizes: Longs  # rows per class

    @property
    def starts(self) -> Longs:
        """The place of each class's first entry."""
        return np.searchsorted(self.klass, np.arange(len(self.sizes))).astype(np.int64)

    @property
    def whole(self) -> Longs:
        """The count of each value in the table."""
        return np.bincount(self.value, weights=self.count).astype(np.int64)


def histogram(class_of: Longs, value: Ints | Longs, counts: Longs, sizes: Longs) -> Histogram:
    """The histogram of a column over the classes."""
    entry, first = alike([class_of.astype(np.int32), value.astype(np.int32)], len(counts))
    total = np.bincount(entry, weights=counts).astype(np.int64)
    return Histogram(class_of[first], value[first].astype(np.int64), total, sizes)


def judge_diversity(cells: Cells, class_of: Longs, counts: Longs, sizes: Longs, c: float) -> Diversity:
    """One sensitive column, by every definition."""
    found = histogram(class_of, cells.codes, counts, sizes)
    return Diversity(
        column=cells.column.name,
        distinct=distinct(found),
        frequency=frequency(found),
        entropy=entropy(found),
        recursive=recursive(found, c),
        c=c,
        t_equal=equal_distance(found),
        t_ordered=_ordered(cells, found),
        t_hierarchy=_by_hierarchy(cells, found),
    )


def distinct(found: Histogram) -> int:
    """The fewest different values in a class."""
    return int(np.bincount(found.klass).min())


def frequency(found: Histogram) -> float:
    """The smallest n / r1."""
    return float((found.sizes / np.maximum.reduceat(found.count, found.starts)).min())


def entropy(found: Histogram) -> float:
    """The smallest exp(H)."""
    part = found.count / found.sizes[found.klass]
    return math.exp(float(-np.add.reduceat(part * np.log(part), found.starts).max()))


def recursive(found: Histogram, c: float) -> int:
    """The largest l with r1 < c (rl + ... + rm) in every class; 0 if there is none."""
    falling = np.lexsort([-found.count, found.klass])
    count = found.count[falling]
    before = np.cumsum(count) - count
    rest = found.sizes[found.klass] - (before - before[found.starts][found.klass])  # rl + ... + rm at each rank l
    top = count[found.starts][found.klass]
    return int(np.bincount(found.klass, weights=top < c * rest, minlength=len(found.sizes)).min())


def equal_distance(found: Histogram) -> float:
    """The farthest class: what it has too much of is what it has too little of, so only the surplus is added up."""
    surplus = found.count / found.sizes[found.klass] - (found.whole / found.sizes.sum())[found.value]
    return float(np.add.reduceat(np.maximum(surplus, 0.0), found.starts).max())


def ordered_distance(found: Histogram) -> float:
    """The farthest class, values being coded in their order and all occurring.

    What must be carried over the step behind value i is |P(i) - Q(i)|, the difference of the shares up to i. Between
    two values that a class has, its P stays level while the table's Q rises, so that each such stretch adds up to the
    part before Q overtakes P and the part behind.
    """
    table = np.cumsum(found.whole) / found.sizes.sum()
    steps = len(table) - 1
    if steps < 1:
        return 0.0
    upto = np.concatenate([[0.0], np.cumsum(table)])
    running = np.cumsum(found.count)
    own = (running - (running - found.count)[found.starts][found.klass]) / found.sizes[found.klass]
    is_last = np.append(found.klass[1:] != found.klass[:-1], True)
    start = found.value
    stop = np.where(is_last, steps, np.append(found.value[1:], 0))
    carried = _stretch(own, start, stop, table, upto)
    first = found.starts
    before = upto[found.value[first]]  # until its first value a class has nothing
    return float(((np.add.reduceat(carried, first) + before) / steps).max())


def _stretch(own: Floats, start: Longs, stop: Longs, table: Floats, upto: Floats) -> Floats:
    """The sum of |own - table[i]| for start <= i < stop; the table rises."""
    stop = np.maximum(start, stop)
    turn = np.clip(np.searchsorted(table, own), start, stop)
    below = own * (turn - start) - (upto[turn] - upto[start])
    above = (upto[stop] - upto[turn]) - own * (stop - turn)
    return np.asarray(below + above, dtype=np.float64)


def tree_distance(found: Histogram, tree: Hierarchy) -> float:
    """The farthest class, values being coded as leaves.

    Two leaves are as many levels apart as there are levels on which they differ; so the distance is the mean, over the
    levels below the root, of the equal distance of the values generalized to that level. Per class, not per level,
    is the worst looked for.
    """
    total = np.zeros(len(found.sizes))
    for level in tree.up[:-1]:
        at = histogram(found.klass, level[found.value], found.count, found.sizes)
        surplus = at.count / at.sizes[at.klass] - (at.whole / at.sizes.sum())[at.value]
        total += np.add.reduceat(np.maximum(surplus, 0.0), at.starts)
    return float((total / tree.height).max())


def _ordered(cells: Cells, found: Histogram) -> float | None:
    order = value_order(cells.column, [cells.labels[code] for code in np.unique(found.value)])
    if order is None:
        return None
    place = {label: position for position, label in enumerate(order)}
    moved = np.array([place.get(label, 0) for label in cells.labels], dtype=np.int64)
    return ordered_distance(histogram(found.klass, moved[found.value], found.count, found.sizes))


def value_order(column: Column, occurring: Sequence[str]) -> list[str] | None:
    """The values in their order: as the study lists them, by number or day, or, where it says ordered, by spelling."""
    present = [label for label in occurring if label != MISSING]
    missing = [MISSING] * (len(present) < len(occurring))
    if column.values is not None:
        return sorted(present, key=column.values.index) + missing
    if column.kind == "number" and all(number(label) is not None for label in present):
        return sorted(present, key=lambda label: number(label) or Decimal(0)) + missing
    if column.kind == "date" or column.distance == "ordered":
        return sorted(present) + missing
    return None


def _by_hierarchy(cells: Cells, found: Histogram) -> float | None:
    if cells.column.hierarchy is None:
        return None
    tree = cells.column.tree(cells.labels).with_missing()
    leaf = tree.encode(cells.labels)
    if (leaf[found.value] < 0).any():
        return None
    return tree_distance(histogram(found.klass, leaf[found.value], found.count, found.sizes), tree)
