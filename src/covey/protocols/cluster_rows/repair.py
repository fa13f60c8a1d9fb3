"""k toward insiders: classes that show a party too few records of others are merged with their nearest.

A class falls short if some party has fewer than `k_insider` records of others in it, but has some. Each party looks at
its own numbers, and the bits are joined by an AND: who sees too few is not learned. Merging breaks neither k nor l.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import Unmet
from covey.protocols.cluster_rows.ground import Clusters, Ground
from covey.protocols.cluster_rows.kernels import joined_box, nearest
from covey.secure import conjunction
from covey.wire import Channel


async def merge_few(
    channel: Channel, ground: Ground, label: Longs, clusters: Clusters, fewest: int
) -> tuple[Longs, Clusters]:
    """Each own record's class and the classes, after merging until no party sees fewer than that many of others."""
    step = 0
    while True:
        own = np.bincount(label, minlength=len(clusters))
        fine = await conjunction.conjoin(channel.at(step), ~few_others(clusters.sizes, own, fewest))
        if fine is None or fine.all():
            return label, clusters
        require_more_than_one(clusters, fewest)
        clusters, place = merge_nearest(ground, clusters, np.flatnonzero(~fine))
        label = place[label]
        step += 1


def require_more_than_one(clusters: Clusters, fewest: int) -> None:
    """Raises Unmet where all records are one class already, so that no merge can help."""
    if len(clusters) == 1:
        raise Unmet(f"even all records as one class show some party fewer than {fewest} of others; lower k_insider")


def merge_nearest(ground: Ground, clusters: Clusters, short: Longs) -> tuple[Clusters, Longs]:
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
        price = ground.costs(among.boxes)
        target = int(here[nearest(ground.forest, among.sizes, among.boxes, price, asked, 1)[0, 0]])
        boxes[target] = joined_box(ground.forest, boxes[target], boxes[cluster])
        sizes[target] += sizes[cluster]
        alive[cluster] = False
        owner[owner == cluster] = target
        free[[cluster, target]] = False
    number = np.cumsum(alive) - 1
    return Clusters(sizes[alive], boxes[alive]), number[owner]


def few_others(sizes: Longs, own: Longs, fewest: int) -> Bits:
    """In which clusters a party that looks at others' records sees some, but fewer than that."""
    others = sizes - own
    return (others > 0) & (others < fewest)


async def insider_reached(channel: Channel, clusters: Clusters, own: Longs, k: int) -> int:
    """The fewest records of others that any party sees in a class where it sees some, or k where it is more."""
    mine = np.array([not few_others(clusters.sizes, own, fewest).any() for fewest in range(1, k + 1)])
    fine = await conjunction.conjoin(channel, mine)
    return 0 if fine is None else int(np.flatnonzero(~np.append(fine, False))[0])
