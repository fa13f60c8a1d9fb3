"""A party's own records, those still in play and those in a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Ints, Longs
from covey.errors import InputError
from covey.protocols.peel.diversity import Histograms
from covey.protocols.peel.lending_rules import LEND
from covey.protocols.peel.parameters import Parameters
from covey.protocols.shared import rows
from covey.schema import Column
from covey.study import Study
from covey.table import Table, group, tally


@dataclass(frozen=True)
class OwnRecords:
    """Records with equal codes are one item, unless classes lend.

    `label` is each item's class, or -1 while it is in none.
    """

    codes: Ints  # columns x items
    counts: Longs
    label: Longs
    item_of_row: Longs
    values: tuple[Longs, ...]
    """Per watched column each row's value, counted through all columns."""
    width: int
    """The number of values that the watched columns have in all."""
    records: Longs | None = None
    """How many records each row stands for; None if it is one."""

    @classmethod
    def of(cls, table: Table, params: Parameters) -> OwnRecords:
        """All records of a table, in play."""
        if params.lend:
            item_of_row = first = np.arange(table.rows)
        else:
            item_of_row, first = group([*table.codes], table.rows)
        counts = tally(item_of_row, len(first), table.counts)
        values, width = [], 0
        for column in params.watched:
            carried = table.values(column.name)
            values.append(carried.codes.astype(np.int64) + width)
            width += len(column.values or ()) + 1  # one for missing values
        codes = np.ascontiguousarray(table.codes[:, first])
        free = np.full(len(first), -1, np.int64)
        return cls(codes, counts, free, item_of_row, tuple(values), width, table.counts)

    def value_counts(self, columns: Sequence[Column]) -> list[Longs]:
        """The number of records that have each value of each watched column, missing values last."""
        ends = np.cumsum([len(column.values or ()) + 1 for column in columns])
        flat = np.sum([tally(own, self.width, self.records) for own in self.values], axis=0)
        return np.split(flat, ends[:-1])

    def in_play(self) -> Longs:
        """The items that are in no class yet."""
        return np.flatnonzero(self.label < 0)

    def histograms(self, items: Longs, place: Longs, width: int) -> Histograms:
        """The records of these items by place; place -1 takes no part."""
        inside = np.flatnonzero(place >= 0)
        counts = np.zeros(width, dtype=np.int64)
        np.add.at(counts, place[inside], self.counts[items[inside]])
        values = np.zeros((width, self.width), dtype=np.int64)
        of_item = np.full(len(self.counts), -1, dtype=np.int64)
        of_item[items] = place
        where = of_item[self.item_of_row] if self.values else np.zeros(0, dtype=np.int64)
        rows = np.flatnonzero(where >= 0)
        for column in self.values:
            np.add.at(values, (where[rows], column[rows]), 1 if self.records is None else self.records[rows])
        return Histograms(counts, values)


def accepts(study: Study, own: Table) -> None:
    """Raises InputError for a table whose rows cannot be lent, or are too long to be released."""
    rows.accepts(study, own)
    if LEND.of(study.options) and own.counts is not None:
        raise InputError(
            "[protocol] lend = true moves single records, and this table's rows stay on their engine, where equal ones "
            "are one; read them into memory, or leave out lend"
        )
