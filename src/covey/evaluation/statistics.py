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
    """Every column as numbers; a text has its most frequent value or not."""
    columns = []
    for axis in axes:
        middle = axis.midpoints()
        if middle is not None:
            columns.append(Feature(axis.name, middle[0][axis.released], middle[1][axis.original]))
            continue
        frequent = int(np.argmax(np.bincount(axis.original, weights=original, minlength=axis.width)))
        values = (np.arange(axis.width) == frequent).astype(float)
        name = f"{axis.name} is {axis.values[frequent] or 'missing'}"
        columns.append(Feature(name, axis.shares(values)[axis.released], values[axis.original]))
    return columns


def means(axes: Sequence[Axis], released: Longs, original: Longs) -> tuple[Estimate, ...]:
    """The mean of every column of numbers."""
    numeric = {axis.name for axis in axes if axis.column.kind == "number"}
    return tuple(
        compare(feature.name, _mean(feature.original, original), _mean(feature.released, released))
        for feature in features(axes, original)
        if feature.name in numeric
    )


def regression(axes: Sequence[Axis], outcome: str, released: Longs, original: Longs) -> Regression | None:
    """Least squares of the outcome on all other columns, in units of standard deviations.

    None where nothing is left to explain, or columns say each other.
    """
    columns = features(axes, original)
    target = [axis.name for axis in axes].index(outcome)
    predictors = [
        feature for feature in range(len(columns)) if feature != target and np.nanstd(columns[feature].original) > 0
    ]
    if not predictors or not np.nanstd(columns[target].original):
        return None
    centre = [float(np.nanmean(feature.original)) for feature in columns]
    scale = [float(np.nanstd(feature.original)) or 1.0 for feature in columns]
    original_fit = _least_squares(
        [(feature.original - c) / s for feature, c, s in zip(columns, centre, scale, strict=True)],
        target,
        predictors,
        original,
    )
    release_fit = _least_squares(
        [(feature.released - c) / s for feature, c, s in zip(columns, centre, scale, strict=True)],
        target,
        predictors,
        released,
    )
    if original_fit is None or release_fit is None:
        return None
    names = [columns[index].name for index in predictors]
    return Regression(
        columns[target].name,
        tuple(compare(*estimate) for estimate in zip(names, original_fit, release_fit, strict=True)),
    )


def compare(name: str, original: Interval, release: Interval) -> Estimate:
    """Two intervals of one figure, and how far they overlap."""
    shared = min(original[2], release[2]) - max(original[1], release[1])
    widths = original[2] - original[1], release[2] - release[1]
    overlap = sum(shared / width if width > 0 else float(shared >= 0) for width in widths) / 2
    return Estimate(name, original, release, overlap)


def _mean(values: Floats, counts: Longs) -> Interval:
    present = np.isfinite(values)
    weight, numbers = counts[present].astype(float), values[present]
    rows = weight.sum()
    mean = float(weight @ numbers / rows) if rows else np.nan
    spread = _NORMAL * float(np.sqrt(weight @ (numbers - mean) ** 2 / max(rows - 1, 1) / max(rows, 1)))
    return mean, mean - spread, mean + spread


def _least_squares(columns: list[Floats], target: int, predictors: list[int], counts: Longs) -> list[Interval] | None:
    """The coefficients with intervals that do not take errors to be alike (White 1980)."""
    table = np.stack(columns, axis=1)
    present = np.isfinite(table).all(axis=1)
    weight, rows = counts[present].astype(float), counts[present].sum()
    design = np.column_stack([np.ones(present.sum()), table[present][:, predictors]])
    square = design.T @ (design * weight[:, None])
    if rows <= design.shape[1] or np.linalg.matrix_rank(square) < design.shape[1]:
        return None
    inverse = np.linalg.inv(square)
    coefficients = inverse @ (design.T @ (weight * table[present][:, target]))
    residual = table[present][:, target] - design @ coefficients
    middle = design.T @ (design * (weight * residual**2)[:, None])
    error = _NORMAL * np.sqrt(np.diag(inverse @ middle @ inverse) * rows / (rows - design.shape[1]))
    return [(float(f), float(f - e), float(f + e)) for f, e in zip(coefficients[1:], error[1:], strict=True)]
