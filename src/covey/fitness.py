"""Checks a party's data against the study: what does not fit, what identifies, and how exposed the records are.

Everything is computed on the owner's machine and shown to the owner only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from covey import table
from covey.arrays import Longs
from covey.cells import spell
from covey.errors import InputError, counted
from covey.hierarchy import Interval
from covey.identifiers import suspected
from covey.measures import diversity_of
from covey.plain import Shown
from covey.schema import Column, Role
from covey.sources import Source
from covey.study import Study, insiders

_MOST_SETS = 120  # columns and pairs that are looked at
NEARLY_UNIQUE = 0.5  # a plain column identifies if this part of its rows, or more, have a value of their own


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


def check(study: Study, source: Source, party: str | None = None) -> Fitness:
    """Compares a source with the study. Raises InputError for a missing column, no rows, NaN or infinities."""
    if party is not None:
        study.party(party)
    elif study.partition == "vertical":
        raise InputError("say whose data it is with --as PARTY: each party holds other columns in a vertical study")
    columns = study.held_by(party)
    if not columns:
        raise InputError(f"party {party!r} holds no columns in this study: it has no data to check")
    allowed = party is not None and study.declared is not None and not study.declared.empty
    reading = table.read_source(source, columns, empty=allowed)
    fits = tuple(_column(reading, column, study) for column in columns)
    keep = np.ones(reading.rows, dtype=bool)
    for column in columns:
        if column.missing == "drop":
            keep &= ~table.missing(reading, column)
    named = {column.name for column in columns}
    return Fitness(
        source=source.name,
        rows=reading.rows,
        dropped=int((~keep).sum()),
        columns=fits,
        ignored=tuple(name for name in source.columns if name not in named),
        risk=_risk(reading, study.privacy.k, keep),
        notes=(*_notes(study, int(keep.sum()), whole=party is None), *_alone(study, reading)),
        problem=_too_few(study, int(keep.sum())) if party is None else _too_many(study, int(keep.sum())),
        separating=_separating(reading, keep),
    )


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


def _column(reading: table.Reading, column: Column, study: Study) -> ColumnFit:
    k = study.privacy.k
    table.refuse_not_finite(reading, column)
    counts = np.bincount(reading.codes[column.name], minlength=len(reading.labels[column.name]))
    lacking = table.missing(reading, column)
    present = counts[counts > 0]
    unknown = table.unknown(reading, column)
    unique = int((counts == 1).sum())
    return ColumnFit(
        name=column.name,
        role=str(column.role),
        distinct=len(np.unique(reading.codes[column.name][~lacking])),
        missing=int(lacking.sum()),
        unknown=dict(sorted(unknown.items(), key=lambda item: (-item[1], item[0]))),
        unique=unique,
        problem=_problem(column, reading.rows, unknown, int(lacking.sum()), unique, int(present.max(initial=0)))
        or _exact_ends(column, table.exact_ends(reading, column, k), k)
        or _identifier(column, reading.labels[column.name])
        or (None if study.protocol else _too_alike(study, column, counts)),
    )


def _identifier(column: Column, labels: Sequence[str]) -> str | None:
    """A column that is published as it is must not look like an identifier."""
    exact = column.role in (Role.PLAIN, Role.SENSITIVE)
    if not exact or column.identifies is not None or (kind := suspected(column.name, labels)) is None:
        return None
    return (
        f"it looks like {kind}, which HIPAA's Safe Harbor counts as identifiers, and is published as it is; "
        "make it an identifier, or say identifies = false"
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


def _problem(column: Column, rows: int, unknown: dict[str, int], lacking: int, unique: int, most: int) -> str | None:
    if unknown:
        values = "1 value" if len(unknown) == 1 else f"{len(unknown):,} values"
        return counted(f"its {table.domain(column)} lacks {values}, found in {sum(unknown.values()):,} rows")
    if lacking and column.missing == "error":
        return counted(f'{lacking:,} rows have no value and the study says missing = "error"')
    if column.role is Role.KEY and most > 1:
        return "a key stands in more than one row; a vertical study has one row per key"
    if column.role is Role.KEY and lacking:
        return counted(f"{lacking:,} rows have no key")
    if column.role is Role.PLAIN and column.identifies is None and rows > 1 and unique >= NEARLY_UNIQUE * rows:
        return (
            f"{unique:,} of {rows:,} rows have a value of their own: published as it is, it identifies; "
            "make it an identifier or quasi, or say identifies = false"
        )
    return None


def _risk(reading: table.Reading, k: int, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> OriginalRisk | None:
    quasi = [reading.codes[column.name][keep] for column in reading.columns if column.role is Role.QUASI]
    rows = int(keep.sum())
    if not quasi or not rows:
        return None
    groups, first = table.group(quasi, rows)
    sizes = np.bincount(groups, minlength=len(first))
    return OriginalRisk(
        tuples=len(first),
        unique=int((sizes == 1).sum()),
        below_k=int(sizes[sizes < k].sum()),
        highest=1.0 / int(sizes.min()),
    )


def _separating(reading: table.Reading, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[Separation, ...]:
    """Single columns and pairs of them, quasi and plain."""
    rows = int(keep.sum())
    known = [column.name for column in reading.columns if column.role in (Role.QUASI, Role.PLAIN)]
    chosen = [*((name,) for name in known), *combinations(known, 2)] if rows > 1 else []
    found = []
    for names in chosen[:_MOST_SETS]:
        groups, first = table.group([reading.codes[name][keep] for name in names], rows)
        sizes = np.bincount(groups, minlength=len(first)).astype(np.float64)
        alike = float((sizes * (sizes - 1)).sum())
        found.append(Separation(names, len(first) / rows, 1 - alike / (rows * (rows - 1))))
    return tuple(sorted(found, key=lambda each: (-each.distinctness, each.columns)))


def _alone(study: Study, reading: table.Reading) -> Iterator[str]:
    """Notes on what this party's rows cannot keep by themselves; with the others' they may."""
    for column in reading.columns if study.protocol else ():
        if column.role is Role.SENSITIVE:
            codes, labels = reading.codes[column.name], reading.labels[column.name]
            if problem := _too_alike(study, column, np.bincount(codes, minlength=len(labels))):
                yield f"alone, column {column.name!r}: {problem}"


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
