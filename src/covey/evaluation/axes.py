"""Axes: a column's values in a line, a place each, so that a released label covers neighbouring places.

A released cell is read as uniform over the places of its label, as papers on generalization do: over the leaves of its
hierarchy or, in a column that is published in intervals, over the values that occur in the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Floats, Ints, Longs
from covey.cells import MISSING, first_day, number
from covey.hierarchy import Interval
from covey.judge.released import Released
from covey.judge.tuples import Cells, Original, spans
from covey.schema import Column, Role


@dataclass(frozen=True)
class Axis:
    """One column of both tables. Codes are per distinct row, whose number of rows is kept elsewhere; `first` and `last`
    are per released label."""

    column: Column
    released: Ints
    original: Ints  # the place of each distinct original row
    first: Ints
    last: Ints
    width: int
    values: tuple[str, ...]  # of each place; a place whose value does not occur may be unnamed

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def ordered(self) -> bool:
        """True for numbers and dates, whose neighbours are alike."""
        return self.column.kind != "text"

    def shares(self, weights: Floats) -> Floats:
        """The mean of `weights` over the places of each released label."""
        total = np.concatenate([[0.0], np.cumsum(weights)])
        size = np.maximum(self.last - self.first + 1, 0)
        means: Floats = (total[self.first + size] - total[self.first]) / np.maximum(size, 1)
        return means

    def numbers(self) -> Floats | None:
        """Each place's number (a date is its day); None if the column has text. Missing values are NaN."""
        if self.column.kind == "text":
            return None
        read = _day if self.column.kind == "date" else _number
        values = np.array([read(value) for value in self.values])
        return None if np.isnan(values).all() else values

    def midpoints(self) -> tuple[Floats, Floats] | None:
        """Numbers per released label (the mean of its places) and per place, or NaN."""
        numbers = self.numbers()
        if numbers is None:
            return None
        present = np.isfinite(numbers).astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.shares(np.nan_to_num(numbers)) / self.shares(present), numbers

    def runs(self, limit: int, counts: Longs) -> Longs:
        """Runs of neighbouring places that about as many original rows have, `limit` at most.

        Finer steps than the rows can fill would compare chance, not distributions.
        """
        if self.width <= limit:
            return np.arange(self.width)
        counted = np.bincount(self.original, weights=counts, minlength=self.width)
        ranks = np.cumsum(counted) - counted / 2
        run: Longs = np.minimum((ranks / max(counted.sum(), 1) * limit).astype(np.int64), limit - 1)
        return run

    def spread(self, run: Longs) -> Floats:
        """Labels x runs: the part of each label's places in each run."""
        parts = np.zeros((len(self.first), int(run.max()) + 1))
        for number_ in range(parts.shape[1]):
            parts[:, number_] = self.shares((run == number_).astype(float))
        return parts


def axes(released: Released, original: Original) -> list[Axis]:
    """The columns of the release whose values can be compared; plain columns are left out."""
    generalized = [_generalized(cells, original) for cells in released.quasi]
    return [*generalized, *(_exact(cells, original) for cells in released.sensitive)]


def _generalized(cells: Cells, original: Original) -> Axis:
    (source,) = original.table.of([cells.column])
    stretch = spans(cells, original.table)
    values = [""] * stretch.width
    for label, index in zip(source.labels, stretch.place.tolist(), strict=True):
        values[index] = label
    if not isinstance(cells.column.hierarchy, Interval):
        labels = [label for label, used in zip(source.labels, _used(source), strict=True) if used]
        values = list(cells.column.tree(labels).labels[: stretch.width])
    return Axis(
        cells.column,
        cells.codes,
        stretch.place[source.codes],
        stretch.first,
        stretch.last,
        stretch.width,
        tuple(values),
    )


def _used(cells: Cells) -> Bits:
    used = np.zeros(len(cells.labels), dtype=bool)
    used[cells.codes] = True
    return used


def _exact(cells: Cells, original: Original) -> Axis:
    """A column that is published as it is: every label is one place."""
    (source,) = original.table.of([cells.column])
    place_of = {label: index for index, label in enumerate(_in_order(cells.column, [*cells.labels, *source.labels]))}
    positions = np.array([place_of[label] for label in cells.labels], dtype=np.int32)
    original_at = np.array([place_of[label] for label in source.labels], dtype=np.int32)
    return Axis(
        cells.column, cells.codes, original_at[source.codes], positions, positions, len(place_of), tuple(place_of)
    )


def _in_order(column: Column, labels: Sequence[str]) -> list[str]:
    distinct = list(dict.fromkeys(labels))
    if column.kind == "text":
        return sorted(distinct)
    return sorted(
        distinct, key=lambda label: (label == MISSING, _number(label) if column.kind == "number" else 0.0, label)
    )


def _number(label: str) -> float:
    value = number(label)
    return np.nan if value is None else float(value)


def _day(label: str) -> float:
    day = first_day(label)
    return np.nan if day is None else float(day.toordinal())


def sensitive_only(columns: Sequence[Axis]) -> list[Axis]:
    return [axis for axis in columns if axis.column.role is Role.SENSITIVE]
