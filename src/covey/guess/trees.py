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


def numbers(known: Mapping[str, int], k: int, born: date | None = None) -> str:
    """Numbers in public steps, from a coded bottom to a coded top with k rows or more each: nobody's own value ends it.

    With `born`, the values are dates of birth and the numbers their ages on that day.
    """
    often = _ages(known, born) if born else numbers_of(known)
    ordered = sorted(often)
    needed = max(k, int(_TAIL * sum(often.values())))
    low, high = _reached(ordered, often, needed), _reached(ordered[::-1], often, needed)
    unit = _unit(often)
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


def numbers_of(known: Mapping[str, int]) -> dict[Decimal, int]:
    """Returns the rows of each number."""
    return {cells.number(value) or Decimal(0): count for value, count in known.items()}


def leaves(hierarchy: str) -> list[str]:
    """Every value that a column with such a hierarchy of numbers publishes."""
    spec = tomllib.loads(f"own = {hierarchy}", parse_float=Decimal)["own"]
    bottom, top, unit = (None if key not in spec else Decimal(spec[key]) for key in ("bottom", "top", "unit"))
    low, unit = Decimal(spec.get("min", 0)) if bottom is None else bottom, unit or Decimal(1)
    high = Decimal(spec["max"]) if top is None else top
    coding = Coding(bottom, top)
    return [coding.coded(low + place * unit) for place in range(int((high - low) / unit) + 1)]


def _unit(often: Mapping[Decimal, int]) -> Decimal:
    """The power of ten, 1 at most, of which nearly all rows have multiples: few imputed values do not make it finer."""
    decimals: dict[int, int] = {}
    for value, count in often.items():
        digits = max(0, -int(value.normalize().as_tuple().exponent))
        decimals[digits] = decimals.get(digits, 0) + count
    rows, enough = 0, 0.95 * sum(often.values())
    for digits in sorted(decimals):
        rows += decimals[digits]
        if rows >= enough:
            return Decimal(1).scaleb(-digits)
    return Decimal(1)


def _ages(known: Mapping[str, int], on: date) -> dict[Decimal, int]:
    found: dict[Decimal, int] = {}
    for value, count in known.items():
        day = cells.day(value)
        if day is not None:
            age = Decimal(on.year - day.year - ((on.month, on.day) < (day.month, day.day)))
            found[age] = found.get(age, 0) + count
    return found


def _reached(ordered: Sequence[Decimal], often: Mapping[Decimal, int], needed: int) -> Decimal:
    """The value up to which so many rows lie, seen from the first one on."""
    rows = 0
    for value in ordered:
        rows += often[value]
        if rows >= needed:
            return value
    return ordered[-1]


def _down(value: Decimal, step: Decimal) -> Decimal:
    return (value / step).to_integral_value(ROUND_FLOOR) * step


