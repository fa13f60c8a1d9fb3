"""Repair: classes that fall short are merged with their nearest until none does; only who falls short is learned.

l         (by frequency) a class falls short if some sensitive value has more than size / l of its records. Counts are
          shared, never opened: the test is whether a size - b count, for l = b / a, is one of the negative numbers
          that it could be. Two parties cannot share: there the counts are opened, as the release itself would.
insider   a class falls short if some party has fewer than k_insider records of others in it, but has some. Each
          party looks at its own numbers, and the bits are joined by an AND.
Merging   two classes that keep l keep it together; the whole table is the last resort, and was checked at first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from covey.anonymize.problem import Ints, Longs
from covey.errors import Unmet
from covey.protocols.cluster.ground import Clusters, Ground
from covey.protocols.cluster.kernels import above_both
from covey.protocols.cluster.ranges import Counts, Table
from covey.secure import conjunction
from covey.secure import sum as secure_sum
from covey.wire import Channel

Bits = NDArray[np.bool_]
Failing = Callable[[Channel, Clusters, Longs], Awaitable[Bits]]
"""Which clusters fall short, given the clusters and the original cluster each one's parts came from."""


async def repair(
    channel: Channel, ground: Ground, label: Longs, clusters: Clusters, failing: Failing
) -> tuple[Longs, Clusters]:
    """Each own record's cluster and the clusters, after merging until none falls short."""
    place = np.arange(len(clusters))
    step = 0
    while True:
        with channel.at(step) as at:
            short = await failing(at, clusters, place)
        if not short.any():
            return place[label], clusters
        if len(clusters) == 1:
            raise Unmet("even all records as one class fall short of what the study asks; nothing was released")
        clusters, mapping = merge_nearest(ground, clusters, np.flatnonzero(short))
        place = mapping[place]
        step += 1


def merge_nearest(ground: Ground, clusters: Clusters, short: Longs) -> tuple[Clusters, Longs]:
    """Each of these, in turn, goes to the cluster that this costs least; the clusters, and each old one's new number.

    A cluster that was merged already in this round is not merged again.
    """
    sizes, boxes = clusters.sizes.copy(), clusters.boxes.copy()
    owner = np.arange(len(clusters))
    touched = np.zeros(len(clusters), dtype=bool)
    alive = np.ones(len(clusters), dtype=bool)
    for cluster in short:
        if touched[cluster]:
            continue
        joined = joins(ground, boxes, boxes[cluster])
        cost = ground.costs(boxes)
        more = (sizes + sizes[cluster]) * ground.costs(joined) - sizes * cost - sizes[cluster] * cost[cluster]
        more[~alive] = np.iinfo(np.int64).max
        more[cluster] = np.iinfo(np.int64).max
        target = int(more.argmin())
        sizes[target] += sizes[cluster]
        boxes[target] = joined[target]
        alive[cluster] = False
        owner[owner == cluster] = target
        touched[[cluster, target]] = True
    number = np.cumsum(alive) - 1
    return Clusters(sizes[alive], boxes[alive]), number[owner]


def joins(ground: Ground, boxes: Ints, box: Ints) -> Ints:
    """The closure of each box with the one."""
    joined = boxes.copy()
    for column in range(ground.columns):
        nodes, index = np.unique(boxes[:, column], return_inverse=True)
        lifted = np.array([above_both(ground.forest, int(node), int(box[column])) for node in nodes], dtype=np.int32)
        joined[:, column] = lifted[index]
    return joined


def few_others(sizes: Longs, own: Longs, fewest: int) -> Bits:
    """In which clusters a party that looks at others' records sees some, but fewer than that."""
    others = sizes - own
    return (others > 0) & (others < fewest)


def insiders(codes_label: Longs, fewest: int) -> Failing:
    """Classes in which some party sees fewer than that many records of others."""

    async def failing(channel: Channel, clusters: Clusters, place: Longs) -> Bits:
        own = np.bincount(place[codes_label], minlength=len(clusters))
        fine = await conjunction.conjoin(channel.at("insider"), ~few_others(clusters.sizes, own, fewest))
        return np.zeros(len(clusters), dtype=bool) if fine is None else ~fine

    return failing


async def insider_reached(channel: Channel, clusters: Clusters, own: Longs, k: int) -> int:
    """The fewest records of others that any party sees in a class where it sees some, or k where it is more."""
    mine = np.array([not few_others(clusters.sizes, own, fewest).any() for fewest in range(1, k + 1)])
    fine = await conjunction.conjoin(channel, mine)
    return 0 if fine is None else int(np.flatnonzero(~np.append(fine, False))[0])


class Diversity:
    """l by frequency over one sensitive column: every value in at most size / l of a class's records."""

    def __init__(self, wanted: float, codes: Ints, values: int, label: Longs) -> None:
        self.wanted = Fraction(wanted).limit_denominator(1000)
        self.codes, self.values, self.label = codes, values, label
        self._shared: Counts | None = None

    def own(self, clusters: int) -> Longs:
        """Own records of each cluster and value, in one row."""
        return np.bincount(self.label * self.values + self.codes, minlength=clusters * self.values).astype(np.int64)

    async def failing(self, channel: Channel, clusters: Clusters, place: Longs) -> Bits:
        """Which classes have a value that is too frequent."""
        group = (place[:, np.newaxis] * self.values + np.arange(self.values)).ravel()
        cells = len(clusters) * self.values
        sizes = np.repeat(clusters.sizes, self.values)
        own = np.zeros(cells, dtype=np.int64)
        np.add.at(own, group, self.own(len(place)))
        if len(channel.parties) == 2:
            total = (await secure_sum.total(channel.at("count"), own.astype(np.uint64))).astype(np.int64)
            short = self.wanted.numerator * total > self.wanted.denominator * sizes
            return np.asarray(short.reshape(len(clusters), self.values).any(axis=1))
        table = Table(channel.at("diverse"))
        shared = await table.count(own)
        short = np.zeros(cells, dtype=bool)
        magnitude = np.array([int(size).bit_length() for size in sizes])
        for bits in np.unique(magnitude):
            here = np.flatnonzero(magnitude == bits)
            short[here] = await self._too_many(table, shared, sizes, here)
        return np.asarray(short.reshape(len(clusters), self.values).any(axis=1))

    async def _too_many(self, table: Table, shared: Counts, sizes: Longs, here: Longs) -> Bits:
        """Where b times the count exceeds a times the size: the difference is one of few negative numbers."""
        above, below = self.wanted.numerator, self.wanted.denominator
        furthest = (above - below) * int(sizes[here].max(initial=0))
        difference = shared.difference(below * sizes[here], above, here)
        return await table.among(difference, range(-furthest, 0))
