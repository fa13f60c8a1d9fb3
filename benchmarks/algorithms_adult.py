"""Loss and time of the centralized anonymizers on Adult, beside what peers reach there.

30,162 rows, eight quasi-identifiers, the hierarchies that come with the data; LM counts withheld rows as fully lost.
The peers' figures are quoted: one run each on two cores, pooled data. Ours are the best time of three, compiled before.
Run it where nothing else runs: `python -m benchmarks anonymize`.
"""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass

import numpy as np

from benchmarks import _adult
from benchmarks._measuring import keep
from covey.anonymizers import anonymize
from covey.anonymizers.problem import Problem
from covey.hierarchy import read
from covey.measures import integer_costs

SIZES = (5, 10, 50, 100)
PEERS: dict[str, tuple[tuple[float | None, ...], str]] = {
    "ARX, global recoding, 5% suppression": ((0.262, 0.332, 0.487, 0.543), "2.4"),
    "ARX, local recoding (0.01)": ((0.0563, 0.0788, 0.1494, 0.1917), "3 / 5 / 10 / 12"),
    "ARX, local recoding (0.001)": ((0.0513, 0.0744, 0.1439, 0.1873), "12 / 20 / 24 / 41"),
    "anjana, 5% suppression": ((0.327, 0.342, 0.553, None), "4"),
    "Mondrian with hierarchies (Python)": ((0.123, 0.198, 0.415, None), "3"),
    "k-member clustering": ((0.066, 0.109, 0.256, 0.356), "7 to 13"),
    "sequential clustering (prototype)": ((0.0590, 0.0941, 0.2045, 0.2667), "105 / 60 / 21 / 17"),
}
OURS = ("peel", "sequential", "mondrian", "hilbert", "datafly")


@dataclass(frozen=True)
class Reached:
    """The result of one algorithm at one k."""

    algorithm: str
    k: int
    lm: float
    seconds: float
    smallest: int
    withheld: int


def adult(k: int) -> Problem:
    """Returns the table as items."""
    table = _adult.people()
    trees = tuple(read(_adult.FOLDER / f"{name}.csv") for name in _adult.QUASI)
    encoded = np.array(
        [tree.encode(table.column(name).to_pylist()) for name, tree in zip(_adult.QUASI, trees, strict=True)],
        dtype=np.int32,
    )
    codes, counts = np.unique(encoded, axis=1, return_counts=True)
    costs, scale = integer_costs(trees)
    return Problem(trees, np.ascontiguousarray(codes), counts.astype(np.int64), costs, scale, k)


def measure(algorithm: str, k: int, times: int = 3) -> Reached:
    """Measures the best time of several runs; their losses are the same."""
    problem, best = adult(k), float("inf")
    for _ in range(times):
        start = time.perf_counter()
        partition = anonymize(problem, algorithm, threads=os.cpu_count())
        best = min(best, time.perf_counter() - start)
    withheld = problem.records - int(partition.count.sum())
    return Reached(algorithm, k, partition.loss(problem), best, int(partition.sizes().min()), withheld)


def run(arguments: list[str]) -> None:
    """Prints the table and keeps it in results/anonymize.json."""
    if not _adult.is_here():
        return
    print(f"{'':40}" + "".join(f"LM k={k:<7}" for k in SIZES) + "seconds")
    for name, (losses, seconds) in PEERS.items():
        print(f"{name:40}" + "".join("-         " if x is None else f"{x:<10.4f}" for x in losses) + seconds)
    for name in arguments or OURS:
        anonymize(adult(200), name)
        for k in SIZES:
            keep("anonymize", "losses", asdict(measure(name, k, 1 if name == "sequential" else 3)), ("algorithm", "k"))
