"""Missing values, numbers and dates as people write them, found in a column's values, with the evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from covey import cells

_MISSING = frozenset({"na", "n/a", "#n/a", "nan", "null", "-", "--", "---", "?", ".", "<na>"})
_MISSING_AMONG_NUMBERS = _MISSING | {"none", "missing", "unknown", "n.a.", "*", "inf", "-inf", "infinity", "n.k."}
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
    return Spelling("text", None, null, tuple(_told(null, counts)))


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


def _rows(counts: Mapping[str, int], which: Callable[[str], object]) -> int:
    return sum(count for value, count in counts.items() if which(value))
