"""A table whose rows stay on an engine, counted under a study's rules: distinct tuples, and how many records have each.

The rules hold as they do in memory, because the same functions read each distinct text and build the same table from
tuples and their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from covey import table
from covey.arrays import Ints, Longs
from covey.cells import MISSING
from covey.errors import InputError
from covey.schema import Column, Role
from covey.sources.engine import EngineRows, GroupedColumns
from covey.study import Study
from covey.table import CarriedCells, Reading, Table, Values

_RELEASED = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)


@dataclass(frozen=True)
class CountedRows:
    """The distinct tuples of a table on an engine, and the engine, which has the codes of all texts."""

    rows: EngineRows
    columns: tuple[Column, ...]
    """All columns that the data must have."""
    table: Table
    """The tuples, with the number of records of each."""
    tuples: list[Ints]
    """The same tuples in the codes that the engine has."""
    grouped: GroupedColumns
    labels: dict[str, list[str]]
    """Of each column whose texts the engine has a table of, the label of each code."""
    read: tuple[Column, ...]
    """Columns with too many texts for that, whose cells are read one by one."""
    records: int
    """All rows, the dropped ones included."""
    state: bytes

    @classmethod
    def of(
        cls, rows: EngineRows, study: Study, columns: Sequence[Column], *, ends: bool = False, empty: bool = False
    ) -> CountedRows:
        """Counts a table, and gives the engine the codes of all texts. Raises InputError for what does not fit.

        With `ends`, intervals that would end at exact values do not fit either. A table without rows is refused unless
        it may be `empty`.
        """
        rows.require([column.name for column in columns], empty=empty)
        state = rows.state([column.name for column in columns])
        tupled = [column for column in columns if column.role is Role.QUASI or column in _watched(study)]
        free = [column for column in columns if column.role in _RELEASED and not _is_judged(column)]
        read = tuple(column for column in free if not rows.few_spellings(column.name))
        labels, dropping = {}, {}
        for column in columns:
            if column in read or (column.role not in _RELEASED and not _is_judged(column)):
                continue
            labels[column.name] = _map(rows, column, study.privacy.k if ends else None)
            if column.missing == "drop" and MISSING in labels[column.name]:
                dropping[column.name] = labels[column.name].index(MISSING)
        names = [column.name for column in tupled]
        grouped = GroupedColumns(names, dropping)
        codes, counts = rows.group(grouped)
        records = rows.count()
        if not len(counts) and not empty:
            raise InputError(f"{rows.name}: no row is left after dropping those with missing values")
        reading = Reading(
            tuple(tupled), dict(zip(names, codes, strict=True)), {name: labels[name] for name in names}, len(counts),
            rows.name, counts,
        )  # fmt: skip
        made = replace(table.build(reading, study, empty=empty), dropped=records - int(counts.sum()))
        return cls(rows, tuple(columns), made, codes, grouped, labels, read, records, state)

    @property
    def carried_columns(self) -> list[Column]:
        """The columns that are released as they are."""
        return [column for column in self.columns if column.role in (Role.SENSITIVE, Role.PLAIN)]

    def require_unchanged(self) -> None:
        """Raises InputError if the table is not the one that was counted."""
        names = [column.name for column in self.columns]
        if self.rows.count() != self.records or self.rows.state(names) != self.state:
            raise changed(self.rows.name)


@dataclass(frozen=True)
class CarriedOnEngine:
    """The rows behind a party's table of tuples: the carried columns, asked for when they are released."""

    counted: CountedRows

    @cached_property
    def fingerprint(self) -> bytes:
        """A hash of all cells that the study names, whatever the order of the rows."""
        return self.counted.rows.fingerprint([column.name for column in self.counted.columns])

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
        own = self.counted
        read = [column for column in own.carried_columns if column in own.read]
        mapped = [column for column in own.carried_columns if column not in own.read]
        names = [column.name for column in mapped]
        found, codes, texts, counts = own.rows.carried(
            own.grouped, own.tuples, klass, names, [column.name for column in read]
        )
        own.require_unchanged()
        weights = own.table.counts if own.table.counts is not None else np.ones(len(klass), dtype=np.int64)
        size = int(klass.max(initial=-1)) + 1
        expected = table.tally(klass[klass >= 0], size, weights[klass >= 0])
        if not np.array_equal(table.tally(found, size, counts), expected):
            raise changed(own.rows.name)
        spelled = [(column, own.labels[column.name], places) for column, places in zip(mapped, codes, strict=True)]
        for column, cells in zip(read, texts, strict=True):
            spelled.append((column, [column.read(cell) for cell in cells], np.arange(len(cells))))
        values = [_in_order(*each) for each in spelled]
        keys: list[Ints | Longs] = [each.codes for each in reversed(values)]
        order = np.lexsort((*keys, found))
        return CarriedCells(
            found[order], tuple(Values(each.column, each.codes[order], each.labels) for each in values), counts[order]
        )


def changed(name: str) -> InputError:
    """The error for a table that is not what it was."""
    return InputError(f"{name}: has changed while it was read; nothing is written. Run it again")


def _watched(study: Study) -> tuple[Column, ...]:
    """The sensitive columns, if the study asks for anything that needs their values class by class."""
    asked = [study.privacy.l_insider, *(f(each) for each in study.sensitive for f in (study.l_of, study.t_of))]
    return study.sensitive if any(each is not None for each in asked) else ()


def _is_judged(column: Column) -> bool:
    """True if each text of the column has to be looked at: the study says what it may have, or it is generalized."""
    free = column.role is Role.PLAIN or column.role not in _RELEASED
    return not free or column.values is not None or column.missing != "value" or column.kind != "text"


def _map(rows: EngineRows, column: Column, k: int | None) -> list[str]:
    """Reads a column's texts, gives the engine their codes, and returns the labels of the codes.

    Raises InputError for what does not fit, as one reading a table in memory would.
    """
    found = rows.spellings(column.name)
    alone = table.read([pa.record_batch({column.name: pa.array(found.texts, pa.string())})], [column], rows.name)
    counted = Reading(alone.columns, alone.codes, alone.labels, alone.rows, alone.name, found.counts)
    if k is not None:
        table.refuse_exact_ends(counted, column, k)
    table.refuse_unfit(counted, column)
    table.refuse_shortened(counted, column, rows.numeric)
    rows.map_texts(column.name, found.texts, alone.codes[column.name])
    return alone.labels[column.name]


def _in_order(column: Column, labels: Sequence[str], codes: Longs) -> Values:
    """A column's cells as codes of its labels in their order, so that codes depend on no row's position."""
    names = sorted(set(labels))
    place = {label: position for position, label in enumerate(names)}
    lookup = np.array([place[label] for label in labels] or [0], dtype=np.int32)
    return Values(column, lookup[codes], tuple(names))
