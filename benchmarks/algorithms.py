"""The figures of docs/algorithms.md: losses on Adult, starts of `sequential`, synthetic tables, and growth.

Losses do not depend on the machine; seconds are of CPU, on one core, with compiled code. `growth` goes from 10^4 to
10^7 rows, each run in a process of its own: eight columns of 2, 100, 5, 7, 16, 41, 8 and 14 values (the shape of Adult)
with hierarchies of two to five levels; the first column is drawn, and each of the others leans on the one before it for
seven rows of ten and is drawn from a geometric distribution for the rest. Its seconds are on the wall, with the
grouping of rows into items and without compiling; what an algorithm refuses is noted too.

`python -m benchmarks algorithms [PART…]` keeps the rows in results/algorithms.json and draws results/growth.svg;
`python -m scripts.figures` writes them into the page, and a test holds the page to the file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping

import altair as alt
import numpy as np

from benchmarks import _adult
from benchmarks._measuring import RESULTS, Row, apart, keep, peak_megabytes
from covey.anonymizers import anonymize
from covey.anonymizers.build import build
from covey.anonymizers.problem import Problem
from covey.bench.dataset import sample
from covey.errors import InputError
from covey.hierarchy import Hierarchy, read
from covey.measures import integer_costs
from covey.option import Value

SIZES = (5, 10, 50, 100)
WAYS: dict[str, tuple[str, Mapping[str, Value]]] = {
    "mondrian": ("mondrian", {}),
    "mondrian, aligned": ("mondrian", {"aligned": True}),
    "mondrian, relaxed": ("mondrian", {"relaxed": True}),
    "hilbert": ("hilbert", {}),
    "hilbert, Hansen-Mukherjee": ("hilbert", {"cost": "hansen-mukherjee"}),
    "hilbert, loss": ("hilbert", {"cost": "loss"}),
    "datafly": ("datafly", {}),
    "datafly, tolerated=none": ("datafly", {"tolerated": "none"}),
}
STARTS = ("paper", "fitted", "small")
STARTED = {"hospitals": (20, 50, 100), "Adult": (50, 100, 200)}
"""The k at which the starts of `sequential` are compared."""
SYNTHETIC = ((10_000, 14_000), (100_000, 146_000), (100_000, 10_000_000), (1_000_000, 1_500_000))
"""Distinct records and records."""
QUICK_WAYS = ("mondrian", "hilbert", "hilbert, loss", "datafly")
VALUES = (2, 100, 5, 7, 16, 41, 8, 14)
STEPS: tuple[tuple[int, ...], ...] = ((), (5, 10, 20), (), (3,), (4, 8), (6,), (3,), (4,))
ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
ALGORITHMS = ("peel", "sequential", "mondrian", "hilbert", "datafly")
LONGEST = 130.0  # seconds an algorithm may be expected to take; beyond that it is not started


def adult(k: int) -> Problem:
    """Adult as items."""
    table = _adult.people()
    trees = tuple(read(_adult.FOLDER / f"{name}.csv") for name in _adult.QUASI)
    columns = [tree.encode(table.column(name).to_pylist()) for name, tree in zip(_adult.QUASI, trees, strict=True)]
    codes, counts = np.unique(np.array(columns, dtype=np.int32), axis=1, return_counts=True)
    costs, scale = integer_costs(trees)
    return Problem(trees, np.ascontiguousarray(codes), counts.astype(np.int64), costs, scale, k)


def hospitals(k: int) -> Problem:
    """The sample's three hospitals as one table, without l."""
    return build(sample().whole(k), k=k).problem


def measured(problem: Problem, algorithm: str, options: Mapping[str, Value]) -> tuple[float, float, int]:
    """LM, CPU seconds and the number of classes of one run on one core."""
    start = time.process_time()
    partition = anonymize(problem, algorithm, threads=1, options=options)
    return round(partition.loss(problem), 4), round(time.process_time() - start, 2), partition.classes


def losses() -> Iterator[Row]:
    """Every algorithm that does not search, with every option, on Adult."""
    for way_name, (algorithm, options) in WAYS.items():
        anonymize(adult(200), algorithm, threads=1, options=options)
        for k in SIZES:
            lm, seconds, _ = measured(adult(k), algorithm, options)
            yield {"way": way_name, "k": k, "lm": lm, "seconds": seconds}


def starts() -> Iterator[Row]:
    """The starts of `sequential`."""
    tables = {"hospitals": hospitals, "Adult": adult}
    for table, ks in STARTED.items():
        for k in ks:
            for start in STARTS:
                lm, _, classes = measured(tables[table](k), "sequential", {"start": start})
                yield {"table": table, "k": k, "start": start, "lm": lm, "classes": classes}


def one_class() -> Iterator[Row]:
    """The k from which the paper's start publishes one class on the hospitals: everything is lost."""
    ks = range(30, 46)
    lossy = [k for k in ks if measured(hospitals(k), "sequential", {"start": "paper"})[0] == 1]
    yield {"table": "hospitals", "k": min(k for k in lossy if all(later in lossy for later in range(k, ks.stop)))}


