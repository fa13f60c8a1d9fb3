"""t by equal distance: classes too far from the whole table are merged with near ones; only answers are learned.

Distance  half the sum of the differences between each value's share of the class and of the table: all that the class
          has too much of. Let W of the n records carry a value, and f of a class's s. The class has too much of it
          where f is above W s / n; over those values its distance is the sum of f less that of W s / n, over s.
Tests     sizes and W are public. So the parties test on shares which values a class has too much of, and then whether
          its records of those values, together, are more than s t and the sum of W s / n. Only of thousands of records,
          where a test would be too large, and between two parties, who cannot share, are the numbers opened.
Merging   a class that is too far goes to the nearest one. Two classes that keep t do so together, and the whole table
          keeps every t, so that this ends, and nothing that merges classes later breaks t.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits, Longs
from covey.protocols.cluster_rows.diversity import LARGE
from covey.protocols.cluster_rows.insiders import merge_nearest
from covey.protocols.cluster_rows.party import JointTests, SearchParty
from covey.protocols.cluster_rows.problem import PublicClusters
from covey.protocols.shared.closeness import ClosenessRule, is_far


async def merge_far(
    party: SearchParty, rule: ClosenessRule, label: Longs, clusters: PublicClusters
) -> tuple[Longs, PublicClusters]:
    """Each own record's class and the classes, after merging until all keep t."""
    asked = np.ones(len(clusters), dtype=bool)
    while True:
        far = np.zeros(len(clusters), dtype=bool)
        mine = rule.counts(label, len(clusters))[asked]
        far[asked] = await too_far(party.joint.tests, rule, mine, clusters.sizes[asked])
        if not far.any():
            return label, clusters
        clusters, place = merge_nearest(party.problem, clusters, np.flatnonzero(far))
        label, asked = place[label], np.bincount(place) > 1


async def too_far(tests: JointTests, rule: ClosenessRule, mine: Longs, sizes: Longs) -> Bits:
    """The classes that are too far from the whole table, from the own records of each value in them."""
    far = np.zeros(len(sizes), dtype=bool)
    opened = np.full(len(sizes), True) if tests.two else sizes >= LARGE
    if opened.any():
        counts = (await tests.total(mine[opened].ravel())).reshape(-1, len(rule.whole))
        far[opened] = is_far(rule, counts, sizes[opened])
    hidden = np.flatnonzero(~opened)
    if len(hidden):
        far[hidden] = await _test(tests, rule, mine[hidden], sizes[hidden])
    return far


async def _test(tests: JointTests, rule: ClosenessRule, mine: Longs, sizes: Longs) -> Bits:
    most = np.minimum(rule.whole, sizes[:, np.newaxis])
    within = await tests.at_most(mine.ravel(), rule.shares(sizes).ravel(), most.ravel())
    over = ~within.reshape(mine.shape)
    parts = [(over[:, own] * mine[:, own], over[:, own] * rule.whole[own]) for own in rule.columns]
    held = np.stack([own.sum(axis=1) for own, _ in parts])
    whole = np.stack([many.sum(axis=1) for _, many in parts])
    limits = np.stack([rule.allowed(sizes, many) for many in whole])
    kept = await tests.at_most(held.ravel(), limits.ravel(), np.minimum(whole, sizes).ravel())
    return np.asarray(~kept.reshape(held.shape).all(axis=0))
