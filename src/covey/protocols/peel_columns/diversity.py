"""Diversity of a group, from nothing but which of its people share a value: by frequency, or distinct values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from covey.anonymizers.constraints import SLACK
from covey.arrays import Bits, Longs
from covey.errors import InputError
from covey.protocols.shared.diversity import fraction
from covey.study import Study


@dataclass(frozen=True)
class Rule:
    """The l that every class keeps in each sensitive column."""

    kind: str
    bound: Fraction

    @classmethod
    def of(cls, study: Study) -> Rule | None:
        """The rule of a study; None where it asks for no l. Raises InputError for another kind of diversity."""
        wanted, kind = study.privacy.l, study.privacy.diversity
        if wanted is None:
            return None
        if kind not in ("frequency", "distinct"):
            raise InputError(
                f"protocol 'peel' with columns split keeps l by frequency or distinct values, not by {kind}; ask for "
                'diversity = "frequency" or "distinct", or anonymize centrally'
            )
        return cls(kind, fraction(wanted) if kind == "frequency" else Fraction(math.ceil(wanted - SLACK)))

    def kept(self, group: Longs, value: Longs, groups: int) -> Bits:
        """The groups that keep it: `group` is each record's, and equal numbers in `value` are equal values."""
        pairs, counts = np.unique(np.stack([group, value]), axis=1, return_counts=True)
        if self.kind == "distinct":
            return np.asarray(np.bincount(pairs[0], minlength=groups) >= self.bound.numerator)
        most = np.zeros(groups, dtype=np.int64)
        np.maximum.at(most, pairs[0], counts)
        size = np.bincount(group, minlength=groups)
        return np.asarray(most * self.bound.numerator <= size * self.bound.denominator)
