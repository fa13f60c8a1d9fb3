"""A table whose rows stay on an engine, counted under a study's rules: distinct tuples, and how many records have each.

The rules hold as they do in memory, because the same functions read each distinct text and build the same table from
tuples and their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from covey import table
from covey.arrays import Ints, Longs
from covey.bounds import SHARE, VARIABLE, limit
from covey.cells import MISSING
from covey.coarsening import GroupedColumn, StartLevels, columns_of, start_levels
from covey.errors import InputError
from covey.schema import Column, Role
from covey.sources.engine import EngineRows, GroupedColumns, Spellings
from covey.study import Study
from covey.table import CarriedCells, Reading, Table, Values

BYTES_OF_TUPLE = 196
"""The memory that peeling takes for a tuple, with or without others."""
_RELEASED = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)


class EngineCounts(msgspec.Struct, frozen=True):
    """All that an engine has counted of a table, to be kept. It tells of the party's records."""

    columns: list[str]
    """All columns that the data must have."""
    study_hash: str
    state: bytes
    """A hash of the table as it was,"""
    fingerprint: bytes
    """and of its cells, where it was asked for."""
    records: int
    """All rows, the dropped ones included."""
    texts: dict[str, list[str]]
    """Of each column that the engine maps, the texts,"""
    codes: dict[str, bytes]
    """the code of each,"""
    labels: dict[str, list[str]]
    """and the label of each code."""
    read: list[str]
    """Columns with too many texts for that, whose cells are read one by one."""
    grouped: list[str]
    dropping: dict[str, int]
    tuples: list[bytes]
    """Codes of the grouped columns, as the engine has them,"""
    counts: bytes
    """and the number of rows of each tuple;"""
    start: StartLevels | None = None
    """where columns begin at a coarser level, at which."""

    @classmethod
    def of(
        cls, rows: EngineRows, study: Study, columns: Sequence[Column], *, owner: bool, bound: bool, tuple_bytes: int
    ) -> EngineCounts:
        """Counts a table, and gives the engine the codes of all texts. Raises InputError for what does not fit.

        Where more tuples are there than memory holds, if each takes so many bytes, columns of the one owner begin at
        coarser levels; parties have agreed on levels, and theirs do not fit.
        """
        names = [column.name for column in columns]
        fingerprint = rows.fingerprint(names) if bound or not rows.stamped else b""
        state = rows.state(names) if rows.stamped else fingerprint
        free = [column.name for column in columns if column.role in _RELEASED and not table.is_judged(column)]
        read = rows.many_spellings(free)
        texts: dict[str, list[str]] = {}
        codes: dict[str, bytes] = {}
        labels: dict[str, list[str]] = {}
        for column in columns:
            if column.name in read or (column.role not in _RELEASED and not table.is_judged(column)):
                continue
            spellings, reading = _look(rows, column, study.privacy.k if owner else None)
            texts[column.name], labels[column.name] = spellings.texts, reading.labels[column.name]
            codes[column.name] = reading.codes[column.name].astype("<i4").tobytes()
            rows.map_texts(column.name, spellings.texts, reading.codes[column.name])
        dropped = [column.name for column in columns if column.missing == "drop" and column.name in labels]
        dropping = {name: labels[name].index(MISSING) for name in dropped if MISSING in labels[name]}
        watched = _watched(study)
        grouped = [column.name for column in columns if column.role is Role.QUASI or column in watched]
        number = rows.group(GroupedColumns(grouped, dropping))
        start = None
        if number > (limit := most_tuples(tuple_bytes)):
            candidates = columns_of(rows, study, labels, grouped)
            start = start_levels(rows, candidates, len(grouped), number, limit) if owner else None
            if start is None:
                raise _too_many(rows, candidates, len(grouped), number, tuple_bytes)
            for candidate in candidates:
                name = candidate.column.name
                lifted = candidate.lifted(start.levels.get(name, 0))[np.frombuffer(codes[name], "<i4")]
                codes[name] = lifted.astype("<i4").tobytes()
                rows.map_texts(name, texts[name], lifted)
        tuples, counts = rows.grouped(len(grouped))
        return cls(
            names, study.study_hash, state, fingerprint, rows.count(), texts, codes, labels, read, grouped, dropping,
            [column.astype("<i4").tobytes() for column in tuples], counts.astype("<i8").tobytes(), start,
        )  # fmt: skip

    def fits(self, rows: EngineRows, study: Study, columns: Sequence[Column]) -> bool:
        """True if these are the counts of the table as it is now."""
        names = [column.name for column in columns]
        return (self.columns, self.study_hash) == (names, study.study_hash) and self.state == rows.state(names)

    def give(self, rows: EngineRows) -> None:
        """Gives the engine the codes of all texts, as counting did."""
        for name, texts in self.texts.items():
            rows.map_texts(name, texts, np.frombuffer(self.codes[name], "<i4"))


