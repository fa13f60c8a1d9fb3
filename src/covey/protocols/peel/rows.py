"""Rows come in: each holder shares its number of records, then its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Words
from covey.mpc import Box, Outside, joined, stacked
from covey.protocols.peel.cells import Cells
from covey.protocols.peel.disclosures import total
from covey.protocols.peel.intake import Base, agreed_cells, require_range, shared_by, told_cells
from covey.protocols.peel.record_word import RecordWord
from covey.protocols.peel.sizes import BITS, based, enough, joint_records, padded
from covey.protocols.peel.terms import Terms
from covey.study import Study
from covey.table import Table


@dataclass(frozen=True)
class Rows:
    """The intake of rows. Numbers of parties are places in their order; the three who compute come first."""

    study: Study
    terms: Terms
    parties: Sequence[str]
    holders: Sequence[int]
    checked: bool
    """True if rows that no table has end the run."""

    async def take(self, box: Box, tables: Mapping[int, Table]) -> Base:
        """Returns the records of all holders, shuffled. Raises Unmet where all have fewer than k."""
        k, outside, once = self.study.privacy.k, range(3, len(self.parties)), dict.fromkeys(self.holders, 1)
        cells = await agreed_cells(box, self.study, self.holders, tables, outside)
        numbers = {place: np.array([[table.rows]], np.uint64) for place, table in tables.items()}
        shared = await shared_by(box, self.holders, numbers, dict.fromkeys(self.holders, BITS), once)
        records = await joint_records(box, shared, k, outside)
        sizes = dict.fromkeys(self.holders, records)
        if not self._private:
            opened = await box.open(stacked(*shared), says=total(k))
            sizes = dict(zip(self.holders, opened.astype(np.int64).tolist(), strict=True))
        words = {place: self._words(table, cells, records) for place, table in tables.items()}
        rows = await shared_by(box, self.holders, words, dict.fromkeys(self.holders, self._width(cells)), sizes)
        word, first = RecordWord(self.terms, cells), int(self._private)
        parts = [part.bits(slice(first, None)) for part in rows]
        if self.checked:
            domains = [[*word.domains().values()]] * len(parts)
            await require_range(box, parts, domains, [self.parties[place] for place in self.holders])
        spread = [word.spread(box, part, number) for number, part in enumerate(parts)]
        rows = [joined(part.bits(slice(0, first)), record) for part, record in zip(rows, spread, strict=True)]
        return Base(await based(box, stacked(*rows), records, empty=self._private), cells)

    async def give(self, outside: Outside, place: int, table: Table | None) -> tuple[int, Cells]:
        """Returns the number of records and the cells' coding. Raises Unmet where all have fewer than k."""
        cells = await told_cells(outside, self.study, table)
        if table is not None:
            await outside.share(np.array([[table.rows]], np.uint64), BITS)
        records = enough(int((await outside.told(1))[0]), self.study.privacy.k)
        if table is not None:
            await outside.share(self._words(table, cells, records), self._width(cells))
        return records, cells

    @property
    def _private(self) -> bool:
        return self.study.sizes == "private"

    def _width(self, cells: Cells) -> int:
        return RecordWord(self.terms, cells).width + self._private

    def _words(self, table: Table, cells: Cells, records: int) -> Words:
        """Returns a holder's rows as words; padded if sizes are private."""
        word = RecordWord(self.terms, cells)
        return padded(word.words(table), word.width, records) if self._private else word.words(table)
