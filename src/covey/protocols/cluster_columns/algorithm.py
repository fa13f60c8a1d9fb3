"""Algorithm 4 of Tassa & Gudes for holders of columns: blocks, random clusters, moves, splits, merging.

All holders know the labels and make the same decisions, from answers to questions (`questions`) and from public draws.
A holder's own columns enter only through its shares of prices. Where the pivot keeps l, sensitive values enter through
prices too, and through the clusters and halves that the pivot deals out in secret.

Blocks    (not in the paper) the table is first divided along single columns, as long as every part has `BLOCK` times k
          records; clusters never reach across blocks, which saves a tenfold and more of all prices.
Batches   many records are examined at once. A move whose source or target has changed within the batch is put off to
          the next one, so that every move that is made lowers the cost by exactly what was computed.
Memory    a record whose cluster has not changed since it was last examined is compared only with clusters that have:
          the others were not better then. No decision differs.
Where the paper is silent: on equal terms a record stays. Sweeps go on after a split, twelve at the most, and end once a
sweep moves fewer than one record in two hundred and splits nothing. Pairs of small clusters are merged at the same time
where each is the other's closest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Longs
from covey.crypto.rng import Rng
from covey.protocols.cluster_columns.clustering import Clustering
from covey.protocols.cluster_columns.own_columns import OwnColumns, row_starts
from covey.protocols.cluster_columns.parameters import Parameters, Shares
from covey.protocols.cluster_columns.questions import ArgMin, Cuts, Decision, Search

SWEEPS = 12
TAIL = 200


def search(own: OwnColumns, me: str, draws: Rng, deals: Rng) -> Search:
    """Each record's class, as all holders find it.

    `draws` are the same for everyone; with `deals` the pivot deals out clusters and halves, by sensitive values where
    it keeps l: then nobody else may know them (`randomness.pivot_draws`).
    """
    blocks = parts = np.zeros(own.records, dtype=np.int64)
    if own.parameters.fewest is not None:
        blocks = yield from divide(own, me, blocks, own.parameters.fewest)
        parts = yield from divide(own, me, blocks, own.parameters.k)
    start = first_labels(own, parts, deals) if own.pivot else None
    label = yield Decision(own.records, own.records, start)
    state = Clustering.of(label, blocks, own.parameters.k, draws)
    for sweep in range(SWEEPS):
        moved = yield from sweep_once(own, state, sweep)
        splits = yield from split(own, state, deals, sweep)
        state.settle_blocks(moved, splits, TAIL if own.parameters.fewest is not None else own.records + 1)
        if not state.active.any():
            break
    return (yield from merge_small(own, state))


# -- blocks


def divide(own: OwnColumns, me: str, block: Longs, fewest: int) -> Search:
    """Each record's part: in each round the holder whose best cut saves most cuts each open part.

    A cut is along one column; every part has the fewest records or more.
    """
    parameters, depth = own.parameters, 0
    block = block.copy()
    blocks = int(block.max(initial=0)) + 1
    todo = np.flatnonzero(np.bincount(block) >= 2 * fewest)
    while len(todo):
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.stack([todo, todo + 1]))
        rows = [order[start:stop] for start, stop in ends.T]
        cuts = [own.best_cut(each, fewest) for each in rows]
        starts = row_starts([1 + len(parameters.holders)] * len(rows))
        winners = (yield ArgMin(starts, bids(parameters, me, [gain for gain, _ in cuts]), "division", depth)) - 1
        won = np.flatnonzero(winners >= 0).tolist()
        if not won:
            break
        mine = tuple(cuts[number][1] if parameters.holders[winners[number]] == me else None for number in won)
        lengths = np.array([len(rows[number]) for number in won], dtype=np.int64)
        told = yield Cuts(winners[won], lengths, 256, fewest, mine)
        parts = np.split(told, np.cumsum(lengths)[:-1])
        kept = yield from keep_cuts(own, [rows[number] for number in won], parts)
        fresh: list[int] = []
        for number, part, may in zip(won, parts, kept.tolist(), strict=True):
            if may:
                more = int(part.max())  # the first part keeps the number
                names = np.concatenate([block[rows[number][:1]], blocks + np.arange(more)])
                block[rows[number]] = names[part]
                blocks += more
                fresh += names[np.bincount(part) >= 2 * fewest].tolist()
        todo = np.array(sorted(fresh), dtype=np.int64)
        depth += 1
    return block


def bids(parameters: Parameters, me: str, gains: Sequence[float]) -> Shares:
    """Our bids, a row for each part: no cut, then each holder's cut. The more a cut saves, the less it costs."""
    shares = np.zeros((len(gains), 1 + len(parameters.holders)), dtype=np.uint32)
    top = parameters.share - 1
    if me == parameters.pivot:
        shares[:, 0] = top
    whole = 2**parameters.bits * len(parameters.study.quasi)
    saved = np.minimum(np.rint(np.array(gains) / whole * top), top)
    shares[:, 1 + parameters.holders.index(me)] = top - saved.astype(np.uint32)
    return shares.ravel()


