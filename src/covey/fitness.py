"""Checks a party's data against the study: what does not fit, what identifies, and how exposed the records are.

Everything is computed on the owner's machine and shown to the owner only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from covey import table
from covey.arrays import Longs
from covey.cells import MISSING, spell
from covey.errors import InputError, counted
from covey.hierarchy import Interval
from covey.identifiers import suspected
from covey.measures import diversity_of
from covey.plain import Shown
from covey.schema import OTHER, Column, Role
from covey.sources import Source
from covey.sources.engine import EngineRows, GroupedColumns
from covey.study import Study, insiders

_MOST_SETS = 120  # columns and pairs that are looked at
NEARLY_UNIQUE = 0.5
"""An exact column of one party of several identifies if this part of its rows, or more, have a value of their own."""


@dataclass(frozen=True)
class ColumnFit:
    """The result of the check of one column."""

    name: str
    role: str
    distinct: int  # values, without the missing one
    missing: int
    unknown: dict[str, int]  # values that the column's domain does not have, with their rows
    unique: int  # rows whose value nobody else has
    problem: str | None


@dataclass(frozen=True)
class OriginalRisk:
    """The exposure of the original records to somebody who knows the quasi columns."""

    tuples: int
    unique: int  # records that nobody else shares their quasi columns with
    below_k: int  # records that share them with fewer than k
    highest: float  # the chance to single out the most exposed record


@dataclass(frozen=True)
class Separation:
    """The power of some columns to tell records apart (Motwani and Xu 2007)."""

    columns: tuple[str, ...]
    distinctness: float  # different tuples, as a part of the records
    separation: float  # pairs of records that differ, as a part of all pairs


@dataclass(frozen=True, repr=False)
class Fitness(Shown):
    """The result of a check."""

    source: str
    rows: int
    dropped: int
    columns: tuple[ColumnFit, ...]
    ignored: tuple[str, ...]  # columns of the data that the study does not name
    risk: OriginalRisk | None
    notes: tuple[str, ...]
    problem: str | None = None  # of the table as a whole
    separating: tuple[Separation, ...] = ()  # columns and pairs that a stranger may know, the most distinct first

    def _shown(self) -> Iterator[tuple[str, str]]:
        yield "fit", "yes" if self.fit else "no"
        yield "rows", f"{self.rows:,}"
        for name, problem in [("table", self.problem), *((each.name, each.problem) for each in self.columns)]:
            if problem:
                yield name, problem
        if self.risk is not None:
            yield "unique records", f"{self.risk.unique:,}"

    @property
    def fit(self) -> bool:
        """True if neither the table nor a column has a problem."""
        return not self.problem and not any(column.problem for column in self.columns)

    def __bool__(self) -> bool:
        return self.fit


def check(study: Study, source: Source | EngineRows, party: str | None = None) -> Fitness:
    """Compares a table, in memory or on an engine, with the study.

    Raises InputError for a missing column, no rows, NaN or infinities. On an engine the rows stay there.
    """
    if party is not None:
        study.party(party)
    elif study.partition == "vertical":
        raise InputError("say whose data it is with --as PARTY: each party holds other columns in a vertical study")
    columns = study.held_by(party)
    if not columns:
        raise InputError(f"party {party!r} holds no columns in this study: it has no data to check")
    allowed = party is not None and study.declared is not None and not study.declared.empty
    looked: _Looked
    if isinstance(source, EngineRows):
        looked = _OnEngine(source, columns, empty=allowed)
    else:
        looked = _InMemory(source, columns, empty=allowed)
    named = {column.name for column in columns}
    others = study.protocol is not None and study.partition == "horizontal"
    fits = tuple(looked.fit(column, study, others=others) for column in columns)
    return Fitness(
        source=source.name,
        rows=looked.rows,
        dropped=looked.rows - looked.kept,
        columns=fits,
        ignored=tuple(name for name in source.columns if name not in named),
        risk=_risk(looked, study.privacy.k),
        notes=(
            *_notes(study, looked.kept, whole=party is None),
            *_unlisted(looked),
            *(_of_own_values(columns, fits, looked.kept) if others else ()),
            *_unlisted(looked),
            *_alone(study, looked),
        ),
        problem=_too_few(study, looked.kept) if party is None else _too_many(study, looked.kept),
        separating=_separating(looked),
    )


@dataclass(frozen=True)
class _GroupSizes:
    """The different sizes of groups of rows that are alike, and how many groups have each."""

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


class _Looked(ABC):
    """A table as a check looks at it: its rows, and how many of them are not dropped for want of a value."""

    def __init__(self, columns: Sequence[Column], rows: int, kept: int) -> None:
        self.columns, self.rows, self.kept = columns, rows, kept

    @abstractmethod
    def reading(self, column: Column) -> table.Reading | None:
        """The column's values, dropped rows included; None where there are too many to be read."""

    @abstractmethod
    def sizes(self, names: Sequence[str]) -> _GroupSizes:
        """The sizes of the groups of kept rows that have equal cells in these columns."""

    @abstractmethod
    def fit(self, column: Column, study: Study, *, others: bool) -> ColumnFit:
        """The result of the check of one column; `others` hold rows too, and may have its values."""

    def unique(self, column: Column) -> int:
        """The number of rows that are not dropped and whose value no other has."""
        return self.sizes([column.name]).alone if self.kept else 0

    def chosen(self) -> list[tuple[str, ...]]:
        """The columns and pairs whose power to tell records apart is looked at: quasi and plain."""
        known = [column.name for column in self.columns if column.role in (Role.QUASI, Role.PLAIN)]
        return [*((name,) for name in known), *combinations(known, 2)]


