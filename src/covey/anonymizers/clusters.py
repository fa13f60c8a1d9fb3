"""The clusters of sequential clustering: members, closures and costs, as compiled code reads them; and their merging.

Merging is the end of sequential clustering, Steps 26 to 30 of Algorithm 3: the two closest clusters below k are merged
until one at most is left, and that joins the cluster closest to it. The distance of two clusters is what merging them
adds to the total cost. Ties go to the lowest pair; the merged cluster keeps the lower number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covey.anonymizers.constraints import Limits, broken
from covey.anonymizers.kernels import Forest, lowest_above
from covey.arrays import Ints, Longs
from covey.compiled import jit


class Clusters(NamedTuple):
    """Records and clusters. A cluster of size 0 is gone; its number is not used again."""

    codes: Ints  # columns x records
    bins: Longs  # records x watched sensitive columns
    label: Longs
    following: Longs  # the next record of the same cluster, -1 at the end; a ring is not needed
    preceding: Longs
    head: Longs  # the first record of each cluster
    size: Longs
    box: Ints  # clusters x columns: the closure's nodes
    cost: Longs  # F of the closure, summed over the columns
    histogram: Longs  # clusters x width
    clock: Longs  # one number: how many moves there were
    changed: Longs  # when each cluster last changed
    examined: Longs  # when each record was last examined; -1 for never


def clusters_of(trees: Forest, limits: Limits, codes: Ints, bins: Longs, label: Longs) -> Clusters:
    """The clusters that these labels make."""
    records, number = len(label), int(label.max(initial=0)) + 1
    state = Clusters(
        codes=codes,
        bins=bins,
        label=label.copy(),
        following=np.full(records, -1, dtype=np.int64),
        preceding=np.full(records, -1, dtype=np.int64),
        head=np.full(number, -1, dtype=np.int64),
        size=np.zeros(number, dtype=np.int64),
        box=np.zeros((number, len(codes)), dtype=np.int32),
        cost=np.zeros(number, dtype=np.int64),
        histogram=np.zeros((number, int(limits.starts[-1])), dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
        changed=np.zeros(number, dtype=np.int64),
        examined=np.full(records, -1, dtype=np.int64),
    )
    fill(state, trees)
    return state


def regrouped(state: Clusters, trees: Forest, limits: Limits) -> Clusters:
    """The clusters once labels have been given anew; those whose size differs have changed."""
    clusters = clusters_of(trees, limits, state.codes, state.bins, state.label)
    count = len(state.size)
    clusters.clock[0] = state.clock[0] + 1
    clusters.changed[:] = clusters.clock[0]
    unchanged = clusters.size[:count] == state.size
    clusters.changed[:count][unchanged] = state.changed[unchanged]
    clusters.examined[:] = state.examined
    return clusters


@jit
def fill(state: Clusters, trees: Forest) -> None:
    """Lists, sizes, histograms and closures from the labels."""
    for record in range(len(state.label) - 1, -1, -1):
        attach(state, record, state.label[record])
    for number in range(len(state.size)):
        if state.size[number] > 0:
            state.cost[number] = close(state, trees, number, -1, state.box[number])


@jit
def attach(state: Clusters, record: int, number: int) -> None:
    """Puts a record first into a cluster's list; closure and cost are the caller's."""
    first = state.head[number]
    state.following[record], state.preceding[record] = first, -1
    if first >= 0:
        state.preceding[first] = record
    state.head[number], state.label[record] = record, number
    state.size[number] += 1
    for column in range(state.bins.shape[1]):
        state.histogram[number, state.bins[record, column]] += 1


@jit
def detach(state: Clusters, record: int) -> None:
    """Takes a record out of its cluster's list."""
    number, previous, successor = state.label[record], state.preceding[record], state.following[record]
    if previous >= 0:
        state.following[previous] = successor
    else:
        state.head[number] = successor
    if successor >= 0:
        state.preceding[successor] = previous
    state.size[number] -= 1
    for column in range(state.bins.shape[1]):
        state.histogram[number, state.bins[record, column]] -= 1


