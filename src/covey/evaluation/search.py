"""Searches: the least value of a function (Nelder and Mead 1965), and where several are zero (Levenberg 1944)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from covey.arrays import Floats

_STEP, _STEP_FROM_ZERO = 0.05, 0.00025
_CLOSE = 1e-4


class Least(NamedTuple):
    """The point where a search ended, the function's value there, and if the search came to rest."""

    point: Floats
    value: float
    found: bool


def least(function: Callable[[Floats], float], start: Floats, steps: int = 2000) -> Least:
    """Searches the least value of a function near a point, by a simplex that moves and shrinks."""
    size = len(start)
    simplex = np.tile(np.asarray(start, dtype=float), (size + 1, 1))
    for place in range(size):
        corner = simplex[place + 1]
        corner[place] = corner[place] * (1 + _STEP) if corner[place] else _STEP_FROM_ZERO
    values = np.array([function(corner) for corner in simplex])
    for _ in range(steps):
        order = np.argsort(values, kind="stable")
        simplex, values = simplex[order], values[order]
        if np.abs(simplex[1:] - simplex[0]).max() <= _CLOSE and np.abs(values[1:] - values[0]).max() <= _CLOSE:
            return Least(simplex[0], float(values[0]), True)
        middle = simplex[:-1].mean(axis=0)

        def tried(by: float, middle: Floats = middle, worst: Floats = simplex[-1]) -> tuple[Floats, float]:
            point = middle + by * (middle - worst)
            return point, function(point)

        point, value = tried(1.0)
        if value < values[0]:
            further, lower = tried(2.0)
            point, value = (further, lower) if lower < value else (point, value)
        elif value >= values[-2]:
            nearer, lower = tried(0.5 if value < values[-1] else -0.5)
            if lower > min(value, values[-1]):
                simplex[1:] = simplex[0] + 0.5 * (simplex[1:] - simplex[0])
                values[1:] = [function(corner) for corner in simplex[1:]]
                continue
            point, value = nearer, lower
        simplex[-1], values[-1] = point, value
    return Least(simplex[0], float(values[0]), False)


def root(functions: Callable[[Floats], Floats], start: Floats, steps: int = 500) -> Floats:
    """Searches a point where all functions are zero; it ends where no step makes them smaller."""
    point = np.asarray(start, dtype=float)
    values = functions(point)
    damping = 1e-3
    for _ in range(steps):
        shifts = 1e-7 * np.maximum(1.0, np.abs(point))
        slopes = np.stack([functions(moved) - values for moved in point + np.diag(shifts)], axis=1) / shifts
        normal = slopes.T @ slopes
        step = np.linalg.lstsq(normal + damping * np.diag(np.diag(normal) + 1e-12), -slopes.T @ values, rcond=None)[0]
        tried = functions(point + step)
        if np.isfinite(tried).all() and tried @ tried < values @ values:
            point, values, damping = point + step, tried, damping / 10
            if values @ values < 1e-24:
                break
        else:
            damping *= 10
            if damping > 1e12:
                break
    return point