def tree(values: int, steps: tuple[int, ...]) -> Hierarchy:
    """Values in runs of each step's length, and the root."""
    return Hierarchy.from_paths([[str(v), *(f"{v // step} of {step}" for step in steps), "*"] for v in range(values)])


def table_of(distinct: int, records: int, k: int = 10) -> Problem:
    """Eight columns of 64 values with five levels, geometric marginals."""
    random = np.random.default_rng(1)
    trees = (tree(64, (4, 16, 32)),) * 8
    cells = np.minimum(random.geometric(0.08, size=(8, int(distinct * 1.6))) - 1, 63).astype(np.int32)
    codes = np.ascontiguousarray(np.unique(cells, axis=1)[:, :distinct])
    weights = np.maximum(1, random.geometric(min(1.0, distinct / records), size=codes.shape[1])).astype(np.int64)
    costs, scale = integer_costs(trees)
    return Problem(trees, codes, weights, costs, scale, k)


def synthetic() -> Iterator[Row]:
    """Seconds on tables that are drawn."""
    for distinct, records in SYNTHETIC:
        problem = table_of(distinct, records)
        for way_name in QUICK_WAYS:
            algorithm, options = WAYS[way_name]
            anonymize(table_of(1_000, 1_400), algorithm, threads=1, options=options)
            _, seconds, _ = measured(problem, algorithm, options)
            yield {"distinct": problem.items, "records": problem.records, "way": way_name, "seconds": seconds}


def rows(number: int, seed: int = 1) -> Problem:
    """The table of `growth` as items."""
    random = np.random.default_rng(seed)
    trees = tuple(tree(values, steps) for values, steps in zip(VALUES, STEPS, strict=True))
    packed = np.zeros(number, dtype=np.int64)
    share = random.random(number)
    for values in VALUES:
        geometric = np.minimum(random.exponential(0.25, number), 0.999)
        share = np.where(random.random(number) < 0.7, share, geometric)
        packed = packed * values + (share * values).astype(np.int64)
    distinct, counts = np.unique(packed, return_counts=True)
    codes = np.empty((len(VALUES), len(distinct)), dtype=np.int32)
    for column in range(len(VALUES) - 1, -1, -1):
        codes[column], distinct = distinct % VALUES[column], distinct // VALUES[column]
    costs, scale = integer_costs(trees)
    return Problem(trees, codes, counts.astype(np.int64), costs, scale, 10)


def grown(algorithm: str, number: int) -> Row:
    """One run of `growth`, in this process."""
    anonymize(rows(2_000), algorithm)
    start = time.perf_counter()
    problem = rows(number)
    row: Row = {"algorithm": algorithm, "rows": number, "items": problem.items}
    try:
        partition = anonymize(problem, algorithm, longest=LONGEST)
    except InputError as refusal:
        return {**row, "refused": str(refusal)}
    seconds, lm = round(time.perf_counter() - start, 2), round(partition.loss(problem), 4)
    return {**row, "seconds": seconds, "megabytes": peak_megabytes(), "lm": lm}


def growth() -> Iterator[Row]:
    """The growth of time and memory from 10^4 to 10^7 rows."""
    for algorithm in ALGORITHMS:
        for number in ROWS:
            yield apart(grown, algorithm, number)


def plot() -> None:
    """Seconds and memory over rows, by decades, one line for each algorithm."""
    kept_rows = json.loads((RESULTS / "algorithms.json").read_text())["growth"]
    points = [row for row in kept_rows if "seconds" in row]
    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X("rows:Q", scale=alt.Scale(type="log"), title="rows", axis=alt.Axis(values=list(ROWS), format="~s")),
        color=alt.Color("algorithm:N", title=None),
    )
    charts = [
        base.mark_line(point=True).encode(y=alt.Y(f"{name}:Q", scale=alt.Scale(type="log"), title=title))
        for name, title in (("seconds", "seconds"), ("megabytes", "MB at peak"))
    ]
    alt.hconcat(*charts).save(RESULTS / "growth.svg")


PARTS = {
    "losses": (losses, ("way", "k")),
    "starts": (starts, ("table", "k", "start")),
    "one_class": (one_class, ("table",)),
    "synthetic": (synthetic, ("distinct", "records", "way")),
    "growth": (growth, ("algorithm", "rows")),
}
"""Each part's rows, and the keys by which a row takes the place of an earlier one."""


def run(arguments: list[str]) -> None:
    """Measures the parts that are named, or all."""
    for part in arguments or PARTS:
        measure, keys = PARTS[part]
        if part in ("synthetic", "growth") or _adult.is_here():
            for row in measure():
                keep("algorithms", part, row, keys)
    if not arguments or "growth" in arguments:
        plot()
