"""A table as its distinct rows and how often each occurs: the engine counts, the study says what a cell means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.cells import MISSING, SUPPRESSED, is_not_finite
from covey.errors import InputError
from covey.schema import Column, Role
from covey.sources import Source
from covey.table import read


@dataclass(frozen=True)
class Cells:
    """One column of the distinct rows, as codes of its labels."""

    column: Column
    codes: Ints
    labels: tuple[str, ...]
    spellings: int  # how many different texts the table has for them


@dataclass(frozen=True)
class Tuples:
    """Distinct rows, each with its number of occurrences; `name` is what messages call the table."""

    name: str
    cells: tuple[Cells, ...]
    counts: Longs

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    def of(self, columns: Sequence[Column]) -> tuple[Cells, ...]:
        """The cells of these columns, in their order."""
        named = {cells.column.name: cells for cells in self.cells}
        return tuple(named[column.name] for column in columns)

    def rows_where(self, cells: Cells, which: Callable[[str], bool]) -> int:
        """How many rows have a label in the column of which that is true."""
        hit = np.array([which(label) for label in cells.labels], dtype=bool)
        return int(self.counts[hit[cells.codes]].sum())

    def select(self, keep: Bits) -> Tuples:
        """Only these of the distinct rows."""
        kept = tuple(replace(cells, codes=cells.codes[keep]) for cells in self.cells)
        return Tuples(self.name, kept, self.counts[keep])


def tuples(source: Source, columns: Sequence[Column]) -> Tuples:
    """The source's distinct rows in these columns, every cell in its one spelling."""
    found, counts = source.distinct([column.name for column in columns])
    literal = [replace(column, null=column.null - {SUPPRESSED}) for column in columns]
    reading = read(found.combine_chunks().to_batches(), literal, source.name)
    cells = tuple(
        Cells(
            column,
            reading.codes[column.name],
            tuple(reading.labels[column.name]),
            spellings=len(found.column(column.name).unique()),
        )
        for column in columns
    )
    return Tuples(source.name, cells, counts)


def refuse_not_finite(table: Tuples) -> None:
    """NaN and infinities in a column of numbers are no values."""
    for cells in table.cells:
        if cells.column.kind == "number" and (bad := table.rows_where(cells, is_not_finite)):
            raise InputError(
                f"{table.name}: column {cells.column.name!r} has NaN or an infinity in {bad:,} rows; correct them, "
                "or list their spellings under `null` in the study to read them as missing"
            )


def refuse_unlisted(table: Tuples) -> None:
    """A sensitive or plain column whose values the study lists has no others."""
    for cells in table.cells:
        listed = cells.column.values
        if listed is None or cells.column.role is Role.QUASI:
            continue
        allowed = {*listed, MISSING}
        if bad := table.rows_where(cells, lambda label, allowed=allowed: label not in allowed):  # type: ignore[misc]
            raise InputError(
                f"{table.name}: column {cells.column.name!r} has values in {bad:,} rows that the study does not list; "
                "correct them, or complete `values` in the study"
            )


def is_missing(label: str) -> bool:
    return label == MISSING
