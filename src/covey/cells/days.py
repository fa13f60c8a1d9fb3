"""Dates as people write them: orders such as `DD.MM.YYYY`, eras, epochs and serial numbers.

A format is one order, or several with ` | ` between them. Its marks are those of the cells; what stands in brackets may
be lacking or unknown (`YYYY-MM[-DD]` reads `2023-04`, `2023-04-UN` and `2023-04-18` as the month). A time of day, its
zone and a day of the week are dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_FLOOR
from functools import cache
from typing import Literal

from covey.cells.numbers import number

Unit = Literal["day", "month", "year"]

SERIAL = {
    "epoch seconds": (date(1970, 1, 1), 86_400),
    "epoch milliseconds": (date(1970, 1, 1), 86_400_000),
    "excel": (date(1899, 12, 30), 1),
}
"""Formats of dates that are numbers: the day that 0 stands for, and the length of a day."""

_ERAS = {"明治": 1868, "大正": 1912, "昭和": 1926, "平成": 1989, "令和": 2019} | {
    "M": 1868, "T": 1912, "S": 1926, "H": 1989, "R": 2019
}  # fmt: skip
_UNKNOWN = r"|UNK?|NK|XX|\?\?|00|--?"
_TOKENS = {
    "YYYY": r"(?P<year>\d{4})",
    "YY": r"(?P<short>\d\d)",
    "ERA": r"(?P<era>明治|大正|昭和|平成|令和|[MTSHRmtshr])\.?\s*(?P<era_year>\d{1,2}|元)",
    "MMM": r"(?P<name>[A-Za-zÀ-ÿ]{3,10}UNKNOWN)\.?",
    "MM": r"(?P<month>\d\d?UNKNOWN)",
    "DD": r"(?P<day>\d\d?UNKNOWN)(?:st|nd|rd|th|er|o)?",
}
_PART = re.compile(r"YYYY|YY(?:\(\d{4}\))?|ERA|MMM|MM|DD|[\[\]]|[ .,/年月日년월일-]+|del?")
_CLOCK = (
    r"(?:(?:오전|오후|上午|下午|午前|午後)\s*)?(?P<clock>\d{1,2}(?:"
    r"[:.]\d\d(?:[:.]\d\d(?:[.,]\d+)?)?(?:\s?[AaPp]\.?[Mm]\.?)?(?:\s?Uhr)?"
    r"|\s?[hH時时시]\s?(?:\d\d?\s?(?:min|[m分분])?)?\s?(?:\d\d?\s?[秒초])?))"
)
_ZONE = r"(?:\s?(?:Z|[A-Z]{3,4}|[+-]\d\d:?\d\d))*"
_TAIL = rf"(?:\s?\([^()\d]{{1,9}}\))?(?:(?:[T ,:]| um | à )+{_CLOCK}{_ZONE})?"
_WEEKDAY = r"(?:[A-Za-zÀ-ÿ]{2,10}\.?,?\s+)?"
_ALONE = re.compile(_CLOCK + _ZONE, re.ASCII)
_TIME = re.compile(r"\d{1,2}\s?[:hH時时시]\s?\d\d|(?<=^\d{8})T?\d{4}")
_LONGEST = 48

_MONTHS = (
    "january januar jänner janvier enero gennaio janeiro januari",
    "february februar février febrero febbraio fevereiro",
    "march märz mrz mars marzo março maart mrt", "april avril abril aprile", "may mai mayo maggio maio mei",
    "june juni juin junio giugno junho", "july juli juillet julio luglio julho", "august août agosto augustus",
    "september septembre septiembre setiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro", "december dezember décembre diciembre dicembre dezembro",
)  # fmt: skip


def _plain(name: str) -> str:
    return "".join(mark for mark in unicodedata.normalize("NFKD", name.lower()) if not unicodedata.combining(mark))


@cache
def _months() -> dict[str, int]:
    """Returns the month of each beginning of a name that fits one month only."""
    prefixes: dict[str, set[int]] = {}
    for month, names in enumerate(_MONTHS, start=1):
        for name in _plain(names).split():
            for length in range(3, len(name) + 1):
                prefixes.setdefault(name[:length], set()).add(month)
    return {prefix: min(months) for prefix, months in prefixes.items() if len(months) == 1}


def day(text: str) -> date | None:
    """Returns the day that a clean cell spells in ISO 8601, or None."""
    try:
        return datetime.fromisoformat(text).date() if len(text) <= 40 else None
    except ValueError:
        return None


def first_day(label: str) -> date | None:
    """Returns the first day of a day, month or year in our spelling, or None."""
    return day(label + "-01-01"[len(label) - 4 :]) if len(label) in (4, 7) else day(label)


def has_time(text: str) -> bool:
    """Returns True if a time of day other than midnight stands in the cell."""
    match = _TIME.search(text)
    return match is not None and any(mark in "123456789" for mark in match[0])


def is_clock(text: str) -> bool:
    """Returns True if the whole cell is a time of day, and no decimal number."""
    match = _ALONE.fullmatch(unicodedata.normalize("NFKC", text)) if len(text) <= _LONGEST else None
    if match is None or not re.search(r":\d\d|[hH時时시]\s?\d\d|Uhr", match[0]):
        return False
    hour, minute = (int(part) for part in re.findall(r"\d+", match["clock"])[:2])
    return hour <= 24 and minute < 60


@dataclass(frozen=True)
class _Order:
    pattern: re.Pattern[str]
    finest: Unit
    last: int  # of the hundred years that two digits may mean

    def read(self, text: str) -> str | None:
        match = self.pattern.fullmatch(text)
        if match is None:
            return None
        parts = match.groupdict()
        year = self._year(parts)
        if not (_within(parts.get("month"), 12) and _within(parts.get("day"), 31)):
            return None
        if self.finest == "year":
            return f"{year:04d}"
        name = parts.get("name")
        month = int(parts["month"]) if name is None else _months().get(_plain(name), 0)
        try:
            day = date(year, month, int(parts["day"]) if self.finest == "day" else 1)
        except ValueError:
            return None
        return day.isoformat() if self.finest == "day" else f"{year:04d}-{month:02d}"

    def _year(self, parts: dict[str, str]) -> int:
        if parts.get("era"):
            return _ERAS[parts["era"].upper()] + (1 if parts["era_year"] == "元" else int(parts["era_year"])) - 1
        return int(parts["year"]) if "year" in parts else self.last - (self.last - int(parts["short"])) % 100


def _within(part: str | None, limit: int) -> bool:
    """Returns True for a number up to the limit, and for a lacking or unknown one."""
    return part is None or not part.isdigit() or int(part) <= limit


@cache
def _orders(written: str) -> tuple[_Order, ...]:
    """Returns the orders of a format, compiled. Raises ValueError for what is no format."""
    orders = tuple(_order(order) for order in written.removesuffix("?").split(" | "))
    if len({order.finest for order in orders}) > 1:
        raise ValueError("its orders must end at the same unit: all with a day, or none")
    return orders


def _order(order: str) -> _Order:
    parts = _PART.findall(order)
    required, last = _units(order, parts)
    names = ["YY" if part.startswith("YY(") else part for part in parts]
    spelled, depth = "", 0
    for part in names:
        depth += (part == "[") - (part == "]")
        if part in "[]":
            spelled += "(?:" if part == "[" else ")?"
        else:
            spelled += (_TOKENS.get(part) or _mark(part)).replace("UNKNOWN", _UNKNOWN if depth else "")
    if {"YYYY", "YY", "MM", "DD", "[", "]"}.issuperset(names):  # their lengths alone tell the parts
        spelled = spelled.replace(r"\d\d?", r"\d\d") + (r"(?:\d{4}(?:\d\d)?(?:\.\d+)?)?" if "DD" in required else "")
    finest: Unit = "day" if "DD" in required else "month" if "MM" in required else "year"
    return _Order(re.compile(_WEEKDAY + spelled + _TAIL, re.ASCII), finest, last)


def _units(order: str, parts: Sequence[str]) -> tuple[set[str], int]:
    """Returns the units that no cell lacks, and the last year of two digits. Raises ValueError."""
    depth, units = 0, []
    for part in parts:
        depth = depth + (part == "[") - (part == "]")
        if depth < 0:
            break
        if part[:2] in ("YY", "ER", "MM", "DD"):
            units.append(("MM" if part == "MMM" else part if part in ("MM", "DD") else "Y", depth))
    names, required = sorted(unit for unit, _ in units), {unit for unit, optional in units if not optional}
    complete = "".join(parts) == order and not depth and names in (["DD", "MM", "Y"], ["MM", "Y"], ["Y"])
    if not complete or "Y" not in required or ("DD" in required and "MM" not in required):
        raise ValueError("write it with DD, MM (or MMM for names) and YYYY: DD.MM.YYYY")
    if "YY" in parts:
        raise ValueError("say the last year that two digits may mean: DD.MM.YY(2026)")
    return required, next((int(part[3:-1]) for part in parts if part.startswith("YY(")), 0)


def _mark(text: str) -> str:
    """Returns the pattern of marks between a date's parts; spaces beside them do not matter."""
    return rf"\s*{re.escape(text.strip())}\s*" if text.strip() else r"\s+"


def check_date_format(written: str) -> None:
    """Raises ValueError, with what to write, for what is no format of dates."""
    if written.removesuffix("?") not in SERIAL:
        _orders(written)


def finest_unit(written: str | None) -> Unit:
    """Returns the unit at which a format of dates reads cells."""
    return "day" if written is None or written.removesuffix("?") in SERIAL else _orders(written)[0].finest


def formatted_date(text: str, written: str) -> str | None:
    """Returns the date that a clean cell spells, at the format's finest unit, or None."""
    serial = SERIAL.get(written.removesuffix("?"))
    if serial is not None:
        value = number(text)
        try:
            days = None if value is None else int((value / serial[1]).to_integral_value(ROUND_FLOOR))
            return None if days is None else (serial[0] + timedelta(days=days)).isoformat()
        except OverflowError:
            return None
    if len(text) > _LONGEST:
        return None
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return next((label for order in _orders(written) if (label := order.read(text)) is not None), None)
