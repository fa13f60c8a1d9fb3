"""Intake of records: an intake shares what its parties hold, and returns records in an order that nobody knows.

Each way of splitting a table is an intake of its own; the rule and the rest of a run do not know which one it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol as Interface

import numpy as np

from covey.arrays import Words
from covey.errors import PeerError
from covey.mpc import Box, Outside, Shared, stacked
from covey.protocols.peel.cells import LENGTHS, Cells
from covey.protocols.peel.coding import bits_of
from covey.protocols.peel.disclosures import IN_RANGE, LENGTH
from covey.protocols.peel.record_word import Domain, in_range
from covey.study import Study
from covey.table import Table


@dataclass(frozen=True)
class Base:
    """The records of a run: a word of the terms and the cells of each, in an order that nobody knows."""

    rows: Shared
    cells: Cells

    @property
    def records(self) -> int:
        """The number of records."""
        return self.rows.records


class Intake(Interface):
    """A way in. Both sides raise Unmet where there are fewer than k records."""

    async def take(self, box: Box, tables: Mapping[int, Table]) -> Base:
        """Returns the records of all holders, of whom those whose tables are given here share them."""

    async def give(self, outside: Outside, place: int, table: Table | None) -> tuple[int, Cells]:
        """Returns the number of records and the cells' coding at a party that does not compute, and may share some."""


async def shared_by(
    box: Box, holders: Sequence[int], words: Mapping[int, Words], widths: Mapping[int, int], sizes: Mapping[int, int]
) -> list[Shared]:
    """Returns a column of each holder; the others know its width and its size."""
    given = ((holder, words.get(holder)) for holder in holders)
    return await box.together(*(box.share(own, widths[holder], sizes[holder], holder) for holder, own in given))


async def agreed_cells(
    box: Box, study: Study, holders: Sequence[int], tables: Mapping[int, Table], outside: Sequence[int]
) -> Cells:
    """Returns the cells' coding; the least length that fits all texts is opened where some are not listed."""
    cells = Cells.of(study)
    if cells.listed:
        return cells
    once = dict.fromkeys(holders, 1)
    fits = {place: cells.fitting(table) for place, table in tables.items()}
    fit, *others = await shared_by(box, holders, fits, dict.fromkeys(holders, len(LENGTHS)), once)
    for other in others:
        fit = await (fit & other)
    fitting = bits_of(await box.open(fit, says=LENGTH), len(LENGTHS))[:, 0]
    length = LENGTHS[int(np.argmax(fitting))]
    await box.tell(outside, np.array([length], np.uint64), says=LENGTH)
    return replace(cells, length=length)


async def told_cells(outside: Outside, study: Study, table: Table | None) -> Cells:
    """Returns the same at a party that does not compute."""
    cells = Cells.of(study)
    if cells.listed:
        return cells
    if table is not None:
        await outside.share(cells.fitting(table), len(LENGTHS))
    return replace(cells, length=int((await outside.told(1))[0]))


async def require_range(
    box: Box, columns: Sequence[Shared], domains: Sequence[Sequence[Domain]], names: Sequence[str]
) -> None:
    """Raises PeerError for a holder that shared a cell that is in none of its domains; opens one bit a holder."""
    works = (_fits(box, column, allowed) for column, allowed in zip(columns, domains, strict=True))
    fit = await box.open_bit(stacked(*await box.together(*works)), says=IN_RANGE)
    for name, fits in zip(names, fit, strict=True):
        if not fits:
            reason = "it shared cells that the study does not know; it has to check its table"
            raise PeerError(party=name, step="the rows", reason=reason)


async def _fits(box: Box, column: Shared, domains: Sequence[Domain]) -> Shared:
    if not column.records:
        return box.constant(1, 1, 1)
    return await box.fold(await in_range(box, column, domains), np.zeros(column.records, np.int64), box.both)
