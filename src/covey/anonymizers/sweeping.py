"""One sweep of sequential clustering: Steps 5 to 18 of Algorithm 3, exact, with most clusters ruled out early.

Adding a record to a cluster C costs (|C|+1) F(C+R) - |C| F(C) = F(C) + (|C|+1) (F(C+R) - F(C)). Both terms are known
from below while the columns are added up, so a cluster is left as soon as it cannot beat the best so far, or cannot
beat staying. And where a record's own cluster is what it was when the record was last examined, only clusters that have
changed since are looked at: the others were not better then. No decision differs from the paper's. Where a node may
cost less than one below it, as under EM, nothing is known from below, and every column of every cluster is added up.
"""

from __future__ import annotations

import numpy as np

from covey.anonymizers.clusters import Clusters, attach, close, detach
from covey.anonymizers.constraints import Limits, diverse_with
from covey.anonymizers.kernels import Forest, small
from covey.arrays import Ints, Longs
from covey.compiled import jit

NEVER = 2**62


@jit
def sweep(state: Clusters, trees: Forest, limits: Limits, start: int, stop: int) -> int:
    """Examines these records in turn; returns how many moved."""
    moves, rising = 0, rises(trees)
    closure = np.zeros(len(trees.roots), np.int32)
    for record in range(start, stop):
        source = state.label[record]
        size = state.size[source]
        if size > 1 and not stands(state, limits, source, record, -1):
            continue
        remainder = close(state, trees, source, record, closure)
        gain = size * state.cost[source] - (size - 1) * remainder  # what leaving saves; joining must cost less
        target = best_cluster(state, trees, limits, record, NEVER if size == 1 else gain, rising)
        state.examined[record] = state.clock[0]
        if target < 0:
            continue
        move(state, trees, record, target)
        if size > 1:
            state.box[source], state.cost[source] = closure, remainder
        state.clock[0] += 1
        state.changed[source] = state.changed[target] = state.clock[0]
        moves += 1
    return moves


@jit
def stands(state: Clusters, limits: Limits, number: int, record: int, amount: int) -> bool:
    """True if a cluster keeps l and t with one more (or less) such record."""
    histogram, size, bins = state.histogram[number], state.size[number], state.bins[record]
    return len(bins) == 0 or diverse_with(limits, histogram, size, bins, amount)


@jit
def rises(trees: Forest) -> bool:
    """True if no node costs less than a node below it."""
    return bool((trees.cost <= trees.cost[trees.parent]).all())


@jit
def best_cluster(state: Clusters, trees: Forest, limits: Limits, record: int, bound: int, rising: bool) -> int:
    """The lowest of the clusters that a record joins at the least cost below `bound`, or -1."""
    size, cost, box, codes, watched = state.size, state.cost, state.box, state.codes, state.bins.shape[1] > 0
    first, last, parent, node_cost, changed = trees.first, trees.last, trees.parent, trees.cost, state.changed
    source, best = state.label[record], -1
    since = state.examined[record] if changed[source] <= state.examined[record] else -1
    for number in range(len(size)):
        if changed[number] <= since or (rising and cost[number] >= bound) or size[number] == 0 or number == source:
            continue
        ceiling = bound if rising else NEVER
        price = joining(first, last, parent, node_cost, box, codes, number, record, size, cost, ceiling)
        if price < bound and (not watched or stands(state, limits, number, record, 1)):
            best, bound = number, price
    return best


@small
def joining(
    first: Ints,
    last: Ints,
    parent: Ints,
    node_cost: Longs,
    box: Ints,
    codes: Ints,
    number: int,
    record: int,
    size: Longs,
    cost: Longs,
    bound: int,
) -> int:
    """The cost to a cluster of a record that joins it. Any number from `bound` on where it is not less than `bound`."""
    price, grown = cost[number], size[number] + 1
    for column in range(codes.shape[0]):
        node, code = box[number, column], codes[column, record]
        if code < first[node] or code > last[node]:
            ancestor = node
            while code < first[ancestor] or code > last[ancestor]:
                ancestor = parent[ancestor]
            price += grown * (node_cost[ancestor] - node_cost[node])
            if price >= bound:
                return int(price)
    return int(price)


@jit
def move(state: Clusters, trees: Forest, record: int, target: int) -> None:
    """Moves a record; the target's closure and cost grow with it."""
    detach(state, record)
    attach(state, record, target)
    total = 0
    for column in range(state.codes.shape[0]):
        node, code = state.box[target, column], state.codes[column, record]
        while code < trees.first[node] or code > trees.last[node]:
            node = trees.parent[node]
        state.box[target, column] = node
        total += trees.cost[node]
    state.cost[target] = total
