"""Trees over numbers, with labels that read as intervals, and trees over days.

`{ min = 17, max = 90, steps = [5, 10, 20] }`: top and bottom coding put everything from a value on into one leaf, which
reads `>=85` or `<=20`; rounding reads a number as the nearest multiple of the unit; a date of birth is read as the age
on a day. No finer value is published.
`{ date = ["month", "quarter", "year"], min = 2024-01-01, max = 2025-12-31 }` has a leaf for each day.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

from covey.cells import SUPPRESSED, Unit, canonical, day, number, spell
from covey.errors import InputError
from covey.hierarchy.tree import Hierarchy, check_size


@dataclass(frozen=True)
class Coding:
    """The coarser value that stands for a number, in the release and in the tree."""

    bottom: Decimal | None = None
    top: Decimal | None = None
    rounded: Decimal | None = None  # to multiples of this
    age_on: date | None = None  # cells are dates of birth

    def read(self, text: str, written: str | None) -> str:
        """The leaf's label of a clean cell. What is no number, or no date of birth, stays as it is."""
        if self.age_on is not None:
            spelled = canonical(text, "date", written)
            born = day(spelled)
            value = None if born is None else Decimal(_years(born, self.age_on))
        else:
            spelled = canonical(text, "number", written)
            value = number(spelled)
        return spelled if value is None else self.coded(value)

    def coded(self, value: Decimal) -> str:
        """The leaf's label of a number."""
        if self.rounded is not None:
            value = (value / self.rounded).to_integral_value(ROUND_HALF_UP) * self.rounded
        if self.top is not None and value >= self.top:
            return f">={spell(self.top)}"
        if self.bottom is not None and value <= self.bottom:
            return f"<={spell(self.bottom)}"
        return spell(value)

    def describe(self) -> dict[str, str]:
        """The coding, for the study's hash."""
        fields = {"bottom": self.bottom, "top": self.top, "round": self.rounded}
        numbers = {key: spell(value) for key, value in fields.items() if value is not None}
        return numbers if self.age_on is None else {**numbers, "age_on": self.age_on.isoformat()}


def _years(born: date, on: date) -> int:
    return on.year - born.year - ((on.month, on.day) < (born.month, born.day))


def numbers(
    low: Decimal, high: Decimal, steps: Sequence[Decimal], unit: Decimal = Decimal(1), coding: Coding | None = None
) -> Hierarchy:
    """The values low, low + unit, … high. Above them intervals that begin at multiples of each step.

    The first and last interval of a level are cut to the domain, so that every label is true; one that has the coded
    top or bottom in it is open to that side.
    """
    coding = coding or Coding()
    if not (low.is_finite() and high.is_finite() and unit.is_finite() and unit > 0):
        raise InputError("min, max and unit must be finite numbers, and unit above 0")
    if high < low:
        raise InputError(f"min = {spell(low)} is above max = {spell(high)}")
    if low % unit != 0 or high % unit != 0:
        raise InputError(f"min and max must be multiples of unit = {spell(unit)}")
    finer = unit
    for step in steps:
        if not step.is_finite() or step <= finer or step % finer != 0:
            raise InputError(f"steps must grow, each a multiple of the one before: {spell(step)} after {spell(finer)}")
        finer = step
    count = int((high - low) / unit) + 1
    check_size(count, "the hierarchy of numbers")
    paths = []
    for index in range(count):
        value = low + index * unit
        intervals = [_interval(value, step, low, high, unit, coding) for step in steps]
        paths.append([coding.coded(value), *intervals, SUPPRESSED])
    return Hierarchy.from_paths(paths, "number")


def _interval(value: Decimal, step: Decimal, low: Decimal, high: Decimal, unit: Decimal, coding: Coding) -> str:
    start = value - (value % step if value >= 0 or value % step == 0 else value % step + step)
    first, last = max(start, low), min(start + step - unit, high)
    if coding.bottom is not None and first <= coding.bottom:
        return SUPPRESSED if last == high else f"<={spell(last)}"
    return f">={spell(first)}" if coding.top is not None and last >= coding.top else label(first, last)


def label(low: Decimal, high: Decimal) -> str:
    """An interval as a release writes it; a single value is just that value."""
    return spell(low) if low == high else f"[{spell(low)}, {spell(high)}]"


UNITS: dict[str, Callable[[date], str]] = {
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "half-decade": lambda day: f"{day.year // 5 * 5:04d}-{day.year // 5 * 5 + 4:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
}


def dates(units: Sequence[str], first: date, last: date, finest: Unit = "day") -> Hierarchy:
    """Returns days, months or years from first to last; above them the coarser units named."""
    levels = [unit for unit in units if unit != "day"]
    if levels != [unit for unit in UNITS if unit in levels]:
        raise InputError(f"date takes some of day, {', '.join(UNITS)}, finest first, each once")
    coarser = [unit for unit in levels if unit != finest and not (finest == "year" and unit in ("month", "quarter"))]
    if last < first:
        raise InputError(f"min = {first} is after max = {last}")
    count = (last - first).days + 1
    check_size(count, "the hierarchy of dates")
    label = UNITS.get(finest, date.isoformat)
    days = {label(day): day for day in (first + timedelta(days=offset) for offset in range(count))}
    paths = [[leaf, *(UNITS[unit](day) for unit in coarser), SUPPRESSED] for leaf, day in days.items()]
    return Hierarchy.from_paths(paths, "date")
