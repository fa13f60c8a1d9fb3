"""The work on a party's own records, compiled: closures, counts below boxes, and sweeps of single moves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covey.anonymizers.kernels import Forest, lowest_above
from covey.arrays import Bits, Ints, Longs
from covey.compiled import jit
from covey.protocols.cluster_rows.descent import NOTHING


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
def child_place(trees: Forest, children: Children, node: int, code: int) -> int:
    """The place, from 0, of the node's child that has the leaf below it."""
    low, high = children.starts[node], children.starts[node + 1] - 1
    start = low
    while low < high:
        middle = (low + high + 1) // 2
        if trees.first[children.nodes[middle]] <= code:
            low = middle
        else:
            high = middle - 1
    return int(low - start)


@jit
def count_below(
    trees: Forest, children: Children, codes: Ints, label: Longs, slot: Longs, boxes: Ints, places: Longs, total: int
) -> Longs:
    """Own records below each child of each asked box's node in each column.

    `slot` is each cluster's number among the asked ones or -1; `places[slot, column]` is where the children of that
    cell begin in the answer, -1 where none are asked.
    """
    counts = np.zeros(total, np.int64)
    for record in range(codes.shape[1]):
        asked = slot[label[record]]
        if asked < 0:
            continue
        for column in range(codes.shape[0]):
            start = places[asked, column]
            if start >= 0:
                node = boxes[asked, column]
                counts[start + child_place(trees, children, node, codes[column, record])] += 1
    return counts


@jit
def go_below(
    trees: Forest, children: Children, codes: Ints, label: Longs, slot: Longs, column: Longs, node: Ints, to: Longs,
    starts: Longs,
) -> None:  # fmt: skip
    """Relabels own records: those of an asked cluster go to the label that their child's place says, if any."""
    for record in range(codes.shape[1]):
        asked = slot[label[record]]
        if asked >= 0:
            code = codes[column[asked], record]
            target = to[starts[asked] + child_place(trees, children, node[asked], code)]
            if target >= 0:
                label[record] = target


@jit
def joined_box(trees: Forest, box: Ints, other: Ints) -> Ints:
    """The closure of two boxes."""
    joined = np.empty(len(box), np.int32)
    for column in range(len(box)):
        joined[column] = above_both(trees, box[column], other[column])
    return joined


@jit
def lone_records(trees: Forest, boxes: Ints, own: Ints) -> Ints:
    """The codes of the one record of others in each group, -1 where they do not follow.

    A group's box closes that record and a party's own ones, whose closure is `own`. In a column where the two closures
    differ, the record lies below another child of the box's node than the own ones: sometimes one leaf is left.
    """
    found = np.full(boxes.shape, -1, np.int32)
    for group in range(len(boxes)):
        for column in range(boxes.shape[1]):
            node, child = boxes[group, column], own[group, column]
            low, high = trees.first[node], trees.last[node]
            if child != node:
                while trees.parent[child] != node and trees.parent[child] != child:
                    child = trees.parent[child]
                if trees.parent[child] != node:  # the own records are not below the box: nothing follows
                    continue
                if trees.first[child] == low:
                    low = trees.last[child] + 1
                elif trees.last[child] == high:
                    high = trees.first[child] - 1
            if low == high:
                found[group, column] = low
    return found


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
