"""Tuples of quasi values: one party's own, what the parties keep of them, and the release that these make.

The same for the parties and for a trusted one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from covey.arrays import Bits, Longs
from covey.cells import SUPPRESSED
from covey.crypto.rng import spell
from covey.errors import Aborted
from covey.protocols.protocol import Figures, Preview, Result
from covey.protocols.shared import insiders, publish
from covey.protocols.shared.rows import carried
from covey.study import Study
from covey.table import Table

Labels = tuple[str, ...]


def key_of(labels: Labels) -> bytes:
    """A tuple as bytes: no two tuples share a spelling."""
    return spell(*labels)


def number_of(tag: str, key: bytes, order: int) -> int:
    """The exponent that stands for a tuple: its hash, under a tag that no other use has."""
    return int.from_bytes(hashlib.sha512(spell("covey suppress/1", tag, key)).digest(), "big") % order


@dataclass(frozen=True)
class OwnTuples:
    """One party's distinct tuples, in the order of their spelling, and the tuple of each row."""

    keys: tuple[bytes, ...]
    """Each tuple spelled as bytes, which both parties sort by and hash."""
    labels: tuple[Labels, ...]
    counts: Longs
    first: Longs
    """The first row that has the tuple."""
    place: Longs
    """Each row's tuple."""

    @classmethod
    def of(cls, table: Table) -> OwnTuples:
        """A table's tuples; none has a cell that is the sign of suppression, which no tree takes for a leaf."""
        group, first = table.distinct()
        columns = [
            [tree.labels[code] for code in codes[first].tolist()]
            for tree, codes in zip(table.trees, table.codes, strict=True)
        ]
        return cls.sorted(list(zip(*columns, strict=True)), group)

    @classmethod
    def sorted(cls, labels: Sequence[Labels], place: Longs) -> OwnTuples:
        """Tuples in any order, and the tuple of each row."""
        keys = [key_of(each) for each in labels]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        ranked = rank[place]
        first = np.full(len(order), len(place), dtype=np.int64)
        np.minimum.at(first, ranked, np.arange(len(place)))
        return cls(
            keys=tuple(keys[each] for each in order),
            labels=tuple(labels[each] for each in order),
            counts=np.bincount(ranked, minlength=len(order)).astype(np.int64),
            first=first,
            place=ranked,
        )

    @property
    def rows(self) -> int:
        return len(self.place)

    def given_up(self, k: int) -> Bits:
        """The k rows of the least frequent tuples: the paper's sigma. None where there are fewer than k rows.

        Ties are broken by a tuple's first row and never by its spelling, or renaming a value would change the release.
        """
        marks = np.zeros(self.rows, dtype=bool)
        if self.rows >= k:
            marks[np.lexsort((np.arange(self.rows), self.first[self.place], self.counts[self.place]))[:k]] = True
        return marks

    def remaining(self, given_up: Bits) -> Longs:
        """The number of the other rows of each tuple."""
        return np.bincount(self.place[~given_up], minlength=len(self.keys)).astype(np.int64)

    def frequent(self, counts: Longs, k: int) -> dict[Labels, int]:
        """The tuples that have k rows or more by these counts."""
        return {self.labels[place]: int(counts[place]) for place in np.flatnonzero(counts >= k).tolist()}


@dataclass(frozen=True)
class KeptTuples:
    """The tuples that a party keeps, with their numbers of rows, and its rows in all."""

    counts: dict[Labels, int]
    rows: int

    @property
    def suppressed(self) -> int:
        """Rows without a tuple."""
        return self.rows - sum(self.counts.values())


@dataclass(frozen=True)
class OwnReleasedRows:
    """One party's rows as they are released."""

    kept: KeptTuples
    tuples: tuple[Labels | None, ...]
    """The tuple of each row, or None where it is suppressed."""
    cells: dict[str, list[str]]
    """The values of each row that are published as they are."""

    @classmethod
    def of(cls, own: OwnTuples, keeps: Bits, table: Table) -> OwnReleasedRows:
        """A party's rows, of which some keep their tuples."""
        kept = own.frequent(np.bincount(own.place[keeps], minlength=len(own.keys)), 1)
        pairs = zip(own.place.tolist(), keeps.tolist(), strict=True)
        cells = {
            values.column.name: [values.labels[code] for code in values.codes.tolist()] for values in table.carried
        }
        return cls(
            KeptTuples(kept, own.rows), tuple(own.labels[place] if keep else None for place, keep in pairs), cells
        )

    def texts(self, columns: int) -> list[list[str]]:
        """The cells of each row as they are released."""
        shown = [row or (SUPPRESSED,) * columns for row in self.tuples]
        return [[*labels, *(own[place] for own in self.cells.values())] for place, labels in enumerate(shown)]


