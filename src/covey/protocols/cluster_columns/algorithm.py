"""Algorithm 4 of Tassa & Gudes as the holders of columns play it: blocks, random clusters, moves, splits, merging.

Labels are known to all holders. Everything here is decided alike by all of them, from answers to questions (`asking`)
and from public draws; a holder's own columns enter only through its shares of prices. Sensitive values, where the pivot
keeps l, enter through prices as well, and through clusters and halves that it deals out in secret.

Blocks    (not in the paper) the table is first divided along single columns, as long as every part has `BLOCK` times k
          records; clusters never reach across blocks, which saves a tenfold and more of all prices.
Batches   many records are examined at once. A move whose source or target has changed within the batch is put off to
          the next one, so that every move that is made lowers the cost by exactly what was computed.
Memory    a record whose cluster has not changed since it was last examined is compared only with clusters that have:
          the others were not better then. No decision differs.
Where the paper is silent: a record stays on equal terms; sweeps go on after a split as well, twelve times at the most,
and end before that once a sweep moves fewer than one record in two hundred and splits nothing; the closest pairs of
small clusters are merged at once where each is the other's closest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Longs
from covey.crypto.rng import Rng
from covey.protocols.cluster_columns.asking import Least, Say, Search, Tell
from covey.protocols.cluster_columns.course import Course
from covey.protocols.cluster_columns.own import Own, row_starts
from covey.protocols.cluster_columns.terms import Shares, Terms

SWEEPS = 12
TAIL = 200


def search(own: Own, me: str, draws: Rng, deals: Rng) -> Search:
    """Each record's class, as all holders find it.

    `draws` are the same for everyone; with `deals` the pivot deals out clusters and halves, by sensitive values where
    it keeps l: then nobody else may know them (`terms.deals`).
    """
    blocks = parts = np.zeros(own.records, dtype=np.int64)
    if own.terms.fewest is not None:
        blocks = yield from divide(own, me, blocks, own.terms.fewest)
        parts = yield from divide(own, me, blocks, own.terms.k)
    start = first_labels(own, parts, deals) if own.pivot else None
    label = yield Say(own.records, own.records, start)
    course = Course.of(label, blocks, own.terms.k, draws)
    for sweep in range(SWEEPS):
        moved = yield from sweep_once(own, course, sweep)
        splits = yield from split(own, course, deals, sweep)
        course.settle_blocks(moved, splits, TAIL if own.terms.fewest is not None else own.records + 1)
        if not course.active.any():
            break
    return (yield from merge_small(own, course))


# -- blocks


def divide(own: Own, me: str, block: Longs, fewest: int) -> Search:
    """Each record's part: in each round every open part is cut by the holder whose best cut saves most.

    A cut is along one column; every part has the fewest records or more.
    """
    terms, depth = own.terms, 0
    block = block.copy()
    blocks = int(block.max(initial=0)) + 1
    todo = np.flatnonzero(np.bincount(block) >= 2 * fewest)
    while len(todo):
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.stack([todo, todo + 1]))
        rows = [order[start:stop] for start, stop in ends.T]
        cuts = [own.best_cut(each, fewest) for each in rows]
        starts = row_starts([1 + len(terms.holders)] * len(rows))
        winners = (yield Least(starts, bids(terms, me, [gain for gain, _ in cuts]), "division", depth)) - 1
        won = np.flatnonzero(winners >= 0).tolist()
        if not won:
            break
        mine = tuple(cuts[number][1] if terms.holders[winners[number]] == me else None for number in won)
        lengths = np.array([len(rows[number]) for number in won], dtype=np.int64)
        told = yield Tell(winners[won], lengths, 256, fewest, mine)
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


def bids(terms: Terms, me: str, gains: Sequence[float]) -> Shares:
    """Rows of: no cut, and each holder's cut. The more a cut saves, the less it costs; no cut costs the most."""
    shares = np.zeros((len(gains), 1 + len(terms.holders)), dtype=np.uint32)
    top = terms.share - 1
    if me == terms.pivot:
        shares[:, 0] = top
    whole = 2**terms.bits * len(terms.study.quasi)
    saved = np.minimum(np.rint(np.array(gains) / whole * top), top)
    shares[:, 1 + terms.holders.index(me)] = top - saved.astype(np.uint32)
    return shares.ravel()


def keep_cuts(own: Own, rows: Sequence[Longs], parts: Sequence[Longs]) -> Search:
    """Which cuts stand: all, or those that leave every part with l, where the pivot keeps it."""
    if own.terms.study.privacy.l is None or not rows:
        return np.ones(len(rows), dtype=np.int64)
    mine = None
    if own.keeps:
        pairs = zip(rows, parts, strict=True)
        mine = np.array([own.part_keeps_diversity(r, p, int(p.max()) + 1) for r, p in pairs], dtype=np.int64)
    return (yield Say(len(rows), 2, mine))


# -- clusters


def first_labels(own: Own, blocks: Longs, deals: Rng) -> Longs:
    """Random clusters of about k / 2 records in each block; where they do not keep l, half as many."""
    label = np.zeros(own.records, dtype=np.int64)
    names = 0
    stream = deals.stream("first")
    for block in range(int(blocks.max(initial=0)) + 1):
        rows = np.flatnonzero(blocks == block)
        clusters = max(1, 2 * len(rows) // own.terms.k)
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


def sweep_once(own: Own, course: Course, sweep: int) -> Search:
    """Every record of every active block is examined once. Answer: how many moved, by block."""
    course.begin()
    own.group(course.label)
    moved = np.zeros(course.blocks, dtype=np.int64)
    while (batch := course.next_batch()) is not None:
        shares = own.prices(batch.records, batch.starts, batch.candidates)
        places = yield Least(batch.starts, shares, "moves", sweep, batch)
        for record, target in course.accept(batch, batch.candidates[batch.starts[:-1] + places]):
            own.move(record, target)
            moved[course.block[target]] += 1
    return moved


def split(own: Own, course: Course, deals: Rng, sweep: int) -> Search:
    """Halves every cluster above 1.5 k; the pivot says which records leave. Answer: how many were split, by block."""
    large = course.large()
    splits = np.zeros(course.blocks, dtype=np.int64)
    if not len(large):
        return splits
    leaving = np.zeros(course.records, dtype=np.int64)
    if own.pivot:
        stream = deals.stream("split", sweep)
        for cluster in large.tolist():
            members = np.flatnonzero(course.label == cluster)
            shuffled = members[stream.permutation(len(members))]
            if own.keeps:
                shuffled = shuffled[np.argsort(own.places[shuffled, 0], kind="stable")]
            if own.may_part(members, np.sort(shuffled[1::2])):
                leaving[shuffled[1::2]] = 1
    bits = yield Say(course.records, 2, leaving if own.pivot else None)
    for block in course.split(large, bits):
        splits[block] += 1
    return splits


def merge_small(own: Own, course: Course) -> Search:
    """Merges the clusters below k, closest first; the last of a block joins the cluster closest to it."""
    step = 0
    while True:
        course.compact()
        own.group(course.label)
        rows, starts, candidates = course.small_ones()
        if not len(rows):
            return course.label
        places = yield Least(starts, own.distances(rows, starts, candidates), "merging", step)
        course.merge(rows, candidates[starts[:-1] + places])
        step += 1