def dates(known: Mapping[str, int], whole: int = 1) -> str:
    """Days, months, and what is coarser; whole years, or as many at a time, so that neither end is somebody's day."""
    days = [found for value in known if (found := cells.first_day(value)) is not None]
    first, last = date(min(days).year // whole * whole, 1, 1), date(max(days).year // whole * whole + whole - 1, 12, 31)
    span = last.year - first.year
    units = ["month", "quarter", "year"] if span < 3 else ["month", "year", "half-decade", "decade"]
    if 3 <= span < 20:
        units = ["month", "quarter", "year", "half-decade"]
    listed = ", ".join(f'"{unit}"' for unit in units)
    return f"{{ date = [{listed}], min = {first}, max = {last} }}"


def prefixes(known: Mapping[str, int]) -> str | None:
    """Codes of about one length that lose their tail, or None."""
    lengths = {len(value) for value in known}
    longest = max(lengths)
    if not 3 <= longest <= 12 or longest - min(lengths) > 4:
        return None
    return f"{{ prefix = {list(range(longest - 1, max(longest - 4, 0), -1))} }}"


def areas(known: Mapping[str, int], k: int) -> tuple[int, str] | None:
    """The longest first part of codes that k rows or more share for nearly all, and the tree of those parts."""
    for length in range(max(map(len, known)), 0, -1):
        counts: dict[str, int] = {}
        for value, count in known.items():
            counts[value[:length]] = counts.get(value[:length], 0) + count
        kept = sorted(value for value, count in counts.items() if count >= k)
        if len(kept) > 1 and sum(counts[value] for value in kept) >= _COVERED * sum(counts.values()):
            shorter = range(length - 1, max(length - 4, 0), -1)
            paths = [(value, *(f"{value[:part]}*" for part in shorter), cells.SUPPRESSED) for value in kept]
            return length, _written([*paths, (OTHER, *(OTHER for _ in shorter), cells.SUPPRESSED)])
    return None


def are_codes(known: Mapping[str, int]) -> bool:
    """True for many short texts of one length with digits in them."""
    return len({len(value) for value in known}) == 1 and all(
        3 <= len(value) <= 12 and any(mark.isdigit() for mark in value) and " " not in value for value in known
    )


def ordered(known: Mapping[str, int]) -> str:
    """Few numbers, neighbours grouped so that groups have like numbers of rows."""
    values = sorted(known, key=lambda value: cells.number(value) or Decimal(0))
    return _file(values, known, lambda own: own[0] if len(own) == 1 else f"{own[0]} to {own[-1]}")


def categories(known: Mapping[str, int]) -> tuple[str, str]:
    """Words, grouped by the first word that they share, else rare ones with rare ones; and which of the two."""
    values = sorted(known, key=lambda value: (-known[value], value))
    first = {value: value.replace("_", " ").replace("-", " ").split(" ")[0].casefold() for value in values}
    groups = len(set(first.values()))
    if len(values) > 3 and 2 <= groups <= 0.7 * len(values):
        total = {word: sum(known[value] for value in values if first[value] == word) for word in set(first.values())}
        values.sort(key=lambda value: (-total[first[value]], first[value], -known[value], value))
        return _grouped(values, known, first), "grouped by their first word"
    return _file(values, known, _either), "rare ones grouped with rare ones"


def _either(own: Sequence[str]) -> str:
    """The label of a group: its members, or the most frequent one and how many more."""
    whole = " | ".join(own)
    return whole if len(own) <= 4 and len(whole) <= _LONGEST_LABEL else f"{own[0]} or {len(own) - 1} others"


def _grouped(values: Sequence[str], known: Mapping[str, int], first: Mapping[str, str]) -> str:
    """Values below groups with one first word, which are grouped further by their rows."""
    words = [list(own) for _, own in groupby(values, key=lambda value: first[value])]
    rows = {own[0]: sum(known[value] for value in own) for own in words}
    leads = {value: own[0] for own in words for value in own}
    named = {own[0]: _either(own) for own in words}
    above = {path[0]: path[1:] for path in _paths([own[0] for own in words], rows, lambda own: _lead(own, named))}
    return _written([(value, named[leads[value]], *above[leads[value]]) for value in values])


def _lead(own: Sequence[str], named: Mapping[str, str]) -> str:
    return named[own[0]] if len(own) == 1 else f"{own[0]} or {plural(len(own) - 1, 'other group')}"


def _file(values: Sequence[str], known: Mapping[str, int], label: Callable[[Sequence[str]], str]) -> str:
    return _written(_paths(values, known, label))


def _written(paths: Sequence[tuple[str, ...]]) -> str:
    return write(Hierarchy.from_paths(paths))


def _paths(
    values: Sequence[str], known: Mapping[str, int], label: Callable[[Sequence[str]], str]
) -> list[tuple[str, ...]]:
    """Each value's path: the list halved by rows, and its halves, to the depth that their number asks for."""
    depth = min(_DEPTH, max(0, (len(values) - 1).bit_length() - 1))
    groups = [list(values)]
    levels = []
    for _ in range(depth):
        groups = [half for own in groups for half in _halves(own, known)]
        levels.append({value: label(own) for own in groups for value in own})
    return [(value, *(level[value] for level in reversed(levels)), cells.SUPPRESSED) for value in values]


def _halves(own: Sequence[str], known: Mapping[str, int]) -> list[list[str]]:
    """A list cut in two where its rows are halved best; one of a single value stays whole."""
    if len(own) == 1:
        return [list(own)]
    whole, rows, best = sum(known[value] for value in own), 0, (Decimal("Infinity"), 1)
    for place in range(1, len(own)):
        rows += known[own[place - 1]]
        best = min(best, (Decimal(abs(2 * rows - whole)), place))
    return [list(own[: best[1]]), list(own[best[1] :])]


def reachable_l(known: Mapping[str, int]) -> Decimal:
    """An l halfway between the most frequent value's share and certainty: 2 / (1 + share), in twentieths."""
    share = Decimal(max(known.values())) / sum(known.values())
    return (40 / (1 + share)).to_integral_value(ROUND_FLOOR) / 20
