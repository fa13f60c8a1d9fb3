"""Fewer than k records may be withheld: more than that are made a class, with others where they cannot stand alone.

t is measured against what is published. The searches measure it against the whole table, which is the same as long as
no record is withheld. So none is where a class would be too far from what is left.
"""

from __future__ import annotations

import numpy as np

from covey.anonymizers.closure import closed
from covey.anonymizers.constraints import broken, flat_codes, histograms, kept, limits_of
from covey.anonymizers.problem import Partition, Problem
from covey.arrays import Bits, Ints, Longs


def settled(problem: Problem, partition: Partition) -> Partition:
    """The partition itself if fewer than k records are withheld, and t holds without them; else one in which none is.

    The withheld become a class; while it breaks l or t it takes in the class with which it costs least. The whole table
    keeps them, so this ends.
    """
    left = problem.counts - np.bincount(partition.item, weights=partition.count, minlength=problem.items).astype(
        np.int64
    )
    if int(left.sum()) < problem.k and _is_near_without(problem, partition, left):
        return partition
    limits, places = limits_of(problem), flat_codes(problem)
    own = np.flatnonzero(left)
    histogram = np.zeros(int(limits.starts[-1]), dtype=np.int64)
    for column in range(places.shape[1]):
        np.add.at(histogram, places[own, column], left[own])
    size, nodes = int(left.sum()), _closed_over(problem, own)
    counts = histograms(problem, partition.group, partition.classes, partition.item, partition.count)
    sizes = partition.sizes()
    taken = np.zeros(partition.classes, dtype=bool)
    while not kept(limits, histogram, size):
        nearest = _cheapest(problem, partition, sizes, taken, nodes, size)
        taken[nearest] = True
        histogram, size = histogram + counts[nearest], size + int(sizes[nearest])
        nodes = _joined(problem, nodes, partition.nodes[nearest][None, :])[0]
    return _with_class(problem, partition, own, left[own], taken)


def _is_near_without(problem: Problem, partition: Partition, left: Longs) -> bool:
    """True if every class keeps t where it is measured against the table without the records that are left."""
    limits = limits_of(problem)
    if not left.any() or np.isinf(limits.t).all():
        return True
    places, whole = flat_codes(problem), limits.whole.copy()
    for column in range(places.shape[1]):
        np.subtract.at(whole, places[:, column], left)
    counts = histograms(problem, partition.group, partition.classes, partition.item, partition.count)
    published = limits._replace(whole=whole, records=limits.records - int(left.sum()))
    return not broken(published, counts, partition.sizes()).any()


def _closed_over(problem: Problem, items: Longs) -> Ints:
    """The lowest nodes above these items, one per column."""
    return np.array(
        [
            tree.common_ancestor(codes.min(keepdims=True), codes.max(keepdims=True))[0]
            for tree, codes in zip(problem.trees, problem.codes[:, items], strict=True)
        ],
        dtype=np.int32,
    )


def _joined(problem: Problem, nodes: Ints, others: Ints) -> Ints:
    """The lowest nodes above `nodes` and each row of `others`."""
    columns = [tree.common_ancestor(nodes[c], others[:, c]) for c, tree in enumerate(problem.trees)]
    return np.stack(columns, axis=1)


def _cheapest(problem: Problem, partition: Partition, sizes: Longs, taken: Bits, nodes: Ints, size: int) -> int:
    """The class whose records and ours cost least more when they are closed together."""
    together = _joined(problem, nodes, partition.nodes)
    after, before = np.zeros(partition.classes, dtype=np.int64), np.zeros(partition.classes, dtype=np.int64)
    for column, cost in enumerate(problem.costs):
        after += cost[together[:, column]]
        before += cost[partition.nodes[:, column]]
    more = after * (sizes + size) - before * sizes
    more[taken] = np.iinfo(np.int64).max
    return int(more.argmin())


def _with_class(problem: Problem, partition: Partition, items: Longs, counts: Longs, taken: Bits) -> Partition:
    """The partition with one more class, of these records and of the taken classes' members."""
    number = np.cumsum(~taken) - 1
    number[taken] = int((~taken).sum())
    last = int((~taken).sum())
    item = np.concatenate([partition.item, items])
    group = np.concatenate([number[partition.group], np.full(len(items), last)])
    pairs, where = np.unique(group * problem.items + item, return_inverse=True)
    count = np.bincount(where, weights=np.concatenate([partition.count, counts])).astype(np.int64)
    made = closed(problem, pairs % problem.items, pairs // problem.items, count)
    nodes = np.vstack([partition.nodes[~taken], made.nodes[last:]])
    return Partition(made.item, made.group, made.count, nodes, dict(partition.notes), partition.reproducible)
