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
    original: float
    release: float


@dataclass(frozen=True)
class ColumnComparison:
    """One column, before and after."""

    name: str
    role: str
    bins: tuple[Bin, ...]


def compare(records: Table, released: Released, release: Data) -> tuple[ColumnComparison, ...]:
    """Every released column that the records have, in the study's order."""
    judged = {cells.column.name: cells for cells in (*released.quasi, *released.sensitive)}
    plain = [column.published for column in records.study.released if column.name not in judged]
    rows = {name: _counted(cells, released.table) for name, cells in judged.items()}
    if plain:
        source = connect(release)
        for column in plain:
            table = tuples(source, [column])
            rows[column.name] = _counted(table.cells[0], table)
    positions = {column.name: position for position, column in enumerate(records.quasi)}
    exact = {values.column.name: values for values in records.carried}
    comparisons = []
    for column in records.study.released:
        if column.name in positions:
            position = positions[column.name]
            bins = _quasi(column, records.trees[position], records.codes[position], rows[column.name])
        elif column.name in exact:
            bins = _carried(exact[column.name], rows[column.name])
        else:
            continue
        comparisons.append(ColumnComparison(column.name, str(column.role), bins))
    return tuple(comparisons)


def compare_own(records: Table, released: Released) -> tuple[tuple[ColumnComparison, ...], int]:
    """Compares the quasi columns of a party's own people with the joint release.

    Nobody knows which rows of a joint release are whose: a person is spread over the classes that fit, by their rows.
    Whoever fits in none was withheld, and is left out on both sides. At most so many people as one can follow quickly.
    """
    joint_cells = {cells.column.name: cells for cells in released.quasi}
    columns = [
        (column, tree, joint_cells[column.name]) for column, tree in zip(records.quasi, records.trees, strict=True)
    ]
    ends = []
    for column, tree, cells in columns:
        stretch = _stretches(column, tree, cells.labels) | {SUPPRESSED: (0, tree.codes - 1)}  # nobody is missing in it
        ends.append(np.array([stretch[label] for label in cells.labels])[cells.codes[released.example]].T)
    followed = min(records.rows, _FOLLOWED)
    people = np.sort(np.random.default_rng(0).choice(records.rows, followed, replace=False))
    parts, fits = np.zeros(released.classes), np.zeros(followed, dtype=bool)
    for start in range(0, followed, _AT_ONCE):
        codes = records.codes[:, people[start : start + _AT_ONCE]]
        fitting = np.ones((codes.shape[1], released.classes), dtype=bool)
        for values, (first, last) in zip(codes, ends, strict=True):
            fitting &= (first <= values[:, None]) & (values[:, None] <= last)
        rows = fitting @ released.sizes
        fits[start : start + _AT_ONCE] = rows > 0
        parts += (fitting[rows > 0] / rows[rows > 0, None]).sum(axis=0) * released.sizes
    comparisons = []
    for position, (column, tree, cells) in enumerate(columns):
        frequencies = np.bincount(cells.codes[released.example], weights=parts, minlength=len(cells.labels))
        bins = _quasi(
            column,
            tree,
            records.codes[position][people[fits]],
            dict(zip(cells.labels, frequencies.tolist(), strict=True)),
        )
        comparisons.append(ColumnComparison(column.name, str(column.role), bins))
    return tuple(comparisons), int(fits.sum())


def _counted(cells: Cells, table: Tuples) -> dict[str, int]:
    """The number of rows with each label of a column."""
    frequencies = np.bincount(cells.codes, weights=table.counts, minlength=len(cells.labels))
    return {label: int(rows) for label, rows in zip(cells.labels, frequencies, strict=True)}


def _quasi(column: Column, tree: Hierarchy, codes: Ints, released: Mapping[str, float]) -> tuple[Bin, ...]:
    original = np.bincount(codes, minlength=tree.codes).astype(np.float64)
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
    spread = np.cumsum(change)[:-1].round(_DIGITS)  # a sum's rounding error is no row
    bin_of, labels = _bins(tree, original)
    return _shares(
        labels,
        _total(bin_of, original, len(labels)),
        _total(bin_of, np.maximum(spread, 0.0), len(labels)),
        strange,
    )


