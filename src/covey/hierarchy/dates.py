"""Trees over days: `{ date = ["month", "quarter", "year"], min = 2024-01-01, max = 2025-12-31 }`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta

from covey.cells import SUPPRESSED, Unit
from covey.errors import InputError
from covey.hierarchy.tree import Hierarchy, check_size

UNITS: dict[str, Callable[[date], str]] = {
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "half-decade": lambda day: f"{day.year // 5 * 5:04d}-{day.year // 5 * 5 + 4:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
}


def dates(units: Sequence[str], first: date, last: date, finest: Unit = "day") -> Hierarchy:
    """Returns days, months or years from first to last; above them the coarser units named."""
    chosen = [unit for unit in units if unit != "day"]
    if chosen != [unit for unit in UNITS if unit in chosen]:
        raise InputError(f"date takes some of day, {', '.join(UNITS)}, finest first, each once")
    coarser = [unit for unit in chosen if unit != finest and not (finest == "year" and unit in ("month", "quarter"))]
    if last < first:
        raise InputError(f"min = {first} is after max = {last}")
    count = (last - first).days + 1
    check_size(count, "the hierarchy of dates")
    label = UNITS.get(finest, date.isoformat)
    days = {label(day): day for day in (first + timedelta(days=offset) for offset in range(count))}
    paths = [[leaf, *(UNITS[unit](day) for unit in coarser), SUPPRESSED] for leaf, day in days.items()]
    return Hierarchy.from_paths(paths, "date")
