"""A party's rows as tuples of quasi values: how often each occurs, and which k rows a keyholder gives up first."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.rng import spell
from covey.table import Table

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Own:
    """One party's distinct tuples, in the order of their spelling, and the tuple of each row."""

    keys: tuple[bytes, ...]
    """Each tuple spelled as bytes: what both parties sort by and hash."""
    labels: tuple[Labels, ...]
    counts: Longs
    first: Longs
    """The first row that has the tuple."""
    place: Longs
    """Each row's tuple."""

    @classmethod
    def of(cls, table: Table) -> Own:
        """A table's tuples; none has a cell that is the sign of suppression, which no tree takes for a leaf."""
        group, first = table.distinct()
        columns = [
            [tree.labels[code] for code in codes[first].tolist()]
            for tree, codes in zip(table.trees, table.codes, strict=True)
        ]
        return cls.sorted(list(zip(*columns, strict=True)), group)

    @classmethod
    def sorted(cls, labels: Sequence[Labels], place: Longs) -> Own:
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
        """The k rows of the least frequent tuples: the paper's sigma.

        Ties are broken by a tuple's first row and never by its spelling, or renaming a value would change the release.
        """
        order = np.lexsort((np.arange(self.rows), self.first[self.place], self.counts[self.place]))
        marks = np.zeros(self.rows, dtype=bool)
        marks[order[:k]] = True
        return marks

    def remaining(self, given_up: Bits) -> Longs:
        """How often each tuple occurs in the other rows."""
        return np.bincount(self.place[~given_up], minlength=len(self.keys)).astype(np.int64)


def key_of(labels: Labels) -> bytes:
    """A tuple as bytes: no two tuples share a spelling."""
    return spell(*labels)


def number_of(tag: str, key: bytes, order: int) -> int:
    """The exponent that stands for a tuple: its hash, under a tag that no other use has."""
    return int.from_bytes(hashlib.sha512(spell("covey suppress/1", tag, key)).digest(), "big") % order
