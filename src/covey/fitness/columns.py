"""Checks of one column: what does not fit the study, and what identifies people if it is published as it is.

Identifiers that HIPAA's Safe Harbor names (45 CFR 164.514(b)(2)) are recognised by a column's name or its cells. A
column is suspected, never convicted: names are words in English and a few other languages, and a cell's form counts
only if nearly all cells have it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey import table
from covey.arrays import Longs
from covey.cells import spell
from covey.errors import counted
from covey.hierarchy import Interval
from covey.measures import diversity_of
from covey.schema import Column, Role
from covey.study import Study

_NEARLY_ALL = 0.9
_LOOKED_AT = 1_000

_BY_CELL = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[a-zA-Z]{2,}"),
    "web addresses": re.compile(r"(https?://|www\.)\S+", re.IGNORECASE),
    "IP addresses": re.compile(
        r"(\d{1,3}\.){3}\d{1,3}|([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|[0-9a-fA-F:]*::[0-9a-fA-F:]*"
    ),
    "social security numbers": re.compile(r"\d{3}-\d{2}-\d{4}"),
    "telephone numbers": re.compile(r"(\+\d{1,3}|\(\d{2,5}\))([ ./-]?\d{2,5}){2,4}"),
    "device or vehicle numbers": re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}|[A-HJ-NPR-Z0-9]{17}"),
}
_BY_NAME = {
    "names": r"((first|last|full|family|given|sur|fore|middle|patient)[ _-]?)?names?|vorname|nachname|nom|prenom",
    "street addresses": r"(street|postal|home|mail(ing)?)?[ _-]?address(es)?|street|strasse|adresse|rue",
    "telephone numbers": r"(tele)?(phone|fax)([ _-]?(no|number))?|mobile|telefon|fax",
    "e-mail addresses": r"e-?mail([ _-]?address)?",
    "social security numbers": r"ssn|social[ _-]?security([ _-]?(no|number))?|national[ _-]?id",
    "medical record numbers": r"mrn|medical[ _-]?record([ _-]?(no|number))?|chart[ _-]?(no|number)",
    "health plan or account numbers": r"(account|policy|member|beneficiary|iban)([ _-]?(no|number|id))?",
    "licence numbers": r"(licen[cs]e|certificate|passport)([ _-]?(no|number))?",
    "device or vehicle numbers": r"(imei|vin|serial|device|licen[cs]e[ _-]?plate)([ _-]?(no|number|id))?",
    "web addresses": r"url|web(site|page)?",
    "IP addresses": r"ip([ _-]?address)?",
    "biometric identifiers": r"fingerprint|voice[ _-]?print|iris|retina",
    "photographs": r"photo(graph)?|portrait|image",
}
_NAMES = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _BY_NAME.items()}


def suspected(name: str, cells: Sequence[str]) -> str | None:
    """The kind of identifier that a column looks like, in the plural, or None."""
    for kind, pattern in _NAMES.items():
        if pattern.fullmatch(name.strip()):
            return kind
    looked_at = [cell for cell in cells[:_LOOKED_AT] if cell]
    for kind, pattern in _BY_CELL.items():
        if looked_at and sum(pattern.fullmatch(cell) is not None for cell in looked_at) >= _NEARLY_ALL * len(looked_at):
            return kind
    return None


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


def column_fit(
    reading: table.Reading, column: Column, study: Study, rows: int, unique: int, *, joint: bool
) -> ColumnFit:
    k = study.privacy.k
    table.refuse_not_finite(reading, column)
    counts = value_counts(reading, column)
    gaps = table.missing(reading, column)
    missing_rows = reading.records(gaps)
    unknown = table.unknown(reading, column)
    return ColumnFit(
        name=column.name,
        role=str(column.role),
        distinct=len(np.unique(reading.codes[column.name][~gaps])),
        missing=missing_rows,
        unknown=dict(sorted(unknown.items(), key=lambda item: (-item[1], item[0]))),
        unique=unique,
        problem=column_problem(column, unknown, missing_rows, int(counts.max(initial=0)))
        or _exact_ends(column, table.exact_ends(reading, column, k), k)
        or identifier_problem(column, reading.labels[column.name])
        or singled_out(column, rows, unique, joint=joint)
        or (None if study.protocol else too_alike(study, column, counts)),
    )


def singled_out(column: Column, rows: int, unique: int, *, joint: bool) -> str | None:
    """Says that a value of one row alone would be published, and lead to that row."""
    allowed = rows <= 1 or not unique or (joint and unique < NEARLY_UNIQUE * rows)
    if allowed or not may_not_single_out(column):
        return None
    return (
        f"rows with a value of their own: {unique:,} of {rows:,}; published as it is, it identifies them. Group rare "
        "values, code those at the ends, make the column an identifier or quasi, or give the reason why it may be "
        'published: singles_out = "…"'
    )


def may_not_single_out(column: Column) -> bool:
    """True for a column published as it is, without a reason why values may single out."""
    return column.released and column.role is not Role.QUASI and column.singles_out is None


def identifier_problem(column: Column, labels: Sequence[str]) -> str | None:
    """A column that is published as it is must not look like an identifier."""
    if not may_not_single_out(column) or (kind := suspected(column.name, labels)) is None:
        return None
    return (
        f"it looks like {kind}, which HIPAA's Safe Harbor counts as identifiers, and is published as it is; "
        'make it an identifier, or give the reason why it may be published: singles_out = "…"'
    )


def too_alike(study: Study, column: Column, counts: Longs) -> str | None:
    """Says that the column's l cannot be kept, because the whole table does not keep it."""
    limit = study.l_of(column) if column.role is Role.SENSITIVE else None
    diversity = diversity_of(counts, study.privacy.diversity)
    if limit is None or diversity >= limit:
        return None
    return (
        f"l = {limit:g} ({study.privacy.diversity}) cannot be kept: the whole table reaches "
        f"{math.floor(diversity * 100) / 100:g}; lower l to that, or merge values"
    )


def _exact_ends(column: Column, rows: int, k: int) -> str | None:
    if not rows or not isinstance(column.hierarchy, Interval):
        return None
    return (
        f"all its values are multiples of its step, {spell(column.hierarchy.step)}, and {rows:,} rows have one that "
        f"fewer than k = {k} have: intervals would end at exact values; give a larger step"
    )


def column_problem(column: Column, unknown: dict[str, int], missing_rows: int, rows_of_key: int) -> str | None:
    if unknown:
        values = "1 value" if len(unknown) == 1 else f"{len(unknown):,} values"
        return counted(f"its {table.domain(column)} lacks {values}, found in {sum(unknown.values()):,} rows")
    if missing_rows and column.missing == "error":
        return counted(f'{missing_rows:,} rows have no value and the study says missing = "error"')
    if column.role is Role.KEY and rows_of_key > 1:
        return "a key stands in more than one row; a vertical study has one row per key"
    if column.role is Role.KEY and missing_rows:
        return counted(f"{missing_rows:,} rows have no key")
    return None


def value_counts(reading: table.Reading, column: Column) -> Longs:
    """The number of rows that have each of the column's values."""
    return table.tally(reading.codes[column.name], len(reading.labels[column.name]), reading.counts)
