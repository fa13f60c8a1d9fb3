"""The values of each column, counted in the engine that has them, and how they are written.

Finds missing values, numbers and dates as people write them, with the evidence, and columns that name a person or
repeat another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from covey import cells
from covey.sources import Source

_MISSING = frozenset({"*", "na", "n/a", "#n/a", "nan", "null", "-", "--", "---", "?", ".", "<na>"})
_MISSING_AMONG_NUMBERS = _MISSING | {"none", "missing", "unknown", "n.a.", "inf", "-inf", "infinity", "n.k."}
_ORDERS = (
    "DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY", "DD-MM-YYYY", "MM-DD-YYYY", "YYYY/MM/DD", "YYYY.MM.DD", "DD-MMM-YYYY",
    "DD MMM YYYY", "MMM DD, YYYY", "MMM DD YYYY",
)  # fmt: skip
_SHORTEST_DATE = 8


@dataclass(frozen=True)
class Spelling:
    """The kind of a column's values, their format where it is not ours, the texts that mean missing, and why."""

    kind: cells.Kind = "text"
    format: str | None = None
    null: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


def spelling(counts: Mapping[str, int]) -> Spelling:
    """The way in which the values are written: as dates, as numbers, else as text."""
    for words in (frozenset[str](), _MISSING, _MISSING_AMONG_NUMBERS):
        null = tuple(sorted(text for text in counts if text.lower() in words))
        values = [text for text in counts if text not in null]
        found = _date(values, counts) or _number(values, counts) if values else None
        if found is not None:
            return Spelling(found.kind, found.format, null, (*found.evidence, *_told(null, counts)))
    null = () if _are_country_codes(counts) else tuple(sorted(text for text in counts if text.lower() in _MISSING))
    mixed = _dates_in_several_ways([text for text in counts if text not in null])
    return Spelling("text", None, null, (*mixed, *_told(null, counts)))


def _told(null: tuple[str, ...], counts: Mapping[str, int]) -> list[str]:
    return [f"{', '.join(null)} in {sum(counts[text] for text in null):,} rows is read as missing"] if null else []


def _are_country_codes(counts: Mapping[str, int]) -> bool:
    """Among codes of two letters, NA is Namibia."""
    return all(len(text) == 2 and text.isalpha() and text.isupper() for text in counts)


def _number(values: list[str], counts: Mapping[str, int]) -> Spelling | None:
    if any(len(value) > 1 and value[0] == "0" and value[1].isdigit() for value in values):
        return None  # a leading zero is that of a code
    if all(cells.number(value) is not None for value in values):
        return Spelling("number")
    fitting = [
        each
        for each in cells.NUMBER_FORMATS
        if all(cells.formatted_number(value, each) is not None for value in values)
    ]
    if not fitting:
        return None
    thousands = "1,234.5" in fitting  # three digits behind every comma, all through the column
    chosen = "1,234.5" if thousands else fitting[0]
    marked = _rows(counts, lambda value: "," in value if "," in chosen else "'" in value)
    doubt = "; it could be a decimal comma too" if thousands and len(fitting) > 1 else ""
    said = "a comma before each three digits" if thousands else f"numbers written as {chosen}"
    return Spelling("number", chosen, (), (f"{said} in {marked:,} rows{doubt}",))


def _date(values: list[str], counts: Mapping[str, int]) -> Spelling | None:
    if all(len(value) >= _SHORTEST_DATE and cells.day(value) is not None for value in values):
        return Spelling("date")
    if min(map(len, values)) < _SHORTEST_DATE:
        return None
    fitting = [order for order in _ORDERS if all(cells.formatted_day(value, order) is not None for value in values)]
    if not fitting:
        return None
    chosen = fitting[0]
    doubt = f"; no day is above 12, so that {fitting[1]} would fit too: check" if len(fitting) > 1 else ""
    return Spelling("date", chosen, (), (f"dates written as {chosen} in {_rows(counts, str.__len__):,} rows{doubt}",))


