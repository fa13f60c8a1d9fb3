"""Checks a party's data against the study: what does not fit, what identifies, and how exposed the records are.

Everything is computed on the owner's machine and shown to the owner only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from covey.errors import InputError, counted
from covey.fitness.columns import ColumnFit, may_not_single_out, too_alike, value_counts
from covey.fitness.tables import CheckedTable, InMemory, OnEngine
from covey.plain import Shown
from covey.schema import OTHER, Column, Role
from covey.sources import Source
from covey.sources.engine import EngineRows
from covey.study import Study, insiders

__all__ = ["ColumnFit", "Fitness", "OriginalRisk", "Separation", "check"]

_MOST_SETS = 120  # columns and pairs that are looked at


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
        for name, problem in [("table", self.problem), *((column.name, column.problem) for column in self.columns)]:
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
    checked: CheckedTable
    if isinstance(source, EngineRows):
        checked = OnEngine(source, columns, empty=allowed)
    else:
        checked = InMemory(source, columns, empty=allowed)
    names = {column.name for column in columns}
    joint = study.protocol is not None and study.partition == "horizontal"
    fits = tuple(checked.fit(column, study, joint=joint) for column in columns)
    return Fitness(
        source=source.name,
        rows=checked.rows,
        dropped=checked.rows - checked.kept,
        columns=fits,
        ignored=tuple(name for name in source.columns if name not in names),
        risk=_risk(checked, study.privacy.k),
        notes=(
            *_notes(study, checked.kept, one_owner=party is None),
            *(_unique_values(columns, fits, checked.kept) if joint else ()),
            *_unlisted(checked),
            *_alone(study, checked),
        ),
        problem=_too_few(study, checked.kept) if party is None else _too_many(study, checked.kept),
        separating=_separating(checked),
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


def _unique_values(columns: Sequence[Column], fits: Sequence[ColumnFit], rows: int) -> Iterator[str]:
    """Notes on values that only one row of this party has."""
    for column, fit in zip(columns, fits, strict=True):
        if fit.unique and fit.problem is None and rows > 1 and may_not_single_out(column):
            yield (
                f"column {column.name!r}: rows with a value that no other row here has: {fit.unique:,} of {rows:,}; "
                "unless rows of other parties have it too, it singles people out and nothing will be released"
            )


def _risk(checked: CheckedTable, k: int) -> OriginalRisk | None:
    quasi = [column.name for column in checked.columns if column.role is Role.QUASI]
    if not quasi or not checked.kept:
        return None
    group_sizes = checked.sizes(quasi)
    small = group_sizes.sizes < k
    return OriginalRisk(
        tuples=group_sizes.number,
        unique=group_sizes.alone,
        below_k=int((group_sizes.sizes * group_sizes.groups)[small].sum()),
        highest=1.0 / int(group_sizes.sizes.min()),
    )


def _separating(checked: CheckedTable) -> tuple[Separation, ...]:
    """The power of single columns and of pairs of them to tell records apart."""
    rows, results = checked.kept, []
    for names in checked.chosen()[:_MOST_SETS] if rows > 1 else ():
        group_sizes = checked.sizes(names)
        sizes = group_sizes.sizes.astype(np.float64)
        alike = float((group_sizes.groups * sizes * (sizes - 1)).sum())
        results.append(Separation(names, group_sizes.number / rows, 1 - alike / (rows * (rows - 1))))
    return tuple(sorted(results, key=lambda result: (-result.distinctness, result.columns)))


def _alone(study: Study, checked: CheckedTable) -> Iterator[str]:
    """Notes on what this party's rows cannot keep by themselves; with the others' they may."""
    for column in checked.columns if study.protocol else ():
        reading = checked.reading(column) if column.role is Role.SENSITIVE else None
        if reading is not None and (problem := too_alike(study, column, value_counts(reading, column))):
            yield f"alone, column {column.name!r}: {problem}"


def _unlisted(checked: CheckedTable) -> Iterator[str]:
    """Says how many rows have a value that becomes `other`."""
    for column in checked.columns:
        reading = checked.reading(column) if column.unlisted == OTHER else None
        if reading is not None and OTHER in reading.labels[column.name]:
            rows = int(value_counts(reading, column)[reading.labels[column.name].index(OTHER)])
            yield counted(f"{column.name}: {rows:,} rows have a value that the study does not list, read as {OTHER!r}")


def _notes(study: Study, rows: int, *, one_owner: bool) -> tuple[str, ...]:
    notes = [f"WARNING: {sentence}" for sentence in insiders.warning(study)]
    if one_owner and (problem := _too_many(study, rows)):
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
