"""Columns published as they are, within bounds: few values, each borne by k rows or more.

With at most sqrt(rows / k) values in each column, two open columns make cells of k rows on average. Numbers are rounded
to public steps, with a coded bottom and top, until so; rare categories become `other`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal

from covey import cells
from covey.guess.columns import ColumnValues
from covey.guess.trees import numbers_of, reachable_l
from covey.plain import toml_string
from covey.schema import OTHER

_EVEN = 4  # a value has at least this part of the rows that it had if all values had as many
FEWEST = 2  # values that an open column must keep
_INSIDE = 0.6  # of the rows keep a step of their own where numbers beyond are coded
_KEPT = 0.25  # of the rows keep a value of their own kind where rare ones become `other`


def most_values(rows: int, k: int) -> int:
    """Returns the number of values that an open column may have, missing ones included."""
    return max(2, int((rows / k) ** 0.5))


def opened(column: ColumnValues, k: int, most: int, *, diverse: bool) -> tuple[str | None, tuple[str, ...]] | None:
    """Returns the hierarchy and the further lines of an open column with at most so many values, or None."""
    least = max(k, column.rows // (_EVEN * most))
    most = max(FEWEST, most - (column.lacking >= least))
    found = None
    if len(column.known) <= most or column.spelling.kind != "number":
        found = _categories(column, least, most)
    if found is None and column.spelling.kind == "number":
        found = _binned(column, k, least, most) or (
            _categories(column, least, most) if len(column.known) < 20 else None
        )
    if found is None:
        return None
    hierarchy, lines, counts = found
    if column.lacking and 'missing = "other"' not in lines:
        counts = {**counts, cells.MISSING: column.lacking}
    asked = reachable_l(counts) if diverse else 1
    return hierarchy, (*lines, *([f"l = {asked}"] if asked > 1 else []))


_Opened = tuple[str | None, list[str], dict[str, int]]


def _categories(column: ColumnValues, least: int, most: int) -> _Opened | None:
    """Returns the most frequent values, with `other` for all that few rows have."""
    known = column.known
    few_missing = column.lacking if column.lacking < least else 0
    ordered = sorted(known, key=lambda value: (-known[value], value))
    kept = [value for value in ordered if known[value] >= least and value != OTHER]
    rest = sum(known.values()) - sum(known[value] for value in kept) + few_missing
    while kept and (0 < rest < least or len(kept) + (rest > 0) > most):
        rest += known[kept.pop()]
    if len(kept) + (rest > 0) < FEWEST or rest > (1 - _KEPT) * column.rows:
        return None
    lines = [] if column.spelling.kind == "text" else [f'type = "{column.spelling.kind}"']
    counts = {value: known[value] for value in kept} | ({OTHER: rest} if rest else {})
    lines += [f"values = [{', '.join(map(toml_string, sorted(kept) + [OTHER] * (rest > 0)))}]"]
    lines += ['unlisted = "other"'] if rest else []
    lines += ['missing = "other"'] if few_missing else []
    return None, lines, counts


def _binned(column: ColumnValues, k: int, least: int, most: int) -> _Opened | None:
    """Returns public steps to whose multiples the numbers are rounded, so that enough rows have each."""
    often = numbers_of(column.known)
    lines = ['missing = "drop"'] if 0 < column.lacking < k else []
    for unit in _steps(often):
        counts = _rounded(often, unit)
        coded = _coded(counts, unit, least)
        if not FEWEST <= len(coded) <= most:
            continue
        bottom, top = min(coded), max(coded)
        parts = ["min = 0" if min(counts) >= 0 == bottom else f"bottom = {cells.spell(bottom)}"]
        parts += [f"top = {cells.spell(top)}", f"unit = {cells.spell(unit)}", "round = true"]
        return "{ " + ", ".join(parts) + " }", lines, {cells.spell(value): count for value, count in coded.items()}
    return None


def _rounded(often: Mapping[Decimal, int], unit: Decimal) -> dict[Decimal, int]:
    counts: dict[Decimal, int] = {}
    for value, count in often.items():
        near = (value / unit).to_integral_value(ROUND_HALF_UP) * unit
        counts[near] = counts.get(near, 0) + count
    return counts


def _coded(counts: Mapping[Decimal, int], unit: Decimal, least: int) -> dict[Decimal, int]:
    """Returns the neighbours of enough rows that have the most rows, with all that lies beyond in the two ends."""
    runs: list[list[Decimal]] = [[]]
    for value in sorted(counts):
        if counts[value] < least or (runs[-1] and value - runs[-1][-1] != unit):
            runs.append([])
        if counts[value] >= least:
            runs[-1].append(value)
    best = max(runs, key=lambda run: sum(counts[value] for value in run))
    coded = dict.fromkeys(best, 0)
    for value, count in counts.items():
        if best:
            coded[min(max(value, best[0]), best[-1])] += count
    inside = sum(counts[value] for value in best)
    return coded if inside >= _INSIDE * sum(counts.values()) else {}


def _steps(often: Mapping[Decimal, int]) -> Iterator[Decimal]:
    """Yields 1, 2 and 5 times the powers of ten, from a fortieth of the middle of the values to all of it."""
    ordered = [value for value in sorted(often) for _ in range(min(often[value], 1))]
    span = ordered[-1] - ordered[0]
    spread = (ordered[len(ordered) * 9 // 10] - ordered[len(ordered) // 10]) or span
    if not span:
        return
    ten = Decimal(1).scaleb((spread / 40).adjusted())
    while ten <= span:
        yield from (ten * factor for factor in (1, 2, 5))
        ten *= 10
