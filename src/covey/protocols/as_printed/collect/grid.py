"""The public grid: each column at one level of its hierarchy, and the cells in the order of Hilbert's curve.

A column's cells are its nodes on that level, in the order of the tree, so that neighbours belong together. The curve is
the compact one of `covey.anonymizers.curve`, its ranks counted over the cells that there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from covey.anonymizers import curve
from covey.arrays import Ints, Longs
from covey.errors import InputError
from covey.hierarchy import Hierarchy

AUTO_CELLS = 1 << 14
MOST_CELLS = curve.MOST_CELLS


@dataclass(frozen=True)
class Grid:
    """The level of each column, the number of its cells, and the cell of each leaf code."""

    levels: tuple[int, ...]
    sides: tuple[int, ...]
    cell_of_code: tuple[Longs, ...]

    @classmethod
    def of(cls, trees: Sequence[Hierarchy], most: int = AUTO_CELLS) -> Grid:
        """The finest grid of at most that many cells. Raises InputError if even the coarsest has more."""
        places = [[_places(tree, level) for level in range(tree.levels)] for tree in trees]
        sides = [[int(own.max()) + 1 for own in column] for column in places]
        levels = choose_levels(sides, most)
        return cls(
            tuple(levels),
            tuple(sides[column][level] for column, level in enumerate(levels)),
            tuple(places[column][level] for column, level in enumerate(levels)),
        )

    @property
    def cells(self) -> int:
        """The number of cells."""
        return math.prod(self.sides)

    @cached_property
    def ranks(self) -> Longs:
        """The rank on the curve of every cell, an array with the grid's sides."""
        return curve.cells(self.sides)

    def rank(self, codes: Ints) -> Longs:
        """The rank on the curve of each record (columns x records, leaf codes), from 0."""
        cells = tuple(own[codes[column]] for column, own in enumerate(self.cell_of_code))
        return np.asarray(self.ranks[cells], dtype=np.int64)


def choose_levels(sides: Sequence[Sequence[int]], most: int) -> list[int]:
    """Each column's level: from the leaves up, the longest column first, until the product fits; then down again.

    A column is taken to its root, where it says nothing, only when all others have been.
    """
    levels = [0] * len(sides)

    def product() -> int:
        return math.prod(own[level] for own, level in zip(sides, levels, strict=True))

    while product() > most:
        above = [column for column, level in enumerate(levels) if level + 1 < len(sides[column])]
        if not above:
            raise InputError(f"even the coarsest grid has more than {most:,} cells; allow more with [protocol] grid")
        useful = [column for column in above if sides[column][levels[column] + 1] > 1] or above
        levels[max(useful, key=lambda column: sides[column][levels[column]])] += 1
    for column in range(len(sides)):
        while levels[column] and product() // sides[column][levels[column]] * sides[column][levels[column] - 1] <= most:
            levels[column] -= 1
    return levels


def _places(tree: Hierarchy, level: int) -> Longs:
    """The number of the level's node above each leaf code, counted along the tree."""
    nodes = tree.up[level]
    return np.concatenate([[0], np.cumsum(nodes[1:] != nodes[:-1])]).astype(np.int64)
