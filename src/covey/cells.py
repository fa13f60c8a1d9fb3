"""The meaning of a cell's text: every site reads the same value from the same bytes.

Cells are text everywhere. White space at the ends and the Unicode form never matter; whether `37.0` is
the number 37 or a code is for the study to say, so numbers and dates are normalised only where the
column's hierarchy is of numbers or dates.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Literal

Kind = Literal["text", "number", "date"]

MISSING = ""
NO_VALUE = "(no value)"
"""What people see in place of a missing value."""
SUPPRESSED = "*"

_FORMULA = frozenset("=+-@")
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_LONGEST_NUMBER = 64

NUMBER_FORMATS = {
    "1,234.5": (",", "."),
    "1.234,5": (".", ","),
    "1 234,5": (" \u00a0\u202f", ","),
    "1'234.5": ("'\u2019", "."),
    "1234,5": ("", ","),
}
"""The mark between thousands (one of these) and that of decimals, by the spelling that stands for the format."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE_TOKENS = {
    "YYYY": r"(?P<y>\d{4})",
    "MMM": r"(?P<b>[A-Za-z]{3,9})\.?",
    "MM": r"(?P<m>\d\d?)",
    "DD": r"(?P<d>\d\d?)",
}
_DATE_FORMAT = re.compile(r"YYYY|MMM|MM|DD|[ .,/-]+")
_TIME = r"(?:[T ,]+\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?)?"


def clean(cell: str) -> str:
    """The cell without outer white space, in NFC, and without the guard that `guarded` puts before formulas."""
    text = cell.strip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if len(text) > 1 and text[0] == "'" and _begins_formula(text[1:]):
        return text[1:]
    return text


def guarded(text: str) -> str:
    """The text as a release writes it: a spreadsheet must not run it as a formula."""
    return "'" + text if could_run(text) else text


def could_run(text: str) -> bool:
    """True if a spreadsheet might run the text as a formula: `=1+1`, `-2+3`, but neither `-5` nor a dash alone."""
    return text != "-" and _begins_formula(text)


def _begins_formula(text: str) -> bool:
    if not text or not (text[0] in _FORMULA or ord(text[0]) < 32 or ord(text[0]) == 127):
        return False
    return _PLAIN_NUMBER.fullmatch(text) is None


def number(text: str) -> Decimal | None:
    """The finite number that a clean cell spells, or None."""
    if len(text) > _LONGEST_NUMBER or _PLAIN_NUMBER.fullmatch(text) is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def is_not_finite(text: str) -> bool:
    """NaN or an infinity, which no hierarchy of numbers can place."""
    return _NOT_FINITE.fullmatch(text) is not None


def spell(value: Decimal) -> str:
    """One spelling per number: `37`, `-2.5`, `1000`; never an exponent, never `-0`."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def day(text: str) -> date | None:
    """The day that a clean cell spells in ISO 8601 (a time of day is dropped), or None."""
    try:
        return datetime.fromisoformat(text).date() if len(text) <= 40 else None
    except ValueError:
        return None


@cache
def _number_pattern(spelling: str) -> re.Pattern[str]:
    thousands, decimal = NUMBER_FORMATS[spelling]
    grouped = rf"\d{{1,3}}(?:[{thousands}]\d{{3}})+|" if thousands else ""
    return re.compile(rf"([+-]?)({grouped}\d+)(?:{re.escape(decimal)}(\d+))?", re.ASCII)


def formatted_number(text: str, spelling: str) -> Decimal | None:
    """The number that a clean cell spells in one of `NUMBER_FORMATS`, or None."""
    match = _number_pattern(spelling).fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    if match is None:
        return None
    whole = "".join(mark for mark in match[2] if mark.isdigit())
    return Decimal(f"{match[1]}{whole}.{match[3] or 0}")


@cache
def date_pattern(order: str) -> re.Pattern[str]:
    """The pattern of dates in an order such as `DD.MM.YYYY`. Raises ValueError for what is no order of a whole day."""
    parts = _DATE_FORMAT.findall(order)
    named = sorted(part.strip("M") if part == "MMM" else part for part in parts if part in _DATE_TOKENS)
    if "".join(parts) != order or named not in (["DD", "MM", "YYYY"], ["", "DD", "YYYY"]):
        raise ValueError("write it with DD, MM (or MMM for names) and YYYY: DD.MM.YYYY")
    apart = any(part not in _DATE_TOKENS for part in parts)
    spelled = "".join(_DATE_TOKENS.get(part, re.escape(part)) for part in parts)
    return re.compile((spelled if apart else spelled.replace(r"\d\d?", r"\d\d")) + _TIME, re.ASCII)


def formatted_day(text: str, order: str) -> date | None:
    """The day that a clean cell spells in that order (a time of day is dropped), or None."""
    match = date_pattern(order).fullmatch(text) if len(text) <= 40 else None
    if match is None:
        return None
    found = match.groupdict()
    name = str(found.get("b", ""))[:3].lower()
    if name and name not in _MONTHS:
        return None
    try:
        return date(int(found["y"]), _MONTHS.index(name) + 1 if name else int(found["m"]), int(found["d"]))
    except ValueError:
        return None


def canonical(text: str, kind: Kind, written: str | None = None) -> str:
    """The one spelling of a clean cell in a column of this kind; unreadable text stays as it is.

    `written` is the format of numbers or the order of dates, where cells have another than ours.
    """
    if kind == "number":
        value = number(text) if written is None else formatted_number(text, written)
        return text if value is None else spell(value)
    if kind == "date":
        found = day(text) if written is None else formatted_day(text, written)
        return text if found is None else found.isoformat()
    return text
