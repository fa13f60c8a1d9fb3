"""Numbers as people write them: marks between thousands, decimal marks, units and signs."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from functools import cache

PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_LONGEST_NUMBER = 64
_LONGEST_UNIT = 12

NUMBER_FORMATS = {
    "1234.5": ("", "."),
    "1,234.5": (",", "."),
    "1.234,5": (".", ","),
    "1 234,5": (" \u00a0\u202f", ","),
    "1'234.5": ("'\u2019", "."),
    "1234,5": ("", ","),
}
"""The mark between thousands (one of these) and that of decimals, by the spelling that stands for the format."""

_FORMAT = re.compile(rf"([^\d?]*?)\s*({'|'.join(map(re.escape, NUMBER_FORMATS))})\s*([^\d?]*?)\??")


def number(text: str) -> Decimal | None:
    """Returns the finite number that a clean cell spells, or None."""
    if len(text) > _LONGEST_NUMBER or PLAIN_NUMBER.fullmatch(text) is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def is_not_finite(text: str) -> bool:
    """Returns True for NaN or an infinity, which no hierarchy of numbers can place."""
    return _NOT_FINITE.fullmatch(text) is not None


def spell(value: Decimal) -> str:
    """Returns the one spelling of a number: `37`, `-2.5`, `1000`; never an exponent, never `-0`."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def check_number_format(written: str) -> None:
    """Raises ValueError for what is no format of numbers."""
    _pattern(written)


@cache
def _pattern(written: str) -> tuple[re.Pattern[str], bool]:
    """Returns the pattern of numbers in a format, and True if plain numbers fit it."""
    parts = _FORMAT.fullmatch(written)
    if parts is None or (parts[1] and parts[3]) or len(parts[1] + parts[3]) > _LONGEST_UNIT:
        raise ValueError("is no format of numbers")
    thousands, decimal = NUMBER_FORMATS[parts[2]]
    grouped = rf"\d{{1,3}}(?:[{thousands}]\d{{3}})+|" if thousands else ""
    unit = unicodedata.normalize("NFKC", parts[1] or parts[3]).strip()
    unit_pattern = rf"(?:\s*{re.escape(unit)}\s*)?" if unit else ""
    sign = r"(?P<sign>[+-]?)"
    figure = rf"(?P<whole>{grouped}\d+)(?:{re.escape(decimal)}(?P<part>\d+))?"
    spelled = rf"(?P<less>\()?{unit_pattern}{sign}\s*{unit_pattern}{figure}{unit_pattern}(?P<after>-?)(?(less)\))"
    return re.compile(spelled, re.ASCII | re.IGNORECASE), parts[2] == "1234.5"


def formatted_number(text: str, written: str) -> Decimal | None:
    """Returns the number that a clean cell spells in a format, or None. `(5)`, `5-` and `−5` are -5."""
    pattern, plain = _pattern(written)
    if plain and (value := number(text)) is not None:
        return value
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u2212", "-")
    match = pattern.fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    if match is None or (match["sign"] and (match["less"] or match["after"])):
        return None
    minus = "-" if match["sign"] == "-" or match["less"] or match["after"] else ""
    return Decimal(f"{minus}{re.sub(r'[^0-9]', '', match['whole'])}.{match['part'] or 0}")
