"""k toward insiders: classes that show a party too few records of others are merged with their nearest.

A class falls short if some party has fewer than `k_insider` records of others in it, but has some. Each party looks at
its own numbers, and the bits are joined by an AND: who sees too few is not learned. Merging breaks neither k nor l.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import Unmet
from covey.protocols.cluster_rows.kernels import joined_box, nearest
from covey.protocols.cluster_rows.party import Joint, Party
from covey.protocols.cluster_rows.problem import Clusters, Problem


async def merge_few(party: Party, label: Longs, clusters: Clusters, fewest: int) -> tuple[Longs, Clusters]:
    """Each own record's class and the classes, after merging until no party sees fewer than that many of others."""
    step = 0
    while True:
        own = np.bincount(label, minlength=len(clusters))
        fine = await party.joint.at(step).conjoin(~few_others(clusters.sizes, own, fewest))
        if fine.all():
            return label, clusters
        if len(clusters) == 1:
            raise Unmet(f"even all records as one class show some party fewer than {fewest} of others; lower k_insider")
        clusters, place = merge_nearest(party.problem, clusters, np.flatnonzero(~fine))
        label = place[label]
        step += 1


def merge_nearest(problem: Problem, clusters: Clusters, short: Longs) -> tuple[Clusters, Longs]:
    """Each of these, in turn, goes to the cluster that this costs least; the clusters, and each old one's new number.

    A cluster that was merged already in this round is not merged again.
    """
    sizes, boxes = clusters.sizes.copy(), clusters.boxes.copy()
    owner = np.arange(len(clusters))
    free, alive = np.ones(len(clusters), dtype=bool), np.ones(len(clusters), dtype=bool)
    for cluster in short.tolist():
        if not free[cluster]:
            continue
        among = Clusters(sizes[alive], boxes[alive])
        here = np.flatnonzero(alive)
        asked = np.searchsorted(here, [cluster])
        price = problem.costs(among.boxes)
        target = int(here[nearest(problem.forest, among.sizes, among.boxes, price, asked, 1)[0, 0]])
        boxes[target] = joined_box(problem.forest, boxes[target], boxes[cluster])
        sizes[target] += sizes[cluster]
        alive[cluster] = False
        owner[owner == cluster] = target
        free[[cluster, target]] = False
    number = np.cumsum(alive) - 1
    return Clusters(sizes[alive], boxes[alive]), number[owner]


def few_others(sizes: Longs, own: Longs, fewest: int) -> Bits:
    """The clusters in which a party with these own records sees some of others, but fewer than that."""
    others = sizes - own
    return (others > 0) & (others < fewest)


async def insider_reached(joint: Joint, clusters: Clusters, own: Longs, k: int) -> int:
    """The fewest records of others that any party sees in a class where it sees some, or k where it is more."""
    fine = await joint.conjoin(
        np.array([not few_others(clusters.sizes, own, fewest).any() for fewest in range(1, k + 1)])
    )
    return int(np.flatnonzero(~np.append(fine, False))[0])
