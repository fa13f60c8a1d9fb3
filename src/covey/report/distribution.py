"""Each column before and after, in a few bins: how often a value was in the records, and how often the release has it.

A released label that stands for several values is spread evenly over them, as a reader of the release would have to
do; so a column that was suppressed throughout comes out flat.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from covey.arrays import Floats, Ints
from covey.cells import MISSING, NO_VALUE, SUPPRESSED, number, spell
from covey.hierarchy import Hierarchy, Interval
from covey.judge.released import Released
from covey.judge.tuples import Cells, Tuples, tuples
from covey.schema import Column
from covey.sources import Data, connect
from covey.table import Table, Values

MOST_BINS = 12
_FOLLOWED, _AT_ONCE = 2_000, 100
"""People of a party who are looked for in a joint release, and how many of them at once."""
_DIGITS = 6
OTHERS = "all others"


@dataclass(frozen=True)
class Bin:
    """Some neighbouring values: their part of the records, and of the release."""

    label: str
    before: float
    after: float


@dataclass(frozen=True)
class ColumnComparison:
    """One column, before and after."""

    name: str
    role: str
    bins: tuple[Bin, ...]


def compare(records: Table, released: Released, release: Data) -> tuple[ColumnComparison, ...]:
    """Every released column that the records have, in the study's order."""
    known = {cells.column.name: cells for cells in (*released.quasi, *released.sensitive)}
    plain = [column.published for column in records.study.released if column.name not in known]
    rows = {name: _counted(cells, released.table) for name, cells in known.items()}
    if plain:
        source = connect(release)
        for column in plain:
            table = tuples(source, [column])
            rows[column.name] = _counted(table.cells[0], table)
    place = {column.name: position for position, column in enumerate(records.quasi)}
    carried = {values.column.name: values for values in records.carried}
    found = []
    for column in records.study.released:
        if column.name in place:
            position = place[column.name]
            bins = _quasi(column, records.trees[position], records.codes[position], rows[column.name])
        elif column.name in carried:
            bins = _carried(carried[column.name], rows[column.name])
        else:
            continue
        found.append(ColumnComparison(column.name, str(column.role), bins))
    return tuple(found)


def compare_own(records: Table, released: Released) -> tuple[tuple[ColumnComparison, ...], int]:
    """The quasi columns of a party's own people before, and after in the joint release; and how many were followed.

    Nobody knows which rows of a joint release are whose: a person is spread over the classes that fit, by their rows.
    Whoever fits in none was withheld, and is left out on both sides. At most so many people as one can follow quickly.
    """
    mine = {cells.column.name: cells for cells in released.quasi}
    shown = [(column, tree, mine[column.name]) for column, tree in zip(records.quasi, records.trees, strict=True)]
    ends = []
    for column, tree, cells in shown:
        stretch = _stretches(column, tree, cells.labels) | {SUPPRESSED: (0, tree.codes - 1)}  # nobody is missing in it
        ends.append(np.array([stretch[label] for label in cells.labels])[cells.codes[released.example]].T)
    most = min(records.rows, _FOLLOWED)
    chosen = np.sort(np.random.default_rng(0).choice(records.rows, most, replace=False))
    parts, fits = np.zeros(released.classes), np.zeros(most, dtype=bool)
    for start in range(0, most, _AT_ONCE):
        codes = records.codes[:, chosen[start : start + _AT_ONCE]]
        inside = np.ones((codes.shape[1], released.classes), dtype=bool)
        for own, (first, last) in zip(codes, ends, strict=True):
            inside &= (first <= own[:, None]) & (own[:, None] <= last)
        rows = inside @ released.sizes
        fits[start : start + _AT_ONCE] = rows > 0
        parts += (inside[rows > 0] / rows[rows > 0, None]).sum(axis=0) * released.sizes
    found = []
    for place, (column, tree, cells) in enumerate(shown):
        often = np.bincount(cells.codes[released.example], weights=parts, minlength=len(cells.labels))
        bins = _quasi(
            column, tree, records.codes[place][chosen[fits]], dict(zip(cells.labels, often.tolist(), strict=True))
        )
        found.append(ColumnComparison(column.name, str(column.role), bins))
    return tuple(found), int(fits.sum())


def _counted(cells: Cells, table: Tuples) -> dict[str, int]:
    """The number of rows with each label of a column."""
    often = np.bincount(cells.codes, weights=table.counts, minlength=len(cells.labels))
    return {label: int(rows) for label, rows in zip(cells.labels, often, strict=True)}


def _quasi(column: Column, tree: Hierarchy, codes: Ints, released: Mapping[str, float]) -> tuple[Bin, ...]:
    before = np.bincount(codes, minlength=tree.codes).astype(np.float64)
    change = np.zeros(tree.codes + 1)
    strange = 0.0
    stretches = _stretches(column, tree, released)
    for label, rows in released.items():
        first, last = stretches[label]
        if last < first:
            strange += rows
        else:
            change[first] += rows / (last - first + 1)
            change[last + 1] -= rows / (last - first + 1)
    after = np.cumsum(change)[:-1].round(_DIGITS)  # a sum's rounding error is no row
    bin_of, labels = _bins(tree, before)
    return _shares(
        labels,
        _total(bin_of, before, len(labels)),
        _total(bin_of, np.maximum(after, 0.0), len(labels)),
        strange,
    )


