"""A table as its distinct rows and how often each occurs: the engine counts, the study says what a cell means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from covey.arrays import Bits, Ints, Longs
from covey.cells import MISSING, SUPPRESSED, is_not_finite
from covey.errors import InputError
from covey.schema import Column, Role
from covey.sources import Source


@dataclass(frozen=True)
class Cells:
    """One column of the distinct rows, as codes of its labels."""

    column: Column
    codes: Ints
    labels: tuple[str, ...]
    written: Ints  # as codes of the texts that the table has for them: a label may be spelled in several ways

    @property
    def spellings(self) -> int:
        """The number of different texts in the rows."""
        return len(np.unique(self.written))


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
        """The number of rows whose label in the column fits."""
        hit = np.array([which(label) for label in cells.labels], dtype=bool)
        return int(self.counts[hit[cells.codes]].sum())

    def select(self, keep: Bits | Longs) -> Tuples:
        """The table of some of the distinct rows, in the order of their places if these are given."""
        kept = tuple(replace(cells, codes=cells.codes[keep], written=cells.written[keep]) for cells in self.cells)
        return Tuples(self.name, kept, self.counts[keep])


def tuples(source: Source, columns: Sequence[Column]) -> Tuples:
    """The source's distinct rows in these columns, every cell in its one spelling."""
    found, counts = source.distinct([column.name for column in columns])
    return Tuples(source.name, tuple(_cells(column, found.column(column.name)) for column in columns), counts)


def _cells(column: Column, texts: pa.ChunkedArray) -> Cells:
    """One column, each of its different texts read once; `*` is a label here, never a missing value."""
    literal = replace(column, null=column.null - {SUPPRESSED})
    spelled = texts.combine_chunks().dictionary_encode(null_encoding="encode")
    code_of: dict[str, int] = {}
    for text in (spellings := spelled.dictionary.to_pylist()):
        code_of.setdefault(MISSING if text is None else literal.read(text), len(code_of))
    codes = [code_of[MISSING if text is None else literal.read(text)] for text in spellings]
    written = np.asarray(spelled.indices).astype(np.int32)
    return Cells(column, np.array(codes, np.int32)[written], tuple(code_of), written)


def alike(columns: Sequence[Ints], rows: int) -> tuple[Longs, Longs]:
    """Each row's group, rows being alike that have equal codes in all columns, and one row of each group.

    Groups are numbered in the order of their codes, the first column before the others.
    """
    order = np.lexsort(tuple(reversed(columns))) if columns else np.arange(rows)
    begins = np.arange(rows) == 0
    for codes in columns:  # in this order rows that are alike stand together: a group begins where a column changes
        begins[1:] |= codes[order[1:]] != codes[order[:-1]]
    group = np.empty(rows, dtype=np.int64)
    group[order] = np.cumsum(begins) - 1
    return group, order[begins].astype(np.int64)


def aligned(mine: Cells, theirs: Cells) -> Ints:
    """Returns a column of both tables, one below the other, as codes of the same values."""
    code_of = {label: code for code, label in enumerate(mine.labels)}
    lookup = np.array([code_of.setdefault(label, len(code_of)) for label in theirs.labels], dtype=np.int32)
    return np.concatenate([mine.codes, lookup[theirs.codes]])


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