@jit
def close(state: Clusters, trees: Forest, number: int, omitted: int, closure: Ints) -> int:
    """Writes the closure of a cluster without one record (-1: none), and returns its cost."""
    codes, following, total = state.codes, state.following, 0
    for column in range(codes.shape[0]):
        low, high = 2**31 - 1, -1
        record = state.head[number]
        while record >= 0:
            if record != omitted:
                code = codes[column, record]
                low, high = min(low, code), max(high, code)
            record = following[record]
        if high >= 0:
            closure[column] = lowest_above(trees, column, low, high)
            total += trees.cost[closure[column]]
    return total


def holds_diversity(limits: Limits, bins: Longs, label: Longs, number: int) -> bool:
    """True if each of the clusters keeps l and t, whatever its size."""
    histogram = np.zeros((number, int(limits.starts[-1])), dtype=np.int64)
    for column in range(bins.shape[1]):
        np.add.at(histogram, (label, bins[:, column]), 1)
    sizes = np.bincount(label, minlength=number).astype(np.int64)
    return bool(sizes.all()) and not broken(limits._replace(k=1), histogram, sizes).any()


FAR = 2**62


@jit
def agglomerate(state: Clusters, trees: Forest, k: int) -> None:
    """Merges the clusters below k. Labels, sizes and closures change, the lists of members do not."""
    small = np.flatnonzero((state.size > 0) & (state.size < k))
    into = np.arange(len(state.size))
    nearest, gap = np.zeros(len(state.size), np.int64), np.full(len(state.size), FAR, np.int64)
    for index in range(len(small)):
        find_nearest(state, trees, small[index], small, nearest, gap)
    while len(small) > 1:
        low = small[np.argmin(gap[small])]
        partner = nearest[low]
        low, partner = min(low, partner), max(low, partner)
        join(state, trees, low, partner, into)
        small = small[(state.size[small] > 0) & (state.size[small] < k)]
        for index in range(len(small)):
            number = small[index]
            if number == low or nearest[number] == low or nearest[number] == partner:
                find_nearest(state, trees, number, small, nearest, gap)
            elif state.size[low] < k:
                between = distance(state, trees, number, low)
                if between < gap[number] or (between == gap[number] and low < nearest[number]):
                    nearest[number], gap[number] = low, between
    if len(small) == 1:
        remaining = np.flatnonzero(state.size > 0)
        find_nearest(state, trees, small[0], remaining, nearest, gap)
        if len(remaining) > 1:
            join(state, trees, min(small[0], nearest[small[0]]), max(small[0], nearest[small[0]]), into)
    for record in range(len(state.label)):
        state.label[record] = last_of(into, state.label[record])


@jit
def find_nearest(state: Clusters, trees: Forest, number: int, candidates: Longs, nearest: Longs, gap: Longs) -> None:
    """Notes the lowest of the clusters closest to this one, and how far it is."""
    gap[number] = FAR
    for index in range(len(candidates)):
        candidate = candidates[index]
        if candidate != number:
            between = distance(state, trees, number, candidate)
            if between < gap[number]:
                nearest[number], gap[number] = candidate, between


@jit
def distance(state: Clusters, trees: Forest, first: int, second: int) -> int:
    """Equation 6: what merging two clusters adds to the total cost."""
    joint = 0
    for column in range(state.box.shape[1]):
        joint += trees.cost[above_both(trees, state.box[first, column], state.box[second, column])]
    sizes = state.size[first] + state.size[second]
    return int(sizes * joint - state.size[first] * state.cost[first] - state.size[second] * state.cost[second])


@jit
def above_both(trees: Forest, node: int, target: int) -> int:
    """The lowest node above two nodes of a column."""
    while trees.first[target] < trees.first[node] or trees.last[target] > trees.last[node]:
        node = trees.parent[node]
    return node


@jit
def join(state: Clusters, trees: Forest, low: int, partner: int, into: Longs) -> None:
    """Merges a cluster into a lower one."""
    total = 0
    for column in range(state.box.shape[1]):
        state.box[low, column] = above_both(trees, state.box[low, column], state.box[partner, column])
        total += trees.cost[state.box[low, column]]
    state.cost[low] = total
    state.size[low] += state.size[partner]
    state.size[partner] = 0
    into[partner] = low


@jit
def last_of(into: Longs, number: int) -> int:
    """The cluster that has taken this one in."""
    while into[number] != number:
        number = into[number]
    return number
