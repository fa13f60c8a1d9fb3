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
from typing import Literal

Kind = Literal["text", "number", "date"]

MISSING = ""
SUPPRESSED = "*"

_FORMULA = frozenset("=+-@")
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_LONGEST_NUMBER = 64


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


def canonical(text: str, kind: Kind) -> str:
    """The one spelling of a clean cell in a column of this kind; unreadable text stays as it is."""
    if kind == "number":
        value = number(text)
        return text if value is None else spell(value)
    if kind == "date":
        found = day(text)
        return text if found is None else found.isoformat()
    return text
