"""Errors of random COUNT queries, as papers on generalization report them (LeFevre et al. 2006; Xiao and Tao 2006).

A query picks some columns and in each a set of values (a stretch of numbers or dates), so large that about the wanted
part of the rows fulfils all of them if columns were independent. The answer from the release counts every row by the
part of its cells that lies in the query; rows that lie in it for certain, and rows that may, bound the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Bits, Floats, Longs
from covey.evaluation.axes import Axis
from covey.evaluation.findings import QueryErrors

SELECTIVITIES = (0.01, 0.05, 0.2)
MOST_COLUMNS = 4
QUERIES = 60
_TRIES = 4


def query_errors(axes: Sequence[Axis], released: Longs, original: Longs, seed: int) -> tuple[QueryErrors, ...]:
    """The errors for one to four columns and three selectivities; `released`, `original`: counts of distinct rows."""
    draws = np.random.default_rng(seed)
    weights = [np.bincount(axis.original, weights=original, minlength=axis.width) for axis in axes]
    useful = [place for place, weight in enumerate(weights) if np.count_nonzero(weight) > 1]
    found = []
    for columns in range(1, min(MOST_COLUMNS, len(useful)) + 1):
        for selectivity in SELECTIVITIES:
            answers = []
            for _ in range(QUERIES * _TRIES):
                chosen = draws.choice(useful, columns, replace=False).tolist()
                part = selectivity ** (1 / columns)
                wanted = [
                    (axes[place], random_values(weights[place], part, draws, ordered=axes[place].ordered))
                    for place in chosen
                ]
                answer = _answers(wanted, released, original)
                if answer[0] > 0:
                    answers.append(answer)
                if len(answers) == QUERIES:
                    break
            if answers:
                found.append(_errors(columns, selectivity, np.array(answers)))
    return tuple(found)


def random_values(weight: Floats, part: float, draws: np.random.Generator, *, ordered: bool) -> Bits:
    """A random set of values that about this part of the rows has; a stretch of neighbours where they are ordered."""
    order = np.flatnonzero(weight)
    order = np.roll(order, -int(draws.integers(len(order)))) if ordered else draws.permutation(order)
    share = np.cumsum(weight[order]) / weight.sum()
    number = max(1, int(np.searchsorted(share, part)) + int(draws.random() < 0.5))
    chosen = np.zeros(len(weight), dtype=bool)
    chosen[order[: min(number, len(order) - 1)]] = True
    return chosen


def _answers(wanted: Sequence[tuple[Axis, Bits]], released: Longs, original: Longs) -> tuple[float, ...]:
    """True answer, estimate, least and greatest possible answer."""
    true, estimate = np.ones(len(original), dtype=bool), np.ones(len(released))
    for axis, chosen in wanted:
        true &= chosen[axis.original]
        estimate *= axis.shares(chosen.astype(float))[axis.released]
    inside, touched = estimate > 1 - 1e-9, estimate > 0
    return (
        float(original[true].sum()), float(estimate @ released),
        float(released[inside].sum()), float(released[touched].sum()),
    )  # fmt: skip


def _errors(columns: int, selectivity: float, answers: Floats) -> QueryErrors:
    true, estimate, least, most = answers.T
    error = np.abs(estimate - true) / true
    return QueryErrors(
        columns=columns,
        selectivity=selectivity,
        queries=len(answers),
        median=float(np.median(error)),
        percentile_95=float(np.percentile(error, 95)),
        uncertain=float(np.median((most - least) / true)),
    )
