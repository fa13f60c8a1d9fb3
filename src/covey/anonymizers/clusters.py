"""The clusters of sequential clustering: who is in which, their closures and costs, as compiled code reads them."""

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
    places: Longs  # records x watched sensitive columns
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
    seen: Longs  # when each record was last examined; -1 for never


def clusters_of(trees: Forest, limits: Limits, codes: Ints, places: Longs, label: Longs) -> Clusters:
    """The clusters that these labels make."""
    records, number = len(label), int(label.max(initial=0)) + 1
    state = Clusters(
        codes=codes,
        places=places,
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
        seen=np.full(records, -1, dtype=np.int64),
    )
    fill(state, trees)
    return state


def regrouped(state: Clusters, trees: Forest, limits: Limits) -> Clusters:
    """The clusters once labels have been given anew; those whose size differs have changed."""
    fresh = clusters_of(trees, limits, state.codes, state.places, state.label)
    known = len(state.size)
    fresh.clock[0] = state.clock[0] + 1
    fresh.changed[:] = fresh.clock[0]
    same = fresh.size[:known] == state.size
    fresh.changed[:known][same] = state.changed[same]
    fresh.seen[:] = state.seen
    return fresh


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
    for column in range(state.places.shape[1]):
        state.histogram[number, state.places[record, column]] += 1


@jit
def detach(state: Clusters, record: int) -> None:
    """Takes a record out of its cluster's list."""
    number, before, after = state.label[record], state.preceding[record], state.following[record]
    if before >= 0:
        state.following[before] = after
    else:
        state.head[number] = after
    if after >= 0:
        state.preceding[after] = before
    state.size[number] -= 1
    for column in range(state.places.shape[1]):
        state.histogram[number, state.places[record, column]] -= 1


@jit
def close(state: Clusters, trees: Forest, number: int, without: int, out: Ints) -> int:
    """Writes the closure of a cluster, one record left out (-1: none), and returns its cost."""
    codes, following, total = state.codes, state.following, 0
    for column in range(codes.shape[0]):
        low, high = 2**31 - 1, -1
        record = state.head[number]
        while record >= 0:
            if record != without:
                code = codes[column, record]
                low, high = min(low, code), max(high, code)
            record = following[record]
        if high >= 0:
            out[column] = lowest_above(trees, column, low, high)
            total += trees.cost[out[column]]
    return total


def holds_diversity(limits: Limits, places: Longs, label: Longs, number: int) -> bool:
    """True if each of the clusters keeps l and t, whatever its size."""
    histogram = np.zeros((number, int(limits.starts[-1])), dtype=np.int64)
    for column in range(places.shape[1]):
        np.add.at(histogram, (label, places[:, column]), 1)
    sizes = np.bincount(label, minlength=number).astype(np.int64)
    return bool(sizes.all()) and not broken(limits._replace(k=1), histogram, sizes).any()
