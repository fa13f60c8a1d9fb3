"""People who are unique in the population, estimated from a sample, and the chance of finding a released person there.

The population is said by the part of it that is in the sample. Estimators are those that ARX offers: Pitman's sampling
model (Hoshino 2001), Zayatz (1991), a negative binomial shifted by one (Chen and Keller-McNulty 1998), and the rule of
Dankar, El Emam, Neisa and Roffey (2012) that chooses among them.
"""

from __future__ import annotations

from math import exp, inf, lgamma, log

import numpy as np

from covey.arrays import Floats, Longs
from covey.evaluation.findings import InPopulation, Uniques
from covey.evaluation.search import least, root

_SMALL_SAMPLE = 0.1


def uniques(sizes: Longs, fraction: float) -> Uniques:
    """The estimated number of people who are alone in the population, from the sizes of the sample's classes."""
    size, number = np.unique(sizes, return_counts=True)
    people = round(int(sizes.sum()) / fraction)
    alone = int(number[size == 1].sum())
    if not alone:
        return Uniques(0, 0.0, 0.0, 0.0, "none is needed: nobody is alone in the sample", 0.0, 0.0)
    by_pitman = pitman(size, number, people)
    by_zayatz = zayatz(size, number, people)
    by_snb = shifted_negative_binomial(size, number, fraction)
    if fraction <= _SMALL_SAMPLE and by_pitman is not None:
        chosen, found = "Pitman", by_pitman
    elif fraction > _SMALL_SAMPLE and by_snb is not None and by_snb <= by_zayatz:
        chosen, found = "SNB", by_snb
    else:
        chosen, found = "Zayatz", by_zayatz
    return Uniques(alone, by_pitman, by_zayatz, by_snb, chosen, found, found / people)


def zayatz(size: Longs, number: Longs, people: int) -> float:
    """Zayatz: classes of the population are taken to be as large as the sample's.

    Of the sample's uniques that part comes from classes of one; as many more are outside of the sample.
    """
    sample = int(size @ number)
    one = np.array([_one_of(int(own), people, sample) for own in size])
    alone = float(number[size == 1].sum())
    certain = alone * float(one[size == 1].sum()) / float(number @ one)
    return alone * certain / (sample / people)


def _one_of(size: int, people: int, sample: int) -> float:
    """The chance that a sample has exactly one of so many people."""
    return size * exp(_log_ways(people - size, sample - 1) - _log_ways(people, sample))


def _log_ways(of: int, chosen: int) -> float:
    """The logarithm of the number of ways to choose some of them."""
    return lgamma(of + 1) - lgamma(chosen + 1) - lgamma(of - chosen + 1) if 0 <= chosen <= of else -inf


def pitman(size: Longs, number: Longs, people: int) -> float | None:
    """Pitman's model, its two parameters by maximum likelihood; None where the search finds none.

    With no second parameter it is Ewens's model, and with the largest one everybody is unique."""
    sample, classes = int(size @ number), int(number.sum())
    steps = np.arange(1, classes, dtype=float)
    largest = int(size.max())
    tail = np.array([number[size > i].sum() for i in range(1, largest)], dtype=float)  # classes larger than i
    below = np.arange(1, largest, dtype=float)

    def negative(parameters: Floats) -> float:
        theta, alpha = _pitman_parameters(parameters)
        rising = lgamma(theta + sample) - lgamma(theta + 1)
        return float(-(np.log(theta + steps * alpha).sum() - rising + tail @ np.log(below - alpha)))

    starts = [(np.log(max(classes / 10, 1.0)), 0.0), (0.0, 1.0), (np.log(max(classes, 2)), -2.0)]
    best = min((least(negative, np.array(start)) for start in starts), key=lambda end: end.value)
    theta, alpha = _pitman_parameters(best.point)
    if not best.found:
        return None
    found = exp(lgamma(theta + 1) - lgamma(theta + alpha) + alpha * log(people))
    return min(found, float(people))


def _pitman_parameters(free: Floats) -> tuple[float, float]:
    """Theta above 0 and alpha between 0 and 1, from two numbers without bounds."""
    return float(np.exp(np.clip(free[0], -30, 30))), float(1 / (1 + np.exp(-np.clip(free[1], -20, 20))))


def shifted_negative_binomial(size: Longs, number: Longs, fraction: float) -> float | None:
    """Class sizes in the population are one more than a negative binomial number.

    Thinned by the sampling fraction such a number is negative binomial again, so that the expected number of classes in
    the sample, of classes of one, and of rows are known; the three parameters are those that give the sample's own.
    """
    classes, alone = float(number.sum()), float(number[size == 1].sum())
    rows = float(size @ number)

    def off(parameters: Floats) -> Floats:
        total, shape, chance = _snb_parameters(parameters)
        kept = chance / (chance + fraction * (1 - chance))
        none = kept**shape
        unseen = (1 - fraction) * none
        single = fraction * none + (1 - fraction) * shape * (1 - kept) * none
        mean = fraction * (1 + shape * (1 - chance) / chance)
        return np.array([total * (1 - unseen) / classes - 1, total * single / alone - 1, total * mean / rows - 1])

    for shape in (0.1, 0.5, 2.0):
        start = np.array([np.log(classes / min(1.0, 2 * fraction)), np.log(shape), -1.0])
        end = root(off, start)
        if np.abs(off(end)).max() < 1e-6:
            total, found, chance = _snb_parameters(end)
            return float(min(total * chance**found, rows / fraction))
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
    chance = np.array([_expected_inverse(int(each), each * (1 - fraction) / fraction) for each in size])
    rows = size @ number
    average, delta = float((size * number) @ chance / rows), float((size * chance).max())
    return InPopulation(fraction, float(chance.max()), average, exact=False, delta=min(delta, 1.0))


def in_counted_population(sizes: Longs, meant: Longs, people: int) -> InPopulation:
    """The same from a population table: `meant` says how many of its people each class's labels cover."""
    found = np.maximum(meant, sizes)
    rows = int(sizes.sum())
    return InPopulation(
        fraction=min(rows / people, 1.0),
        highest=float((1 / found).max()),
        average=float((sizes / found).sum() / rows),
        exact=True,
        delta=float((sizes / found).max()),
    )


def _expected_inverse(size: int, others: float) -> float:
    """The expectation of 1 / (size + X) for X Poisson with that mean."""
    if others <= 0:
        return 1 / size
    reach = 12 * np.sqrt(others) + 12
    first = max(0, int(others - reach))
    values = np.arange(first, int(others + reach) + 1)
    factorials = lgamma(first + 1) + np.cumsum(np.log(np.maximum(values, 1))) - log(max(first, 1))
    return float(np.exp(values * log(others) - others - factorials) @ (1 / (size + values)))
