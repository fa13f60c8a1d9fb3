"""A table read once, in a process of its own, into summaries: `python -m covey.ui.look DATA FILE`.

The summaries have counts and guesses, never a row. A value is named only where ten rows or more have it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np

from covey import cells
from covey.arrays import Floats, Longs
from covey.errors import CoveyError, InputError
from covey.files import PRIVATE, write_atomically
from covey.guess import Guess, look_at, refuse_names
from covey.guess.columns import ColumnValues
from covey.plain import plain_lines
from covey.schema import Role
from covey.sources import Source, connect

K = 10
MOST_COLUMNS = 1000
MOST_LISTED = 20_000
VALUES = ".values"
"""The ending of the file with the rows of each value."""
FEW = 10
"""Values that fewer rows have are not named."""
MOST_TOGETHER = 60
_BARS = 12
CHOICES = (Role.QUASI, Role.SENSITIVE, Role.PLAIN, Role.IDENTIFIER)


class ColumnSummary(msgspec.Struct, frozen=True, rename={"largest": "most", "words": "shown"}):
    """One column: what it is like, and what it could be in a study."""

    name: str
    kind: str
    distinct: int
    missing: int
    unique: int
    """Rows whose value no other row has."""
    largest: int
    """Rows that have the most frequent value."""
    bars: list[int]
    """Rows in equal steps of a column of numbers or dates, or of the most frequent values."""
    words: str
    """The bars in words."""
    role: Role
    guesses: dict[Role, Guess]


class TableSummary(msgspec.Struct, frozen=True):
    """One table, as its pages show it."""

    stamp: str
    rows: int
    columns: list[ColumnSummary]
    several: dict[str, int]


class Together(msgspec.Struct, frozen=True, rename={"below_k": "below", "unique_without": "without"}):
    """The power of some columns together to single people out."""

    columns: list[str]
    rows: int
    groups: int
    unique: int
    below_k: int
    """Rows that fewer than k share their values with."""
    unique_without: dict[str, int]
    """By column: the rows that would be unique without it."""


def summarize(source: Source, stamp: str) -> tuple[TableSummary, dict[str, dict[str, int]]]:
    """Reads a table: its summary, and the rows of each value for hierarchies.

    Raises InputError for a table that cannot be read, or has too many columns.
    """
    if len(source.columns) > MOST_COLUMNS:
        raise InputError(
            f"{source.name}: has {len(source.columns):,} columns, more than {MOST_COLUMNS:,}; "
            "write those that a release needs to a table of their own"
        )
    source.require(())
    refuse_names(source)
    looked = look_at(source, K)
    columns = []
    for column, guess in zip(looked.columns, looked.guesses, strict=True):
        guesses = {guess.role: guess} | {
            role: looked.as_role(column, role) for role in CHOICES if role is not guess.role
        }
        columns.append(_column(column, guess.role, guesses))
    values = {column.name: column.known for column in looked.columns if len(column.known) <= MOST_LISTED}
    return TableSummary(stamp, source.rows, columns, looked.several), values


def _column(column: ColumnValues, role: Role, guesses: dict[Role, Guess]) -> ColumnSummary:
    counts = column.known
    kind: str = column.spelling.kind
    if any((guess.hierarchy or "").startswith("{ prefix") for guess in guesses.values()):
        kind = "code"
    bars, words = _steps(column) if kind in ("number", "date") else _frequent(counts)
    if role is Role.IDENTIFIER and kind != "number":
        words = "not shown, as it may name people"
    rows = sum(counts.values())
    return ColumnSummary(
        name=column.name,
        kind=kind,
        distinct=len(counts),
        missing=column.rows - rows,
        unique=sum(count == 1 for count in counts.values()),
        largest=max(counts.values(), default=0),
        bars=bars,
        words=words,
        role=role,
        guesses=guesses,
    )


def _steps(column: ColumnValues) -> tuple[list[int], str]:
    """Rows in equal steps between the ends that ten rows lie beyond."""
    if column.spelling.kind == "date":
        days = ((cells.first_day(text), count) for text, count in column.known.items())
        points = [(float(day.toordinal()), count) for day, count in days if day]
    else:
        points = [(float(cells.number(text) or 0), count) for text, count in column.known.items()]
    points.sort()
    if not points:
        return [], "no values"
    values, counts = np.array([value for value, _ in points]), np.array([count for _, count in points])
    if len(points) <= _BARS:
        return counts.tolist(), f"{len(points)} values"
    edges = np.linspace(values[0], values[-1], _BARS + 1)
    histogram = np.histogram(values, edges, weights=counts)[0].astype(int)
    low, high = _end(values, counts), _end(values[::-1], counts[::-1])
    return histogram.tolist(), f"most lie between {_spell(low, column)} and {_spell(high, column)}"


def _end(values: Floats, counts: Longs) -> float:
    """The first value with ten rows at or before it."""
    return float(values[min(int(np.searchsorted(np.cumsum(counts), FEW)), len(values) - 1)])


def _spell(value: float, column: ColumnValues) -> str:
    if column.spelling.kind == "date":
        from datetime import date

        return str(date.fromordinal(int(value)))
    return f"{value:,.6g}"


def _frequent(counts: Mapping[str, int]) -> tuple[list[int], str]:
    """The most frequent values; named are those that ten rows or more have."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    names = [text if len(text) <= 24 else text[:23] + "…" for text, count in ordered[:3] if count >= FEW]
    bars = [count for _, count in ordered[:_BARS]]
    if not names:
        return bars, "each value has few rows"
    remainder = len(ordered) - len(names)
    return bars, "most often " + ", ".join(names) + (f", and {remainder:,} more" if remainder else "")


def name_together(data: str, stamp: str, columns: Sequence[str]) -> str:
    """The name under which the count of some columns together is kept."""
    return hashlib.sha256("\0".join([data, stamp, *sorted(columns)]).encode()).hexdigest()[:24]


def together(source: Source, columns: Sequence[str]) -> Together:
    """Counts how far these columns together single people out."""
    sizes = source.group_sizes(columns)
    unique = {}
    if 1 < len(columns) <= 20:
        for name in columns:
            groups = source.group_sizes([column for column in columns if column != name])
            unique[name] = int((groups == 1).sum())
    return Together(
        columns=list(columns),
        rows=int(sizes.sum()),
        groups=len(sizes),
        unique=int((sizes == 1).sum()),
        below_k=int(sizes[sizes < K].sum()),
        unique_without=unique,
    )


def _count(source: Source, data: str, stamp: str, columns: Sequence[str], folder: Path) -> None:
    if 0 < len(columns) <= MOST_TOGETHER:
        file = folder / f"{name_together(data, stamp, columns)}.json"
        write_atomically(file, msgspec.json.encode(together(source, columns)), PRIVATE)


def main(arguments: Sequence[str]) -> None:
    """Writes a summary of DATA to FILE, or counts the columns that are named.

    A failure is one sentence.
    """
    data, file, stamp, *columns = arguments
    try:
        source = connect(data)
        if columns:
            _count(source, data, stamp, columns, Path(file).parent)
            return
        summary, values = summarize(source, stamp)
        write_atomically(Path(file + VALUES), msgspec.json.encode(values), PRIVATE)
        write_atomically(Path(file), msgspec.json.encode(summary), PRIVATE)
        columns = [column.name for column in summary.columns if column.role is Role.QUASI]
        with suppress(CoveyError):  # the page counts once more then, and says why it cannot
            _count(source, data, stamp, columns, Path(file).parent)
    except CoveyError as error:
        print(f"covey: {plain_lines(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main(sys.argv[1:])
