"""k toward insiders: classes that show a party too few records of others are merged with their nearest.

A class falls short if some party has fewer than `k_insider` records of others in it, but has some, or if a part of it
is one party's that is larger than `most_of_a_class`. Each party looks at its own numbers, and the bits are joined by an
AND: who sees too few, or has too much, is not learned. Merging breaks neither k nor l.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from covey.arrays import Longs
from covey.errors import Unmet
from covey.protocols.cluster_rows.kernels import growth, joined_box, nearest
from covey.protocols.cluster_rows.party import SearchParty
from covey.protocols.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.shared.insiders import few_others

NEAR = 16
"""The nearest clusters that are looked at for one that falls short too."""


async def merge_few(
    party: SearchParty, label: Longs, clusters: PublicClusters, fewest: int, most: Fraction = Fraction(1)
) -> tuple[Longs, PublicClusters]:
    """Each own record's class and the classes, after merging until no party sees too few of others, or has too much."""
    step = 0
    while True:
        own = np.bincount(label, minlength=len(clusters))
        short = few_others(clusters.sizes, own, fewest) | (own * most.denominator > clusters.sizes * most.numerator)
        fine = await party.joint.at(step).conjoin(~short)
        if fine.all():
            return label, clusters
        if len(clusters) == 1:
            raise Unmet(
                f"even all records as one class show some party fewer than k_insider = {fewest} of others; nothing can "
                "be released, unless every party accepts k_insider = 1"
                if most == 1
                else f"even of all records as one class some party has more than most_of_a_class = {float(most):g}, or "
                f"sees fewer than k_insider = {fewest} of others; nothing can be released, unless all accept more"
            )
        clusters, place = merge_nearest(party.problem, clusters, np.flatnonzero(~fine))
        label = place[label]
        step += 1


def merge_nearest(problem: ClusterProblem, clusters: PublicClusters, short: Longs) -> tuple[PublicClusters, Longs]:
    """Each of these, in turn, goes to the cluster that this costs least; the clusters, and each old one's new number.

    One that falls short too may cost twice as much: two are mended at once. A cluster that was merged already in this
    round is not merged again.
    """
    sizes, boxes = clusters.sizes.copy(), clusters.boxes.copy()
    owner = np.arange(len(clusters))
    free, alive = np.ones(len(clusters), dtype=bool), np.ones(len(clusters), dtype=bool)
    lacking = np.isin(owner, short)
    for cluster in short.tolist():
        if not free[cluster]:
            continue
        here = np.flatnonzero(alive)
        asked = np.searchsorted(here, [cluster])
        state = problem.forest, sizes[alive], boxes[alive], problem.costs(boxes[alive])
        near = nearest(*state, asked, min(NEAR, len(here) - 1))[0]
        costs = np.array([growth(*state, asked[0], other) for other in near])
        both = (lacking & free)[here[near]] & (costs <= 2 * costs[0])
        target = int(here[near[np.argmax(both)]])
        boxes[target] = joined_box(problem.forest, boxes[target], boxes[cluster])
        sizes[target] += sizes[cluster]
        alive[cluster] = False
        owner[owner == cluster] = target
        free[[cluster, target]] = False
    number = np.cumsum(alive) - 1
    return PublicClusters(sizes[alive], boxes[alive]), number[owner]
