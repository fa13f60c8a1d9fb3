"""Costs of nodes in whole numbers, by the study's measure: every machine orders a list of nodes alike."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from covey.arrays import Ints, Longs
from covey.hierarchy import Hierarchy

UNIT = 1 << 20
"""The cost of a cell at its root under LM, where all columns weigh alike."""
_BITS = 16
"""Bits of a logarithm behind the point."""


@dataclass(frozen=True)
class Lattice:
    """All nodes: a level of each column. Frequencies of the leaves matter to measures by entropy alone."""

    trees: tuple[Hierarchy, ...]
    measure: str
    weights: tuple[Fraction, ...]
    frequencies: tuple[Longs, ...]

    @property
    def heights(self) -> Ints:
        """The root's levels."""
        return np.array([tree.height for tree in self.trees], dtype=np.int32)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return int(np.prod([tree.levels for tree in self.trees], dtype=object))

    @cached_property
    def columns(self) -> tuple[Longs, ...]:
        """The cost of each column's labels."""
        whole = sum(self.weights) or Fraction(1)
        units = [int(UNIT * len(self.trees) * weight / whole) for weight in self.weights]
        found = zip(self.trees, units, self.frequencies, strict=True)
        return tuple(_costs(tree, self.measure, unit, counts) for tree, unit, counts in found)

    @cached_property
    def levels(self) -> tuple[Longs, ...]:
        """The cost of each column's levels: the mean over its leaves, which count alike."""
        leaves = [max(tree.leaves, 1) for tree in self.trees]
        parts = zip(self.trees, self.columns, leaves, strict=True)
        return tuple(cost[tree.up[:, :count]].sum(axis=1) // count for tree, cost, count in parts)

    def costs(self, nodes: Ints) -> Longs:
        """Returns the cost of each node (nodes x columns)."""
        parts = [cost[nodes[:, column]] for column, cost in enumerate(self.levels)]
        return np.asarray(np.sum(parts, axis=0), np.int64)

    def by_cost(self, nodes: Ints) -> Ints:
        """Returns these nodes, each once, by increasing cost; of equals the lower levels first, the root last."""
        nodes = np.unique(nodes, axis=0)
        nodes = nodes[np.argsort(self.costs(nodes), kind="stable")]
        root = (nodes == self.heights).all(axis=1)
        return np.ascontiguousarray(np.concatenate([nodes[~root], nodes[root]]), np.int32)

    def whole(self) -> Ints:
        """Returns every node, by increasing cost."""
        grids = np.indices([tree.levels for tree in self.trees], dtype=np.int32)
        return self.by_cost(grids.reshape(len(self.trees), -1).T)

    def cheapest(self, most: int) -> Ints:
        """Returns so many of the cheapest nodes but the root, if costs grow with the levels; else about these."""
        start = (0,) * len(self.trees)
        queue, seen, nodes = [(int(self.costs(np.array([start]))[0]), start)], {start}, list[Sequence[int]]()
        while queue and len(nodes) < most:
            _, node = heapq.heappop(queue)
            if node != tuple(self.heights.tolist()):
                nodes.append(node)
            for column, tree in enumerate(self.trees):
                above = (*node[:column], node[column] + 1, *node[column + 1 :])
                if above[column] <= tree.height and above not in seen:
                    seen.add(above)
                    heapq.heappush(queue, (int(self.costs(np.array([above]))[0]), above))
        return np.array(nodes, dtype=np.int32).reshape(-1, len(self.trees))


def logarithm(numbers: Longs) -> Longs:
    """Returns the logarithm to base 2 of numbers from 1, in units of 2^-16, rounded down."""
    bits: Longs = np.asarray(np.sum([numbers >> shift > 0 for shift in range(1, 62)], axis=0), np.int64)
    mantissa, found = (numbers << 31 >> bits).astype(np.uint64), bits
    for _ in range(_BITS):
        mantissa = mantissa * mantissa >> np.uint64(31)
        carry = mantissa >> np.uint64(32)
        mantissa >>= carry
        found = found << 1 | carry.astype(np.int64)
    return np.asarray(found, np.int64)


def _costs(tree: Hierarchy, measure: str, unit: int, counts: Longs) -> Longs:
    """Returns the cost of each label of a tree, of which one cell at the root costs `unit` under LM."""
    if measure == "precision":
        return tree.level.astype(np.int64) * unit // max(tree.height, 1)
    if measure in ("em", "em-monotone"):
        total, entropy = _entropy_below(tree, counts)
        divisor = np.full(tree.nodes, total[tree.root]) if measure == "em-monotone" else total
        return np.asarray((entropy // np.maximum(divisor, 1)) * unit >> _BITS, np.int64)
    whole = max(int(tree.sizes[tree.root]) - 1, 1)
    cost = (tree.sizes - 1) * unit // whole
    cost[: tree.codes] = 0
    if tree.nodes > 1:
        cost[tree.root] = unit
    return cost


def _entropy_below(tree: Hierarchy, counts: Longs) -> tuple[Longs, Longs]:
    """Returns for each label its records N, and N log2 N less the sum of n log2 n over its leaves."""
    small = counts >> max(int(counts.sum()).bit_length() - 32, 0)  # so that the products fit

    def below(numbers: Longs) -> Longs:
        prefix = np.concatenate([[0], np.cumsum(numbers)])
        return np.asarray(prefix[tree.last + 1] - prefix[tree.first], np.int64)

    def times_logarithm(numbers: Longs) -> Longs:
        return numbers * logarithm(np.maximum(numbers, 1))

    total = below(small)
    return total, np.maximum(times_logarithm(total) - below(times_logarithm(small)), 0)
