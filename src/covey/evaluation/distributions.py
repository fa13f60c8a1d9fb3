"""Counts of the release beside the original's: one- and two-way tables, Cramér's V, and random COUNT queries.

The errors of random queries are those that papers on generalization report (LeFevre et al. 2006; Xiao and Tao 2006). A
query picks some columns and in each a set of values (a stretch of numbers or dates), so large that about the wanted
part of the rows fulfils all of them if columns were independent. The answer from the release counts every row by the
part of its cells that lies in the query; rows that lie in it for certain, and rows that may, bound the answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from covey.arrays import Bits, Floats, Longs
from covey.evaluation.axes import Axis
from covey.evaluation.findings import Distance, QueryErrors

_RUNS = 50
_RUNS_OF_PAIRS = 12


def single_distances(axes: Sequence[Axis], released: Longs, original: Longs) -> tuple[Distance, ...]:
    """Each column's distance, the worst first."""
    distances = []
    for axis in axes:
        run = axis.runs(_RUNS, original)
        original_rows: Floats = np.bincount(
            run[axis.original], weights=original.astype(float), minlength=int(run.max()) + 1
        ).astype(float)
        released_rows = np.bincount(axis.released, weights=released, minlength=len(axis.first)) @ axis.spread(run)
        distances.append(Distance((axis.name,), total_variation(original_rows, released_rows)))
    return tuple(sorted(distances, key=lambda distance: -distance.total_variation))


def pair_distances(axes: Sequence[Axis], released: Longs, original: Longs) -> tuple[Distance, ...]:
    """The distance of each pair of columns, the worst first."""
    runs = [axis.runs(_RUNS_OF_PAIRS, original) for axis in axes]
    spread = [axis.spread(run) for axis, run in zip(axes, runs, strict=True)]
    distances = []
    for first, second in combinations(range(len(axes)), 2):
        a, b = axes[first], axes[second]
        shape = int(runs[first].max()) + 1, int(runs[second].max()) + 1
        cell = runs[first][a.original] * shape[1] + runs[second][b.original]
        original_rows: Floats = (
            np.bincount(cell, weights=original.astype(float), minlength=shape[0] * shape[1])
            .astype(float)
            .reshape(shape)
        )
        shares = released[:, None] * spread[second][b.released]
        lengths = [np.bincount(a.released, weights=share, minlength=len(a.first)) for share in shares.T]
        released_rows = spread[first].T @ np.stack(lengths, axis=1)
        distances.append(
            Distance(
                (a.name, b.name),
                total_variation(original_rows, released_rows),
                cramers_v(original_rows),
                cramers_v(released_rows),
            )
        )
    return tuple(sorted(distances, key=lambda distance: -distance.total_variation))


def total_variation(first: Floats, second: Floats) -> float:
    """Half the sum of differences of two distributions: 0 if equal, 1 if disjoint."""
    if not first.sum() or not second.sum():
        return 1.0
    return float(np.abs(first / first.sum() - second / second.sum()).sum() / 2)


def cramers_v(table: Floats) -> float:
    """Cramér's V: 0 for independent columns, 1 where one says the other."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    degrees = min(table.shape) - 1
    if degrees < 1:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum() / degrees))


SELECTIVITIES = (0.01, 0.05, 0.2)
MOST_COLUMNS = 4
QUERIES = 60
_TRIES = 4


def query_errors(axes: Sequence[Axis], released: Longs, original: Longs, seed: int) -> tuple[QueryErrors, ...]:
    """The errors of queries over one to four columns, at three selectivities."""
    draws = np.random.default_rng(seed)
    weights = [np.bincount(axis.original, weights=original, minlength=axis.width) for axis in axes]
    useful = [index for index, weight in enumerate(weights) if np.count_nonzero(weight) > 1]
    errors = []
    for columns in range(1, min(MOST_COLUMNS, len(useful)) + 1):
        for selectivity in SELECTIVITIES:
            answers = []
            for _ in range(QUERIES * _TRIES):
                picks = draws.choice(useful, columns, replace=False).tolist()
                part = selectivity ** (1 / columns)
                conditions = [
                    (axes[index], random_values(weights[index], part, draws, ordered=axes[index].ordered))
                    for index in picks
                ]
                answer = _answers(conditions, released, original)
                if answer[0] > 0:
                    answers.append(answer)
                if len(answers) == QUERIES:
                    break
            if answers:
                errors.append(_errors(columns, selectivity, np.array(answers)))
    return tuple(errors)


def random_values(weight: Floats, part: float, draws: np.random.Generator, *, ordered: bool) -> Bits:
    """A random set of values that about this part of the rows has."""
    order = np.flatnonzero(weight)
    order = np.roll(order, -int(draws.integers(len(order)))) if ordered else draws.permutation(order)
    share = np.cumsum(weight[order]) / weight.sum()
    number = max(1, int(np.searchsorted(share, part)) + int(draws.random() < 0.5))
    values = np.zeros(len(weight), dtype=bool)
    values[order[: min(number, len(order) - 1)]] = True
    return values


def _answers(conditions: Sequence[tuple[Axis, Bits]], released: Longs, original: Longs) -> tuple[float, ...]:
    """True answer, estimate, least and greatest possible answer."""
    true, estimate = np.ones(len(original), dtype=bool), np.ones(len(released))
    for axis, values in conditions:
        true &= values[axis.original]
        estimate *= axis.shares(values.astype(float))[axis.released]
    certain, touched = estimate > 1 - 1e-9, estimate > 0
    return (
        float(original[true].sum()), float(estimate @ released),
        float(released[certain].sum()), float(released[touched].sum()),
    )  # fmt: skip


def _errors(columns: int, selectivity: float, answers: Floats) -> QueryErrors:
    true, estimate, lowest, highest = answers.T
    error = np.abs(estimate - true) / true
    return QueryErrors(
        columns=columns,
        selectivity=selectivity,
        queries=len(answers),
        median=float(np.median(error)),
        percentile_95=float(np.percentile(error, 95)),
        uncertain=float(np.median((highest - lowest) / true)),
    )