def keep_cuts(own: OwnColumns, rows: Sequence[Longs], parts: Sequence[Longs]) -> Search:
    """Asks which cuts stand: all, or, where the pivot keeps l, those that leave every part with l."""
    if own.parameters.study.privacy.l is None or not rows:
        return np.ones(len(rows), dtype=np.int64)
    mine = None
    if own.keeps:
        pairs = zip(rows, parts, strict=True)
        mine = np.array([own.part_keeps_diversity(r, p, int(p.max()) + 1) for r, p in pairs], dtype=np.int64)
    return (yield Decision(len(rows), 2, mine))


# -- clusters


def first_labels(own: OwnColumns, blocks: Longs, deals: Rng) -> Longs:
    """Random clusters of about k / 2 records in each block; where they do not keep l, half as many."""
    label = np.zeros(own.records, dtype=np.int64)
    names = 0
    stream = deals.stream("first")
    for block in range(int(blocks.max(initial=0)) + 1):
        rows = np.flatnonzero(blocks == block)
        clusters = max(1, 2 * len(rows) // own.parameters.k)
        while True:
            order = stream.permutation(len(rows))
            if own.keeps:
                order = order[np.argsort(own.places[rows[order], 0], kind="stable")]
            dealt = np.empty(len(rows), dtype=np.int64)
            dealt[order] = stream.permutation(clusters)[np.arange(len(rows)) % clusters]
            if clusters == 1 or own.part_keeps_diversity(rows, dealt, clusters):
                break
            clusters //= 2
        label[rows] = names + dealt
        names += clusters
    return label


def sweep_once(own: OwnColumns, state: Clustering, sweep: int) -> Search:
    """Examines every record of every active block once. Returns the number that moved, by block."""
    state.begin()
    own.group(state.label)
    moved = np.zeros(state.blocks, dtype=np.int64)
    while (batch := state.next_batch()) is not None:
        shares = own.prices(batch.records, batch.starts, batch.candidates)
        places = yield ArgMin(batch.starts, shares, "moves", sweep, batch)
        for record, target in state.accept(batch, batch.candidates[batch.starts[:-1] + places]):
            own.move(record, target)
            moved[state.block[target]] += 1
    return moved


def split(own: OwnColumns, state: Clustering, deals: Rng, sweep: int) -> Search:
    """Halves every cluster above 1.5 k; the pivot says which records leave. Returns the number of splits, by block."""
    large = state.large()
    splits = np.zeros(state.blocks, dtype=np.int64)
    if not len(large):
        return splits
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
    for block in state.split(large, bits):
        splits[block] += 1
    return splits


def merge_small(own: OwnColumns, state: Clustering) -> Search:
    """Merges the clusters below k, closest first; the last of a block joins the cluster closest to it."""
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
