"""The nodes that a class publishes: per column the lowest node above all of its records."""

from __future__ import annotations

import numpy as np

from covey.anonymizers.problem import Partition, Problem
from covey.arrays import Ints, Longs


def boxes(problem: Problem, item: Longs, group: Longs, classes: int) -> tuple[Ints, Ints]:
    """The lowest and highest leaf code of each class in each column, classes x columns."""
    low = np.empty((classes, problem.columns), dtype=np.int32)
    high = np.empty((classes, problem.columns), dtype=np.int32)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(classes))
    members = item[order]
    for column in range(problem.columns):
        codes = problem.codes[column, members]
        low[:, column] = np.minimum.reduceat(codes, starts) if classes else 0
        high[:, column] = np.maximum.reduceat(codes, starts) if classes else 0
    return low, high


def close(problem: Problem, item: Longs, group: Longs, classes: int) -> Ints:
    """Each class's nodes, classes x columns. Leaves below a node are contiguous, so the box's two ends decide it."""
    low, high = boxes(problem, item, group, classes)
    nodes = np.empty((classes, problem.columns), dtype=np.int32)
    for column, tree in enumerate(problem.trees):
        nodes[:, column] = tree.common_ancestor(low[:, column], high[:, column])
    return nodes


def closed(problem: Problem, item: Longs, group: Longs, count: Longs, **notes: object) -> Partition:
    """The partition of these pieces; every class has a member and publishes the lowest nodes that it may."""
    classes = int(group.max()) + 1 if len(group) else 0
    return Partition(item, group, count, close(problem, item, group, classes), notes)
