"""The growth of time and memory of the centralized anonymizers from 10^4 to 10^7 rows.

Synthetic rows: eight columns of 2, 100, 5, 7, 16, 41, 8 and 14 values (the shape of Adult) with hierarchies of two to
five levels; the first column is drawn, and each of the others leans on the one before it for seven rows of ten and is
drawn from a geometric distribution for the rest. k = 10. Each run is a process of its own, whose peak of memory and
whose seconds (grouping the rows into items included, compiling not) are noted. What an algorithm refuses is noted too.

`python -m benchmarks growth` writes results/algorithms.json and results/growth.svg.
"""

from __future__ import annotations

import time

import altair as alt
import numpy as np

from benchmarks._measuring import RESULTS, Row, apart, keep, peak_megabytes
from covey.anonymizers import anonymize
from covey.anonymizers.problem import Problem
from covey.errors import InputError
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs

VALUES = (2, 100, 5, 7, 16, 41, 8, 14)
STEPS: tuple[tuple[int, ...], ...] = ((), (5, 10, 20), (), (3,), (4, 8), (6,), (3,), (4,))
ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
ALGORITHMS = ("peel", "sequential", "mondrian", "hilbert", "datafly")
K = 10
LONGEST = 130.0  # seconds an algorithm may be expected to take; beyond that it is not started


def tree(values: int, steps: tuple[int, ...]) -> Hierarchy:
    """Values in runs of each step's length, and the root."""
    return Hierarchy.from_paths([[str(v), *(f"{v // step} of {step}" for step in steps), "*"] for v in range(values)])


def rows(number: int, seed: int = 1) -> Problem:
    """The synthetic table as items."""
    random = np.random.default_rng(seed)
    trees = tuple(tree(values, steps) for values, steps in zip(VALUES, STEPS, strict=True))
    packed = np.zeros(number, dtype=np.int64)
    before = random.random(number)
    for values in VALUES:
        fresh = np.minimum(random.exponential(0.25, number), 0.999)
        share = np.where(random.random(number) < 0.7, before, fresh)
        packed = packed * values + (share * values).astype(np.int64)
        before = share
    distinct, counts = np.unique(packed, return_counts=True)
    codes = np.empty((len(VALUES), len(distinct)), dtype=np.int32)
    for column in range(len(VALUES) - 1, -1, -1):
        codes[column], distinct = distinct % VALUES[column], distinct // VALUES[column]
    costs, scale = integer_costs(trees)
    return Problem(trees, codes, counts.astype(np.int64), costs, scale, K)


def one(algorithm: str, number: int) -> Row:
    """One run in this process."""
    anonymize(rows(2_000), algorithm)
    start = time.perf_counter()
    problem = rows(number)
    found: Row = {"algorithm": algorithm, "rows": number, "items": problem.items}
    try:
        partition = anonymize(problem, algorithm, longest=LONGEST)
    except InputError as refusal:
        return {**found, "refused": str(refusal)}
    seconds = time.perf_counter() - start
    lost = round(partition.loss(problem), 4)
    return {**found, "seconds": round(seconds, 2), "megabytes": peak_megabytes(), "lm": lost}


def plot(found: list[Row]) -> None:
    """Seconds over rows, both by decades, one line for each algorithm."""
    points = [row for row in found if "seconds" in row]
    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X("rows:Q", scale=alt.Scale(type="log"), title="rows", axis=alt.Axis(values=list(ROWS), format="~s")),
        color=alt.Color("algorithm:N", title=None),
    )
    seconds = base.mark_line(point=True).encode(y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds"))
    memory = base.mark_line(point=True).encode(y=alt.Y("megabytes:Q", scale=alt.Scale(type="log"), title="MB at peak"))
    (seconds | memory).save(RESULTS / "growth.svg")


def run(arguments: list[str]) -> None:
    """Measures, prints, writes."""
    found = []
    for algorithm in arguments or ALGORITHMS:
        for number in ROWS:
            found.append(apart(one, algorithm, number))
            keep("algorithms", "growth", found[-1], ("algorithm", "rows"))
    plot(found)