@dataclass(frozen=True)
class JointClasses:
    """The joint classes: every tuple that is kept, in the order of its spelling, and the suppressed rows."""

    labels: tuple[Labels, ...]
    sizes: Longs
    """Each class's rows; last the number of suppressed ones, which may be none."""
    insider_k: int | None
    """Known to both, since each knows the other's numbers."""

    @classmethod
    def of(cls, study: Study, parties: Sequence[KeptTuples]) -> JointClasses:
        """All parties' tuples together. Raises Aborted where fewer than k rows share what is shown.

        The paper then exchanges the original tables; that is never done here.
        """
        together: dict[Labels, int] = {}
        for party in parties:
            for tuple_, count in party.counts.items():
                together[tuple_] = together.get(tuple_, 0) + count
        labels = tuple(sorted(together, key=key_of))
        sizes = [*(together[each] for each in labels), sum(party.suppressed for party in parties)]
        if any(0 < size < study.privacy.k for size in sizes):
            raise Aborted(
                "what the parties keep is not k-anonymous together: one did not keep to the protocol, or met with "
                "a chance of less than one in 2^100; nothing is exchanged, and nothing was released",
                resumable=False,
            )
        counts = [[*(party.counts.get(each, 0) for each in labels), party.suppressed] for party in parties]
        joint = np.array(sizes, dtype=np.int64)
        return cls(labels, joint, insiders.fewest_of_all(joint, [np.array(own) for own in counts]))

    @cached_property
    def number(self) -> dict[Labels | None, int]:
        """Each class's place; None stands for the suppressed rows."""
        return {None: len(self.labels), **{labels: place for place, labels in enumerate(self.labels)}}

    def figures(self, study: Study) -> Figures:
        """The figures before the rows are exchanged. Raises Unmet where the study allows less suppression."""
        rows, lost = int(self.sizes.sum()), int(self.sizes[-1])
        publish.require_little_suppressed(study, lost, rows)
        sizes = self.sizes[self.sizes > 0]
        return Figures(
            rows=rows,
            classes=len(sizes),
            k_reached=int(sizes.min()),
            insider_k=self.insider_k,
            suppressed_cells=lost * len(study.quasi),
            loss=publish.losses(study, lost / rows, sizes),
        )

    def preview(self, study: Study) -> Preview:
        """A look at the classes before the rows are exchanged; every column loses what is suppressed, and no more."""
        lost = int(self.sizes[-1]) / int(self.sizes.sum())
        labels = (*self.labels, (SUPPRESSED,) * len(study.quasi))
        there = np.flatnonzero(self.sizes)
        chosen = there[publish.some(self.sizes[there], there == len(self.labels))]
        shown = tuple((labels[place], int(self.sizes[place])) for place in chosen.tolist())
        return Preview({column.name: lost for column in study.quasi}, shown)

    def result(self, study: Study, parties: Sequence[OwnReleasedRows]) -> Result:
        """The released table, rows of one party after those of the other; `suppress` enforces no l, but tells it."""
        tuples = [row for party in parties for row in party.tuples]
        gone = (SUPPRESSED,) * len(study.quasi)
        shown = zip(*(gone if row is None else row for row in tuples), strict=True)
        cells = {column.name: list(own) for column, own in zip(study.quasi, shown, strict=True)}
        cells |= {
            column.name: [cell for party in parties for cell in party.cells[column.name]] for column in carried(study)
        }
        klass = np.array([self.number[row] for row in tuples], dtype=np.int64)
        reached = publish.diversity(study, klass, cells)
        return Result(publish.table(study, {}, cells), replace(self.figures(study), l_reached=reached))
