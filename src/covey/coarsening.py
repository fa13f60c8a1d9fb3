"""More distinct tuples than memory holds: the columns that begin at a coarser level, and what that costs.

The engine has counted the tuples; while they are too many, one column goes up a level, the one that saves most tuples
for the loss it costs. A label of one value in a node then stands for all of them, and no class publishes less than the
node: so classes, labels and figures are true, and only finer labels are lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from covey.arrays import Ints, Longs
from covey.hierarchy import Hierarchy, Interval
from covey.measures import lm
from covey.schema import Column
from covey.sources.engine import EngineRows
from covey.study import Study


class StartLevels(msgspec.Struct, frozen=True):
    """The level at which columns begin where the finest tuples were too many."""

    levels: dict[str, int]
    """Of each quasi column that does not begin at its values,"""
    most: int
    """the tuples that fit into memory,"""
    before: int
    """those that there were,"""
    left: int
    """and that are left;"""
    loss: float
    """the LM that these levels cost by themselves."""
    often: dict[str, bytes]
    """Of each quasi column the number of records of each label."""

    def sentence(self, remedy: str) -> str:
        """The words for the owner; `remedy` is what would keep all levels."""
        listing = ", ".join(f"{name!r} from level {level}" for name, level in self.levels.items())
        return (
            f"the {self.before:,} distinct tuples are more than the {self.most:,} that fit into memory, so columns are "
            f"published from coarser levels on ({listing}); {self.left:,} tuples are left, and these levels alone cost "
            f"LM {self.loss:.4f}. To keep every level: {remedy}"
        )

    def leaf_counts(self, name: str, tree: Hierarchy, labels: Sequence[str]) -> Longs:
        """The number of records of each leaf of a column, whatever its tuples are."""
        leaf, counts = tree.encode(labels), np.frombuffer(self.often[name], "<i8")
        return np.bincount(leaf[leaf >= 0], weights=counts[leaf >= 0], minlength=tree.codes).astype(np.int64)


@dataclass(frozen=True)
class GroupedColumn:
    """A quasi column whose codes are part of a tuple, with the records of each code."""

    column: Column
    tree: Hierarchy
    leaf: Ints
    index: int
    counts: Longs

    def cost(self, level: int) -> float:
        """The LM of the column's cells if all are published from this level on."""
        nodes = self.tree.up[level][self.leaf[self.leaf >= 0]]
        records = self.counts[self.leaf >= 0]
        return float(lm(self.tree)[nodes] @ records / max(int(records.sum()), 1)) * self.column.weight

    def lifted(self, level: int) -> Ints:
        """The code that stands for each code: the first below the same node."""
        ancestors = np.where(self.leaf < 0, -1 - np.arange(len(self.leaf)), self.tree.up[level][self.leaf])
        _, first, of_code = np.unique(ancestors, return_index=True, return_inverse=True)
        return first[of_code].astype(np.int32)


def columns_of(
    rows: EngineRows, study: Study, labels: Mapping[str, Sequence[str]], grouped: Sequence[str]
) -> list[GroupedColumn]:
    """The quasi columns, by what the engine has grouped."""
    columns = []
    for column in study.quasi:
        tree, index = column.tree(labels[column.name]), grouped.index(column.name)
        leaves = tree.encode(labels[column.name])
        columns.append(GroupedColumn(column, tree, leaves, index, rows.often(index, len(leaves))))
    return columns


def start_levels(
    rows: EngineRows, columns: Sequence[GroupedColumn], grouped: int, number: int, limit: int
) -> StartLevels | None:
    """Has the engine group its tuples at coarser levels until they fit, or returns None."""
    levels = {entry.column.name: 0 for entry in columns}
    remaining = number
    while remaining > limit:
        choices = []
        for entry in columns:
            level = levels[entry.column.name] + 1
            if level < entry.tree.height and not isinstance(entry.column.hierarchy, Interval):
                tuples = rows.fewer(grouped, entry.index, entry.lifted(level))
                choices.append((entry, tuples, entry.cost(level) - entry.cost(level - 1)))
        if not choices:
            return None
        fitting = [choice for choice in choices if choice[1] <= limit]
        best = (
            min(fitting, key=lambda choice: choice[2])
            if fitting
            else max(choices, key=lambda entry: _worth(remaining, *entry))
        )
        remaining = best[1]
        levels[best[0].column.name] += 1
        rows.lift(grouped, best[0].index, best[0].lifted(levels[best[0].column.name]))
    cost = sum(entry.cost(levels[entry.column.name]) for entry in columns) / sum(
        entry.column.weight for entry in columns
    )
    counts = {entry.column.name: entry.counts.astype("<i8").tobytes() for entry in columns}
    return StartLevels({name: level for name, level in levels.items() if level}, limit, number, remaining, cost, counts)


def _worth(number: int, column: GroupedColumn, remaining: int, cost: float) -> float:
    """The part of the tuples that a level saves, by the loss it costs."""
    return math.log(number / remaining) / max(cost, 1e-9)