@dataclass(frozen=True)
class CountedRows:
    """The distinct tuples of a table on an engine that has the codes of all texts."""

    rows: EngineRows
    columns: tuple[Column, ...]
    """All columns that the data must have."""
    counts: EngineCounts
    table: Table
    """The tuples, with the number of records of each."""
    tuples: list[Ints]
    """The same tuples in the codes that the engine has."""

    @classmethod
    def of(
        cls,
        rows: EngineRows,
        study: Study,
        columns: Sequence[Column],
        *,
        owner: bool = False,
        empty: bool = False,
        bound: bool = False,
        tuple_bytes: int = BYTES_OF_TUPLE,
        earlier: EngineCounts | None = None,
    ) -> CountedRows:
        """Counts a table, unless it is what it was at `earlier` counts. Raises InputError for what does not fit.

        For one `owner`, intervals that would end at exact values do not fit either, and columns begin at coarser levels
        where there are too many tuples. A table without rows is refused unless it may be `empty`. One that a run is
        `bound` to has a fingerprint. A tuple takes `tuple_bytes` bytes of memory.
        """
        rows.require([column.name for column in columns], empty=empty)
        if earlier is not None and earlier.fits(rows, study, columns):
            earlier.give(rows)
            counted = earlier
        else:
            counted = EngineCounts.of(rows, study, columns, owner=owner, bound=bound, tuple_bytes=tuple_bytes)
        tuples: list[Ints] = [np.frombuffer(codes, "<i4").astype(np.int32) for codes in counted.tuples]
        counts: Longs = np.frombuffer(counted.counts, "<i8").astype(np.int64)
        if not len(counts) and not empty:
            raise InputError(f"{rows.name}: no row is left after dropping those with missing values")
        tupled = tuple(column for column in columns if column.name in counted.grouped)
        labels = {name: counted.labels[name] for name in counted.grouped}
        reading = Reading(
            tupled, dict(zip(counted.grouped, tuples, strict=True)), labels, len(counts), rows.name, counts
        )
        tuples_table = replace(table.build(reading, study, empty=empty), dropped=counted.records - int(counts.sum()))
        if (start := counted.start) is not None:
            exact = (
                start.leaf_counts(column.name, tree, labels[column.name])
                for column, tree in zip(tuples_table.quasi, tuples_table.trees, strict=True)
            )
            tuples_table = replace(tuples_table, exact=tuple(exact))
        return cls(rows, tuple(columns), counted, tuples_table, tuples)

    @property
    def grouped(self) -> GroupedColumns:
        """The columns whose codes make a tuple."""
        return GroupedColumns(self.counts.grouped, self.counts.dropping)

    @property
    def labels(self) -> dict[str, list[str]]:
        """The label of each code, of each column that the engine has mapped."""
        return self.counts.labels

    @property
    def read(self) -> list[Column]:
        """Columns whose cells are read one by one."""
        return [column for column in self.columns if column.name in self.counts.read]

    @property
    def carried_columns(self) -> list[Column]:
        """The columns that are released as they are."""
        return [column for column in self.columns if column.role in (Role.SENSITIVE, Role.PLAIN)]

    def require_unchanged(self) -> None:
        """Raises InputError if the table is not the one that was counted."""
        names = [column.name for column in self.columns]
        if self.rows.count() != self.counts.records or self.rows.state(names) != self.counts.state:
            raise changed(self.rows.name)