def _stretches(column: Column, tree: Hierarchy, labels: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The leaves that each released label stands for; none for values that the records lack."""
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


def _bins(tree: Hierarchy, original: Floats) -> tuple[Ints, list[str]]:
    """Each leaf's bin and the bins' labels: a coarse level, or else the frequent leaves."""
    for level in range(tree.height if tree.height else 1):
        nodes = list(dict.fromkeys(tree.up[level].tolist()))
        if len(nodes) <= MOST_BINS + (tree.missing is not None):
            positions = {node: position for position, node in enumerate(nodes)}
            bin_of = np.array([positions[node] for node in tree.up[level].tolist()], dtype=np.int32)
            return bin_of, [tree.labels[node] or NO_VALUE for node in nodes]
    leaves = sorted(np.argsort(-original, kind="stable")[: MOST_BINS - 1].tolist())
    bin_of = np.full(tree.codes, len(leaves), dtype=np.int32)
    bin_of[leaves] = np.arange(len(leaves))
    return bin_of, [*(tree.labels[leaf] or NO_VALUE for leaf in leaves), OTHERS]


def _carried(values: Values, released: dict[str, int]) -> tuple[Bin, ...]:
    """A column that is released as it is: by number, or the frequent values."""
    original = dict(zip(values.labels, values.counts().tolist(), strict=True))
    labels = list(dict.fromkeys([*original, *released]))
    bin_of, names = _by_number(labels) or _by_frequency(labels, original)
    old = np.array([original.get(label, 0) for label in labels], dtype=np.float64)
    published = np.array([released.get(label, 0) for label in labels], dtype=np.float64)
    return _shares(names, _total(bin_of, old, len(names)), _total(bin_of, published, len(names)), 0.0)


def _by_number(labels: Sequence[str]) -> tuple[Ints, list[str]] | None:
    """Equal steps from the least to the greatest, if there are many numbers."""
    numbers = [number(label) for label in labels if label != MISSING]
    values = [value for value in numbers if value is not None]
    if len(values) <= MOST_BINS or len(values) < len(numbers):
        return None
    low, high = min(values), max(values)
    width = (high - low) / (MOST_BINS - 2)
    integral = all(value == value.to_integral_value() for value in values)
    if integral:
        width = Decimal(math.ceil((high - low + 1) / (MOST_BINS - 2)))
    steps = int((high - low) / width) + 1
    names = [_span(low + step * width, width, integral) for step in range(steps)] + [NO_VALUE]
    bins = [steps if value is None else min(int((value - low) / width), steps - 1) for value in map(number, labels)]
    return np.array(bins, dtype=np.int32), names


def _span(start: Decimal, width: Decimal, integral: bool) -> str:
    if integral:
        return spell(start) if width == 1 else f"{spell(start)} to {spell(start + width - 1)}"
    return f"from {float(start):.4g}"


def _by_frequency(labels: Sequence[str], original: dict[str, int]) -> tuple[Ints, list[str]]:
    """The most frequent values, and all others in one bin."""
    order = sorted(labels, key=lambda label: -original.get(label, 0))
    frequent = order if len(order) <= MOST_BINS else order[: MOST_BINS - 1]
    positions = {label: position for position, label in enumerate(frequent)}
    names = [label or NO_VALUE for label in frequent] + ([OTHERS] if len(frequent) < len(order) else [])
    return np.array([positions.get(label, len(frequent)) for label in labels], dtype=np.int32), names


def _total(bin_of: Ints, rows: Floats, bins: int) -> Floats:
    return np.bincount(bin_of, weights=rows, minlength=bins).astype(np.float64)


def _shares(labels: Sequence[str], original: Floats, release: Floats, strange: float) -> tuple[Bin, ...]:
    """Parts of the whole, without a bin for missing values that nobody has."""
    old, release_total = max(float(original.sum()), 1.0), max(float(release.sum()) + strange, 1.0)
    bins = [
        Bin(label, float(a) / old, float(b) / release_total)
        for label, a, b in zip(labels, original, release, strict=True)
        if label != NO_VALUE or a or b
    ]
    return (*bins, Bin("values that we do not have", 0.0, strange / release_total)) if strange else tuple(bins)
