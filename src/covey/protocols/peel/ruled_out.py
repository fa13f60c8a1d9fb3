"""Tuples that public numbers rule out: k records can share a tuple only if k or more with each of its values remain.

How many records have a value is public, or is bounded, since the marginals were opened; whoever was published with a
value, or with one below it, has left. What no tuple with k records can have is not tested, and nobody's records with it
are looked at. That teaches nothing: everybody computes it from what everybody knows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Ints, Longs
from covey.hierarchy import Hierarchy
from covey.protocols.shared.peeling.marginals import RARE, WITHHELD, Marginals


@dataclass
class RemainingAtMost:
    """The number of remaining records that have each value at most, for each node of each column's tree."""

    k: int
    trees: tuple[Hierarchy, ...]
    most: list[Longs]

    def __post_init__(self) -> None:
        self._count()

    @classmethod
    def of(cls, trees: tuple[Hierarchy, ...], known: Marginals) -> RemainingAtMost:
        """The numbers before the first visit."""
        most = [_most(tree, counts, known) for tree, counts in zip(trees, known.counts, strict=True)]
        return cls(known.k, trees, most)

    def leave(self, boxes: Ints, sizes: Longs) -> None:
        """Takes the records of published classes off, a box each: of its own values and of all above."""
        for column, tree in enumerate(self.trees):
            gone = np.zeros(tree.nodes, dtype=np.int64)
            np.add.at(gone, boxes[:, column], sizes)
            for node in np.argsort(-tree.depth, kind="stable").tolist():
                if node != tree.root:
                    gone[tree.parent[node]] += gone[node]
            self.most[column] -= gone
        self._count()

    def _count(self) -> None:
        """Counts, for each level of each column, the values that k records may have, and their records."""
        self._values: list[list[int]] = []
        self._records: list[list[int]] = []
        for tree, most in zip(self.trees, self.most, strict=True):
            enough = [most[here][most[here] >= self.k] for here in (np.unique(level) for level in tree.up)]
            self._values.append([len(each) for each in enough])
            self._records.append([int(each.sum()) for each in enough])

    def frequent(self, column: int, nodes: Ints) -> Longs:
        """The places of those of these nodes that k remaining records may have."""
        return np.flatnonzero(self.most[column][nodes] >= self.k)

    def domain(self, levels: Sequence[int]) -> int:
        """The number of tuples at a lattice node that k records may share."""
        return math.prod(values[level] for values, level in zip(self._values, levels, strict=True))

    def records(self, levels: Sequence[int]) -> int:
        """The number of remaining records at most that have such a tuple at a lattice node."""
        return min(records[level] for records, level in zip(self._records, levels, strict=True))


def _most(tree: Hierarchy, counts: Longs, known: Marginals) -> Longs:
    """Below a node: what was opened, and of the rest no more than there is, nor than rare values have at most."""
    opened = np.where(counts >= 0, counts, 0)
    hidden = known.records - int(opened.sum())
    sums = [np.concatenate([[0], np.cumsum(each)]) for each in (opened, counts == RARE, counts == WITHHELD)]
    below = [each[tree.last + 1] - each[tree.first] for each in sums]
    return np.asarray(below[0] + np.minimum(hidden, (known.k - 1) * below[1] + hidden * below[2]), dtype=np.int64)
