"""A table as its distinct rows and how often each occurs; and the original, with what each released label stands for.

The engine counts, the study says what a cell means.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa

from covey.arrays import Bits, Ints, Longs
from covey.cells import MISSING, SUPPRESSED, is_not_finite, number
from covey.errors import InputError
from covey.hierarchy import Interval
from covey.schema import Column, Role
from covey.sources import Source
from covey.study import Study


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
        cells_of = {cells.column.name: cells for cells in self.cells}
        return tuple(cells_of[column.name] for column in columns)

    def rows_where(self, cells: Cells, test: Callable[[str], bool]) -> int:
        """The number of rows whose label in the column fits."""
        hit = np.array([test(label) for label in cells.labels], dtype=bool)
        return int(self.counts[hit[cells.codes]].sum())

    def select(self, keep: Bits | Longs) -> Tuples:
        """The table of some of the distinct rows, in the order of the positions, if given."""
        columns = tuple(replace(cells, codes=cells.codes[keep], written=cells.written[keep]) for cells in self.cells)
        return Tuples(self.name, columns, self.counts[keep])


def tuples(source: Source, columns: Sequence[Column]) -> Tuples:
    """The source's distinct rows in these columns, every cell in its one spelling."""
    texts, counts = source.distinct([column.name for column in columns])
    return Tuples(source.name, tuple(_cells(column, texts.column(column.name)) for column in columns), counts)


def _cells(column: Column, texts: pa.ChunkedArray) -> Cells:
    """One column, each of its different texts read once. `*` is a label here, never a missing value."""
    literal = replace(column, null=column.null - {SUPPRESSED})
    spelled = texts.combine_chunks().dictionary_encode(null_encoding="encode")
    code_of: dict[str, int] = {}
    for text in (spellings := spelled.dictionary.to_pylist()):
        code_of.setdefault(MISSING if text is None else literal.read(text), len(code_of))
    codes = [code_of[MISSING if text is None else literal.read(text)] for text in spellings]
    written = np.asarray(spelled.indices).astype(np.int32)
    return Cells(column, np.array(codes, np.int32)[written], tuple(code_of), written)


def alike(columns: Sequence[Ints], rows: int) -> tuple[Longs, Longs]:
    """Each row's group by equal codes in all columns, and one row of each group.

    Groups are numbered in the order of their codes, the first column before the others.
    """
    order = np.lexsort(tuple(reversed(columns))) if columns else np.arange(rows)
    begins = np.arange(rows) == 0
    for codes in columns:  # in this order rows that are alike stand together: a group begins where a column changes
        begins[1:] |= codes[order[1:]] != codes[order[:-1]]
    group = np.empty(rows, dtype=np.int64)
    group[order] = np.cumsum(begins) - 1
    return group, order[begins].astype(np.int64)


def aligned(first: Cells, second: Cells) -> Ints:
    """Returns a column of both tables, the second below the first, in common codes."""
    code_of = {label: code for code, label in enumerate(first.labels)}
    lookup = np.array([code_of.setdefault(label, len(code_of)) for label in second.labels], dtype=np.int32)
    return np.concatenate([first.codes, lookup[second.codes]])


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
        values = cells.column.values
        if values is None or cells.column.role is Role.QUASI:
            continue
        allowed = {*values, MISSING}
        if bad := table.rows_where(cells, lambda label, allowed=allowed: label not in allowed):  # type: ignore[misc]
            raise InputError(
                f"{table.name}: column {cells.column.name!r} has values in {bad:,} rows that the study does not list; "
                "correct them, or complete `values` in the study"
            )


def is_missing(label: str) -> bool:
    return label == MISSING


@dataclass(frozen=True)
class Spans:
    """One quasi column with its values in a row, so that a label stands for neighbours.

    `place` is each original value's place; `first` and `last` bound each released label's stretch, and a label that
    stands for nothing in the original has `last < first`.
    """

    place: Ints
    first: Ints
    last: Ints
    width: int


@dataclass(frozen=True)
class Original:
    """The original's distinct rows without those that the study drops."""

    table: Tuples
    dropped: int


