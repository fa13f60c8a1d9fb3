"""A record as its holder shares it: the digits of the generalized columns, then the cells that are published exactly.

A column that conditions compare is published too, so its values are copied from the cells, on shares: no holder can
have one value compared and another one published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Words
from covey.mpc import Box, Shared, joined
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.coding import side_by_side
from covey.protocols.peel.terms import Terms
from covey.protocols.shared.rows import domain
from covey.table import Table

Domain = tuple[Words, int]
"""The numbers that a part of a word may be, none for any, and its bits."""


@dataclass(frozen=True)
class RecordWord:
    """The word of a record, under the terms of a study and with cells of this coding."""

    terms: Terms
    cells: Cells

    @property
    def width(self) -> int:
        """The bits of a word."""
        return self.terms.coding.width + self.cells.width

    def words(self, table: Table) -> Words:
        """Returns the words of a table's records (chunks x records)."""
        coding = self.terms.coding
        widths = [*(column.width for column in coding.columns), self.cells.width]
        return side_by_side([*coding.words(table.codes), self.cells.words(table)], widths)

    def domains(self) -> dict[str, Domain]:
        """Returns what each column of a word may be: a leaf's digits, or a listed value's number."""
        quasi = zip(self.terms.study.quasi, self.terms.coding.columns, strict=True)
        exact = zip(self.cells.columns, self.cells.widths, strict=True)
        return {column.name: (coding.leaves, coding.width) for column, coding in quasi} | {
            column.name: (np.arange(len(domain(column)), dtype=np.uint64), width) for column, width in exact
        }

    def spread(self, box: Box, word: Shared, holder: int = 0) -> Shared:
        """Returns records as the rule reads them: digits, the holder's number, watched values, cells."""
        digits, cells = (word.bits(slice(0, self.terms.coding.width)), word.bits(slice(self.terms.coding.width, None)))
        if not self.terms.conditions.widths:
            return word
        width, *widths = self.terms.conditions.widths
        number = box.constant(holder, width, word.records)
        watched = zip(self.terms.watched, widths, strict=False)
        values = (cells.bits(self.cells.spans[column.name]).padded(bits) for column, bits in watched)
        return joined(digits, number, *values, cells)


async def in_range(box: Box, words: Shared, domains: Sequence[Domain]) -> Shared:
    """Returns for each record 1 if each part of its word is in its domain."""
    work, start = [], 0
    for numbers, width in domains:
        if len(numbers):
            work.append(listed(box, words.bits(slice(start, start + width)), numbers))
        start += width
    return await box.all(joined(box.zeros(0, words.records), *await box.together(*work)))


async def listed(box: Box, word: Shared, numbers: Words) -> Shared:
    """Returns for each record 1 if its word is one of these numbers.

    Prefixes are followed bit by bit, as long as some words that begin so are listed, and others are not.
    """
    known, prefixes = np.unique(numbers), np.zeros(1, np.uint64)
    begins, wrong = box.constant(1, 1, word.records), box.zeros(1, word.records)
    for bit in range(word.width):
        size = np.uint64(1) << np.uint64(word.width - bit - 1)
        ones = await (begins & word.bits([bit]))
        begins = joined(begins ^ ones, ones)
        prefixes = np.concatenate([prefixes * np.uint64(2), prefixes * np.uint64(2) + np.uint64(1)])
        counts = np.searchsorted(known, (prefixes + np.uint64(1)) * size) - np.searchsorted(known, prefixes * size)
        wrong ^= begins.mixed((counts == 0)[np.newaxis])
        mixed = np.flatnonzero((counts > 0) & (counts < int(size)))
        if not len(mixed):
            break
        prefixes, begins = prefixes[mixed], begins.bits(mixed)
    return ~wrong
