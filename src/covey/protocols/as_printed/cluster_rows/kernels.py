"""The work on a party's own records, compiled: closures and the cost of mergers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covey.anonymizers.kernels import Forest, lowest_above
from covey.arrays import Bits, Ints, Longs
from covey.compiled import jit
from covey.protocols.as_printed.cluster_rows.descent import NOTHING


class Children(NamedTuple):
    """Each node's children in the order of their leaves: `nodes[starts[v] : starts[v + 1]]`."""

    starts: Longs
    nodes: Ints

    @classmethod
    def of(cls, trees: Forest, hidden: Bits | None = None) -> Children:
        """The children of every node of a forest, without the hidden ones."""
        below = np.flatnonzero(trees.parent != np.arange(len(trees.parent)))
        below = below if hidden is None else below[~hidden[below]]
        order = below[np.lexsort((trees.first[below], trees.parent[below]))]
        counts = np.bincount(trees.parent[below], minlength=len(trees.parent))
        return cls(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), order.astype(np.int32))


@jit
def above(trees: Forest, node: int, code: int) -> int:
    """The lowest node at or above this one that has the leaf below it."""
    while code < trees.first[node] or code > trees.last[node]:
        node = trees.parent[node]
    return node


@jit
def above_both(trees: Forest, node: int, other: int) -> int:
    """The lowest node at or above the first that has all of the other's leaves below it."""
    while trees.first[other] < trees.first[node] or trees.last[other] > trees.last[node]:
        node = trees.parent[node]
    return node


@jit
def close_own(trees: Forest, codes: Ints, label: Longs, clusters: int) -> Ints:
    """The box of a party's own records in each cluster; NOTHING where it has none."""
    columns = codes.shape[0]
    low = np.full((clusters, columns), np.iinfo(np.int32).max, np.int32)
    high = np.full((clusters, columns), -1, np.int32)
    for record in range(codes.shape[1]):
        cluster = label[record]
        for column in range(columns):
            code = codes[column, record]
            low[cluster, column] = min(low[cluster, column], code)
            high[cluster, column] = max(high[cluster, column], code)
    boxes = np.full((clusters, columns), NOTHING, np.int32)
    for cluster in range(clusters):
        if high[cluster, 0] >= 0:
            for column in range(columns):
                boxes[cluster, column] = lowest_above(trees, column, low[cluster, column], high[cluster, column])
    return boxes


@jit
def joined_box(trees: Forest, box: Ints, other: Ints) -> Ints:
    """The closure of two boxes."""
    joined = np.empty(len(box), np.int32)
    for column in range(len(box)):
        joined[column] = above_both(trees, box[column], other[column])
    return joined


@jit
def growth(trees: Forest, sizes: Longs, boxes: Ints, price: Longs, one: int, other: int) -> int:
    """The growth of the total cost if two clusters are merged."""
    joint = 0
    for column in range(boxes.shape[1]):
        joint += trees.cost[above_both(trees, boxes[other, column], boxes[one, column])]
    return int((sizes[one] + sizes[other]) * joint - sizes[one] * price[one] - sizes[other] * price[other])


@jit
def nearest(trees: Forest, sizes: Longs, boxes: Ints, price: Longs, asked: Longs, most: int) -> Longs:
    """For each asked cluster those that it costs least to merge it with, lowest number first; -1 fills up."""
    found = np.full((len(asked), most), -1, np.int64)
    costs = np.empty(most, np.int64)
    for place in range(len(asked)):
        known = 0
        for other in range(len(sizes)):
            if other == asked[place]:
                continue
            more = growth(trees, sizes, boxes, price, asked[place], other)
            if known == most and more >= costs[most - 1]:
                continue
            known = min(known + 1, most)
            slot = known - 1
            while slot > 0 and costs[slot - 1] > more:
                costs[slot], found[place, slot] = costs[slot - 1], found[place, slot - 1]
                slot -= 1
            costs[slot], found[place, slot] = more, other
    return found
