"""A party's records as integer codes, columns x rows, and back to labels.

The quasi columns are leaf codes of their trees; the sensitive and plain columns are carried as codes of their
own values; identifiers are never kept, the key only where a protocol joins on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol as Interface

import numpy as np
import pyarrow as pa

from covey import bounds
from covey.arrays import Bits, Ints, Longs
from covey.cells import MISSING, is_not_finite, number
from covey.errors import InputError
from covey.hierarchy import Hierarchy, Interval, Prefix
from covey.schema import Column, Role
from covey.sources import Source
from covey.study import Study

_UNKNOWN = -1
_CODE_BYTES = 8
"""Bytes of a cell while codes are put together."""


@dataclass(frozen=True)
class Values:
    """One column as codes of its distinct values."""

    column: Column
    codes: Ints
    labels: tuple[str, ...]

    def counts(self) -> Longs:
        return np.bincount(self.codes, minlength=len(self.labels)).astype(np.int64)


@dataclass(frozen=True)
class CarriedCells:
    """Records with a class: their classes, carried cells, and how many records are alike."""

    klass: Longs
    columns: tuple[Values, ...]
    counts: Longs | None = None  # one each, unless an engine has counted them

    def values(self, name: str) -> Values:
        """The cells of one column."""
        return _named(self.columns, name)


class RowsOnEngine(Interface):
    """The rows behind a table of tuples and counts: they stay where they are."""

    @property
    def fingerprint(self) -> bytes:
        """A hash of all cells that the study names, whatever the order of the rows."""

    def longest(self) -> int:
        """A number of bytes that no record's carried cells exceed, with five more for each cell."""

    def carried(self, klass: Longs) -> CarriedCells:
        """The carried cells of all records, given each tuple's class, or -1 where its records have none.

        Raises InputError where the table is not the one that was counted.
        """


@dataclass(frozen=True)
class Table:
    """The records of one party, or its distinct tuples with the records of each."""

    study: Study
    quasi: tuple[Column, ...]
    trees: tuple[Hierarchy, ...]
    codes: Ints  # quasi columns x rows: leaf codes
    carried: tuple[Values, ...]  # sensitive and plain columns
    key: Values | None = None
    dropped: int = 0  # rows left out by a column's `missing = "drop"`
    counts: Longs | None = None  # how many records each row stands for, where an engine has counted them; else one
    on_engine: RowsOnEngine | None = None  # has the columns that no tuple has, where an engine has counted
    exact: tuple[Longs, ...] | None = None  # the records of each leaf, where `codes` has one leaf for several

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    @property
    def records(self) -> int:
        """The number of records, however many rows of this table they are."""
        return self.rows if self.counts is None else int(self.counts.sum())

    def tally(self, codes: Ints | Longs, size: int) -> Longs:
        """The number of records that have each code."""
        return tally(codes, size, self.counts)

    def often(self, column: int) -> Longs:
        """The number of records of each leaf of a quasi column."""
        return self.tally(self.codes[column], self.trees[column].codes) if self.exact is None else self.exact[column]

    def values(self, name: str) -> Values:
        return _named(self.carried, name)

    def with_class(self, klass: Longs) -> CarriedCells:
        """The carried cells of the records that have a class; -1 is none."""
        if self.on_engine is not None:
            return self.on_engine.carried(klass)
        rows = np.flatnonzero(klass >= 0)
        return CarriedCells(klass[rows], tuple(Values(v.column, v.codes[rows], v.labels) for v in self.carried))

    def distinct(self, *extra: Ints) -> tuple[Longs, Longs]:
        """Each row's group by equal quasi codes (and `extra`), and a row of each group."""
        return group([*self.codes, *extra], self.rows)

    def select(self, rows: Longs | Bits) -> Table:
        """The table of some rows, in that order."""
        cells = tuple(Values(v.column, v.codes[rows], v.labels) for v in self.carried)
        key = None if self.key is None else Values(self.key.column, self.key.codes[rows], self.key.labels)
        return Table(self.study, self.quasi, self.trees, self.codes[:, rows], cells, key, self.dropped)

    def published(self, nodes: Ints, rows: Longs) -> pa.Table:
        """The released table: labels of the nodes (columns x rows) and the carried values."""
        cells: dict[str, pa.Array] = {}
        for position, (column, tree) in enumerate(zip(self.quasi, self.trees, strict=True)):
            cells[column.name] = labelled(nodes[position], tree.labels)
        for values in self.carried:
            cells[values.column.name] = labelled(values.codes[rows], values.labels)
        return pa.table({column.name: cells[column.name] for column in self.study.columns if column.name in cells})


def _named(columns: Sequence[Values], name: str) -> Values:
    for values in columns:
        if values.column.name == name:
            return values
    raise InputError(f"the table carries no column {name!r}")


def tally(codes: Ints | Longs, size: int, counts: Longs | None) -> Longs:
    """The number of records of each code, where a row stands for `counts` records, or one."""
    return np.bincount(codes, weights=counts, minlength=size).astype(np.int64)  # exact below 2**53 records


