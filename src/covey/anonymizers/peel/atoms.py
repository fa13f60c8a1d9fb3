"""Items cut into atoms: amounts of equal records that always stay together.

A class may need a few records of an item that has many, so an item of count c is cut into 1, 2, 4, … of its records up
to k of them, and the rest as one. Any amount up to k can then be lent, and no item has more than log2 k + 2 atoms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from covey.anonymizers.closure import closed
from covey.anonymizers.constraints import flat_codes
from covey.anonymizers.problem import Partition, Problem
from covey.arrays import Ints, Longs


@dataclass(frozen=True)
class Atoms:
    """The atoms of a problem: their item, how many records each is, leaf codes, places in a class's histogram."""

    item: Longs
    weight: Longs
    codes: Ints  # columns x atoms
    places: Longs  # atoms x sensitive columns that are watched

    @property
    def number(self) -> int:
        return len(self.item)


def cut(problem: Problem) -> Atoms:
    """The problem's items as atoms."""
    items, weights = [], []
    left, size = problem.counts.copy(), 1
    lend = np.minimum(problem.counts, problem.k)
    while (cutting := np.flatnonzero(lend > 0)).size:
        amount = np.minimum(lend[cutting], size)
        items.append(cutting)
        weights.append(amount)
        lend[cutting] -= amount
        left[cutting] -= amount
        size *= 2
    rest = np.flatnonzero(left > 0)
    item = np.concatenate([*items, rest]).astype(np.int64)
    weight = np.concatenate([*weights, left[rest]]).astype(np.int64)
    order = np.argsort(item, kind="stable")
    item, weight = item[order], weight[order]
    return Atoms(item, weight, np.ascontiguousarray(problem.codes[:, item]), flat_codes(problem)[item])


def joined(problem: Problem, atoms: Atoms, label: Longs, notes: dict[str, object], reproducible: bool) -> Partition:
    """The partition that these labels say; atoms of label 0 are withheld. Classes are numbered as they appear."""
    placed = np.flatnonzero(label > 0)
    _, group = np.unique(label[placed], return_inverse=True)
    item = atoms.item[placed]
    classes = int(group.max()) + 1 if len(group) else 0
    pairs, where = np.unique(item * max(classes, 1) + group, return_inverse=True)
    count = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(count, where, atoms.weight[placed])
    made = closed(problem, pairs // max(classes, 1), pairs % max(classes, 1), count, **notes)
    return replace(made, reproducible=reproducible)
