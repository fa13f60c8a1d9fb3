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


def opened(column: ColumnValues, k: int, limit: int, *, diverse: bool) -> tuple[str | None, tuple[str, ...]] | None:
    """Returns the hierarchy and lines of an open column with at most `limit` values, or None."""
    minimum = max(k, column.rows // (_EVEN * limit))
    limit = max(FEWEST, limit - (column.lacking >= minimum))
    opening = None
    if len(column.known) <= limit or column.spelling.kind != "number":
        opening = _categories(column, minimum, limit)
    if opening is None and column.spelling.kind == "number":
        opening = _binned(column, k, minimum, limit) or (
            _categories(column, minimum, limit) if len(column.known) < 20 else None
        )
    if opening is None:
        return None
    hierarchy, lines, counts = opening
    if column.lacking and 'missing = "other"' not in lines:
        counts = {**counts, cells.MISSING: column.lacking}
    diversity = reachable_l(counts) if diverse else 1
    return hierarchy, (*lines, *([f"l = {diversity}"] if diversity > 1 else []))


_Opened = tuple[str | None, list[str], dict[str, int]]


def _categories(column: ColumnValues, minimum: int, limit: int) -> _Opened | None:
    """Returns the most frequent values, with `other` for all that few rows have."""
    value_counts = column.known
    few_missing = column.lacking if column.lacking < minimum else 0
    ordered = sorted(value_counts, key=lambda value: (-value_counts[value], value))
    frequent = [value for value in ordered if value_counts[value] >= minimum and value != OTHER]
    remainder = sum(value_counts.values()) - sum(value_counts[value] for value in frequent) + few_missing
    while frequent and (0 < remainder < minimum or len(frequent) + (remainder > 0) > limit):
        remainder += value_counts[frequent.pop()]
    if len(frequent) + (remainder > 0) < FEWEST or remainder > (1 - _KEPT) * column.rows:
        return None
    lines = [] if column.spelling.kind == "text" else [f'type = "{column.spelling.kind}"']
    counts = {value: value_counts[value] for value in frequent} | ({OTHER: remainder} if remainder else {})
    lines += [f"values = [{', '.join(map(toml_string, sorted(frequent) + [OTHER] * (remainder > 0)))}]"]
    lines += ['unlisted = "other"'] if remainder else []
    lines += ['missing = "other"'] if few_missing else []
    return None, lines, counts


def _binned(column: ColumnValues, k: int, minimum: int, limit: int) -> _Opened | None:
    """Returns public steps to which the numbers are rounded, so that enough rows have each."""
    value_counts = numbers_of(column.known)
    lines = ['missing = "drop"'] if 0 < column.lacking < k else []
    for unit in _steps(value_counts):
        counts = _rounded(value_counts, unit)
        coded = _coded(counts, unit, minimum)
        if not FEWEST <= len(coded) <= limit:
            continue
        bottom, top = min(coded), max(coded)
        parts = ["min = 0" if min(counts) >= 0 == bottom else f"bottom = {cells.spell(bottom)}"]
        parts += [f"top = {cells.spell(top)}", f"unit = {cells.spell(unit)}", "round = true"]
        return "{ " + ", ".join(parts) + " }", lines, {cells.spell(value): count for value, count in coded.items()}
    return None


def _rounded(value_counts: Mapping[Decimal, int], unit: Decimal) -> dict[Decimal, int]:
    counts: dict[Decimal, int] = {}
    for value, count in value_counts.items():
        multiple = (value / unit).to_integral_value(ROUND_HALF_UP) * unit
        counts[multiple] = counts.get(multiple, 0) + count
    return counts


def _coded(counts: Mapping[Decimal, int], unit: Decimal, minimum: int) -> dict[Decimal, int]:
    """Returns the run of frequent neighbours with the most rows. Its ends take all values beyond."""
    runs: list[list[Decimal]] = [[]]
    for value in sorted(counts):
        if counts[value] < minimum or (runs[-1] and value - runs[-1][-1] != unit):
            runs.append([])
        if counts[value] >= minimum:
            runs[-1].append(value)
    best = max(runs, key=lambda run: sum(counts[value] for value in run))
    coded = dict.fromkeys(best, 0)
    for value, count in counts.items():
        if best:
            coded[min(max(value, best[0]), best[-1])] += count
    covered = sum(counts[value] for value in best)
    return coded if covered >= _INSIDE * sum(counts.values()) else {}


def _steps(counts: Mapping[Decimal, int]) -> Iterator[Decimal]:
    """Yields 1, 2 and 5 times the powers of ten that suit the values' range."""
    ordered = [value for value in sorted(counts) for _ in range(min(counts[value], 1))]
    span = ordered[-1] - ordered[0]
    spread = (ordered[len(ordered) * 9 // 10] - ordered[len(ordered) // 10]) or span
    if not span:
        return
    ten = Decimal(1).scaleb((spread / 40).adjusted())
    while ten <= span:
        yield from (ten * factor for factor in (1, 2, 5))
        ten *= 10
