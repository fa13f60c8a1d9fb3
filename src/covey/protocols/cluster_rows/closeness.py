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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import Aborted
from covey.protocols.cluster_rows.diversity import LARGE, count_values, side_by_side
from covey.protocols.cluster_rows.insiders import merge_nearest
from covey.protocols.cluster_rows.party import JointTests, SearchParty
from covey.protocols.cluster_rows.problem import PublicClusters
from covey.study import Study
from covey.study.ratio import exactly
from covey.table import group


@dataclass(frozen=True)
class ClosenessRule:
    """t, the sensitive values of a party's records, all columns side by side, and how often each occurs in all."""

    wanted: Fraction
    places: Longs  # records x sensitive columns
    columns: tuple[slice, ...]
    whole: Longs
    records: int

    @classmethod
    def of(cls, wanted: float, columns: Sequence[tuple[Longs, int]], whole: Sequence[Longs]) -> ClosenessRule:
        """The rule for these columns, each as codes, the number of its values, and the joint counts of these."""
        places, ends = side_by_side(columns)
        parts = tuple(slice(int(first), int(last)) for first, last in pairwise(ends))
        return cls(exactly(wanted), places, parts, np.concatenate(whole), int(whole[0].sum()))

    def counts(self, label: Longs, clusters: int) -> Longs:
        """Own records of each value, clusters x values."""
        return count_values(self.places, len(self.whole), label, clusters)

    def shares(self, sizes: Longs) -> Longs:
        """The most records of each value that a class of each size may have without having too much of it."""
        return np.asarray(self.whole * sizes[:, np.newaxis] // self.records, dtype=np.int64)

    def allowed(self, sizes: Longs, whole: Longs) -> Longs:
        """The most records of some values together that a class may have; `whole` counts them in the table."""
        top, below = self.wanted.numerator * self.records, self.wanted.denominator
        pairs = zip(sizes.tolist(), whole.tolist(), strict=True)
        return np.array([size * (top + below * many) // (below * self.records) for size, many in pairs], dtype=np.int64)


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


def is_far(rule: ClosenessRule, counts: Longs, sizes: Longs) -> Bits:
    """The same from joint counts, which everybody knows."""
    over = counts > rule.shares(sizes)
    far = np.zeros(len(sizes), dtype=bool)
    for own in rule.columns:
        many = (over[:, own] * rule.whole[own]).sum(axis=1)
        far |= (over[:, own] * counts[:, own]).sum(axis=1) > rule.allowed(sizes, many)
    return far


def require_close(study: Study, klass: Longs, cells: Mapping[str, Sequence[str]]) -> None:
    """Raises Aborted where the opened classes do not keep t: who did not keep to the protocol cannot be told."""
    if study.privacy.t is None:
        return
    sizes = np.bincount(klass).astype(np.int64)
    for column in study.sensitive:
        codes, first = group([np.unique(cells[column.name], return_inverse=True)[1].astype(np.int32)], len(klass))
        whole = np.bincount(codes, minlength=len(first)).astype(np.int64)
        rule = ClosenessRule.of(study.privacy.t, [(codes, len(first))], [whole])
        if is_far(rule, rule.counts(klass, len(sizes)), sizes).any():
            reason = (
                f"the opened classes do not keep t = {study.privacy.t:g}: a party did not keep to the protocol; "
                "nothing is written"
            )
            raise Aborted(reason, resumable=False)
