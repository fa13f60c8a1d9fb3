"""Fewer than k records may be withheld: more than that are made a class, with others where they cannot stand alone.

t is measured against what is published. The searches measure it against the whole table, which is the same as long as
no record is withheld. So none is where a class would be too far from what is left.
"""

from __future__ import annotations

import numpy as np

from covey.anonymizers.constraints import broken, flat_codes, histograms, kept, limits_of
from covey.anonymizers.problem import Partition, Problem, closed
from covey.arrays import Bits, Ints, Longs


def settled(problem: Problem, partition: Partition) -> Partition:
    """The partition itself if fewer than k records are withheld, and t holds without them. Else one in which none is.

    The withheld become a class; while it breaks l or t it takes in the class with which it costs least. The whole table
    keeps them, so this ends.
    """
    unplaced = problem.counts - np.bincount(partition.item, weights=partition.count, minlength=problem.items).astype(
        np.int64
    )
    if int(unplaced.sum()) < problem.k and _is_near_without(problem, partition, unplaced):
        return partition
    limits, bins = limits_of(problem), flat_codes(problem)
    items = np.flatnonzero(unplaced)
    histogram = np.zeros(int(limits.starts[-1]), dtype=np.int64)
    for column in range(bins.shape[1]):
        np.add.at(histogram, bins[items, column], unplaced[items])
    size, nodes = int(unplaced.sum()), _closed_over(problem, items)
    counts = histograms(problem, partition.group, partition.classes, partition.item, partition.count)
    sizes = partition.sizes()
    merged = np.zeros(partition.classes, dtype=bool)
    while not kept(limits, histogram, size):
        nearest = _cheapest(problem, partition, sizes, merged, nodes, size)
        merged[nearest] = True
        histogram, size = histogram + counts[nearest], size + int(sizes[nearest])
        nodes = _joined(problem, nodes, partition.nodes[nearest][None, :])[0]
    return _with_class(problem, partition, items, unplaced[items], merged)


def _is_near_without(problem: Problem, partition: Partition, unplaced: Longs) -> bool:
    """True if every class keeps t, measured against the table without the records that are left."""
    limits = limits_of(problem)
    if not unplaced.any() or np.isinf(limits.t).all():
        return True
    bins, table = flat_codes(problem), limits.table.copy()
    for column in range(bins.shape[1]):
        np.subtract.at(table, bins[:, column], unplaced)
    counts = histograms(problem, partition.group, partition.classes, partition.item, partition.count)
    published = limits._replace(table=table, records=limits.records - int(unplaced.sum()))
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


def _joined(problem: Problem, nodes: Ints, class_nodes: Ints) -> Ints:
    """The lowest nodes above `nodes` and each row of `class_nodes`."""
    columns = [tree.common_ancestor(nodes[c], class_nodes[:, c]) for c, tree in enumerate(problem.trees)]
    return np.stack(columns, axis=1)


def _cheapest(problem: Problem, partition: Partition, sizes: Longs, merged: Bits, nodes: Ints, size: int) -> int:
    """The class whose records and ours cost least more when they are closed together."""
    closures = _joined(problem, nodes, partition.nodes)
    costs_after, costs_before = np.zeros(partition.classes, dtype=np.int64), np.zeros(partition.classes, dtype=np.int64)
    for column, cost in enumerate(problem.costs):
        costs_after += cost[closures[:, column]]
        costs_before += cost[partition.nodes[:, column]]
    increase = costs_after * (sizes + size) - costs_before * sizes
    increase[merged] = np.iinfo(np.int64).max
    return int(increase.argmin())


def _with_class(problem: Problem, partition: Partition, items: Longs, counts: Longs, merged: Bits) -> Partition:
    """The partition with one more class, of these records and of the taken classes' members."""
    number = np.cumsum(~merged) - 1
    number[merged] = int((~merged).sum())
    last = int((~merged).sum())
    item = np.concatenate([partition.item, items])
    group = np.concatenate([number[partition.group], np.full(len(items), last)])
    pairs, index = np.unique(group * problem.items + item, return_inverse=True)
    count = np.bincount(index, weights=np.concatenate([partition.count, counts])).astype(np.int64)
    result = closed(problem, pairs % problem.items, pairs // problem.items, count)
    nodes = np.vstack([partition.nodes[~merged], result.nodes[last:]])
    return Partition(result.item, result.group, result.count, nodes, dict(partition.notes), partition.reproducible)
