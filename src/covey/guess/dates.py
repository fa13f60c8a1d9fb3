"""Dates in the cells of a column, in the format that reads nearly all rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from heapq import nlargest

from covey import cells

ENOUGH = 0.98  # of the rows: a format that reads fewer is not the column's
_FULL = 0.95  # of the rows with a date have its finest unit: the others are read as missing
_SOME = 0.2  # of the rows have a day, where others lack it
_FEW = 0.05  # of the rows are in an order, where cells are in several
_MOST_SPAN = 50  # years that dates with years to come may span less
_SAMPLE = 200
_MOST_ORDERS = 3
_YEARS = range(1850, 2151)  # that dates without marks may name

_DAYS = (
    "YYYY-MM-DD", "DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY", "DD-MM-YYYY", "MM-DD-YYYY", "YYYY/MM/DD", "YYYY.MM.DD",
    "DD-MMM-YYYY", "DD MMM YYYY", "DD. MMM YYYY", "DD/MMM/YYYY", "DDMMMYYYY", "MMM DD, YYYY", "MMM DD YYYY",
    "DD de MMM de YYYY", "YYYY-MMM-DD", "DD MM YYYY", "YYYYMMDD", "YYYY年MM月DD日", "YYYY년 MM월 DD일", "YYYY. MM. DD.",
    "ERA年MM月DD日", "ERA.MM.DD", "ERA/MM/DD", "ERA-MM-DD",
)  # fmt: skip
_SHORT = (
    "DD.MM.YY", "DD/MM/YY", "MM/DD/YY", "DD-MM-YY", "MM-DD-YY", "YY-MM-DD", "YY/MM/DD", "YY.MM.DD", "DD-MMM-YY",
    "DD MMM YY", "DDMMMYY",
)  # fmt: skip
_MONTHS = (
    "YYYY-MM", "MM/YYYY", "MM.YYYY", "MM-YYYY", "YYYY/MM", "MMM YYYY", "MMM-YYYY", "YYYY年MM月", "YYYY년 MM월",
    "ERA年MM月", "YYYYMM",
)  # fmt: skip
_ERA_YEARS = ("ERA年", "ERA")
_PARTIAL = (
    ("YYYY-MM-DD", "YYYY-MM[-DD]", "YYYY[-MM[-DD]]"), ("DD-MMM-YYYY", "[DD-]MMM-YYYY", "[[DD-]MMM-]YYYY"),
    ("DD MMM YYYY", "[DD ]MMM YYYY", "[[DD ]MMM ]YYYY"), ("DD.MM.YYYY", "[DD.]MM.YYYY", "[[DD.]MM.]YYYY"),
    ("DD/MM/YYYY", "[DD/]MM/YYYY", "[[DD/]MM/]YYYY"), ("YYYY/MM/DD", "YYYY/MM[/DD]", "YYYY[/MM[/DD]]"),
    ("YYYY年MM月DD日", "YYYY年MM月[DD日]", "YYYY年[MM月[DD日]]"), ("YYYYMMDD", "YYYYMM[DD]", "YYYY[MM[DD]]"),
)  # fmt: skip

_TIME_NAME = re.compile(
    r"epoch|timestamp|unix|datetime|(?<![a-z])ts(?![a-z])|time|date|datum|zeit|fecha|(?<![a-z])(at|on)$|created|updated"
    r"|modified|birth|born|(?<![a-z])dob|geb|日時|日付|日期|时间|時刻|날짜|дата",
    re.IGNORECASE,
)
_DATE_NAME = re.compile(
    r"date|datum|fecha|geburt|birth|born|(?<![a-z])dob|naissance|nacimiento|nascita|日付|日期|날짜|дата", re.IGNORECASE
)
_NUMBER_NAME = re.compile(r"phone|mobile|(?<![a-z])(tel|npi|id|nr|no|num|number)(?![a-z])|nummer", re.IGNORECASE)
_EPOCHS = (("epoch seconds", 10), ("epoch milliseconds", 13))
_EXCEL = (date(1920, 1, 1), date(2070, 1, 1))
_FEWEST_NAMELESS = 20


@dataclass(frozen=True)
class Dates:
    """Dates of a column: format (none for ISO 8601), labels by cell, and evidence."""

    format: str | None
    labels: dict[str, str]
    has_times: bool
    evidence: tuple[str, ...]


def dates(counts: Mapping[str, int], name: str) -> Dates | None:
    """Returns the dates that nearly all cells are, or None.

    `counts` has the rows of each cell that is not missing.
    """
    return (_serial(counts, name) or _spelled(counts)) if counts else None


def _spelled(counts: Mapping[str, int]) -> Dates | None:
    rows = sum(counts.values())
    iso = {text: day.isoformat() for text in counts if len(text) >= 8 and (day := cells.day(text)) is not None}
    if len(iso) == len(counts) and _plausible(iso):
        return _dates(None, iso, counts, ())
    orders = _labels(counts, (*_DAYS, *_with_centuries(_SHORT)))
    fitting = [order for order, labels in orders.items() if _rows(labels, counts) >= ENOUGH * rows]
    if fitting:
        order = _nearest_years(fitting, orders) if "YY(" in fitting[0] else fitting[0]
        return _dates(order, orders[order], counts, _doubts(order, fitting))
    return _partial(counts, rows) or _mixed(orders, counts, rows) or _coarse(counts, rows)


def _dates(written: str | None, labels: dict[str, str], counts: Mapping[str, int], doubts: Sequence[str]) -> Dates:
    """Returns the dates in a format, with `?` if it does not read every cell."""
    rows = _rows(labels, counts)
    unread = sum(counts.values()) - rows
    sentences = [] if written is None else [f"dates written as {written} in {rows:,} rows", *doubts]
    if unread:
        written = f"{written}?"
        sentences.append(f"{unread:,} rows that are not written so, or not in full, are read as missing")
    has_times = any(cells.has_time(text) for text in labels)
    sentences += ["the time of day is dropped"] if has_times else []
    return Dates(written, labels, has_times, ("; ".join(sentences),) if sentences else ())


def _with_centuries(orders: Sequence[str]) -> list[str]:
    """Returns the orders with centuries that end this year or in ten years."""
    year = date.today().year
    return [order.replace("YY", f"YY({last})") for order in orders for last in (year, year + 10)]


def frequent(counts: Mapping[str, int]) -> dict[str, int]:
    """Returns the most frequent texts, on which formats are tried first."""
    return {text: counts[text] for text in nlargest(_SAMPLE, counts, key=lambda text: counts[text])}


def _read(texts: Iterable[str], order: str) -> dict[str, str]:
    """Returns the label of each text that the order reads."""
    return {text: label for text in texts if (label := cells.formatted_date(text, order)) is not None}


def _labels(counts: Mapping[str, int], orders: Sequence[str]) -> dict[str, dict[str, str]]:
    """Returns the labels of all cells that an order reads, for orders in use."""
    sample = frequent(counts)
    minimum = _FEW * sum(sample.values())
    candidates = [order for order in orders if _rows(_read(sample, order), counts) >= minimum]
    labels = {order: _read(counts, order) for order in candidates}
    return {order: labels[order] for order in candidates if _plausible(labels[order])}


def _plausible(labels: Mapping[str, str]) -> bool:
    """Returns True if dates without marks, which may be numbers, name years of our time."""
    years = [int(label[:4]) for text, label in labels.items() if text.isdigit()]
    return sum(year in _YEARS for year in years) >= ENOUGH * len(years)


def _rows(texts: Iterable[str], counts: Mapping[str, int]) -> int:
    return sum(counts[text] for text in texts)


def _nearest_years(fitting: Sequence[str], orders: Mapping[str, Mapping[str, str]]) -> str:
    """Returns the order with the smallest span of years; years to come need a reason."""

    def span(order: str) -> int:
        years = [int(label[:4]) for label in orders[order].values()]
        return max(years) - min(years) + (0 if f"({date.today().year})" in order else _MOST_SPAN)

    return min(fitting, key=span)


def _doubts(order: str, fitting: Sequence[str]) -> list[str]:
    """Returns what a person should check of an order, where other orders fit too."""
    bare = _bare(order)
    alike = [_bare(rival) for rival in fitting if _shape(rival) == _shape(order) and _bare(rival) != bare]
    if "YY(" not in order:
        return [f"no day is above 12, so that {alike[0]} would fit too: check"] if alike else []
    last = int(order[order.index("(") + 1 :][:4])
    century = f"years of two digits are those from {last - 99} to {last}: check"
    return [*(f"{rival} would fit too: check" for rival in alike[:1]), century]


def _bare(order: str) -> str:
    return re.sub(r"\(\d+\)", "", order)


def _shape(order: str) -> str:
    """Returns the marks of an order, whichever number of two digits stands where."""
    return re.sub(r"YY|MM|DD", "N", _bare(order).replace("YYYY", "Y").replace("MMM", "A"))


def _partial(counts: Mapping[str, int], rows: int) -> Dates | None:
    """Returns dates, some without day or month, at the finest unit that nearly all have."""
    sample = frequent(counts)
    minimum = _SOME / 2 * sum(sample.values())
    for forms in _PARTIAL:
        if _rows(_read(sample, forms[0]), counts) < minimum:
            continue
        days, months, years = (_read(counts, form) for form in forms)
        dated = _rows(days, counts)
        if _rows(years, counts) < ENOUGH * rows or dated < _SOME * rows or not _plausible(years):
            continue
        if dated >= _FULL * rows:
            return _dates(forms[0], days, counts, [])
        if _rows(months, counts) >= _FULL * rows:
            return _dates(forms[1], months, counts, ["days are dropped: some rows have none"])
        return _dates(forms[2], years, counts, ["days and months are dropped: some rows have none"])
    return None


def _mixed(orders: Mapping[str, dict[str, str]], counts: Mapping[str, int], rows: int) -> Dates | None:
    """Returns dates in two or three orders that cannot be taken for one another."""
    formats: list[str] = []
    labels: dict[str, str] = {}
    remaining = list(orders)
    while remaining and len(formats) < _MOST_ORDERS and len(labels) < len(counts):
        gains = [_rows(orders[order].keys() - labels.keys(), counts) for order in remaining]
        if not max(gains):
            break
        formats.append(remaining[gains.index(max(gains))])
        labels = orders[formats[-1]] | labels
        remaining = [order for order in remaining if _shape(order) not in map(_shape, formats)]
    if len(formats) < 2 or _rows(labels, counts) < ENOUGH * rows:
        return None
    doubts = [
        doubt
        for order in formats
        for doubt in _doubts(order, [rival for rival in orders if orders[rival].keys() >= orders[order].keys()])
    ]
    return _dates(" | ".join(formats), labels, counts, doubts)


def in_several_orders(counts: Mapping[str, int]) -> bool:
    """Returns True if all cells are dates, in orders that look alike."""
    labels = _labels(counts, (*_DAYS, *_with_centuries(_SHORT))).values()
    return bool(counts) and {text for texts in labels for text in texts} == set(counts)


def _coarse(counts: Mapping[str, int], rows: int) -> Dates | None:
    """Returns months or years that are written as such."""
    for order, labels in _labels(counts, (*_MONTHS, *_with_centuries(["MMM-YY"]), *_ERA_YEARS)).items():
        code = order == "ERA" and any(text.isascii() for text in counts)  # such as H30
        ambiguous = order == "YYYYMM" and len(counts) < 3
        if not (code or ambiguous) and _rows(labels, counts) >= ENOUGH * rows:
            return _dates(order, labels, counts, _doubts(order, ()))
    return None


def _serial(counts: Mapping[str, int], name: str) -> Dates | None:
    """Returns dates that are numbers: seconds or milliseconds since 1970, or days of a spreadsheet."""
    numbers = {text: value for text in counts if (value := cells.number(text)) is not None}
    rows = sum(counts.values())
    if not numbers or _rows(numbers, counts) < ENOUGH * rows:
        return None
    words = name.replace("_", " ")
    by_name = bool(_TIME_NAME.search(words)) and not _NUMBER_NAME.search(words)
    first = date(1900 if _DATE_NAME.search(words) else 1990, 1, 1)
    last = date(date.today().year + (10 if by_name else 1), 12, 31)
    for written, digits in _EPOCHS:
        if sum(abs(value) >= Decimal(10) ** (digits - 2) for value in numbers.values()) < 0.9 * len(numbers):
            continue
        labels = _within(numbers, written, first, last)
        if _rows(labels, counts) < ENOUGH * rows:
            continue
        if by_name or (not _NUMBER_NAME.search(words) and _spread(labels, numbers, written, digits)):
            return _of_serial(written, labels, counts, numbers)
    if _DATE_NAME.search(words):
        labels = _within(numbers, "excel", *_EXCEL)
        if _rows(labels, counts) >= ENOUGH * rows:
            return _of_serial("excel", labels, counts, numbers)
    return None


def _of_serial(
    written: str, labels: dict[str, str], counts: Mapping[str, int], numbers: Mapping[str, Decimal]
) -> Dates:
    has_times = any(numbers[text] % cells.SERIAL[written][1] for text in labels)
    sentences = ["the day is that of Greenwich"] if written != "excel" else []
    sentences += ["the time of day is dropped"] if has_times else []
    return replace(_dates(written, labels, counts, sentences), has_times=has_times)


def _within(numbers: Iterable[str], written: str, first: date, last: date) -> dict[str, str]:
    """Returns the labels of the numbers that are days from first to last."""
    labels = _read(numbers, written)
    return {text: label for text, label in labels.items() if first.isoformat() <= label <= last.isoformat()}


def _spread(labels: Iterable[str], numbers: Mapping[str, Decimal], written: str, digits: int) -> bool:
    """Returns True if numbers lie as times do, though no name says so. One that begins with 0 is a phone."""
    values = [numbers[text] for text in labels if len(text) == digits and text.isdigit() and text[0] != "0"]
    return len(values) >= _FEWEST_NAMELESS and max(values) - min(values) >= 30 * cells.SERIAL[written][1]
