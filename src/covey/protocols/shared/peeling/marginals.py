"""Marginals: what is public of the values' frequencies before the list of nodes is made.

A count is public where k or more records have the value. Wherever a column has a rarer value, the count of one
frequent value is withheld too: else a subtraction from the total would show how many records have rare values. The
choice follows from the study's hash, so that a second run of the same study withholds the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.study import Study
from covey.table import Table

RARE, WITHHELD = -1, -2


@dataclass(frozen=True)
class Marginals:
    """The public part of the frequencies: per column each leaf's count, or RARE, or WITHHELD."""

    records: int
    k: int
    counts: tuple[Longs, ...]

    @classmethod
    def of(
        cls, records: int, k: int, counts: Sequence[Longs], heavy: Sequence[Bits], opened: Sequence[Bits]
    ) -> Marginals:
        """The counts of each column with what is not opened struck out."""
        struck = zip(counts, heavy, opened, strict=True)
        return cls(records, k, tuple(np.where(o, c, np.where(h, WITHHELD, RARE)) for c, h, o in struck))

    def weights(self, column: int) -> Longs:
        """Whole numbers in proportion to the frequencies, as far as they are known.

        Of the records whose values were not opened, each rare value gets half of what it could have at most, and the
        frequent value that was withheld the others; where they do not suffice, all of these get the same.
        """
        counts, rare = self.counts[column], self.counts[column] == RARE
        withheld = counts == WITHHELD
        rest = 2 * (self.records - int(counts[counts >= 0].sum()))
        left = rest - (self.k - 1) * int(rare.sum())
        if withheld.any() and left >= self.k - 1:
            return np.where(rare, self.k - 1, np.where(withheld, left, 2 * counts))
        hidden = rare | withheld
        return np.where(hidden, max(rest, 0), 2 * counts * max(1, int(hidden.sum())))


def study_seed(study: Study) -> Secret:
    """The seed of a study's public choices."""
    return Secret(bytes.fromhex(study.study_hash))


def to_open(study: Study, heavy: Sequence[Bits]) -> list[Bits]:
    """The leaves whose counts are opened: the frequent ones, but for one where a column has a rare one."""
    answer = []
    for column, frequent in enumerate(heavy):
        opened = frequent.copy()
        places = np.flatnonzero(frequent)
        if len(places) and len(places) < len(frequent):
            stream = Rng(derive(study_seed(study), "peel withhold", column)).stream("place")
            opened[places[stream.below(len(places))]] = False
        answer.append(opened)
    return answer


def count_leaves(table: Table) -> list[Longs]:
    """The number of records that have each leaf code, per column."""
    return [
        np.bincount(codes, minlength=tree.codes).astype(np.int64)
        for codes, tree in zip(table.codes, table.trees, strict=True)
    ]


def ideal(study: Study, tables: Sequence[Table]) -> Marginals:
    """The marginals of all tables' records, as a trusted party would publish them."""
    counts = [np.sum(column, axis=0) for column in zip(*(count_leaves(table) for table in tables), strict=True)]
    heavy = [column >= study.privacy.k for column in counts]
    return Marginals.of(sum(table.rows for table in tables), study.privacy.k, counts, heavy, to_open(study, heavy))