def _dates_in_several_ways(values: list[str]) -> list[str]:
    """The remark on a column of dates that no one order reads."""
    if values and all(
        len(value) >= _SHORTEST_DATE
        and (cells.day(value) or any(cells.formatted_day(value, order) for order in _ORDERS))
        for value in values
    ):
        return ["these are dates written in several ways: write them in one way, so that months and years are released"]
    return []


def _rows(counts: Mapping[str, int], which: Callable[[str], object]) -> int:
    return sum(count for value, count in counts.items() if which(value))


_FEWEST_PEOPLE = 20  # a column with fewer values than this names no people
_MOST_ROWS_EACH = 50  # rows of one person, on average
_MOST_ROWS = 5_000_000  # of a table that is searched for columns that determine others


@dataclass(frozen=True)
class ColumnValues:
    """The values of one column, counted."""

    name: str
    counts: dict[str, int]  # by clean text, without the empty one
    missing: int

    @property
    def rows(self) -> int:
        return sum(self.counts.values()) + self.missing

    @cached_property
    def spelling(self) -> Spelling:
        """The way in which the values are written."""
        return spelling(self.counts)

    @property
    def texts(self) -> dict[str, int]:
        """The rows of each value as it is written, without missing ones: codes are read as text."""
        return {text: count for text, count in self.counts.items() if text not in self.spelling.null}

    @cached_property
    def known(self) -> dict[str, int]:
        """The rows of each value in its one spelling, without missing ones."""
        found: dict[str, int] = {}
        for text, count in self.texts.items():
            value = cells.canonical(text, self.spelling.kind, self.spelling.format)
            found[value] = found.get(value, 0) + count
        return found

    @property
    def share_unique(self) -> float:
        """The share of rows with a value whose value no other row has."""
        return sum(count == 1 for count in self.known.values()) / max(sum(self.known.values()), 1)


def look(sources: Sequence[Source]) -> list[ColumnValues]:
    """The columns of all sources, in order; a column that several have is counted over all of them."""
    counts: dict[str, dict[str, int]] = {}
    for source in sources:
        for name in source.columns:
            total = counts.setdefault(name, {})
            found, often = source.distinct([name])
            for cell, count in zip(found.column(0).to_pylist(), often.tolist(), strict=True):
                text = cells.MISSING if cell is None else cells.clean(cell)
                total[text] = total.get(text, 0) + count
    return [ColumnValues(name, total, total.pop(cells.MISSING, 0)) for name, total in counts.items()]


def people(source: Source, columns: Sequence[ColumnValues]) -> dict[str, int]:
    """Columns of codes that name somebody who has several rows, with the most rows of one.

    Rows with the same code agree in what does not change of a person: sex, place, year of birth.
    """
    found = {}
    for column in columns:
        often = column.known.values()
        if (
            source.rows > _MOST_ROWS
            or not len(often) >= _FEWEST_PEOPLE
            or not len(often) * 1.5 <= source.rows <= len(often) * _MOST_ROWS_EACH
            or column.spelling.kind == "date"
            or any("." in value for value in column.known)
        ):
            continue
        others = [other for other in columns if other is not column and 1 < len(other.known) < len(often) / 2]
        fixed = sum(_pairs(source, column, other) <= len(column.counts) + bool(column.missing) for other in others)
        if fixed >= 3 and fixed >= 0.4 * len(others):
            found[column.name] = max(often)
    return found


def repeated(source: Source, columns: Sequence[ColumnValues]) -> Iterator[tuple[str, str]]:
    """Columns that say in other words what an earlier one says: a logarithm, a code beside its label."""
    first: dict[tuple[int, ...], list[ColumnValues]] = {}
    for column in columns:
        if len(column.counts) > 2 and source.rows <= _MOST_ROWS:
            known = first.setdefault(tuple(sorted((*column.counts.values(), column.missing))), [])
            same = next((other for other in known if _pairs(source, column, other) <= len(column.counts) + 1), None)
            if same is None:
                known.append(column)
            elif len(column.counts) < 0.9 * source.rows:
                yield column.name, same.name


def _pairs(source: Source, one: ColumnValues, other: ColumnValues) -> int:
    return int(source.distinct([one.name, other.name])[0].num_rows)
