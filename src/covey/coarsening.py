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

    def sentence(self, needed: str) -> str:
        """The words for the owner; `needed` is what would keep all levels."""
        named = ", ".join(f"{name!r} from level {level}" for name, level in self.levels.items())
        return (
            f"the {self.before:,} distinct tuples are more than the {self.most:,} that fit into memory, so columns are "
            f"published from coarser levels on ({named}); {self.left:,} tuples are left, and these levels alone cost "
            f"LM {self.loss:.4f}. To keep every level: {needed}"
        )

    def leaf_counts(self, name: str, tree: Hierarchy, labels: Sequence[str]) -> Longs:
        """The number of records of each leaf of a column, whatever its tuples have been grouped by."""
        leaf, often = tree.encode(labels), np.frombuffer(self.often[name], "<i8")
        return np.bincount(leaf[leaf >= 0], weights=often[leaf >= 0], minlength=tree.codes).astype(np.int64)


@dataclass(frozen=True)
class GroupedColumn:
    """A quasi column among those whose codes make a tuple, with the number of records of each code."""

    column: Column
    tree: Hierarchy
    leaf: Ints
    place: int
    often: Longs

    def cost(self, level: int) -> float:
        """The LM of the column's cells if all are published from this level on."""
        nodes = self.tree.up[level][self.leaf[self.leaf >= 0]]
        records = self.often[self.leaf >= 0]
        return float(lm(self.tree)[nodes] @ records / max(int(records.sum()), 1)) * self.column.weight

    def lifted(self, level: int) -> Ints:
        """The code that stands for each code: the first below the same node of this level."""
        above = np.where(self.leaf < 0, -1 - np.arange(len(self.leaf)), self.tree.up[level][self.leaf])
        _, first, of_code = np.unique(above, return_index=True, return_inverse=True)
        return first[of_code].astype(np.int32)


def columns_of(
    rows: EngineRows, study: Study, labels: Mapping[str, Sequence[str]], grouped: Sequence[str]
) -> list[GroupedColumn]:
    """The quasi columns, by what the engine has grouped."""
    found = []
    for column in study.quasi:
        tree, place = column.tree(labels[column.name]), grouped.index(column.name)
        own = tree.encode(labels[column.name])
        found.append(GroupedColumn(column, tree, own, place, rows.often(place, len(own))))
    return found


def start_levels(
    rows: EngineRows, columns: Sequence[GroupedColumn], grouped: int, number: int, most: int
) -> StartLevels | None:
    """Has the engine group its tuples at coarser levels until no more are left than fit; None if that cannot be."""
    levels = {own.column.name: 0 for own in columns}
    left = number
    while left > most:
        choices = []
        for own in columns:
            level = levels[own.column.name] + 1
            if level < own.tree.height and not isinstance(own.column.hierarchy, Interval):
                fewer = rows.fewer(grouped, own.place, own.lifted(level))
                choices.append((own, fewer, own.cost(level) - own.cost(level - 1)))
        if not choices:
            return None
        enough = [choice for choice in choices if choice[1] <= most]
        best = min(enough, key=lambda choice: choice[2]) if enough else max(choices, key=lambda own: _worth(left, *own))
        left = best[1]
        levels[best[0].column.name] += 1
        rows.lift(grouped, best[0].place, best[0].lifted(levels[best[0].column.name]))
    cost = sum(own.cost(levels[own.column.name]) for own in columns) / sum(own.column.weight for own in columns)
    often = {own.column.name: own.often.astype("<i8").tobytes() for own in columns}
    return StartLevels({name: level for name, level in levels.items() if level}, most, number, left, cost, often)


def _worth(number: int, column: GroupedColumn, left: int, cost: float) -> float:
    """The part of the tuples that a level saves, by the loss it costs."""
    return math.log(number / left) / max(cost, 1e-9)
