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
    """The count of each value in each class, with an entry for each that occurs."""

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
    classes = histogram(class_of, cells.codes, counts, sizes)
    return Diversity(
        column=cells.column.name,
        distinct=distinct(classes),
        frequency=frequency(classes),
        entropy=entropy(classes),
        recursive=recursive(classes, c),
        c=c,
        t_equal=equal_distance(classes),
        t_ordered=_ordered(cells, classes),
        t_hierarchy=_by_hierarchy(cells, classes),
    )


def distinct(classes: Histogram) -> int:
    """The fewest different values in a class."""
    return int(np.bincount(classes.klass).min())


def frequency(classes: Histogram) -> float:
    """The smallest n / r1."""
    return float((classes.sizes / np.maximum.reduceat(classes.count, classes.starts)).min())


def entropy(classes: Histogram) -> float:
    """The smallest exp(H)."""
    part = classes.count / classes.sizes[classes.klass]
    return math.exp(float(-np.add.reduceat(part * np.log(part), classes.starts).max()))


def recursive(classes: Histogram, c: float) -> int:
    """The largest l with r1 < c (rl + ... + rm) in every class; 0 if there is none."""
    falling = np.lexsort([-classes.count, classes.klass])
    count = classes.count[falling]
    lower = np.cumsum(count) - count
    tail = classes.sizes[classes.klass] - (lower - lower[classes.starts][classes.klass])  # rl + ... + rm at each rank l
    top = count[classes.starts][classes.klass]
    return int(np.bincount(classes.klass, weights=top < c * tail, minlength=len(classes.sizes)).min())


def equal_distance(classes: Histogram) -> float:
    """The distance of the farthest class. Surplus and lack are equal, so only the surplus is added up."""
    surplus = classes.count / classes.sizes[classes.klass] - (classes.whole / classes.sizes.sum())[classes.value]
    return float(np.add.reduceat(np.maximum(surplus, 0.0), classes.starts).max())


def ordered_distance(classes: Histogram) -> float:
    """The farthest class, values being coded in their order and all occurring.

    What must be carried over the step behind value i is |P(i) - Q(i)|, the difference of the shares up to i. Between
    two values that a class has, its P stays level while the table's Q rises, so that each such stretch adds up to the
    part before Q overtakes P and the part behind.
    """
    table = np.cumsum(classes.whole) / classes.sizes.sum()
    steps = len(table) - 1
    if steps < 1:
        return 0.0
    upto = np.concatenate([[0.0], np.cumsum(table)])
    running = np.cumsum(classes.count)
    shares = (running - (running - classes.count)[classes.starts][classes.klass]) / classes.sizes[classes.klass]
    is_last = np.append(classes.klass[1:] != classes.klass[:-1], True)
    start = classes.value
    stop = np.where(is_last, steps, np.append(classes.value[1:], 0))
    areas = _stretch(shares, start, stop, table, upto)
    first = classes.starts
    bottom = upto[classes.value[first]]  # until its first value a class has nothing
    return float(((np.add.reduceat(areas, first) + bottom) / steps).max())


def _stretch(shares: Floats, start: Longs, stop: Longs, table: Floats, upto: Floats) -> Floats:
    """The sum of |own - table[i]| for start <= i < stop; the table rises."""
    stop = np.maximum(start, stop)
    turn = np.clip(np.searchsorted(table, shares), start, stop)
    area_below = shares * (turn - start) - (upto[turn] - upto[start])
    area_above = (upto[stop] - upto[turn]) - shares * (stop - turn)
    return np.asarray(area_below + area_above, dtype=np.float64)


def tree_distance(classes: Histogram, tree: Hierarchy) -> float:
    """The farthest class, values being coded as leaves.

    Two leaves are as many levels apart as there are levels on which they differ; so the distance is the mean, over the
    levels below the root, of the equal distance of the values generalized to that level. Per class, not per level,
    is the worst looked for.
    """
    total = np.zeros(len(classes.sizes))
    for level in tree.up[:-1]:
        nodes = histogram(classes.klass, level[classes.value], classes.count, classes.sizes)
        surplus = nodes.count / nodes.sizes[nodes.klass] - (nodes.whole / nodes.sizes.sum())[nodes.value]
        total += np.add.reduceat(np.maximum(surplus, 0.0), nodes.starts)
    return float((total / tree.height).max())


def _ordered(cells: Cells, classes: Histogram) -> float | None:
    order = value_order(cells.column, [cells.labels[code] for code in np.unique(classes.value)])
    if order is None:
        return None
    position_of = {label: position for position, label in enumerate(order)}
    positions = np.array([position_of.get(label, 0) for label in cells.labels], dtype=np.int64)
    return ordered_distance(histogram(classes.klass, positions[classes.value], classes.count, classes.sizes))


def value_order(column: Column, occurring: Sequence[str]) -> list[str] | None:
    """The values as the study lists them, by number or day, or by spelling if they are ordered."""
    present = [label for label in occurring if label != MISSING]
    missing = [MISSING] * (len(present) < len(occurring))
    if column.values is not None:
        return sorted(present, key=column.values.index) + missing
    if column.kind == "number" and all(number(label) is not None for label in present):
        return sorted(present, key=lambda label: number(label) or Decimal(0)) + missing
    if column.kind == "date" or column.distance == "ordered":
        return sorted(present) + missing
    return None


def _by_hierarchy(cells: Cells, classes: Histogram) -> float | None:
    if cells.column.hierarchy is None:
        return None
    tree = cells.column.tree(cells.labels).with_missing()
    leaf = tree.encode(cells.labels)
    if (leaf[classes.value] < 0).any():
        return None
    return tree_distance(histogram(classes.klass, leaf[classes.value], classes.count, classes.sizes), tree)
