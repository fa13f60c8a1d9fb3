"""Regrouping: clusters that lie side by side are put together and divided anew, where that costs less.

Which clusters come together, and how much each column's cuts are favoured, is drawn from the public state: everyone
draws the same, and nobody can choose. A group is kept as it was if the new division is not better. All views that are
opened are of k records or more, whether the division is kept or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Floats, Ints, Longs
from covey.crypto.rng import Rng, Stream
from covey.crypto.secret import Secret
from covey.protocols.cluster_rows.kernels import above_both
from covey.protocols.cluster_rows.problem import ClusterProblem, PublicClusters

RECORDS = 20
"""The size of a group, in multiples of k, about."""


@dataclass(frozen=True)
class Groups:
    """Clusters put together: each one's group, and the groups as clusters."""

    number: Longs
    clusters: PublicClusters


def drawn_from(clusters: PublicClusters, use: str) -> Stream:
    """A stream that everyone who knows the clusters has: public, and the same on every machine."""
    return Rng(Secret(clusters.digest())).stream("cluster", use)


def favours(clusters: PublicClusters, asked: int, columns: int) -> Floats:
    """The weight of each column's cut of each cluster: between a half and one and a half, in 256 steps."""
    steps = drawn_from(clusters, "favours").words_below(257, asked * columns).reshape(asked, columns)
    return np.asarray((128 + steps.astype(np.float64)) / 256)


def put_together(problem: ClusterProblem, clusters: PublicClusters) -> Groups:
    """Neighbours in a random order of columns, so many that a group has about the wanted number of records."""
    random = drawn_from(clusters, "neighbours")
    keys = [problem.forest.first[clusters.boxes[:, column]] for column in random.permutation(problem.columns)]
    order = np.lexsort(keys[::-1])
    wanted = RECORDS * problem.k
    before = np.cumsum(clusters.sizes[order]) - clusters.sizes[order]
    piece = (before + random.below(wanted)) // wanted
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.unique(piece, return_inverse=True)[1]
    sizes = np.bincount(number, weights=clusters.sizes).astype(np.int64)
    return Groups(number, PublicClusters(sizes, close_groups(problem, clusters.boxes, number, len(sizes))))


def close_groups(problem: ClusterProblem, boxes: Ints, number: Longs, groups: int) -> Ints:
    """The closure of each group's boxes."""
    first, last = problem.forest.first[boxes], problem.forest.last[boxes]
    low = np.full((groups, problem.columns), 2**31 - 1, dtype=np.int32)
    high = np.full((groups, problem.columns), -1, dtype=np.int32)
    np.minimum.at(low, number, first)
    np.maximum.at(high, number, last)
    closed = np.empty((groups, problem.columns), dtype=np.int32)
    some = np.empty(groups, dtype=np.int64)
    some[number] = np.arange(len(number))
    for column in range(problem.columns):
        for group in range(groups):
            node = int(boxes[some[group], column])
            offset = int(problem.forest.offsets[column])
            node = above_both(problem.forest, node, offset + int(low[group, column]))
            closed[group, column] = above_both(problem.forest, node, offset + int(high[group, column]))
    return closed


@dataclass(frozen=True)
class KeptClusters:
    """The clusters of the old and of the new division that stay, as numbers of the clusters that follow."""

    old: Longs
    new: Longs
    better: Bits
    clusters: PublicClusters

    def label(self, groups: Groups, before: Longs, after: Longs) -> Longs:
        """Own labels in the clusters that follow, from those in the old and in the new division."""
        return np.where(self.better[groups.number[before]], self.new[after], self.old[before])


def keep_better(
    problem: ClusterProblem, groups: Groups, old: PublicClusters, new: PublicClusters, origin: Longs
) -> KeptClusters:
    """Keeps of each group the cheaper division, the old one if they cost the same; `origin` is each new one's group."""
    count = len(groups.clusters)
    cost = [np.zeros(count, dtype=np.int64) for _ in range(2)]
    np.add.at(cost[0], groups.number, problem.costs(old.boxes) * old.sizes)
    np.add.at(cost[1], origin, problem.costs(new.boxes) * new.sizes)
    better = cost[1] < cost[0]
    from_old, from_new = np.flatnonzero(~better[groups.number]), np.flatnonzero(better[origin])
    place = [np.full(len(each), -1, dtype=np.int64) for each in (old, new)]
    place[0][from_old] = np.arange(len(from_old))
    place[1][from_new] = len(from_old) + np.arange(len(from_new))
    sizes = np.concatenate([old.sizes[from_old], new.sizes[from_new]])
    boxes = np.concatenate([old.boxes[from_old], new.boxes[from_new]])
    return KeptClusters(place[0], place[1], better, PublicClusters(sizes, boxes))