class _InMemory(_Looked):
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

    def fit(self, column: Column, study: Study, *, others: bool) -> ColumnFit:
        return _column(self._reading, column, study, self.kept, self.unique(column), others=others)

    def sizes(self, names: Sequence[str]) -> _GroupSizes:
        groups, first = table.group([self._reading.codes[name][self._keep] for name in names], self.kept)
        sizes, often = np.unique(np.bincount(groups, minlength=len(first)), return_counts=True)
        return _GroupSizes(sizes.astype(np.int64), often.astype(np.int64))


class _OnEngine(_Looked):
    """A table whose rows stay on an engine, which counts: the texts of each column, and groups of rows.

    Of columns that the study leaves free and that have very many texts only numbers come out, and pairs are looked at
    among quasi columns alone.
    """

    def __init__(self, rows: EngineRows, columns: Sequence[Column], *, empty: bool) -> None:
        rows.require([column.name for column in columns], empty=empty)
        self._engine = rows
        many = rows.many_spellings([column.name for column in columns if not table.is_judged(column)])
        self._readings: dict[str, table.Reading] = {}
        for column in columns:
            if column.name not in many:
                found = rows.spellings(column.name)
                read = table.read_texts(found.texts, found.counts, column, rows.name)
                table.refuse_shortened(read, column, rows.numeric)
                rows.map_texts(column.name, found.texts, read.codes[column.name])
                self._readings[column.name] = read
        dropped = [column.name for column in columns if column.missing == "drop"]
        labels = {name: self._readings[name].labels[name] for name in dropped}
        dropping = {name: own.index(MISSING) for name, own in labels.items() if MISSING in own}
        quasi = [column.name for column in columns if column.role is Role.QUASI]
        rows.group(GroupedColumns(quasi, dropping))
        kept = self.sizes(quasi)
        super().__init__(columns, rows.count(), int((kept.sizes * kept.groups).sum()))

    def reading(self, column: Column) -> table.Reading | None:
        return self._readings.get(column.name)

    def sizes(self, names: Sequence[str]) -> _GroupSizes:
        return _GroupSizes(*self._engine.group_sizes(names))

    def fit(self, column: Column, study: Study, *, others: bool) -> ColumnFit:
        reading, unique = self.reading(column), self.unique(column)
        if reading is None:
            return self._numbers(column, unique, others=others)
        return _column(reading, column, study, self.kept, unique, others=others)

    def _numbers(self, column: Column, unique: int, *, others: bool) -> ColumnFit:
        """The result for a column of which only numbers are known."""
        found = _GroupSizes(*self._engine.group_sizes([column.name], {}))
        lacking, spellings = self._engine.having(column.name, sorted({MISSING, *column.null}))
        some = [column.read(text) for text in self._engine.some_texts(column.name)]
        return ColumnFit(
            name=column.name,
            role=str(column.role),
            distinct=found.number - spellings,
            missing=lacking,
            unknown={},
            unique=unique,
            problem=_problem(column, {}, lacking, int(found.sizes.max(initial=0)))
            or _identifier(column, some)
            or _singled_out(column, self.kept, unique, others=others),
        )

    def chosen(self) -> list[tuple[str, ...]]:
        plain = {column.name for column in self.columns if column.role is Role.PLAIN}
        return [names for names in super().chosen() if len(names) == 1 or plain.isdisjoint(names)]


