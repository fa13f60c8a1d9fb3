"""The nodes strictly below a public node, laid out as places of one long vector.

Among three or more parties there is a place for each node: a set bit says that the party's own node is there or
further down. Between two there is a place for each depth: its text is the own node's ancestor at that depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.errors import InputError
from covey.hierarchy import Hierarchy

Nodes = Ints

NOTHING = -1
"""In place of a node: no record, or nothing asked for."""


class Ranks:
    """A tree's nodes in the order of a walk from the root, each before what is below it.

    So all nodes below one follow it directly, and of several nodes on one path the deepest comes last.
    """

    def __init__(self, tree: Hierarchy) -> None:
        self.tree = tree
        self.order = np.lexsort((tree.depth, -tree.last, tree.first)).astype(np.int32)
        self.rank = np.empty(tree.nodes, dtype=np.int64)
        self.rank[self.order] = np.arange(tree.nodes)
        ends = np.searchsorted(tree.first[self.order], tree.last, side="right")
        self.below = ends - self.rank - 1
        deepest = np.zeros(tree.nodes, dtype=np.int64)
        for level in tree.up:
            np.maximum.at(deepest, level, tree.depth[tree.up[0]])
        self.height = deepest - tree.depth

    def reaches(self, above: Longs, node: Longs) -> Bits:
        """Tells of each node whether it is the other or below it."""
        start = self.rank[above]
        marks: Bits = (start <= self.rank[node]) & (self.rank[node] <= start + self.below[above])
        return marks

    def at_depth(self, nodes: Longs, depth: Longs) -> Longs:
        """Each node's ancestor at that depth, or NOTHING where the node is higher up."""
        answer = nodes.copy()
        while (deep := self.tree.depth[answer] > depth).any():
            answer[deep] = self.tree.parent[answer[deep]]
        return np.where(self.tree.depth[answer] == depth, answer, NOTHING)


@dataclass(frozen=True)
class ColumnLayout:
    """The places of all cells of one column, one cell after the other; a cell is one cluster's."""

    ranks: Ranks
    bounds: Longs
    """The public node of each cell, or NOTHING where nothing is asked."""
    cell: Longs
    """The cell to which each place belongs."""
    offset: Longs
    """The number of each place among its cell's, from 1."""

    @classmethod
    def of_nodes(cls, ranks: Ranks, bounds: Nodes) -> ColumnLayout:
        """A place for each node strictly below the cell's bound."""
        wide = bounds.astype(np.int64)
        return cls(ranks, wide, *_ragged(np.where(wide == NOTHING, 0, ranks.below[wide])))

    @classmethod
    def of_depths(cls, ranks: Ranks, bounds: Nodes) -> ColumnLayout:
        """A place for each depth strictly below the cell's bound."""
        wide = bounds.astype(np.int64)
        return cls(ranks, wide, *_ragged(np.where(wide == NOTHING, 0, ranks.height[wide])))

    def bits(self, own: Nodes) -> Bits:
        """For each node's place: whether the own node is there or below; always, where there is no own node."""
        there = own[self.cell].astype(np.int64)
        marks: Bits = (there == NOTHING) | self.ranks.reaches(self._nodes(), there)
        return marks

    def answer(self, common: Bits) -> Longs:
        """The deepest node of each cell at which all bits are set.

        If all nodes below a bound with several leaves are common, nobody has a record there.
        """
        tree, bounds = self.ranks.tree, self.bounds
        deepest = np.where(bounds == NOTHING, NOTHING, self.ranks.rank[bounds])
        np.maximum.at(deepest, self.cell[common], self.ranks.rank[self._nodes()[common]])
        answer = np.where(bounds == NOTHING, NOTHING, self.ranks.order[deepest])
        everything = np.bincount(self.cell[common], minlength=len(bounds)) == self.ranks.below[bounds]
        nobody = everything & (tree.first[bounds] != tree.last[bounds])
        return np.where(nobody, NOTHING, answer)

    def texts(self, own: Nodes) -> list[bytes | None]:
        """For each depth's place: the own node's ancestor there, if it has one."""
        there = own[self.cell].astype(np.int64)
        ancestors = np.where(there == NOTHING, NOTHING, self.ranks.at_depth(there, self._depths()))
        return [None if node == NOTHING else node.to_bytes(4, "big") for node in ancestors.tolist()]

    def deepest(self, own: Nodes, equal: Bits) -> Longs:
        """The deepest ancestor of each own node that the other party has too; the bound, if none below it."""
        depth = np.where(self.bounds == NOTHING, 0, self.ranks.tree.depth[self.bounds]).astype(np.int64)
        np.maximum.at(depth, self.cell[equal], self._depths()[equal])
        asked = (self.bounds != NOTHING) & (own != NOTHING)
        return np.where(asked, self.ranks.at_depth(own.astype(np.int64), depth), NOTHING)

    def nobody(self) -> Longs:
        """The answer of each cell if nobody has a record there: NOTHING, or the one leaf that there is."""
        tree, bounds = self.ranks.tree, self.bounds
        single = (bounds != NOTHING) & (tree.first[bounds] == tree.last[bounds])
        return np.where(single, tree.first[bounds], NOTHING).astype(np.int64)

    def _nodes(self) -> Longs:
        nodes: Longs = self.ranks.order[self.ranks.rank[self.bounds[self.cell]] + self.offset].astype(np.int64)
        return nodes

    def _depths(self) -> Longs:
        depths: Longs = self.ranks.tree.depth[self.bounds[self.cell]] + self.offset
        return depths


def check(ranks: Sequence[Ranks], own: Nodes, bounds: Nodes) -> None:
    """Raises `InputError` where a node is none of its tree's, or does not lie at or below its bound."""
    if own.shape != bounds.shape or own.ndim != 2 or own.shape[1] != len(ranks):
        raise InputError(f"nodes of {len(ranks)} columns have the shape (clusters, {len(ranks)}), bounds the same")
    for column, walk in enumerate(ranks):
        for values in (own[:, column], bounds[:, column]):
            if values.size and not NOTHING <= values.min() <= values.max() < walk.tree.nodes:
                raise InputError(f"a node of column {column} is none of its hierarchy's {walk.tree.nodes}")
        there = np.flatnonzero((own[:, column] != NOTHING) & (bounds[:, column] != NOTHING))
        above, below = bounds[there, column].astype(np.int64), own[there, column].astype(np.int64)
        if not walk.reaches(above, below).all():
            raise InputError(f"a node of column {column} lies outside the public closure")


def _ragged(counts: Longs) -> tuple[Longs, Longs]:
    """For each of sum(counts) places the row it belongs to and its number there, from 1."""
    row = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    starts = np.cumsum(counts) - counts
    return row, np.arange(len(row), dtype=np.int64) - starts[row] + 1
