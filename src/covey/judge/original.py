"""The original table, and which of its values each released label stands for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from covey.arrays import Ints, Longs
from covey.cells import MISSING, SUPPRESSED, number
from covey.errors import InputError
from covey.hierarchy import Interval
from covey.judge.tuples import Cells, Tuples, is_missing, refuse_not_finite, refuse_unlisted, tuples
from covey.schema import Column
from covey.sources import Source
from covey.study import Study


@dataclass(frozen=True)
class Spans:
    """One quasi column: its values stand in a row, so that every label stands for a stretch of neighbours.

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
    """The original, or InputError: a column is lacking, or some rows have a value that the study does not know."""
    hidden = [column for column in study.columns if not column.released and column.missing != "value"]
    return read_rows(source, [*study.released, *(column for column in hidden if column.name in source.columns)])


def read_rows(source: Source, columns: Sequence[Column]) -> Original:
    """The original in some columns only; raises InputError as `read_original` does."""
    table = tuples(source, columns)
    refuse_not_finite(table)
    keep = np.ones(len(table.counts), dtype=bool)
    for cells in table.cells:
        lacking = np.array([is_missing(label) for label in cells.labels], dtype=bool)[cells.codes]
        if cells.column.missing == "error" and lacking.any():
            rows = int(table.counts[lacking].sum())
            raise InputError(
                f"{table.name}: column {cells.column.name!r} has no value in {rows:,} rows, "
                'and the study says missing = "error"'
            )
        if cells.column.missing == "drop":
            keep &= ~lacking
    kept = table.select(keep)
    if not kept.rows:
        raise InputError(f"{table.name}: no row is left after dropping those with missing values")
    refuse_unlisted(kept)
    return Original(kept, table.rows - kept.rows)


def spans(released: Cells, original: Tuples) -> Spans:
    """The column's values in a row, and each released label's stretch of them."""
    (own,) = original.of([released.column])
    used = np.zeros(len(own.labels), dtype=bool)
    used[own.codes] = True
    values = [label for label, occurs in zip(own.labels, used, strict=True) if occurs]
    found = _by_number if isinstance(released.column.hierarchy, Interval) else _by_tree
    place_of, stretch_of, width = found(released.column, values, released.labels)
    place = np.array([place_of.get(label, -1) for label in own.labels], dtype=np.int32)
    if (strange := int(original.counts[place[own.codes] < 0].sum())) > 0:
        raise InputError(
            f"{original.name}: column {released.column.name!r} has values in {strange:,} rows that its hierarchy does "
            "not have; `covey check` lists them"
        )
    first, last = (np.array(ends, dtype=np.int32) for ends in zip(*stretch_of, strict=True))
    return Spans(place, first, last, width)


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
    known = {value: found for value in values if (found := number(value)) is not None}
    row = sorted(set(known.values()))
    place_of = {value: bisect_left(row, found) for value, found in known.items()}
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
    (own,) = original.of([column])
    counted = np.bincount(span.place[own.codes], weights=original.counts, minlength=span.width)
    return counted.astype(np.int64)
