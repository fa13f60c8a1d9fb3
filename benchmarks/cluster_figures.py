"""Paper 003's Figures 3 and 5 to 8 in form, for rows split: Adult with 45,222 rows and 14 quasi columns.

Hierarchies (ours, heights 2 to 4 as in the paper, a leaf and the root included): age, hours and education-num in bands
of numbers; fnlwgt in ten thousands, capital-gain in thousands and capital-loss in hundreds, each then in bands; the
groupings of `covey.samples.adult` for workclass, education, marital-status, occupation and native-country; a value or
`*` for relationship, race and sex.

Figure 3       LM and EM against k: sequential, mondrian, hilbert, and our peel.
Figures 5 to 8 seconds, sweeps L, SMC calls and our rounds against n and k, five parties. An SMC call of the paper is
               counted for each record that a party examines and whose removal changes its own closure (section 4.2);
               one call is one step of its search in the tree, so the paper's own count is this or more. Rounds are
               those of the exact schedule: three for each turn, three for each split.

Set COVEY_BENCH_FIGURES=small for a quick look.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import tempfile
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from covey.anonymize import anonymize
from covey.anonymize.build import Built, build
from covey.anonymize.clusters import clusters_of
from covey.anonymize.constraints import limits_of
from covey.anonymize.figures import figures
from covey.anonymize.kernels import forest
from covey.anonymize.merging import agglomerate
from covey.anonymize.sequential import SWEEPS, first_labels, split_large
from covey.anonymize.sweeping import sweep
from covey.party.data import load_table
from covey.protocols.cluster.kernels import Children
from covey.protocols.cluster.sweep import find_critical
from covey.samples import adult
from covey.study import Study

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult-full" / "adult.csv.gz"
RESULTS = Path(__file__).parent / "results" / "cluster_figures.json"
PARTIES = 5
NUMBERS = {
    "age": (17, 90, [5, 20]),
    "fnlwgt": (0, 149, [10, 50]),
    "education-num": (1, 16, [4]),
    "capital-gain": (0, 100, [10, 50]),
    "capital-loss": (0, 44, [5, 15]),
    "hours-per-week": (1, 99, [10, 30]),
}
UNITS = {"fnlwgt": 10_000, "capital-gain": 1_000, "capital-loss": 100}
GROUPS = {
    "workclass": adult.WORKCLASS,
    "education": adult.EDUCATION,
    "marital-status": adult.MARITAL,
    "occupation": adult.OCCUPATION,
    "native-country": adult.COUNTRY,
}
FLAT = ("relationship", "race", "sex")


def paths(groups: object, above: tuple[str, ...] = ()) -> Iterable[tuple[str, ...]]:
    """The leaves of nested groups, each with what is above it."""
    if isinstance(groups, dict):
        for name, below in groups.items():
            yield from paths(below, (name, *above))
    elif isinstance(groups, tuple):
        for value in groups:
            yield (value, *above, "*")


def read_rows() -> dict[str, list[str]]:
    """The table's columns, with the units above."""
    with gzip.open(DATA, "rt", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter=";"))
    table = {}
    for name in (*NUMBERS, *GROUPS, *FLAT, "salary-class"):
        unit = UNITS.get(name)
        table[name] = [row[name] if unit is None else str(int(row[name]) // unit) for row in rows]
    return table


def study_in(folder: Path, table: dict[str, list[str]]) -> Study:
    """The study of that table."""
    parts = ['[study]\nname = "adult-full"\n[privacy]\nk = 50\n']
    for name, (low, high, steps) in NUMBERS.items():
        parts.append(
            f'[columns.{name}]\nrole = "quasi"\nhierarchy = {{ min = {low}, max = {high}, steps = {steps} }}\n'
        )
    for name, groups in GROUPS.items():
        found = {path[0]: path for path in paths(groups)}
        lines = [
            found.get(value, (value, *["other"] * (len(next(iter(found.values()))) - 2), "*"))
            for value in set(table[name])
        ]
        (folder / f"{name}.csv").write_text("".join(";".join(line) + "\n" for line in sorted(lines)))
        parts.append(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n')
    for name in FLAT:
        values = ", ".join(f'"{value}"' for value in sorted(set(table[name])))
        parts.append(f'[columns.{name}]\nrole = "quasi"\nhierarchy = "flat"\nvalues = [{values}]\n')
    (folder / "study.toml").write_text("".join(parts) + '[columns.salary-class]\nrole = "sensitive"\n[parties.one]\n')
    return Study.load(folder / "study.toml")


def built_of(study: Study, table: dict[str, list[str]], rows: int, k: int) -> Built:
    """The problem of the first rows in a fixed random order."""
    order = np.random.default_rng(0).permutation(len(table["age"]))[:rows]
    frame = pa.table({name: [values[row] for row in order] for name, values in table.items()})
    loaded = load_table(study, "one", frame)
    if loaded is None:
        raise TypeError("a holder has a table")
    return build(loaded, k=k)


def sequential_run(built: Built) -> dict[str, float]:
    """Seconds, sweeps, SMC calls and rounds of one run of the paper's algorithm."""
    problem = built.problem
    trees, limits = forest(problem), limits_of(problem)
    codes = np.ascontiguousarray(problem.codes[:, np.repeat(np.arange(problem.items), problem.counts)])
    random = np.random.default_rng(1)
    order = random.permutation(codes.shape[1])
    codes = np.ascontiguousarray(codes[:, order])
    nothing = np.zeros((codes.shape[1], 0), dtype=np.int64)
    ends = np.linspace(0, codes.shape[1], PARTIES + 1).astype(int)
    children = Children.of(trees)
    state = clusters_of(trees, limits, codes, nothing, first_labels(limits, nothing, codes.shape[1], random))
    calls, rounds, seconds, sweeps = 0, 3, 0.0, 0
    for _ in range(SWEEPS):
        moved, sweeps = 0, sweeps + 1
        for start, stop in pairwise(ends):
            own = np.ascontiguousarray(codes[:, start:stop])
            critical = find_critical(trees, children, own, state.label[start:stop].copy(), len(state.size)).record
            calls += len(np.unique(critical[critical >= 0]))
            begun = time.perf_counter()
            moved += sweep(state, trees, limits, int(start), int(stop))
            seconds += time.perf_counter() - begun
            rounds += 3
        state, splits = split_large(state, trees, limits, random)
        rounds += 3 if splits else 0
        if not moved and not splits:
            break
    begun = time.perf_counter()
    agglomerate(state, trees, limits.k)
    return {
        "seconds": round(seconds + time.perf_counter() - begun, 2),
        "sweeps": sweeps,
        "calls": calls,
        "rounds": rounds,
    }


def run() -> None:
    """Prints the figures as tables; keeps them in results/cluster_figures.json."""
    if not DATA.exists():
        print("the full Adult data (shared/data/adult-full) is not on this machine")
        return
    small = os.environ.get("COVEY_BENCH_FIGURES") == "small"
    table = read_rows()
    results: dict[str, list[dict[str, object]]] = {"figure 3": [], "figures 5 to 8": []}
    with tempfile.TemporaryDirectory(prefix="covey-bench-") as folder:
        study = study_in(Path(folder), table)
        print("   n     k  seconds  L  SMC calls  rounds")
        for rows in (10_000, 20_000) if small else (10_000, 20_000, 30_000, 45_222):
            for k in (50,) if small else (10, 50, 100):
                found = sequential_run(built_of(study, table, rows, k))
                results["figures 5 to 8"].append({"n": rows, "k": k, **found})
                print(
                    f"{rows:6} {k:4} {found['seconds']:8.1f} {found['sweeps']:2.0f} {found['calls']:10,.0f} "
                    f"{found['rounds']:7.0f}",
                    flush=True,
                )
        print("   k  algorithm       LM      EM")
        for k in (50,) if small else (10, 25, 50, 100):
            built = built_of(study, table, 10_000 if small else 45_222, k)
            for name in ("sequential", "mondrian", "hilbert", "peel"):
                loss = figures(built, anonymize(built.problem, name, seed=1)).loss
                results["figure 3"].append({"k": k, "algorithm": name, "lm": loss.lm, "em": loss.em})
                print(f"{k:4}  {name:10} {loss.lm:7.4f} {loss.em:7.4f}", flush=True)
    if not small:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
