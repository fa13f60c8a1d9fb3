"""One- and two-way tables of the release beside the original's: total variation, and Cramér's V of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from covey.arrays import Floats, Longs
from covey.evaluation.axes import Axis
from covey.evaluation.findings import Distance

_RUNS = 50
_RUNS_OF_PAIRS = 12


def single_distances(axes: Sequence[Axis], released: Longs, original: Longs) -> tuple[Distance, ...]:
    """Each column's distance, the worst first."""
    found = []
    for axis in axes:
        run = axis.runs(_RUNS, original)
        before: Floats = np.bincount(
            run[axis.original], weights=original.astype(float), minlength=int(run.max()) + 1
        ).astype(float)
        after = np.bincount(axis.released, weights=released, minlength=len(axis.first)) @ axis.spread(run)
        found.append(Distance((axis.name,), total_variation(before, after)))
    return tuple(sorted(found, key=lambda each: -each.total_variation))


def pair_distances(axes: Sequence[Axis], released: Longs, original: Longs) -> tuple[Distance, ...]:
    """The distance of each pair of columns, the worst first."""
    runs = [axis.runs(_RUNS_OF_PAIRS, original) for axis in axes]
    spread = [axis.spread(run) for axis, run in zip(axes, runs, strict=True)]
    found = []
    for one, two in combinations(range(len(axes)), 2):
        a, b = axes[one], axes[two]
        shape = int(runs[one].max()) + 1, int(runs[two].max()) + 1
        cell = runs[one][a.original] * shape[1] + runs[two][b.original]
        before: Floats = (
            np.bincount(cell, weights=original.astype(float), minlength=shape[0] * shape[1])
            .astype(float)
            .reshape(shape)
        )
        shares = released[:, None] * spread[two][b.released]
        lengths = [np.bincount(a.released, weights=share, minlength=len(a.first)) for share in shares.T]
        after = spread[one].T @ np.stack(lengths, axis=1)
        found.append(Distance((a.name, b.name), total_variation(before, after), cramers_v(before), cramers_v(after)))
    return tuple(sorted(found, key=lambda each: -each.total_variation))


def total_variation(one: Floats, other: Floats) -> float:
    """Half the sum of differences of two distributions: 0 if they are equal, 1 if they share nothing."""
    if not one.sum() or not other.sum():
        return 1.0
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)


def cramers_v(table: Floats) -> float:
    """Cramér's V: 0 for independent columns, 1 where one says the other."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    least = min(table.shape) - 1
    if least < 1:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum() / least))