@dataclass(frozen=True)
class CarriedOnEngine:
    """The rows behind a party's table of tuples. Carried columns are read when they are released."""

    counted: CountedRows

    @property
    def fingerprint(self) -> bytes:
        """A hash of all cells that the study names, whatever the order of the rows."""
        return self.counted.counts.fingerprint

    def longest(self) -> int:
        """A number of bytes that no record's carried cells exceed, with five more for each cell."""
        labels = self.counted.labels
        return sum(
            5 + max((len(label.encode()) for label in labels[column.name]), default=0)
            if column.name in labels
            else 5 + 3 * self.counted.rows.longest(column.name)  # normalised, a text is at most three times as long
            for column in self.counted.carried_columns
        )

    def carried(self, klass: Longs) -> CarriedCells:
        """The carried cells of all records, given each tuple's class, or -1 where its records have none.

        They are in an order that follows from the cells alone. Raises InputError where the table is not the one that
        was counted.
        """
        counted = self.counted
        read = [column for column in counted.carried_columns if column in counted.read]
        mapped = [column for column in counted.carried_columns if column not in counted.read]
        names = [column.name for column in mapped]
        classes, codes, texts, counts = counted.rows.carried(
            counted.grouped, counted.tuples, klass, names, [column.name for column in read]
        )
        counted.require_unchanged()
        weights = counted.table.counts if counted.table.counts is not None else np.ones(len(klass), dtype=np.int64)
        size = int(klass.max(initial=-1)) + 1
        expected = table.tally(klass[klass >= 0], size, weights[klass >= 0])
        if not np.array_equal(table.tally(classes, size, counts), expected):
            raise changed(counted.rows.name)
        spelled = {name: (counted.labels[name], indices) for name, indices in zip(names, codes, strict=True)}
        for column, cells in zip(read, texts, strict=True):
            spelled[column.name] = [column.read(cell) for cell in cells], np.arange(len(cells))
        values = [_in_order(column, *spelled[column.name]) for column in counted.carried_columns]
        keys: list[Ints | Longs] = [value.codes for value in reversed(values)]
        order = np.lexsort((*keys, classes))
        return CarriedCells(
            classes[order],
            tuple(Values(value.column, value.codes[order], value.labels) for value in values),
            counts[order],
        )


def changed(name: str) -> InputError:
    """The error for a table that is not what it was."""
    return InputError(f"{name}: has changed while it was read; nothing is written. Run it again")


def most_tuples(tuple_bytes: int) -> int:
    """The number of tuples of so many bytes that memory holds beside the engine."""
    return int((1 - SHARE) * limit() / tuple_bytes)


def limit_for(tuples: int, tuple_bytes: int) -> str:
    """The limit of memory, as it is written, under which so many tuples fit."""
    return f"{VARIABLE}={math.ceil(tuples * tuple_bytes / (1 - SHARE) / 10**9)}GB"


def room(rows: EngineRows, study: Study) -> str:
    """Tells if the tuples of one owner's table fit into memory."""
    names = [column.name for column in (*study.quasi, *_watched(study))]
    number, limit = int(rows.group_sizes(names)[1].sum()), most_tuples(BYTES_OF_TUPLE)
    fit = f"{limit:,} of {BYTES_OF_TUPLE} bytes each fit into memory"
    if number <= limit:
        return f"{number:,} distinct tuples; {fit}"
    return (
        f"{number:,} distinct tuples, and {fit}: `covey anonymize` will publish columns from coarser levels on, and "
        f"say which and at what loss; to keep every level: {limit_for(number, BYTES_OF_TUPLE)}"
    )


def _too_many(rows: EngineRows, columns: Sequence[GroupedColumn], grouped: int, number: int, size: int) -> InputError:
    """The error for more tuples than memory holds, with what a coarser column would save."""
    saves = []
    for entry in columns:
        if entry.tree.height < 2:
            continue
        remaining = rows.fewer(grouped, entry.index, entry.lifted(1))
        words = f"{remaining:,} without the finest level of {entry.column.name!r} (LM {entry.cost(1):.3f} there)"
        saves.append((remaining, words))
    coarser = "; there are " + ", ".join(words for _, words in sorted(saves)[:3]) if saves else ""
    return InputError(
        f"{rows.name}: has {number:,} distinct tuples, and {most_tuples(size):,} of {size} bytes each fit into memory; "
        f"allow more ({limit_for(number, size)}), or begin a hierarchy at a coarser level{coarser}"
    )


def _watched(study: Study) -> tuple[Column, ...]:
    """The sensitive columns, if the study asks for their values class by class."""
    limits = [study.privacy.l_insider, *(f(column) for column in study.sensitive for f in (study.l_of, study.t_of))]
    return study.sensitive if any(column is not None for column in limits) else ()


def _look(rows: EngineRows, column: Column, k: int | None) -> tuple[Spellings, Reading]:
    """Reads a column's texts as one reading a table in memory would. Raises InputError for what does not fit."""
    spellings = rows.spellings(column.name)
    read = table.read_texts(spellings.texts, spellings.counts, column, rows.name)
    if k is not None:
        table.refuse_exact_ends(read, column, k)
    table.refuse_unfit(read, column)
    table.refuse_shortened(read, column, rows.numeric)
    return spellings, read


def _in_order(column: Column, labels: Sequence[str], codes: Longs) -> Values:
    """A column's cells as codes in the order of labels, whatever the rows' positions."""
    names = sorted(set(labels))
    position_of = {label: position for position, label in enumerate(names)}
    lookup = np.array([position_of[label] for label in labels] or [0], dtype=np.int32)
    return Values(column, lookup[codes], tuple(names))
