"""The figures of docs/algorithms.md: losses of algorithms and options, starts of `sequential`, and synthetic tables.

Losses do not depend on the machine; seconds are of CPU, on one core, with compiled code. `python -m benchmarks
algorithms [PART…]` keeps them in results/algorithms.json, where `python -m benchmarks growth`
puts its own; `python -m scripts.figures` writes them into the page, and a test holds the page to the file.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from benchmarks import _adult
from benchmarks._measuring import Row, keep
from benchmarks.algorithms_adult import SIZES, adult
from benchmarks.algorithms_growth import tree
from covey.anonymizers import anonymize
from covey.anonymizers.build import build
from covey.anonymizers.problem import Problem
from covey.bench.dataset import sample
from covey.measures import integer_costs
from covey.option import Value

FILE = "algorithms"
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


def hospitals(k: int) -> Problem:
    """The sample's three hospitals as one table, without l."""
    return build(sample().whole(k), k=k).problem


def measured(problem: Problem, algorithm: str, options: Mapping[str, Value]) -> tuple[float, float, int]:
    """LM, CPU seconds and the number of classes of one run on one core."""
    start = time.process_time()
    partition = anonymize(problem, algorithm, threads=1, options=options)
    return round(partition.loss(problem), 4), round(time.process_time() - start, 2), partition.classes


def losses() -> None:
    """Every algorithm that does not search, with every option, on Adult."""
    for way, (algorithm, options) in WAYS.items():
        anonymize(adult(200), algorithm, threads=1, options=options)
        for k in SIZES:
            lm, seconds, _ = measured(adult(k), algorithm, options)
            keep(FILE, "losses", {"way": way, "k": k, "lm": lm, "seconds": seconds}, ("way", "k"))


def starts() -> None:
    """The starts of `sequential`."""
    tables = {"hospitals": hospitals, "Adult": adult}
    for table, ks in STARTED.items():
        for k in ks:
            for start in STARTS:
                lm, _, classes = measured(tables[table](k), "sequential", {"start": start})
                row: Row = {"table": table, "k": k, "start": start, "lm": lm, "classes": classes}
                keep(FILE, "starts", row, ("table", "k", "start"))


def one_class() -> None:
    """The k from which the paper's start publishes one class on the hospitals: everything is lost."""
    tried = range(30, 46)
    lost = [k for k in tried if measured(hospitals(k), "sequential", {"start": "paper"})[0] == 1]
    first = min(k for k in lost if all(later in lost for later in range(k, tried.stop)))
    keep(FILE, "one_class", {"table": "hospitals", "k": first}, ("table",))


def table_of(distinct: int, records: int, k: int = 10) -> Problem:
    """Eight columns of 64 values with five levels, geometric marginals."""
    random = np.random.default_rng(1)
    trees = (tree(64, (4, 16, 32)),) * 8
    drawn = np.minimum(random.geometric(0.08, size=(8, int(distinct * 1.6))) - 1, 63).astype(np.int32)
    codes = np.ascontiguousarray(np.unique(drawn, axis=1)[:, :distinct])
    each = np.maximum(1, random.geometric(min(1.0, distinct / records), size=codes.shape[1])).astype(np.int64)
    costs, scale = integer_costs(trees)
    return Problem(trees, codes, each, costs, scale, k)


def synthetic() -> None:
    """Seconds on tables that are drawn."""
    for distinct, records in SYNTHETIC:
        problem = table_of(distinct, records)
        for way in QUICK_WAYS:
            algorithm, options = WAYS[way]
            anonymize(table_of(1_000, 1_400), algorithm, threads=1, options=options)
            _, seconds, _ = measured(problem, algorithm, options)
            row: Row = {"distinct": problem.items, "records": problem.records, "way": way, "seconds": seconds}
            keep(FILE, "synthetic", row, ("distinct", "records", "way"))


def run(arguments: list[str]) -> None:
    """Measures the parts that are named, or all."""
    parts = {"losses": losses, "starts": starts, "one_class": one_class, "synthetic": synthetic}
    if _adult.is_here():
        for name in arguments or parts:
            parts[name]()
