"""Marginals: what is public of the values' frequencies before the list of nodes is made.

These are the public numbers that the list uses: the number of records, the counts of frequent values but for some, and,
where the parties look at pairs (`pairs`), of each pair of values whether k or more records share it.

A count is public where k or more records have the value. Wherever a column has a rarer value, the count of one
frequent value is withheld too: else a subtraction from the total would show how many records have rare values. The
choice follows from the columns and k alone (`study_seed`), so that a second run withholds the same, whoever takes part
and however the table is split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.crypto.rng import Rng, derive, spell
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.protocols.shared.peeling.pairs import pairs_of
from covey.study import Study
from covey.table import Table, tally

RARE, WITHHELD = -1, -2


@dataclass(frozen=True)
class Marginals:
    """The public part of the frequencies: per column each leaf's count, or RARE, or WITHHELD."""

    records: int
    k: int
    counts: tuple[Longs, ...]
    shared: tuple[Bits, ...] = ()
    """Of each pair of columns (`pairs_of`), which pairs of values k or more records have; none where nobody looked."""

    @classmethod
    def of(
        cls,
        records: int,
        k: int,
        counts: Sequence[Longs],
        heavy: Sequence[Bits],
        opened: Sequence[Bits],
        shared: Sequence[Bits] = (),
    ) -> Marginals:
        """The counts of each column with what is not opened struck out."""
        struck = zip(counts, heavy, opened, strict=True)
        return cls(records, k, tuple(np.where(o, c, np.where(h, WITHHELD, RARE)) for c, h, o in struck), tuple(shared))

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
    """The seed of a study's public choices: it follows from what decides on the release, and from nothing else.

    That is k, the measure of the list, and each quasi column's name, hierarchy and weight. The study's name, its
    parties, how the table is split, and options that only cost time do not matter.
    """
    columns = ((column.name, column.tree().digest, repr(float(column.weight))) for column in study.quasi)
    said = [text for column in columns for text in column]
    return Secret(hashlib.sha256(spell("covey peel list/3", study.privacy.k, measure_of(study), *said)).digest())


def measure_of(study: Study) -> str:
    """The measure by which nodes are listed: one that needs the data's entropy is replaced by LM."""
    return study.measure if study.measure == "precision" else "lm"


def to_open(study: Study, heavy: Sequence[Bits]) -> list[Bits]:
    """The leaves whose counts are opened, for each column of the study."""
    return [opened_of(study, column, frequent) for column, frequent in enumerate(heavy)]


def opened_of(study: Study, column: int, frequent: Bits) -> Bits:
    """The leaves of one column whose counts are opened: the frequent ones, but for one where there is a rare one."""
    opened = frequent.copy()
    places = np.flatnonzero(frequent)
    if len(places) and len(places) < len(frequent):
        stream = Rng(derive(study_seed(study), "peel withhold", column)).stream("place")
        opened[places[stream.below(len(places))]] = False
    return opened


def count_leaves(trees: Sequence[Hierarchy], codes: Ints, counts: Longs | None = None) -> list[Longs]:
    """The number of records (columns x rows, of `counts` records each) that have each leaf code, per column."""
    return [tally(own, tree.codes, counts) for own, tree in zip(codes, trees, strict=True)]


def of_records(study: Study, trees: Sequence[Hierarchy], codes: Ints, pairs: bool) -> Marginals:
    """The marginals of all records (columns x records), perhaps with pairs, as a trusted party would publish them."""
    counts, k = count_leaves(trees, codes), study.privacy.k
    heavy = [column >= k for column in counts]
    shared = [pair.count(trees, codes) >= k for pair in pairs_of(trees)] if pairs else []
    return Marginals.of(codes.shape[1], k, counts, heavy, to_open(study, heavy), shared)


def ideal(study: Study, tables: Sequence[Table], pairs: bool) -> Marginals:
    """The same of tables that hold rows."""
    return of_records(study, tables[0].trees, np.concatenate([table.codes for table in tables], axis=1), pairs)
