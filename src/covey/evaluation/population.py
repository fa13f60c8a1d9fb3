"""People who are unique in the population, estimated from a sample, and the chance of finding a released person there.

The population is given by the part of it that is in the sample. Estimators are those that ARX offers: Pitman's sampling
model (Hoshino 2001), Zayatz (1991), a negative binomial shifted by one (Chen and Keller-McNulty 1998), and the rule of
Dankar, El Emam, Neisa and Roffey (2012) that chooses among them. The parameters are found by two searches: the least
value of a function (Nelder and Mead 1965), and where several are zero (Levenberg 1944)."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, lgamma, log
from typing import NamedTuple

import numpy as np

from covey.arrays import Floats, Longs
from covey.evaluation.findings import InPopulation, Uniques

_STEP, _STEP_FROM_ZERO = 0.05, 0.00025
_CLOSE = 1e-4


class Least(NamedTuple):
    """The point where a search ended, its value, and if the search came to rest."""

    point: Floats
    value: float
    converged: bool


def least(function: Callable[[Floats], float], start: Floats, steps: int = 2000) -> Least:
    """Searches the least value of a function by a simplex that moves and shrinks."""
    size = len(start)
    simplex = np.tile(np.asarray(start, dtype=float), (size + 1, 1))
    for axis in range(size):
        corner = simplex[axis + 1]
        corner[axis] = corner[axis] * (1 + _STEP) if corner[axis] else _STEP_FROM_ZERO
    values = np.array([function(corner) for corner in simplex])
    for _ in range(steps):
        order = np.argsort(values, kind="stable")
        simplex, values = simplex[order], values[order]
        if np.abs(simplex[1:] - simplex[0]).max() <= _CLOSE and np.abs(values[1:] - values[0]).max() <= _CLOSE:
            return Least(simplex[0], float(values[0]), True)
        middle = simplex[:-1].mean(axis=0)

        def tried(factor: float, middle: Floats = middle, worst: Floats = simplex[-1]) -> tuple[Floats, float]:
            point = middle + factor * (middle - worst)
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
    """Searches a point where all functions are zero."""
    point = np.asarray(start, dtype=float)
    values = functions(point)
    damping = 1e-3
    for _ in range(steps):
        shifts = 1e-7 * np.maximum(1.0, np.abs(point))
        slopes = np.stack([functions(shifted) - values for shifted in point + np.diag(shifts)], axis=1) / shifts
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


_SMALL_SAMPLE = 0.1


def uniques(sizes: Longs, fraction: float) -> Uniques:
    """The estimated number of people who are alone in the population."""
    size, number = np.unique(sizes, return_counts=True)
    people = round(int(sizes.sum()) / fraction)
    singles = int(number[size == 1].sum())
    if not singles:
        return Uniques(0, 0.0, 0.0, 0.0, "none is needed: nobody is alone in the sample", 0.0, 0.0)
    by_pitman = pitman(size, number, people)
    by_zayatz = zayatz(size, number, people)
    by_snb = shifted_negative_binomial(size, number, fraction)
    if fraction <= _SMALL_SAMPLE and by_pitman is not None:
        estimator, estimate = "Pitman", by_pitman
    elif fraction > _SMALL_SAMPLE and by_snb is not None and by_snb <= by_zayatz:
        estimator, estimate = "SNB", by_snb
    else:
        estimator, estimate = "Zayatz", by_zayatz
    return Uniques(singles, by_pitman, by_zayatz, by_snb, estimator, estimate, estimate / people)


def zayatz(size: Longs, number: Longs, people: int) -> float:
    """Zayatz: classes of the population are taken to be as large as the sample's.

    Of the sample's uniques that part comes from classes of one; as many more are outside of the sample.
    """
    sample = int(size @ number)
    chances = np.array([_one_of(int(count), people, sample) for count in size])
    singles = float(number[size == 1].sum())
    certain = singles * float(chances[size == 1].sum()) / float(number @ chances)
    return singles * certain / (sample / people)


def _one_of(size: int, people: int, sample: int) -> float:
    """The chance that a sample has exactly one of so many people."""
    return size * exp(_log_ways(people - size, sample - 1) - _log_ways(people, sample))


def _log_ways(total: int, part: int) -> float:
    """The logarithm of the number of ways to choose some of them."""
    return lgamma(total + 1) - lgamma(part + 1) - lgamma(total - part + 1) if 0 <= part <= total else -inf


def pitman(size: Longs, number: Longs, people: int) -> float | None:
    """Pitman's model, its two parameters by maximum likelihood; None where the search finds none.

    With no second parameter it is Ewens's model, and with the largest one everybody is unique."""
    sample, classes = int(size @ number), int(number.sum())
    steps = np.arange(1, classes, dtype=float)
    largest = int(size.max())
    tail = np.array([number[size > i].sum() for i in range(1, largest)], dtype=float)  # classes larger than i
    ranks = np.arange(1, largest, dtype=float)

    def negative(parameters: Floats) -> float:
        theta, alpha = _pitman_parameters(parameters)
        rising = lgamma(theta + sample) - lgamma(theta + 1)
        return float(-(np.log(theta + steps * alpha).sum() - rising + tail @ np.log(ranks - alpha)))

    starts = [(np.log(max(classes / 10, 1.0)), 0.0), (0.0, 1.0), (np.log(max(classes, 2)), -2.0)]
    best = min((least(negative, np.array(start)) for start in starts), key=lambda end: end.value)
    theta, alpha = _pitman_parameters(best.point)
    if not best.converged:
        return None
    estimate = exp(lgamma(theta + 1) - lgamma(theta + alpha) + alpha * log(people))
    return min(estimate, float(people))


