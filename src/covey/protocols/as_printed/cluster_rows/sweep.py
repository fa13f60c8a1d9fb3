"""One turn's work on a party's own records: single moves that lower the loss.

The loops are compiled: they visit records in their order, and each move changes what the next record sees, so that they
cannot be written as operations on whole arrays.
"""

from __future__ import annotations

import numpy as np

from covey.anonymizers.kernels import Forest, box_cost
from covey.arrays import Ints, Longs
from covey.compiled import jit
from covey.protocols.as_printed.cluster_rows.descent import NOTHING
from covey.protocols.as_printed.cluster_rows.kernels import above

ENDLESS = 2**62


@jit
def addition(trees: Forest, codes: Ints, record: int, size: int, box: Ints, limit: int, monotone: bool) -> int:
    """The growth of a cluster's cost if the record joins; any number from `limit` on where it is not less."""
    more = 0
    for column in range(len(box)):
        node = box[column]
        lifted = above(trees, node, codes[column, record])
        more += (size + 1) * trees.cost[lifted] - size * trees.cost[node]
        if monotone and more >= limit:
            break
    return int(more)


@jit
def best_cluster(
    trees: Forest, codes: Ints, record: int, own: int, sizes: Longs, boxes: Ints, price: Longs, limit: int,
    monotone: bool,
) -> int:  # fmt: skip
    """The first cluster whose cost grows least, by less than `limit`, if the record joins; -1 for none.

    `monotone` says that no node costs less than a child of its.
    """
    found = -1
    for other in range(len(sizes)):
        if other == own or sizes[other] == 0 or (monotone and price[other] >= limit):
            continue
        more = addition(trees, codes, record, sizes[other], boxes[other], limit, monotone)
        if more < limit:
            found, limit = other, more
    return found


@jit
def sweep_exact(
    trees: Forest, shown: Ints, codes: Ints, label: Longs, sizes: Longs, boxes: Ints, others: Ints, monotone: bool
) -> int:
    """The paper's steps 5 to 18: each own record in turn goes where the loss is lowest; returns the moves.

    `others` has the closures of the other parties' records, NOTHING where they have none: with the own records that
    stay they make every closure exact. A record that is a cluster of its own always goes, and the cluster with it.
    `shown` has for each node the lowest above it that may be shown; boxes and closures of others are such nodes.
    """
    columns = codes.shape[0]
    head, following = list_members(label, len(sizes))
    price = np.empty(len(sizes), np.int64)
    for cluster in range(len(sizes)):
        price[cluster] = box_cost(trees, boxes[cluster]) if sizes[cluster] else 0
    shrunk = np.empty(columns, np.int32)
    moves = 0
    for record in range(codes.shape[1]):
        own = label[record]
        alone = sizes[own] == 1
        if monotone and price[own] == 0 and not alone:
            continue  # nothing is lost there, so nothing can be gained by going
        limit = ENDLESS
        if not alone:
            close_rest(trees, shown, codes, head, following, record, own, others, boxes, shrunk)
            limit = sizes[own] * price[own] - (sizes[own] - 1) * box_cost(trees, shrunk)
        target = best_cluster(trees, codes, record, own, sizes, boxes, price, limit, monotone)
        if target < 0:
            continue
        moves += 1
        relink(head, following, record, own, target)
        label[record] = target
        sizes[own] -= 1
        sizes[target] += 1
        for column in range(columns):
            boxes[target, column] = above(trees, boxes[target, column], codes[column, record])
            if not alone:
                boxes[own, column] = shrunk[column]
        price[own] = 0 if alone else box_cost(trees, shrunk)
        price[target] = box_cost(trees, boxes[target])
    return moves


@jit
def list_members(label: Longs, clusters: int) -> tuple[Longs, Longs]:
    """Each cluster's own records as a chain: the first of each, and each record's next; -1 ends it."""
    head = np.full(clusters, -1, np.int64)
    following = np.full(len(label), -1, np.int64)
    for record in range(len(label) - 1, -1, -1):
        following[record] = head[label[record]]
        head[label[record]] = record
    return head, following


@jit
def relink(head: Longs, following: Longs, record: int, own: int, target: int) -> None:
    """The record leaves one chain and heads another."""
    if head[own] == record:
        head[own] = following[record]
    else:
        before = head[own]
        while following[before] != record:
            before = following[before]
        following[before] = following[record]
    following[record] = head[target]
    head[target] = record


@jit
def close_rest(
    trees: Forest, shown: Ints, codes: Ints, head: Longs, following: Longs, record: int, own: int, others: Ints,
    boxes: Ints, shrunk: Ints,
) -> None:  # fmt: skip
    """The closure of a cluster without one of its own records: of the others' records and the own that stay."""
    columns = codes.shape[0]
    for column in range(columns):
        shrunk[column] = others[own, column]
    member = head[own]
    while member >= 0:
        if member != record:
            lower = False
            for column in range(columns):
                node, code = shrunk[column], codes[column, member]
                shrunk[column] = shown[trees.offsets[column] + code] if node == NOTHING else above(trees, node, code)
                lower |= shrunk[column] != boxes[own, column]
            if not lower:
                return  # no closure is higher than the cluster's own
        member = following[member]