def _too_few(study: Study, rows: int) -> str | None:
    """Says that one owner's rows cannot keep k."""
    if study.protocol is not None or rows >= study.privacy.k:
        return None
    return f"k = {study.privacy.k} cannot be kept by {rows:,} rows: lower k, or add rows"


def _too_many(study: Study, rows: int) -> str | None:
    if study.rows_at_most is None or rows <= study.rows_at_most:
        return None
    return (
        f"it has {rows:,} rows, more than rows_at_most = {study.rows_at_most:,}: raise it in [study], for all parties"
    )


def _column(reading: table.Reading, column: Column, study: Study, kept: int, unique: int, *, others: bool) -> ColumnFit:
    k = study.privacy.k
    table.refuse_not_finite(reading, column)
    counts = _often(reading, column)
    gaps = table.missing(reading, column)
    lacking = reading.records(gaps)
    unknown = table.unknown(reading, column)
    return ColumnFit(
        name=column.name,
        role=str(column.role),
        distinct=len(np.unique(reading.codes[column.name][~gaps])),
        missing=lacking,
        unknown=dict(sorted(unknown.items(), key=lambda item: (-item[1], item[0]))),
        unique=unique,
        problem=_problem(column, unknown, lacking, int(counts.max(initial=0)))
        or _exact_ends(column, table.exact_ends(reading, column, k), k)
        or _identifier(column, reading.labels[column.name])
        or _singled_out(column, kept, unique, others=others)
        or (None if study.protocol else _too_alike(study, column, counts)),
    )


def _often(reading: table.Reading, column: Column) -> Longs:
    """The number of rows that have each of the column's values."""
    return table.tally(reading.codes[column.name], len(reading.labels[column.name]), reading.counts)


def _identifier(column: Column, labels: Sequence[str]) -> str | None:
    """A column that is published as it is must not look like an identifier."""
    if not _may_not_single_out(column) or (kind := suspected(column.name, labels)) is None:
        return None
    return (
        f"it looks like {kind}, which HIPAA's Safe Harbor counts as identifiers, and is published as it is; "
        'make it an identifier, or give the reason why it may be published: singles_out = "…"'
    )


def _may_not_single_out(column: Column) -> bool:
    """True for a column that is published as it is, without a reason why one row alone may bear a value of it."""
    return column.released and column.role is not Role.QUASI and column.singles_out is None


def _singled_out(column: Column, rows: int, unique: int, *, others: bool) -> str | None:
    """A value that one row alone bears would be published as it is, and lead to that row."""
    allowed = rows <= 1 or not unique or (others and unique < NEARLY_UNIQUE * rows)
    if allowed or not _may_not_single_out(column):
        return None
    return (
        f"rows with a value of their own: {unique:,} of {rows:,}; published as it is, it identifies them. Group rare "
        "values, code those at the ends, make the column an identifier or quasi, or give the reason why it may be "
        'published: singles_out = "…"'
    )


def _of_own_values(columns: Sequence[Column], fits: Sequence[ColumnFit], rows: int) -> Iterator[str]:
    """Notes on values that one row of this party bears, and perhaps a row of another party."""
    for column, found in zip(columns, fits, strict=True):
        if found.unique and found.problem is None and rows > 1 and _may_not_single_out(column):
            yield (
                f"column {column.name!r}: rows with a value that no other row here has: {found.unique:,} of {rows:,}; "
                "unless rows of other parties have it too, it singles people out and nothing will be released"
            )