def labelled(codes: Ints, labels: Sequence[str]) -> pa.DictionaryArray:
    """Codes as an Arrow column of their labels."""
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(labels, pa.string()))


def group(columns: Sequence[Ints], rows: int) -> tuple[Longs, Longs]:
    """Each row's group by equal codes in all columns, and the first row of each."""
    key = np.zeros(rows, dtype=np.int64)
    size = 1
    for codes in columns:
        span = int(codes.max(initial=0)) + 1
        if size * span >= 2**62:
            _, key = np.unique(key, return_inverse=True)
            size = int(key.max(initial=0)) + 1
        key = key * span + codes
        size *= span
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return inverse.astype(np.int64), first.astype(np.int64)


@dataclass(frozen=True)
class Reading:
    """A source read under a study: raw codes, and what of it does not fit."""

    columns: tuple[Column, ...]
    codes: dict[str, Ints]  # per column: codes of `labels`
    labels: dict[str, list[str]]  # per column: its distinct canonical values, the missing one included
    rows: int
    name: str
    counts: Longs | None = None  # how many records each row stands for, where an engine has counted them; else one

    def records(self, mask: Bits) -> int:
        """The number of records behind these rows."""
        return int(mask.sum() if self.counts is None else self.counts[mask].sum())


def read(batches: Iterable[pa.RecordBatch], columns: Sequence[Column], name: str) -> Reading:
    """Every cell normalised as the study says, each distinct spelling once."""
    code_of: dict[str, dict[str, int]] = {column.name: {} for column in columns}
    parts: dict[str, list[Ints]] = {column.name: [] for column in columns}
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        for position, column in enumerate(columns):
            parts[column.name].append(_encode(batch.column(position), column, code_of[column.name]))
    codes = {key: np.concatenate(entry) if entry else np.zeros(0, np.int32) for key, entry in parts.items()}
    return Reading(tuple(columns), codes, {key: list(entry) for key, entry in code_of.items()}, rows, name)


def read_source(source: Source, columns: Sequence[Column], *, empty: bool = False) -> Reading:
    """A source's cells, normalised as the study says.

    Raises InputError where it has lost what a code's text said, and where there are more than memory may hold.
    """
    bounds.refuse_above(source.name, _CODE_BYTES * len(columns) * source.rows)
    reading = read(source.batches([column.name for column in columns], empty=empty), columns, source.name)
    for column in columns:
        refuse_shortened(reading, column, source.numeric)
    return reading


def read_texts(texts: Sequence[str], counts: Longs, column: Column, name: str) -> Reading:
    """A column's distinct texts, each of so many rows, as an engine has counted them."""
    reading = read([pa.record_batch({column.name: pa.array(texts, pa.string())})], [column], name)
    return replace(reading, counts=counts)


def is_judged(column: Column) -> bool:
    """True if each text of the column has to be read by the study's rules."""
    free = column.role not in (Role.QUASI, Role.SENSITIVE)
    return not free or column.values is not None or column.missing != "value" or column.kind != "text"


def refuse_shortened(reading: Reading, column: Column, numeric: frozenset[str]) -> None:
    """Refuses codes stored as numbers, some of them short: 01067 has become 1067 there."""
    if column.name not in numeric or not isinstance(column.hierarchy, Prefix):
        return
    width = column.hierarchy.keep[0] + 1
    lengths = [len(label) for label in reading.labels[column.name] if label != MISSING]
    if lengths and min(lengths) < max(width, *lengths):
        raise InputError(
            f"{reading.name}: column {column.name!r} has codes for a prefix hierarchy, but is stored as numbers, some "
            f"with fewer than {max(width, *lengths)} digits: leading zeros are lost; read it as text (dtype=str, or "
            "the cell format Text), or pad it to its full width"
        )


def _encode(cells: pa.Array, column: Column, code_of: dict[str, int]) -> Ints:
    encoded = cells.dictionary_encode()
    codes = [code_of.setdefault(column.read(raw), len(code_of)) for raw in encoded.dictionary.to_pylist()]
    indices = encoded.indices
    if encoded.null_count:
        codes.append(code_of.setdefault(MISSING, len(code_of)))
        indices = indices.fill_null(len(codes) - 1)
    return np.take(np.asarray(codes, dtype=np.int32), np.asarray(indices))


def unknown(reading: Reading, column: Column) -> dict[str, int]:
    """The values that the column's domain does not have, each with its number of rows."""
    labels = reading.labels[column.name]
    in_domain = np.ones(len(labels), dtype=bool)
    if column.role in (Role.QUASI, Role.SENSITIVE) and column.hierarchy is not None:
        in_domain &= column.tree(labels).encode(labels) >= 0
    if column.values is not None and (column.role is not Role.QUASI or column.hierarchy is None):
        in_domain &= np.array([label in column.values for label in labels], dtype=bool)
    if in_domain.all():
        return {}
    counts = tally(reading.codes[column.name], len(labels), reading.counts)
    return {
        label: int(counts[code])
        for code, label in enumerate(labels)
        if not in_domain[code] and label != MISSING and counts[code]
    }


