"""Counts for the paper's calls: the records without which their party's own closure would be lower.

There are at most two for each cluster and column: the own records must lie below two children of the closure's node,
one of them alone.
"""

from __future__ import annotations

import numpy as np

from covey.anonymizers.kernels import Forest
from covey.arrays import Ints, Longs
from covey.compiled import jit
from covey.protocols.as_printed.cluster_rows.kernels import Children, close_own

SLOTS = 2


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
def find_critical(trees: Forest, children: Children, codes: Ints, label: Longs, clusters: int) -> Longs:
    """Returns for each slot, cluster and column the critical own record, or -1."""
    columns = codes.shape[0]
    own = close_own(trees, codes, label, clusters)
    branch = np.full((clusters, columns, SLOTS), -1, np.int32)
    many = np.zeros((clusters, columns, SLOTS), np.int64)
    alone = np.full((clusters, columns, SLOTS), -1, np.int64)
    crowded = np.zeros((clusters, columns), np.bool_)
    for record in range(codes.shape[1]):
        cluster = label[record]
        for column in range(columns):
            node, code = own[cluster, column], codes[column, record]
            below = 0
            if children.starts[node + 1] > children.starts[node]:
                below = child_place(trees, children, node, code)
            slot = 0
            while slot < SLOTS and branch[cluster, column, slot] not in (-1, below):
                slot += 1
            if slot == SLOTS:
                crowded[cluster, column] = True
                continue
            if branch[cluster, column, slot] == -1:
                branch[cluster, column, slot] = below
            many[cluster, column, slot] += 1
            alone[cluster, column, slot] = record
    record_of = np.full((SLOTS, clusters, columns), -1, np.int64)
    for cluster in range(clusters):
        for column in range(columns):
            if crowded[cluster, column] or many[cluster, column, 0] == 0:
                continue
            for slot in range(SLOTS):
                if many[cluster, column, slot] == 1:
                    record_of[slot, cluster, column] = alone[cluster, column, slot]
    return record_of
