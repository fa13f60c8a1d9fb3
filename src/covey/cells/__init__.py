"""The meaning of a cell's text: every site reads the same value from the same bytes.

Cells are text everywhere. White space at the ends and the Unicode form never matter; whether `37.0` is
the number 37 or a code is for the study to say, so numbers and dates are normalised only where the
column's hierarchy is of numbers or dates.
"""

from __future__ import annotations

import unicodedata
from typing import Literal

from covey.cells.days import (
    SERIAL,
    Unit,
    check_date_format,
    day,
    finest_unit,
    first_day,
    formatted_date,
    has_time,
    is_clock,
)
from covey.cells.numbers import (
    NUMBER_FORMATS,
    PLAIN_NUMBER,
    check_number_format,
    formatted_number,
    is_not_finite,
    number,
    spell,
)

__all__ = [
    "MISSING",
    "NO_VALUE",
    "NUMBER_FORMATS",
    "SERIAL",
    "SUPPRESSED",
    "Kind",
    "Unit",
    "canonical",
    "check_date_format",
    "check_number_format",
    "clean",
    "could_run",
    "day",
    "finest_unit",
    "first_day",
    "formatted_date",
    "formatted_number",
    "guarded",
    "has_time",
    "is_clock",
    "is_not_finite",
    "number",
    "spell",
]

Kind = Literal["text", "number", "date"]

MISSING = ""
NO_VALUE = "(no value)"
"""What people see in place of a missing value."""
SUPPRESSED = "*"

_FORMULA = frozenset("=+-@")


def clean(cell: str) -> str:
    """The cell without outer white space, in NFC, and without the guard before formulas."""
    text = cell.strip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if len(text) > 1 and text[0] == "'" and _begins_formula(text[1:]):
        return text[1:]
    return text


def guarded(text: str) -> str:
    """The text as a release writes it, so that no spreadsheet runs it as a formula."""
    return "'" + text if could_run(text) else text


def could_run(text: str) -> bool:
    """True if a spreadsheet might run the text as a formula: `=1+1`, `-2+3`, but not `-5`."""
    return text != "-" and _begins_formula(text)


def _begins_formula(text: str) -> bool:
    if not text or not (text[0] in _FORMULA or ord(text[0]) < 32 or ord(text[0]) == 127):
        return False
    return PLAIN_NUMBER.fullmatch(text) is None


def canonical(text: str, kind: Kind, written: str | None = None) -> str:
    """The one spelling of a clean cell in a column of this kind. Unreadable text stays as it is.

    `written` is the format of numbers or dates, where cells have another than ours. If it ends with `?`, unreadable
    text is missing.
    """
    unread = MISSING if written is not None and written.endswith("?") else text
    if kind == "number":
        value = number(text) if written is None else formatted_number(text, written)
        return unread if value is None else spell(value)
    if kind == "date":
        if written is not None:
            return formatted_date(text, written) or unread
        date = day(text)
        return text if date is None else date.isoformat()
    return text
