"""Pairs of values: which of them k or more records share, and the table that such answers let one imagine.

Real columns depend on each other: a list of nodes that is made for independent columns is long, and misses some that
matter. So the parties may look, before the list is made, at every pair of columns: of each pair of values everyone
learns one bit, [k or more records have both], and never a count. Columns with many values are looked at on a coarser
level, so that the bits stay few.

The dependence is imagined from the bits and the marginals, in whole numbers, so that every machine computes the same:
a pair that k records share has as many as the marginals let expect, but k at least; another one fewer than k, and the
fewer, the more pairs fall short of k though the marginals let expect k; then rows and columns are brought back to the
marginals (iterative proportional fitting). Each column is drawn given one
other, those that depend most on each other (a spanning tree, as Chow and Liu have it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.hierarchy import Hierarchy
from covey.table import tally

CELLS = 10_000
"""Pairs of values of two columns that are looked at, at most,"""
ALL_CELLS = 120_000
"""and of all columns."""
MASS = 1 << 24
"""The whole table, in the units of the imagined one."""
FITTED = 12
"""Turns of the fitting."""


@dataclass(frozen=True)
class ColumnPair:
    """Two columns and the levels on which their values are looked at; `nodes` are each column's nodes there."""

    columns: tuple[int, int]
    levels: tuple[int, int]
    nodes: tuple[Ints, Ints]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.nodes[0]), len(self.nodes[1])

    def places(self, trees: Sequence[Hierarchy], side: int) -> Longs:
        """For each leaf of one of the two columns the place of its node."""
        tree = trees[self.columns[side]]
        return np.asarray(np.searchsorted(self.nodes[side], tree.up[self.levels[side]]), dtype=np.int64)

    def count(self, trees: Sequence[Hierarchy], codes: Ints | Mapping[int, Ints], counts: Longs | None = None) -> Longs:
        """The number of records (by column, of `counts` records each row) that have each pair of values, flat."""
        first, second = (self.places(trees, side)[codes[self.columns[side]]] for side in (0, 1))
        rows, columns = self.shape
        return tally(first * columns + second, rows * columns, counts)


def pairs_of(trees: Sequence[Hierarchy]) -> tuple[ColumnPair, ...]:
    """The pairs of columns that are looked at: all, each as fine as the number of its cells allows."""
    number = len(trees) * (len(trees) - 1) // 2
    return tuple(_pair(trees, both, min(CELLS, ALL_CELLS // number)) for both in combinations(range(len(trees)), 2))


def cells_of(trees: Sequence[Hierarchy]) -> int:
    """The number of pairs of values that are looked at."""
    return sum(rows * columns for rows, columns in (pair.shape for pair in pairs_of(trees)))


def _pair(trees: Sequence[Hierarchy], columns: tuple[int, int], most: int) -> ColumnPair:
    levels = [0, 0]
    nodes = [np.unique(trees[column].up[0]) for column in columns]
    while len(nodes[0]) * len(nodes[1]) > most:
        side = int(len(nodes[1]) > len(nodes[0]))
        levels[side] += 1
        nodes[side] = np.unique(trees[columns[side]].up[levels[side]])
    return ColumnPair(columns, (levels[0], levels[1]), (nodes[0], nodes[1]))


@dataclass(frozen=True)
class Dependence:
    """A column that is drawn given another one: for each node of that one, the mass of each of its own nodes."""

    column: int
    given: int
    of_given: Longs  # each leaf's place among the nodes of the column that is given
    nodes: Ints  # of the drawn column
    mass: Longs  # nodes of the given column x nodes of the drawn one

    def draw(self, tree: Hierarchy, ends: Longs, given: Ints, dice: tuple[Longs, Longs]) -> Ints:
        """Each record's leaf: a node by the first die, a leaf below it by the second; dice have 30 bits.

        `ends` is the running sum of the leaves' mass.
        """
        rows = self.of_given[given]
        flat = np.cumsum(self.mass.ravel())
        start = np.concatenate([[0], flat[self.mass.shape[1] - 1 :: self.mass.shape[1]]])
        picked = start[rows] + ((start[rows + 1] - start[rows]) * dice[0] >> 30)
        node = self.nodes[np.searchsorted(flat, picked, side="right") - rows * self.mass.shape[1]]
        before = np.concatenate([[0], ends])
        low, high = before[tree.first[node]], before[tree.last[node] + 1]
        leaf = np.searchsorted(ends, low + ((high - low) * dice[1] >> 30), side="right")
        return np.asarray(leaf, dtype=np.int32)


def dependences(
    trees: Sequence[Hierarchy], weights: Sequence[Longs], shared: Sequence[Bits], least: int
) -> list[Dependence]:
    """For each column but the first, which is drawn on its own, what it is drawn given; in the order of drawing.

    `weights` is each column's mass of leaves, `shared` the bits of each pair of columns, flat, and `least` the mass of
    k records.
    """
    pairs = pairs_of(trees)
    fitted = [_fit(trees, pair, weights, bits, least) for pair, bits in zip(pairs, shared, strict=True)]
    score = {pair.columns: strength for pair, (_, strength) in zip(pairs, fitted, strict=True)}
    found: list[Dependence] = []
    drawn, others = [0], list(range(1, len(trees)))
    while others:
        given, column = max(
            ((old, new) for old in drawn for new in others), key=lambda both: score[min(both), max(both)]
        )
        place = [pair.columns for pair in pairs].index((min(given, column), max(given, column)))
        pair, mass = pairs[place], fitted[place][0]
        side = int(given > column)
        of_given = pair.places(trees, side)
        found.append(Dependence(column, given, of_given, pair.nodes[1 - side], mass.T.copy() if side else mass))
        drawn.append(column)
        others.remove(column)
    return found


def _fit(
    trees: Sequence[Hierarchy], pair: ColumnPair, weights: Sequence[Longs], bits: Bits, least: int
) -> tuple[Longs, int]:
    """The likely mass of each cell, and how far that is from independence."""
    sums = [
        np.bincount(pair.places(trees, side), weights=weights[column], minlength=len(pair.nodes[side]))
        for side, column in enumerate(pair.columns)
    ]
    rows, columns = (total.astype(np.int64) for total in sums)
    heavy = bits.reshape(pair.shape)
    expected = rows[:, np.newaxis] * columns // max(int(rows.sum()), 1)
    awaited = expected >= least
    share = 256 if not awaited.any() else 256 * int(expected[awaited & heavy].sum()) // int(expected[awaited].sum())
    mass = np.where(heavy, np.maximum(expected, least), np.minimum(expected, least // 2) * share // 256)
    for _ in range(FITTED):
        mass = mass * rows[:, np.newaxis] // np.maximum(mass.sum(axis=1, keepdims=True), 1)
        mass = mass * columns // np.maximum(mass.sum(axis=0), 1)
        mass = np.where(heavy, np.maximum(mass, least), np.minimum(mass, max(least - 1, 0)))
    return np.maximum(mass, 1), int(np.abs(mass - expected).sum())
