"""Algorithm 4 of Tassa & Gudes for holders of columns: random clusters, moves, splits, merging.

All holders know the labels and make the same decisions, from answers to questions (`questions`) and from public draws.
A holder's own columns enter only through its shares of prices. Where the pivot keeps l, sensitive values enter through
prices too, and through the clusters and halves that the pivot deals out in secret.

Batches   many records are examined at once. A move whose source or target has changed within the batch is put off to
          the next one, so that every move that is made lowers the cost by exactly what was computed.
Memory    a record whose cluster has not changed since it was last examined is compared only with clusters that have:
          the others were not better then. No decision differs.
Where the paper is silent: on equal terms a record stays. Sweeps go on after a split, twelve at the most, and end with
one that moves and splits nothing. Pairs of small clusters are merged at once where each is the other's closest.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs
from covey.crypto.rng import Rng
from covey.protocols.as_printed.cluster_columns.clustering import Clustering
from covey.protocols.as_printed.cluster_columns.own_columns import OwnColumns
from covey.protocols.as_printed.cluster_columns.questions import ArgMin, Decision, Search

SWEEPS = 12


def search(own: OwnColumns, draws: Rng, deals: Rng) -> Search:
    """Each record's class, as all holders find it.

    `draws` are the same for everyone; with `deals` the pivot deals out clusters and halves, by sensitive values where
    it keeps l: then nobody else may know them (`randomness.pivot_draws`).
    """
    label = yield Decision(own.records, own.records, first_labels(own, deals) if own.pivot else None)
    state = Clustering.of(label, own.parameters.k, draws)
    for sweep in range(SWEEPS):
        moves = yield from sweep_once(own, state, sweep)
        splits = yield from split(own, state, deals, sweep)
        if not moves and not splits:
            break
    return (yield from merge_small(own, state))


def first_labels(own: OwnColumns, deals: Rng) -> Longs:
    """Random clusters of about k / 2 records; where they do not keep l, half as many."""
    clusters, stream = max(1, 2 * own.records // own.parameters.k), deals.stream("first")
    while True:
        order = stream.permutation(own.records)
        if own.keeps:
            order = order[np.argsort(own.places[order, 0], kind="stable")]
        label = np.empty(own.records, dtype=np.int64)
        label[order] = stream.permutation(clusters)[np.arange(own.records) % clusters]
        if clusters == 1 or own.keeps_diversity(label, clusters):
            return label
        clusters //= 2


def sweep_once(own: OwnColumns, state: Clustering, sweep: int) -> Search:
    """Examines every record once. Returns the number that moved."""
    state.begin()
    own.group(state.label)
    moves = 0
    while (batch := state.next_batch()) is not None:
        shares = own.prices(batch.records, batch.starts, batch.candidates)
        places = yield ArgMin(batch.starts, shares, "moves", sweep, batch)
        for record, target in state.accept(batch, batch.candidates[batch.starts[:-1] + places]):
            own.move(record, target)
            moves += 1
    return np.array(moves)


def split(own: OwnColumns, state: Clustering, deals: Rng, sweep: int) -> Search:
    """Halves every cluster above 1.5 k; the pivot says which records leave. Returns the number of splits."""
    large = state.large()
    if not len(large):
        return np.array(0)
    leaving = np.zeros(state.records, dtype=np.int64)
    if own.pivot:
        stream = deals.stream("split", sweep)
        for cluster in large.tolist():
            members = np.flatnonzero(state.label == cluster)
            shuffled = members[stream.permutation(len(members))]
            if own.keeps:
                shuffled = shuffled[np.argsort(own.places[shuffled, 0], kind="stable")]
            if own.may_part(members, np.sort(shuffled[1::2])):
                leaving[shuffled[1::2]] = 1
    bits = yield Decision(state.records, 2, leaving if own.pivot else None)
    return np.array(state.split(large, bits))


def merge_small(own: OwnColumns, state: Clustering) -> Search:
    """Merges the clusters below k, closest first; the last one joins the cluster closest to it."""
    step = 0
    while True:
        state.compact()
        own.group(state.label)
        rows, starts, candidates = state.small_ones()
        if not len(rows):
            return state.label
        places = yield ArgMin(starts, own.distances(rows, starts, candidates), "merging", step)
        state.merge(rows, candidates[starts[:-1] + places])
        step += 1
