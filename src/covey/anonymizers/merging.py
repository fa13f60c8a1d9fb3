"""The end of sequential clustering: Steps 26 to 30 of Algorithm 3.

The two closest clusters below k are merged until one at most is left, and that joins the cluster closest to it. The
distance of two clusters is what merging them adds to the total cost. Ties go to the lowest pair; the merged cluster
keeps the lower number.
"""

from __future__ import annotations

import numpy as np

from covey.anonymizers.clusters import Clusters
from covey.anonymizers.kernels import Forest
from covey.arrays import Longs
from covey.compiled import jit

FAR = 2**62


@jit
def agglomerate(state: Clusters, trees: Forest, k: int) -> None:
    """Merges the clusters below k; labels, sizes and closures change, the lists of members do not."""
    small = np.flatnonzero((state.size > 0) & (state.size < k))
    into = np.arange(len(state.size))
    near, gap = np.zeros(len(state.size), np.int64), np.full(len(state.size), FAR, np.int64)
    for place in range(len(small)):
        find_nearest(state, trees, small[place], small, near, gap)
    while len(small) > 1:
        low = small[np.argmin(gap[small])]
        other = near[low]
        low, other = min(low, other), max(low, other)
        join(state, trees, low, other, into)
        small = small[(state.size[small] > 0) & (state.size[small] < k)]
        for place in range(len(small)):
            number = small[place]
            if number == low or near[number] == low or near[number] == other:
                find_nearest(state, trees, number, small, near, gap)
            elif state.size[low] < k:
                between = distance(state, trees, number, low)
                if between < gap[number] or (between == gap[number] and low < near[number]):
                    near[number], gap[number] = low, between
    if len(small) == 1:
        everyone = np.flatnonzero(state.size > 0)
        find_nearest(state, trees, small[0], everyone, near, gap)
        if len(everyone) > 1:
            join(state, trees, min(small[0], near[small[0]]), max(small[0], near[small[0]]), into)
    for record in range(len(state.label)):
        state.label[record] = last_of(into, state.label[record])


@jit
def find_nearest(state: Clusters, trees: Forest, number: int, among: Longs, near: Longs, gap: Longs) -> None:
    """Notes the lowest of the clusters closest to this one, and how far it is."""
    gap[number] = FAR
    for place in range(len(among)):
        other = among[place]
        if other != number:
            between = distance(state, trees, number, other)
            if between < gap[number]:
                near[number], gap[number] = other, between


@jit
def distance(state: Clusters, trees: Forest, one: int, other: int) -> int:
    """Equation 6: what merging two clusters adds to the total cost."""
    joint = 0
    for column in range(state.box.shape[1]):
        joint += trees.cost[above_both(trees, state.box[one, column], state.box[other, column])]
    sizes = state.size[one] + state.size[other]
    return int(sizes * joint - state.size[one] * state.cost[one] - state.size[other] * state.cost[other])


@jit
def above_both(trees: Forest, node: int, other: int) -> int:
    """The lowest node above two nodes of a column."""
    while trees.first[other] < trees.first[node] or trees.last[other] > trees.last[node]:
        node = trees.parent[node]
    return node


@jit
def join(state: Clusters, trees: Forest, low: int, other: int, into: Longs) -> None:
    """Merges a cluster into a lower one."""
    total = 0
    for column in range(state.box.shape[1]):
        state.box[low, column] = above_both(trees, state.box[low, column], state.box[other, column])
        total += trees.cost[state.box[low, column]]
    state.cost[low] = total
    state.size[low] += state.size[other]
    state.size[other] = 0
    into[other] = low


@jit
def last_of(into: Longs, number: int) -> int:
    """The cluster that has taken this one in."""
    while into[number] != number:
        number = into[number]
    return number
