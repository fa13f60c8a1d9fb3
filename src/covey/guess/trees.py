"""Hierarchies made from a column's values: numbers in public steps, dates, codes, and categories grouped."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import ROUND_FLOOR, Decimal
from itertools import groupby

from covey import cells
from covey.hierarchy import Coding, Hierarchy, public_step, write
from covey.plain import plural
from covey.schema import OTHER

FEW = 20  # numbers with no more values than this are grouped one by one
MOST_CATEGORIES = 2000
_FINEST = 150  # leaves of a tree of numbers, about
_TAIL = 0.005  # the part of the rows that top and bottom coding put into one leaf, at least
_DEPTH = 4
_LONGEST_LABEL = 60
_COVERED = 0.8  # of the rows have a code that k rows or more share


def numbers(texts: Mapping[str, int], k: int, born: date | None = None) -> str:
    """Numbers in public steps, with a coded bottom and top that k rows or more have.

    With `born`, the values are dates of birth and the numbers their ages on that day.
    """
    counts = _ages(texts, born) if born else numbers_of(texts)
    ordered = sorted(counts)
    minimum = max(k, int(_TAIL * sum(counts.values())))
    low, high = _reached(ordered, counts, minimum), _reached(ordered[::-1], counts, minimum)
    unit = _unit(counts)
    if (high - low) / unit > _FINEST:
        unit = public_step(low, high, parts=75)
    low, high = _down(low, unit), _down(high, unit)
    high = max(high, low + unit)
    if ordered[0] >= 0 >= low - 5 * unit:
        start = "min = 0"
        low = Decimal(0)
    else:
        start = f"bottom = {cells.spell(low)}"
    span = high - low
    steps = [cells.spell(unit * factor) for factor in (5, 10, 20, 40, 80) if unit * factor < span]
    parts = [start, f"top = {cells.spell(max(high, low + unit))}", f"steps = [{', '.join(steps)}]"]
    parts += [f"unit = {cells.spell(unit)}"] if unit != 1 else []
    parts += ["round = true"] if any(value % unit for value in ordered) else []
    parts = [f"age_on = {born}", *parts] if born else parts
    return "{ " + ", ".join(parts) + " }"


def numbers_of(texts: Mapping[str, int]) -> dict[Decimal, int]:
    """Returns the rows of each number."""
    return {cells.number(value) or Decimal(0): count for value, count in texts.items()}


def leaves(hierarchy: str) -> list[str]:
    """Every value that a column with such a hierarchy of numbers publishes."""
    spec = tomllib.loads(f"own = {hierarchy}", parse_float=Decimal)["own"]
    bottom, top, unit = (None if key not in spec else Decimal(spec[key]) for key in ("bottom", "top", "unit"))
    low, unit = Decimal(spec.get("min", 0)) if bottom is None else bottom, unit or Decimal(1)
    high = Decimal(spec["max"]) if top is None else top
    coding = Coding(bottom, top)
    return [coding.coded(low + index * unit) for index in range(int((high - low) / unit) + 1)]


def _unit(counts: Mapping[Decimal, int]) -> Decimal:
    """The power of ten, 1 at most, of which nearly all rows have multiples."""
    decimals: dict[int, int] = {}
    for value, count in counts.items():
        digits = max(0, -int(value.normalize().as_tuple().exponent))
        decimals[digits] = decimals.get(digits, 0) + count
    rows, target = 0, 0.95 * sum(counts.values())
    for digits in sorted(decimals):
        rows += decimals[digits]
        if rows >= target:
            return Decimal(1).scaleb(-digits)
    return Decimal(1)


def _ages(texts: Mapping[str, int], on: date) -> dict[Decimal, int]:
    ages: dict[Decimal, int] = {}
    for value, count in texts.items():
        day = cells.day(value)
        if day is not None:
            age = Decimal(on.year - day.year - ((on.month, on.day) < (day.month, day.day)))
            ages[age] = ages.get(age, 0) + count
    return ages


def _reached(ordered: Sequence[Decimal], counts: Mapping[Decimal, int], minimum: int) -> Decimal:
    """The value up to which so many rows lie, seen from the first one on."""
    rows = 0
    for value in ordered:
        rows += counts[value]
        if rows >= minimum:
            return value
    return ordered[-1]


def _down(value: Decimal, step: Decimal) -> Decimal:
    return (value / step).to_integral_value(ROUND_FLOOR) * step


def dates(texts: Mapping[str, int], years: int = 1) -> str:
    """Days, months, and what is coarser. Whole years, or as many at a time, so that neither end is somebody's day."""
    days = [day for value in texts if (day := cells.first_day(value)) is not None]
    first, last = date(min(days).year // years * years, 1, 1), date(max(days).year // years * years + years - 1, 12, 31)
    span = last.year - first.year
    units = ["month", "quarter", "year"] if span < 3 else ["month", "year", "half-decade", "decade"]
    if 3 <= span < 20:
        units = ["month", "quarter", "year", "half-decade"]
    levels = ", ".join(f'"{unit}"' for unit in units)
    return f"{{ date = [{levels}], min = {first}, max = {last} }}"


def prefixes(counts: Mapping[str, int]) -> str | None:
    """Codes of about one length that lose their tail, or None."""
    lengths = {len(value) for value in counts}
    longest = max(lengths)
    if not 3 <= longest <= 12 or longest - min(lengths) > 4:
        return None
    return f"{{ prefix = {list(range(longest - 1, max(longest - 4, 0), -1))} }}"


def areas(texts: Mapping[str, int], k: int) -> tuple[int, str] | None:
    """The longest beginning of codes that k rows or more share for nearly all, and its tree."""
    for length in range(max(map(len, texts)), 0, -1):
        counts: dict[str, int] = {}
        for value, count in texts.items():
            counts[value[:length]] = counts.get(value[:length], 0) + count
        codes = sorted(value for value, count in counts.items() if count >= k)
        if len(codes) > 1 and sum(counts[value] for value in codes) >= _COVERED * sum(counts.values()):
            shorter = range(length - 1, max(length - 4, 0), -1)
            paths = [(value, *(f"{value[:part]}*" for part in shorter), cells.SUPPRESSED) for value in codes]
            return length, _written([*paths, (OTHER, *(OTHER for _ in shorter), cells.SUPPRESSED)])
    return None


def are_codes(counts: Mapping[str, int]) -> bool:
    """True for many short texts of one length with digits in them."""
    return len({len(value) for value in counts}) == 1 and all(
        3 <= len(value) <= 12 and any(mark.isdigit() for mark in value) and " " not in value for value in counts
    )


def ordered(counts: Mapping[str, int]) -> str:
    """Few numbers, neighbours grouped so that groups have like numbers of rows."""
    values = sorted(counts, key=lambda value: cells.number(value) or Decimal(0))
    return _file(values, counts, lambda group: group[0] if len(group) == 1 else f"{group[0]} to {group[-1]}")


def categories(counts: Mapping[str, int]) -> tuple[str, str]:
    """Words, grouped by the first word that they share, else rare ones with rare ones. And which of the two."""
    values = sorted(counts, key=lambda value: (-counts[value], value))
    first = {value: value.replace("_", " ").replace("-", " ").split(" ")[0].casefold() for value in values}
    groups = len(set(first.values()))
    if len(values) > 3 and 2 <= groups <= 0.7 * len(values):
        total = {word: sum(counts[value] for value in values if first[value] == word) for word in set(first.values())}
        values.sort(key=lambda value: (-total[first[value]], first[value], -counts[value], value))
        return _grouped(values, counts, first), "grouped by their first word"
    return _file(values, counts, _either), "rare ones grouped with rare ones"


def _either(group: Sequence[str]) -> str:
    """The label of a group: its members, or the most frequent one and the number of others."""
    text = " | ".join(group)
    return text if len(group) <= 4 and len(text) <= _LONGEST_LABEL else f"{group[0]} or {len(group) - 1} others"


def _grouped(values: Sequence[str], counts: Mapping[str, int], first: Mapping[str, str]) -> str:
    """Values below groups with one first word, which are grouped further by their rows."""
    words = [list(group) for _, group in groupby(values, key=lambda value: first[value])]
    rows = {group[0]: sum(counts[value] for value in group) for group in words}
    leads = {value: group[0] for group in words for value in group}
    labels = {group[0]: _either(group) for group in words}
    upper = {
        path[0]: path[1:] for path in _paths([group[0] for group in words], rows, lambda group: _lead(group, labels))
    }
    return _written([(value, labels[leads[value]], *upper[leads[value]]) for value in values])


def _lead(group: Sequence[str], labels: Mapping[str, str]) -> str:
    return labels[group[0]] if len(group) == 1 else f"{group[0]} or {plural(len(group) - 1, 'other group')}"


def _file(values: Sequence[str], counts: Mapping[str, int], label: Callable[[Sequence[str]], str]) -> str:
    return _written(_paths(values, counts, label))


def _written(paths: Sequence[tuple[str, ...]]) -> str:
    return write(Hierarchy.from_paths(paths))


def _paths(
    values: Sequence[str], counts: Mapping[str, int], label: Callable[[Sequence[str]], str]
) -> list[tuple[str, ...]]:
    """Each value's path: the list is halved by rows, and its halves are halved again."""
    depth = min(_DEPTH, max(0, (len(values) - 1).bit_length() - 1))
    groups = [list(values)]
    levels = []
    for _ in range(depth):
        groups = [half for group in groups for half in _halves(group, counts)]
        levels.append({value: label(group) for group in groups for value in group})
    return [(value, *(level[value] for level in reversed(levels)), cells.SUPPRESSED) for value in values]


def _halves(group: Sequence[str], counts: Mapping[str, int]) -> list[list[str]]:
    """A list cut in two where its rows are halved best. One of a single value stays whole."""
    if len(group) == 1:
        return [list(group)]
    total, rows, best = sum(counts[value] for value in group), 0, (Decimal("Infinity"), 1)
    for index in range(1, len(group)):
        rows += counts[group[index - 1]]
        best = min(best, (Decimal(abs(2 * rows - total)), index))
    return [list(group[: best[1]]), list(group[best[1] :])]


def reachable_l(counts: Mapping[str, int]) -> Decimal:
    """An l between the most frequent value's share and certainty: 2 / (1 + share), in twentieths."""
    share = Decimal(max(counts.values())) / sum(counts.values())
    return (40 / (1 + share)).to_integral_value(ROUND_FLOOR) / 20
