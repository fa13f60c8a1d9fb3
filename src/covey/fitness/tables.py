"""A table as a check sees it: in memory, or on an engine, which counts the texts of each column and groups of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from covey import table
from covey.arrays import Longs
from covey.cells import MISSING
from covey.fitness.columns import ColumnFit, column_fit, column_problem, identifier_problem, singled_out
from covey.schema import Column, Role
from covey.sources import Source
from covey.sources.engine import EngineRows, GroupedColumns
from covey.study import Study


@dataclass(frozen=True)
class GroupSizes:
    """The different sizes of groups of equal rows, and how many groups have each."""

    sizes: Longs
    groups: Longs

    @property
    def number(self) -> int:
        """The number of groups."""
        return int(self.groups.sum())

    @property
    def alone(self) -> int:
        """The number of groups of a single row."""
        return int(self.groups[self.sizes == 1].sum())


class CheckedTable(ABC):
    """A table under a check: its rows, and how many of them are not dropped."""

    def __init__(self, columns: Sequence[Column], rows: int, rows_kept: int) -> None:
        self.columns, self.rows, self.kept = columns, rows, rows_kept

    @abstractmethod
    def reading(self, column: Column) -> table.Reading | None:
        """The column's values, dropped rows included; None where there are too many to be read."""

    @abstractmethod
    def sizes(self, names: Sequence[str]) -> GroupSizes:
        """The sizes of the groups of kept rows that have equal cells in these columns."""

    @abstractmethod
    def fit(self, column: Column, study: Study, *, joint: bool) -> ColumnFit:
        """The result of the check of one column. `joint` hold rows too, and may have its values."""

    def unique(self, column: Column) -> int:
        """The number of rows that are not dropped and whose value no other has."""
        return self.sizes([column.name]).alone if self.kept else 0

    def chosen(self) -> list[tuple[str, ...]]:
        """The quasi and plain columns, and the pairs of them, that may tell records apart."""
        candidates = [column.name for column in self.columns if column.role in (Role.QUASI, Role.PLAIN)]
        return [*((name,) for name in candidates), *combinations(candidates, 2)]


class InMemory(CheckedTable):
    """A table that is read as a whole."""

    def __init__(self, source: Source, columns: Sequence[Column], *, empty: bool) -> None:
        self._reading = table.read_source(source, columns, empty=empty)
        self._keep = np.ones(self._reading.rows, dtype=bool)
        for column in columns:
            if column.missing == "drop":
                self._keep &= ~table.missing(self._reading, column)
        super().__init__(columns, self._reading.rows, int(self._keep.sum()))

    def reading(self, column: Column) -> table.Reading:
        return self._reading

    def fit(self, column: Column, study: Study, *, joint: bool) -> ColumnFit:
        return column_fit(self._reading, column, study, self.kept, self.unique(column), joint=joint)

    def sizes(self, names: Sequence[str]) -> GroupSizes:
        groups, first = table.group([self._reading.codes[name][self._keep] for name in names], self.kept)
        sizes, numbers = np.unique(np.bincount(groups, minlength=len(first)), return_counts=True)
        return GroupSizes(sizes.astype(np.int64), numbers.astype(np.int64))


class OnEngine(CheckedTable):
    """A table whose rows stay on an engine, which counts texts and groups of rows.

    Of columns that the study leaves free and that have very many texts only numbers come out, and pairs are checked at
    among quasi columns alone.
    """

    def __init__(self, rows: EngineRows, columns: Sequence[Column], *, empty: bool) -> None:
        rows.require([column.name for column in columns], empty=empty)
        self._engine = rows
        skipped = rows.many_spellings([column.name for column in columns if not table.is_judged(column)])
        self._readings: dict[str, table.Reading] = {}
        for column in columns:
            if column.name not in skipped:
                spellings = rows.spellings(column.name)
                read = table.read_texts(spellings.texts, spellings.counts, column, rows.name)
                table.refuse_shortened(read, column, rows.numeric)
                rows.map_texts(column.name, spellings.texts, read.codes[column.name])
                self._readings[column.name] = read
        dropped = [column.name for column in columns if column.missing == "drop"]
        labels = {name: self._readings[name].labels[name] for name in dropped}
        dropping = {name: texts.index(MISSING) for name, texts in labels.items() if MISSING in texts}
        quasi = [column.name for column in columns if column.role is Role.QUASI]
        rows.group(GroupedColumns(quasi, dropping))
        group_sizes = self.sizes(quasi)
        super().__init__(columns, rows.count(), int((group_sizes.sizes * group_sizes.groups).sum()))

    def reading(self, column: Column) -> table.Reading | None:
        return self._readings.get(column.name)

    def sizes(self, names: Sequence[str]) -> GroupSizes:
        return GroupSizes(*self._engine.group_sizes(names))

    def fit(self, column: Column, study: Study, *, joint: bool) -> ColumnFit:
        reading, unique = self.reading(column), self.unique(column)
        if reading is None:
            return self._numbers(column, unique, joint=joint)
        return column_fit(reading, column, study, self.kept, unique, joint=joint)

    def _numbers(self, column: Column, unique: int, *, joint: bool) -> ColumnFit:
        """The result for a column of which only numbers are known."""
        group_sizes = GroupSizes(*self._engine.group_sizes([column.name], {}))
        missing_rows, spellings = self._engine.having(column.name, sorted({MISSING, *column.null}))
        sample = [column.read(text) for text in self._engine.some_texts(column.name)]
        return ColumnFit(
            name=column.name,
            role=str(column.role),
            distinct=group_sizes.number - spellings,
            missing=missing_rows,
            unknown={},
            unique=unique,
            problem=column_problem(column, {}, missing_rows, int(group_sizes.sizes.max(initial=0)))
            or identifier_problem(column, sample)
            or singled_out(column, self.kept, unique, joint=joint),
        )

    def chosen(self) -> list[tuple[str, ...]]:
        plain = {column.name for column in self.columns if column.role is Role.PLAIN}
        return [names for names in super().chosen() if len(names) == 1 or plain.isdisjoint(names)]
