"""t by equal distance: how far a class is from the whole table, from joint counts, and a last look at opened ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import Aborted
from covey.study import Study
from covey.study.ratio import exactly
from covey.table import group

WITHHOLDS = (
    "t is measured against what is published, and records that no class takes are withheld here; ask for l by "
    'frequency, or where rows are split take protocol = "peel" or "cluster"'
)
"""Why a protocol that withholds records cannot enforce t."""


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


def side_by_side(columns: Sequence[tuple[Longs, int]]) -> tuple[Longs, Longs]:
    """Each record's places among the values of all columns, records x columns, and where columns begin and end."""
    ends = np.cumsum([0, *(values for _, values in columns)], dtype=np.int64)
    places = np.stack([codes + start for (codes, _), start in zip(columns, ends, strict=False)], axis=1)
    return places.astype(np.int64), ends


def count_values(places: Longs, values: int, label: Longs, clusters: int) -> Longs:
    """The records of each value in each cluster, clusters x values."""
    counts = np.zeros((clusters, values), dtype=np.int64)
    for column in range(places.shape[1]):
        np.add.at(counts, (label, places[:, column]), 1)
    return counts


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
