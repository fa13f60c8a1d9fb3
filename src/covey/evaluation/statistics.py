"""Means and regression coefficients with 95% intervals, from the original rows and from the release.

Generalized numbers enter as the middle of their values. The overlap of two intervals is that of Karr, Kohnen, Oganian,
Reiter and Sanil (2006): the mean of the parts of either interval that lie in the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Floats, Longs
from covey.evaluation.axes import Axis
from covey.evaluation.findings import Estimate, Regression

_NORMAL = 1.959963984540054  # of 95%
Interval = tuple[float, float, float]


@dataclass(frozen=True)
class Feature:
    """One number for each distinct row of either table; a row without it is NaN."""

    name: str
    released: Floats
    original: Floats


def features(axes: Sequence[Axis], original: Longs) -> list[Feature]:
    """Every column as a number: numbers and dates as they are, text as having its most frequent value or not."""
    found = []
    for axis in axes:
        middle = axis.midpoints()
        if middle is not None:
            found.append(Feature(axis.name, middle[0][axis.released], middle[1][axis.original]))
            continue
        frequent = int(np.argmax(np.bincount(axis.original, weights=original, minlength=axis.width)))
        chosen = (np.arange(axis.width) == frequent).astype(float)
        name = f"{axis.name} is {axis.values[frequent] or 'missing'}"
        found.append(Feature(name, axis.shares(chosen)[axis.released], chosen[axis.original]))
    return found


def means(axes: Sequence[Axis], released: Longs, original: Longs) -> tuple[Estimate, ...]:
    """The mean of every column of numbers."""
    numeric = {axis.name for axis in axes if axis.column.kind == "number"}
    return tuple(
        compare(each.name, _mean(each.original, original), _mean(each.released, released))
        for each in features(axes, original)
        if each.name in numeric
    )


def regression(axes: Sequence[Axis], outcome: str, released: Longs, original: Longs) -> Regression | None:
    """Least squares of the outcome on all other columns, each in units of its standard deviation in the original.

    None where nothing is left to explain, or columns say each other.
    """
    given = features(axes, original)
    target = [axis.name for axis in axes].index(outcome)
    others = [place for place in range(len(given)) if place != target and np.nanstd(given[place].original) > 0]
    if not others or not np.nanstd(given[target].original):
        return None
    centre = [float(np.nanmean(each.original)) for each in given]
    scale = [float(np.nanstd(each.original)) or 1.0 for each in given]
    before = _least_squares(
        [(each.original - c) / s for each, c, s in zip(given, centre, scale, strict=True)], target, others, original
    )
    after = _least_squares(
        [(each.released - c) / s for each, c, s in zip(given, centre, scale, strict=True)], target, others, released
    )
    if before is None or after is None:
        return None
    named = [given[place].name for place in others]
    return Regression(given[target].name, tuple(compare(*each) for each in zip(named, before, after, strict=True)))


def compare(name: str, original: Interval, release: Interval) -> Estimate:
    """Two intervals of one figure, and how far they overlap."""
    shared = min(original[2], release[2]) - max(original[1], release[1])
    widths = original[2] - original[1], release[2] - release[1]
    overlap = sum(shared / width if width > 0 else float(shared >= 0) for width in widths) / 2
    return Estimate(name, original, release, overlap)


def _mean(values: Floats, counts: Longs) -> Interval:
    known = np.isfinite(values)
    weight, seen = counts[known].astype(float), values[known]
    rows = weight.sum()
    mean = float(weight @ seen / rows) if rows else np.nan
    spread = _NORMAL * float(np.sqrt(weight @ (seen - mean) ** 2 / max(rows - 1, 1) / max(rows, 1)))
    return mean, mean - spread, mean + spread


def _least_squares(columns: list[Floats], target: int, others: list[int], counts: Longs) -> list[Interval] | None:
    """The coefficients with intervals that do not take errors to be alike (White 1980)."""
    table = np.stack(columns, axis=1)
    known = np.isfinite(table).all(axis=1)
    weight, rows = counts[known].astype(float), counts[known].sum()
    design = np.column_stack([np.ones(known.sum()), table[known][:, others]])
    square = design.T @ (design * weight[:, None])
    if rows <= design.shape[1] or np.linalg.matrix_rank(square) < design.shape[1]:
        return None
    inverse = np.linalg.inv(square)
    found = inverse @ (design.T @ (weight * table[known][:, target]))
    residual = table[known][:, target] - design @ found
    middle = design.T @ (design * (weight * residual**2)[:, None])
    error = _NORMAL * np.sqrt(np.diag(inverse @ middle @ inverse) * rows / (rows - design.shape[1]))
    return [(float(f), float(f - e), float(f + e)) for f, e in zip(found[1:], error[1:], strict=True)]