def _too_alike(study: Study, column: Column, counts: Longs) -> str | None:
    """Says that the column's l cannot be kept: what the whole table as one class does not keep, no release does."""
    asked = study.l_of(column) if column.role is Role.SENSITIVE else None
    reached = diversity_of(counts, study.privacy.diversity)
    if asked is None or reached >= asked:
        return None
    return (
        f"l = {asked:g} ({study.privacy.diversity}) cannot be kept: the whole table reaches "
        f"{math.floor(reached * 100) / 100:g}; lower l to that, or merge values"
    )


def _exact_ends(column: Column, rows: int, k: int) -> str | None:
    if not rows or not isinstance(column.hierarchy, Interval):
        return None
    return (
        f"all its values are multiples of its step, {spell(column.hierarchy.step)}, and {rows:,} rows have one that "
        f"fewer than k = {k} have: intervals would end at exact values; give a larger step"
    )


def _problem(column: Column, unknown: dict[str, int], lacking: int, most: int) -> str | None:
    if unknown:
        values = "1 value" if len(unknown) == 1 else f"{len(unknown):,} values"
        return counted(f"its {table.domain(column)} lacks {values}, found in {sum(unknown.values()):,} rows")
    if lacking and column.missing == "error":
        return counted(f'{lacking:,} rows have no value and the study says missing = "error"')
    if column.role is Role.KEY and most > 1:
        return "a key stands in more than one row; a vertical study has one row per key"
    if column.role is Role.KEY and lacking:
        return counted(f"{lacking:,} rows have no key")
    return None


def _risk(looked: _Looked, k: int) -> OriginalRisk | None:
    quasi = [column.name for column in looked.columns if column.role is Role.QUASI]
    if not quasi or not looked.kept:
        return None
    found = looked.sizes(quasi)
    few = found.sizes < k
    return OriginalRisk(
        tuples=found.number,
        unique=found.alone,
        below_k=int((found.sizes * found.groups)[few].sum()),
        highest=1.0 / int(found.sizes.min()),
    )


def _separating(looked: _Looked) -> tuple[Separation, ...]:
    """The power of single columns and of pairs of them to tell records apart."""
    rows, found = looked.kept, []
    for names in looked.chosen()[:_MOST_SETS] if rows > 1 else ():
        own = looked.sizes(names)
        sizes = own.sizes.astype(np.float64)
        alike = float((own.groups * sizes * (sizes - 1)).sum())
        found.append(Separation(names, own.number / rows, 1 - alike / (rows * (rows - 1))))
    return tuple(sorted(found, key=lambda each: (-each.distinctness, each.columns)))


def _alone(study: Study, looked: _Looked) -> Iterator[str]:
    """Notes on what this party's rows cannot keep by themselves; with the others' they may."""
    for column in looked.columns if study.protocol else ():
        reading = looked.reading(column) if column.role is Role.SENSITIVE else None
        if reading is not None and (problem := _too_alike(study, column, _often(reading, column))):
            yield f"alone, column {column.name!r}: {problem}"


def _unlisted(looked: _Looked) -> Iterator[str]:
    """Says how many rows have a value that the study does not list, where it becomes `other`."""
    for column in looked.columns:
        reading = looked.reading(column) if column.unlisted == OTHER else None
        if reading is not None and OTHER in reading.labels[column.name]:
            rows = int(_often(reading, column)[reading.labels[column.name].index(OTHER)])
            yield counted(f"{column.name}: {rows:,} rows have a value that the study does not list, read as {OTHER!r}")


def _notes(study: Study, rows: int, *, whole: bool) -> tuple[str, ...]:
    notes = [f"WARNING: {sentence}" for sentence in insiders.warning(study)]
    if whole and (problem := _too_many(study, rows)):
        notes.append(f"as one party's data it could not be used: {problem}")
    if rows < study.privacy.k and study.protocol is not None:
        notes.append(f"{rows:,} rows are fewer than k = {study.privacy.k}: alone, nothing of them could be published")
    open_columns = [column.name for column in study.quasi if not column.closed]
    if open_columns and study.protocol is not None:
        notes.append(
            f"the study does not list the domain of {', '.join(open_columns)}: parties cannot compute over it jointly; "
            "give its `values`, or a hierarchy file"
        )
    return tuple(map(counted, notes))