def exact_ends(reading: Reading, column: Column, k: int) -> int:
    """The rows with rare values in a column of intervals that has only steps, else 0.

    There the ends of intervals are exact values, and some of them those of few people.
    """
    tree = column.hierarchy
    if column.role is not Role.QUASI or not isinstance(tree, Interval):
        return 0
    numbers = [number(label) for label in reading.labels[column.name]]
    if not all(value is None or tree.is_step(value) for value in numbers):
        return 0
    counts = tally(reading.codes[column.name], len(numbers), reading.counts)
    return sum(int(count) for value, count in zip(numbers, counts, strict=True) if value is not None and count < k)


def refuse_exact_ends(reading: Reading, column: Column, k: int) -> None:
    """Raises InputError for a column of intervals that would end at exact values."""
    if exact_ends(reading, column, k):
        raise InputError(
            f"{reading.name}: column {column.name!r} has only multiples of its step, so intervals would end at "
            "exact values; give it a larger step in the study"
        )


def domain(column: Column) -> str:
    """The words for the place where the study says which values the column has."""
    if column.hierarchy is None:
        return "list of values"
    return "hierarchy" if column.role is Role.QUASI or column.values is None else "hierarchy or list of values"


def missing(reading: Reading, column: Column) -> Bits:
    """Marks the rows that have no value in the column."""
    labels = reading.labels[column.name]
    if MISSING not in labels:
        return np.zeros(reading.rows, dtype=bool)
    return np.asarray(reading.codes[column.name] == labels.index(MISSING))


def refuse_not_finite(reading: Reading, column: Column) -> None:
    """Refuses NaN and infinities in a column of numbers, which are no values."""
    if column.kind != "number":
        return
    labels = reading.labels[column.name]
    bad = [code for code, label in enumerate(labels) if is_not_finite(label)]
    if bad:
        count = reading.records(np.isin(reading.codes[column.name], bad))
        raise InputError(
            f"{reading.name}: column {column.name!r} has NaN or an infinity in {count:,} rows; "
            "correct them, or list their spellings under `null` in the study to read them as missing"
        )


def build(
    reading: Reading, study: Study, domains: Mapping[str, Sequence[str]] | None = None, *, empty: bool = False
) -> Table:
    """The table. Raises InputError with the first column whose values do not fit, and the rows.

    An open domain is closed over the values at hand, or over those that `domains` gives for the column. A table without
    rows is refused unless it may be empty.
    """
    keep = np.ones(reading.rows, dtype=bool)
    for column in reading.columns:
        refuse_unfit(reading, column)
        if column.missing == "drop":
            keep &= ~missing(reading, column)
    if not keep.any() and not empty:
        raise InputError(f"{reading.name}: no row is left after dropping those with missing values")
    quasi = tuple(column for column in reading.columns if column.role is Role.QUASI)
    trees = tuple(column.tree((domains or {}).get(column.name, reading.labels[column.name])) for column in quasi)
    codes = [
        tree.encode(reading.labels[column.name])[reading.codes[column.name][keep]]
        for column, tree in zip(quasi, trees, strict=True)
    ]
    stacked = np.ascontiguousarray(np.stack(codes)) if codes else np.zeros((0, int(keep.sum())), np.int32)
    return Table(
        study=study,
        quasi=quasi,
        trees=trees,
        codes=stacked,
        carried=tuple(
            _values(reading, column, keep) for column in reading.columns if column.role in (Role.SENSITIVE, Role.PLAIN)
        ),
        key=next((_values(reading, column, keep) for column in reading.columns if column.role is Role.KEY), None),
        dropped=reading.records(~keep),
        counts=None if reading.counts is None else reading.counts[keep],
    )


def refuse_unfit(reading: Reading, column: Column) -> None:
    """Raises InputError for values that are no numbers, unknown to the domain, or missing."""
    refuse_not_finite(reading, column)
    _refuse_unknown(reading, column)
    gaps = missing(reading, column)
    if column.missing == "error" and gaps.any():
        raise InputError(
            f"{reading.name}: column {column.name!r} has no value in {reading.records(gaps):,} rows, "
            'and the study says missing = "error"'
        )


def _refuse_unknown(reading: Reading, column: Column) -> None:
    strange = unknown(reading, column)
    if strange:
        rows = sum(strange.values())
        raise InputError(
            f"{reading.name}: column {column.name!r} has {len(strange):,} values in {rows:,} rows that its "
            f"{domain(column)} does not have; `covey check` lists them"
        )


def _values(reading: Reading, column: Column, keep: Bits) -> Values:
    """The column in the order of its listed values, or of its spelling. Codes depend on no row's position."""
    labels = reading.labels[column.name]
    order_of = {label: position for position, label in enumerate(column.values or ())}
    present = np.unique(reading.codes[column.name][keep])
    order = sorted((labels[code] for code in present), key=lambda label: (order_of.get(label, len(order_of)), label))
    names = list(column.values or ()) + [label for label in order if label not in order_of]
    position = {label: code for code, label in enumerate(names)}
    lookup = np.array([position.get(label, 0) for label in labels] or [0], dtype=np.int32)
    return Values(column, lookup[reading.codes[column.name][keep]], tuple(names))