def _pitman_parameters(free: Floats) -> tuple[float, float]:
    """Theta above 0 and alpha between 0 and 1, from two numbers without bounds."""
    return float(np.exp(np.clip(free[0], -30, 30))), float(1 / (1 + np.exp(-np.clip(free[1], -20, 20))))


def shifted_negative_binomial(size: Longs, number: Longs, fraction: float) -> float | None:
    """Class sizes in the population are one more than a negative binomial number.

    Thinned by the sampling fraction such a number is negative binomial again, so that the expected number of classes in
    the sample, of classes of one, and of rows are known; the three parameters are those that give the sample's own.
    """
    classes, singles = float(number.sum()), float(number[size == 1].sum())
    rows = float(size @ number)

    def off(parameters: Floats) -> Floats:
        total, shape, chance = _snb_parameters(parameters)
        ratio = chance / (chance + fraction * (1 - chance))
        empty = ratio**shape
        unseen = (1 - fraction) * empty
        single = fraction * empty + (1 - fraction) * shape * (1 - ratio) * empty
        mean = fraction * (1 + shape * (1 - chance) / chance)
        return np.array([total * (1 - unseen) / classes - 1, total * single / singles - 1, total * mean / rows - 1])

    for shape in (0.1, 0.5, 2.0):
        start = np.array([np.log(classes / min(1.0, 2 * fraction)), np.log(shape), -1.0])
        end = root(off, start)
        if np.abs(off(end)).max() < 1e-6:
            total, exponent, chance = _snb_parameters(end)
            return float(min(total * chance**exponent, rows / fraction))
    return None


def _snb_parameters(free: Floats) -> tuple[float, float, float]:
    """The number of classes, the shape and the chance, from three numbers without bounds."""
    total, shape, odds = np.exp(np.clip(free, -30, 30))
    return float(total), float(shape), float(odds / (1 + odds))


def in_population(sizes: Longs, fraction: float) -> InPopulation:
    """The chance of finding a released person, the population around each class being Poisson.

    Of a class of f released people, the others that its labels mean are Poisson with mean f (1 - p) / p.
    """
    size, number = np.unique(sizes, return_counts=True)
    chance = np.array([_expected_inverse(int(count), count * (1 - fraction) / fraction) for count in size])
    rows = size @ number
    average, delta = float((size * number) @ chance / rows), float((size * chance).max())
    return InPopulation(fraction, float(chance.max()), average, exact=False, delta=min(delta, 1.0))


def in_counted_population(sizes: Longs, meant: Longs, people: int) -> InPopulation:
    """The same chance from a population table; `meant` counts the people that labels cover."""
    totals = np.maximum(meant, sizes)
    rows = int(sizes.sum())
    return InPopulation(
        fraction=min(rows / people, 1.0),
        highest=float((1 / totals).max()),
        average=float((sizes / totals).sum() / rows),
        exact=True,
        delta=float((sizes / totals).max()),
    )


def _expected_inverse(size: int, mean: float) -> float:
    """The expectation of 1 / (size + X) for X Poisson with that mean."""
    if mean <= 0:
        return 1 / size
    reach = 12 * np.sqrt(mean) + 12
    first = max(0, int(mean - reach))
    values = np.arange(first, int(mean + reach) + 1)
    factorials = lgamma(first + 1) + np.cumsum(np.log(np.maximum(values, 1))) - log(max(first, 1))
    return float(np.exp(values * log(mean) - mean - factorials) @ (1 / (size + values)))