def _stretches(column: Column, tree: Hierarchy, labels: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The leaves that each released label stands for; none for a label of values that the records do not have."""
    is_interval = isinstance(column.hierarchy, Interval)
    leaves = [number(leaf) or Decimal(0) for leaf in tree.labels[: tree.leaves]] if is_interval else []
    return {label: _stretch(column, tree, leaves, label) for label in labels}


def _stretch(column: Column, tree: Hierarchy, leaves: list[Decimal], label: str) -> tuple[int, int]:
    node = tree.node(label)
    if isinstance(column.hierarchy, Interval) and label not in (SUPPRESSED, MISSING):
        ends = column.hierarchy.ends(label)
        return (0, -1) if ends is None else (bisect_left(leaves, ends[0]), bisect_right(leaves, ends[1]) - 1)
    if node is None:
        return 0, -1
    last = int(tree.last[node])
    return int(tree.first[node]), last if node == tree.missing else min(last, tree.leaves - 1)


def _bins(tree: Hierarchy, before: Floats) -> tuple[Ints, list[str]]:
    """Each leaf's bin, and the bins' labels: the finest level that is coarse enough, or else the frequent leaves."""
    for level in range(tree.height if tree.height else 1):
        nodes = list(dict.fromkeys(tree.up[level].tolist()))
        if len(nodes) <= MOST_BINS + (tree.missing is not None):
            place = {node: position for position, node in enumerate(nodes)}
            bin_of = np.array([place[node] for node in tree.up[level].tolist()], dtype=np.int32)
            return bin_of, [tree.labels[node] or NO_VALUE for node in nodes]
    kept = sorted(np.argsort(-before, kind="stable")[: MOST_BINS - 1].tolist())
    bin_of = np.full(tree.codes, len(kept), dtype=np.int32)
    bin_of[kept] = np.arange(len(kept))
    return bin_of, [*(tree.labels[leaf] or NO_VALUE for leaf in kept), OTHERS]


def _carried(values: Values, released: dict[str, int]) -> tuple[Bin, ...]:
    """A column that is released as it is: by number, or the frequent values."""
    before = dict(zip(values.labels, values.counts().tolist(), strict=True))
    labels = list(dict.fromkeys([*before, *released]))
    bin_of, names = _by_number(labels) or _by_frequency(labels, before)
    old = np.array([before.get(label, 0) for label in labels], dtype=np.float64)
    new = np.array([released.get(label, 0) for label in labels], dtype=np.float64)
    return _shares(names, _total(bin_of, old, len(names)), _total(bin_of, new, len(names)), 0.0)


def _by_number(labels: Sequence[str]) -> tuple[Ints, list[str]] | None:
    """Equal steps from the least to the greatest, where all values are numbers and there are many."""
    known = [number(label) for label in labels if label != MISSING]
    found = [value for value in known if value is not None]
    if len(found) <= MOST_BINS or len(found) < len(known):
        return None
    low, high = min(found), max(found)
    width = (high - low) / (MOST_BINS - 2)
    whole = all(value == value.to_integral_value() for value in found)
    if whole:
        width = Decimal(math.ceil((high - low + 1) / (MOST_BINS - 2)))
    steps = int((high - low) / width) + 1
    names = [_span(low + step * width, width, whole) for step in range(steps)] + [NO_VALUE]
    places = [steps if value is None else min(int((value - low) / width), steps - 1) for value in map(number, labels)]
    return np.array(places, dtype=np.int32), names


def _span(start: Decimal, width: Decimal, whole: bool) -> str:
    if whole:
        return spell(start) if width == 1 else f"{spell(start)} to {spell(start + width - 1)}"
    return f"from {float(start):.4g}"


def _by_frequency(labels: Sequence[str], before: dict[str, int]) -> tuple[Ints, list[str]]:
    """The most frequent values, and all others in one bin."""
    order = sorted(labels, key=lambda label: -before.get(label, 0))
    kept = order if len(order) <= MOST_BINS else order[: MOST_BINS - 1]
    place = {label: position for position, label in enumerate(kept)}
    names = [label or NO_VALUE for label in kept] + ([OTHERS] if len(kept) < len(order) else [])
    return np.array([place.get(label, len(kept)) for label in labels], dtype=np.int32), names


def _total(bin_of: Ints, rows: Floats, bins: int) -> Floats:
    return np.bincount(bin_of, weights=rows, minlength=bins).astype(np.float64)


def _shares(labels: Sequence[str], before: Floats, after: Floats, strange: float) -> tuple[Bin, ...]:
    """Parts of the whole; a bin for a missing value that nobody has is left out."""
    old, new = max(float(before.sum()), 1.0), max(float(after.sum()) + strange, 1.0)
    bins = [
        Bin(label, float(a) / old, float(b) / new)
        for label, a, b in zip(labels, before, after, strict=True)
        if label != NO_VALUE or a or b
    ]
    return (*bins, Bin("values that we do not have", 0.0, strange / new)) if strange else tuple(bins)
