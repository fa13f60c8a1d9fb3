"""The default schedule: divide the table by joint counts, then move single records; nothing of fewer than k is opened.

Every cluster has k records or more from the first to the last step, so that no opened size, count or closure is of
fewer. A record leaves only a cluster of more than k, and the closure without it is asked for only there.

Strict    the first division alone, whose opened sets are nested: any two of them are apart, or one contains the other
          and k records or more besides, or is it. So no sum or difference of opened numbers is of fewer than k
          records; regrouping and moves, which open overlapping ones, are left out. On Adult it loses a quarter more
          at k = 10, a sixth at 50.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Ints, Longs
from covey.protocols.cluster_rows.diverse import Watch, deal_units, steps_of
from covey.protocols.cluster_rows.divide import Openings, close_jointly, divide
from covey.protocols.cluster_rows.ground import Clusters, Ground
from covey.protocols.cluster_rows.ranges import Tests
from covey.protocols.cluster_rows.regroup import keep_better, put_together
from covey.protocols.cluster_rows.sweep import NO_UNITS, Rules, Units
from covey.protocols.cluster_rows.turn import Memory, guarded_turn
from covey.protocols.protocol import Pace
from covey.wire import Channel

REGROUPINGS = 6
SWEEPS = 6
GAIN = 1000  # sweeps end when one lowers the loss by less than one part in this many
WORK = 1_000_000_000  # records times clusters that a party looks at in a turn


async def search(
    channel: Channel, tests: Tests, ground: Ground, codes: Ints, records: int, pace: Pace, openings: Openings,
    *, strict: bool = False,
) -> tuple[Longs, Clusters]:  # fmt: skip
    """Each own record's cluster, and the clusters. If `strict`, after the first division alone, by nested counts."""
    pace.phase("division")
    label = np.zeros(codes.shape[1], dtype=np.int64)
    clusters = Clusters(np.array([records]), ground.flat(np.array([[tree.root for tree in ground.trees]])))
    whole = np.ones(1, dtype=bool)
    clusters = await close_jointly(channel.at("close"), ground, codes, label, clusters, whole, openings)
    at = channel.at("divide")
    label, clusters, _ = await divide(at, tests, ground, codes, label, clusters, openings, nested=strict)
    if strict:
        return label, clusters
    pace.phase("regrouping", REGROUPINGS)
    for number in range(REGROUPINGS):
        known = clusters.digest()
        with channel.at("regroup", number) as at:
            label, clusters = await divide_anew(at, tests, ground, codes, label, clusters, openings)
        if clusters.digest() == known:
            break
        pace.reach(number + 1)
    pace.phase("moves", SWEEPS * len(channel.parties))
    return await move_records(channel, ground, codes, label, clusters, NO_UNITS, pace, openings)


async def move_records(
    channel: Channel, ground: Ground, codes: Ints, label: Longs, clusters: Clusters, units: Units, pace: Pace,
    openings: Openings,
) -> tuple[Longs, Clusters]:  # fmt: skip
    """Each own record's cluster, and the clusters, after sweeps of everyone's turns until one gains little."""
    label, clusters, order = in_order(ground, label, clusters)
    units = units if not units.places.shape[1] else units._replace(left=units.left[order])
    memory = Memory()
    for sweep in range(SWEEPS):
        before = total_cost(ground, clusters)
        at = channel.at("sweep", sweep)
        clusters = await move(at, ground, codes, label, clusters, units, memory, pace, sweep, openings)
        if before - total_cost(ground, clusters) < max(1, before // GAIN):
            break
    return label, clusters


async def move_within_l(
    channel: Channel, tests: Tests, ground: Ground, codes: Ints, label: Longs, clusters: Clusters, watch: Watch,
    pace: Pace, openings: Openings,
) -> tuple[Longs, Clusters]:  # fmt: skip
    """The same where every cluster keeps l: how much slack each has is learned once, and dealt out in units."""
    mine = watch.slack(label, len(clusters))
    levels = (await tests.levels(mine.ravel(), steps_of(watch.wanted))).reshape(mine.shape)
    own = deal_units(levels, len(channel.parties), channel.parties.index(channel.me))
    units = Units(watch.places, own, watch.leaving, watch.joining)
    return await move_records(channel, ground, codes, label, clusters, units, pace, openings)


async def divide_anew(
    channel: Channel, tests: Tests, ground: Ground, codes: Ints, label: Longs, clusters: Clusters, openings: Openings
) -> tuple[Longs, Clusters]:
    """Puts neighbours together, divides them anew, and keeps of each group the better division."""
    groups = put_together(ground, clusters)
    together = groups.number[label]
    after, new, origin = await divide(channel, tests, ground, codes, together, groups.clusters, openings, favoured=True)
    kept = keep_better(ground, groups, clusters, new, origin)
    return kept.label(groups, label, after), kept.clusters


async def move(
    channel: Channel, ground: Ground, codes: Ints, label: Longs, clusters: Clusters, units: Units, memory: Memory,
    pace: Pace, sweep: int, openings: Openings,
) -> Clusters:  # fmt: skip
    """Everyone's turn, one after the other, and the closures of all clusters; changes own labels in place."""
    rules = rules_for(ground, codes.shape[1], len(clusters))
    for place, mover in enumerate(channel.parties):
        with channel.at("turn", place) as turn:
            clusters = await guarded_turn(turn, ground, codes, label, clusters, mover, rules, units, memory, openings)
        pace.reach(sweep * len(channel.parties) + place + 1)
    with channel.at("close") as closing:
        return await close_jointly(
            closing, ground, codes, label, clusters, np.ones(len(clusters), dtype=bool), openings
        )


def rules_for(ground: Ground, records: int, clusters: int) -> Rules:
    """Moves keep k; a party with very many records looks at the clusters that lie nearest only."""
    window = clusters if records * clusters <= WORK else max(32, WORK // (2 * records))
    return Rules(ground.k, window, ground.monotone)


def in_order(ground: Ground, label: Longs, clusters: Clusters) -> tuple[Longs, Clusters, Longs]:
    """The clusters in the order of their boxes, so that those that lie close have close numbers; and that order."""
    order = np.lexsort(ground.forest.first[clusters.boxes].T[::-1])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[label], Clusters(clusters.sizes[order], clusters.boxes[order]), order


def total_cost(ground: Ground, clusters: Clusters) -> int:
    """The loss of the whole table, as an integer."""
    return int((ground.costs(clusters.boxes) * clusters.sizes).sum())
