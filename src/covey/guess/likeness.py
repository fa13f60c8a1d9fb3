"""Looks of a column's values: names of persons, prose, numbers of persons, addresses, times of day."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

from covey import cells
from covey.guess.columns import ColumnValues

_NEARLY_ALL = 0.9
_LOOKED_AT = 2_000
UNIQUE = 0.95  # a column whose rows almost all differ names people
_WORDS = 3.5  # in a text of prose, on average
_LONG = 40  # characters of a text of prose, on average
_LONG_DIGITS = 7  # a number with as many is one of a person, an account, a device, or a moment

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af々〆ー"
_CJK_NAME = re.compile(rf"[{_CJK}]{{1,4}}[ \u3000]?[{_CJK}]{{1,4}}")
_HEXADECIMAL = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}|(?=.*\d)[0-9a-f]{12,}", re.IGNORECASE)
_COORDINATES = re.compile(r"[-+]?\d{1,3}\.\d{3,}[,; ]+[-+]?\d{1,3}\.\d{3,}")
_MAIL_OR_WEB = re.compile(r"[^@\s]+@[^@\s]+\.\w+|(https?://|www\.)\S+", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?=.*[^\W\d_]{3}).*(?<!\S)(\d{1,5}[a-z]?|\d{1,5}[-/]\d{1,5})(?![^\s,])|.*\d(丁目|番地|号|번지|路)", re.IGNORECASE
)
_PARTICLES = frozenset(
    ("de", "da", "do", "dos", "di", "von", "van", "der", "den", "ter", "la", "del", "al", "bin", "ben")
)
_DIGITS = re.compile(r"\d[\d .\-/]*")


def _most(values: Iterable[str], test: Callable[[str], object]) -> bool:
    looked = list(values)[:_LOOKED_AT]
    return bool(looked) and sum(bool(test(value)) for value in looked) >= _NEARLY_ALL * len(looked)


def number_of_a_person(column: ColumnValues) -> str | None:
    """Returns what makes the values numbers, addresses or moments of one person each, or None."""
    known = column.known
    if _most(known, _MAIL_OR_WEB.fullmatch):
        return "mail or web addresses"
    if len(known) > 2 and _most(known, _HEXADECIMAL.fullmatch):
        return "keys or hashes"
    if column.spelling.clock:
        return "times of day"
    if _most(known, _COORDINATES.fullmatch) or _are_degrees(column):
        return "coordinates"
    if len(known) > 2 and column.spelling.kind != "date" and _most(known, _has_long_digits):
        return "long numbers"
    return None


def _has_long_digits(text: str) -> bool:
    """Returns True for digits in a number that nobody has rounded."""
    digits = "".join(mark for mark in text if mark.isdigit())
    rounded = digits.endswith("000") or "." in text or "," in text
    return len(digits) >= _LONG_DIGITS and not rounded and _DIGITS.fullmatch(text.lstrip("+-(")) is not None


def _are_degrees(column: ColumnValues) -> bool:
    """Returns True for numbers within 180 with four decimals or more, nearly all different."""
    known = column.known
    if column.spelling.kind != "number" or len(known) < 20 or column.share_unique < 0.5:
        return False
    numbers = ((text, cells.number(text)) for text in known)
    fine = [text for text, number in numbers if number is not None and abs(number) <= 180 and "." in text[:-4]]
    return len(fine) >= _NEARLY_ALL * len(known)


def row_unique(column: ColumnValues) -> bool:
    """Returns True where almost every row has a value of its own that is no measurement."""
    if column.share_unique < UNIQUE or column.rows < 2 or column.spelling.kind == "date":
        return False
    return column.spelling.kind != "number" or _counts_up(column)


def counts_people(column: ColumnValues) -> bool:
    """Returns True for whole numbers that are spread evenly and repeat little: those of cases or persons."""
    often = column.known
    return column.spelling.kind == "number" and len(often) > max(100, 0.05 * column.rows) and _counts_up(column)


def _counts_up(column: ColumnValues) -> bool:
    """Returns True for whole numbers whose rows are spread as evenly as numbers that somebody has dealt out."""
    counts = sorted(
        (number, rows) for value, rows in column.known.items() if (number := cells.number(value)) is not None
    )
    if any(number != number.to_integral_value() for number, _ in counts):
        return False
    low, span, total = counts[0][0], counts[-1][0] - counts[0][0], sum(rows for _, rows in counts)
    before, away = 0, 0.0
    for number, rows in counts:
        before += rows
        away = max(away, abs(float((number - low) / (span or 1)) - before / total))
    return away < 1.4 / math.sqrt(total)


def prose(column: ColumnValues) -> bool:
    """Returns True for free texts: many words, or long texts, that few rows share."""
    texts = column.known
    if column.spelling.kind != "text" or len(texts) < max(20, 0.05 * column.rows):
        return False
    words = sum(len(text.split()) for text in texts) / len(texts)
    long = sum(len(text) * (3 if re.search(f"[{_CJK}]", text) else 1) for text in texts) / len(texts)
    return words >= _WORDS or long >= _LONG


def addresses(column: ColumnValues) -> bool:
    """Returns True for words with a number of a house."""
    return column.spelling.kind == "text" and len(column.known) > 20 and _most(column.known, _ADDRESS.fullmatch)


def names(column: ColumnValues) -> bool:
    """Returns True for words that could name persons: capitalised in every part, or a few ideographs."""
    return column.spelling.kind == "text" and _most(column.known, _is_name)


def _is_name(text: str) -> bool:
    """Returns True for words that begin with no small letter; short codes in capitals are none."""
    if _CJK_NAME.fullmatch(text):
        return True
    words = [word for word in re.split(r"[\s,.'’\-]+", text) if word]
    if not 1 <= len(words) <= 4 or not all(word.isalpha() for word in words) or (len(text) < 4 and text.isupper()):
        return False
    return all(not word[0].islower() or word in _PARTICLES for word in words)
