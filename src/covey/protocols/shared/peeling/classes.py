"""Peeling in the clear, and the classes that readers of the release see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.errors import Unmet
from covey.hierarchy import Hierarchy
from covey.protocols.protocol import Figures, Result
from covey.protocols.shared import publish
from covey.protocols.shared.rows import Rows
from covey.study import Study
from covey.table import group, tally

Admits = Callable[[Longs, Longs, Longs], Bits]
"""Given the remaining records, the tuple of each and each tuple's number of records: the tuples that may be classes."""


@dataclass(frozen=True)
class PublishedClasses:
    """The classes as a reader sees them: boxes that differ, and how many records each has."""

    boxes: Ints
    sizes: Longs
    number: Longs
    """The class that each class of the run became."""

    @classmethod
    def of(cls, columns: int, boxes: Sequence[Ints], sizes: Sequence[int]) -> PublishedClasses:
        """Classes with the same labels become one."""
        stacked = np.stack(boxes) if len(boxes) else np.zeros((0, columns), dtype=np.int32)
        number, first = group([*stacked.T], len(stacked))
        total = np.bincount(number, weights=np.array(sizes, dtype=np.float64), minlength=len(first))
        return cls(stacked[first], total.astype(np.int64), number)

    def of_records(self, klass: Longs) -> Longs:
        """The published class of each record, from its class in the run; -1 stays -1."""
        return np.where(klass >= 0, self.number[np.maximum(klass, 0)], -1) if len(self.number) else klass

    def count(self, klass: Longs, counts: Longs | None = None) -> Longs:
        """The number of records in each class, from each row's class and number of records; -1 is no class."""
        inside = klass >= 0
        return tally(klass[inside], len(self.sizes), None if counts is None else counts[inside])

    def figures(self, study: Study, trees: Sequence[Hierarchy], records: int) -> Figures:
        """The figures that are known before the rows are opened; `records` counts those that are withheld too.

        Raises Unmet where nothing is published, or more is suppressed than the study allows.
        """
        rows = int(self.sizes.sum())
        if not rows:
            more = "" if study.privacy.most_of_a_class is None else ", or raise most_of_a_class"
            raise Unmet(
                f"no class keeps what the study asks for, not even the whole table; lower k, l or k_insider{more}"
            )
        return publish.figures(study, trees, self.boxes, self.sizes, withheld=records - rows)

    def result(self, study: Study, trees: Sequence[Hierarchy], known: Figures, rows: Rows) -> Result:
        """The released table of these rows."""
        return publish.result(study, trees, self.boxes, rows.klass, rows.cells, known)


def peel(
    trees: Sequence[Hierarchy], nodes: Ints, codes: Ints, k: int, admits: Admits
) -> tuple[list[Ints], list[int], Longs]:
    """The boxes and sizes of the classes, and each record's class, or -1 if it is left over.

    Visits the nodes in turn, until fewer than k records (columns x records) remain; at each, the tuples that are
    admitted become classes, and their records leave.
    """
    klass = np.full(codes.shape[1], -1, dtype=np.int64)
    boxes: list[Ints] = []
    sizes: list[int] = []
    for levels in nodes:
        rows = np.flatnonzero(klass < 0)
        if len(rows) < k:
            break
        tuples = np.stack([tree.up[levels[c]][codes[c, rows]] for c, tree in enumerate(trees)])
        place, first = group([*tuples], len(rows))
        size = np.bincount(place, minlength=len(first)).astype(np.int64)
        leaves = admits(rows, place, size)
        number = np.where(leaves, len(sizes) + np.cumsum(leaves) - 1, -1)
        klass[rows] = number[place]
        boxes += list(tuples[:, first[leaves]].T)
        sizes += size[leaves].tolist()
    return boxes, sizes, klass