def read_original(source: Source, study: Study) -> Original:
    """The original. Raises InputError for a column that is lacking, or a value that the study does not know."""
    hidden = [column for column in study.columns if not column.released and column.missing != "value"]
    return read_rows(source, [*study.released, *(column for column in hidden if column.name in source.columns)])


def read_rows(source: Source, columns: Sequence[Column]) -> Original:
    """The original in some columns only; raises InputError as `read_original` does."""
    table = tuples(source, columns)
    refuse_not_finite(table)
    keep = np.ones(len(table.counts), dtype=bool)
    for cells in table.cells:
        missing = np.array([is_missing(label) for label in cells.labels], dtype=bool)[cells.codes]
        if cells.column.missing == "error" and missing.any():
            rows = int(table.counts[missing].sum())
            raise InputError(
                f"{table.name}: column {cells.column.name!r} has no value in {rows:,} rows, "
                'and the study says missing = "error"'
            )
        if cells.column.missing == "drop":
            keep &= ~missing
    selected = table.select(keep)
    if not selected.rows:
        raise InputError(f"{table.name}: no row is left after dropping those with missing values")
    refuse_unlisted(selected)
    return Original(selected, table.rows - selected.rows)


def spans(released: Cells, original: Tuples) -> Spans:
    """The column's values in a row, and each released label's stretch of them."""
    (cells,) = original.of([released.column])
    used = np.zeros(len(cells.labels), dtype=bool)
    used[cells.codes] = True
    values = [label for label, occurs in zip(cells.labels, used, strict=True) if occurs]
    function = _by_number if isinstance(released.column.hierarchy, Interval) else _by_tree
    place_of, stretch_of, width = function(released.column, values, released.labels)
    positions = np.array([place_of.get(label, -1) for label in cells.labels], dtype=np.int32)
    if (strange := int(original.counts[positions[cells.codes] < 0].sum())) > 0:
        raise InputError(
            f"{original.name}: column {released.column.name!r} has values in {strange:,} rows that its hierarchy does "
            "not have; `covey check` lists them"
        )
    first, last = (np.array(ends, dtype=np.int32) for ends in zip(*stretch_of, strict=True))
    return Spans(positions, first, last, width)


Places = tuple[dict[str, int], list[tuple[int, int]], int]
_NOTHING = (0, -1)


def _by_tree(column: Column, values: Sequence[str], labels: Sequence[str]) -> Places:
    """Leaves are numbered in tree order: below each node they are neighbours."""
    tree = column.tree(values)
    place_of = {value: int(leaf) for value, leaf in zip(values, tree.encode(values), strict=True)}
    nodes = [tree.node(label) for label in labels]
    stretch_of = [_NOTHING if node is None else (int(tree.first[node]), int(tree.last[node])) for node in nodes]
    return place_of, stretch_of, tree.codes


def _by_number(column: Column, values: Sequence[str], labels: Sequence[str]) -> Places:
    """Numbers in their order, a missing value behind them all."""
    numbers = {value: parsed for value in values if (parsed := number(value)) is not None}
    row = sorted(set(numbers.values()))
    place_of = {value: bisect_left(row, parsed) for value, parsed in numbers.items()}
    place_of[MISSING] = len(row)
    return place_of, [_stretch(column, label, row) for label in labels], len(row) + 1


def _stretch(column: Column, label: str, row: Sequence[Decimal]) -> tuple[int, int]:
    if label == SUPPRESSED:
        return 0, len(row)
    if label == MISSING:
        return len(row), len(row)
    ends = column.hierarchy.ends(label) if isinstance(column.hierarchy, Interval) else None
    return _NOTHING if ends is None else (bisect_left(row, ends[0]), bisect_right(row, ends[1]) - 1)


def frequencies(original: Tuples, column: Column, span: Spans) -> Longs:
    """The count in the original of the value at each place."""
    (cells,) = original.of([column])
    counted = np.bincount(span.place[cells.codes], weights=original.counts, minlength=span.width)
    return counted.astype(np.int64)
