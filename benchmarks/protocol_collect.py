"""`collect` with thousands of respondents: time, memory, bytes, and where they go; its loss beside the curve's own.

Each run is a process of its own, so that its memory is its own: the collector and all respondents in one process, on
rows of Adult, which is looked for beside the project (shared/data/adult).
`python -m benchmarks collect scale|retrieval|growth|loss` runs a part; results are kept by part.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from covey.anonymizers.hilbert import hilbert
from covey.anonymizers.problem import Problem
from covey.arrays import Ints, Longs
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs, lm
from covey.party.simulate.respondents import load_rows, simulate
from covey.protocols.collect.line import boxes, cut_line
from covey.protocols.collect.parameters import Parameters, trees_of
from covey.sources.source import connect
from covey.study import Study

ROOT = Path(__file__).resolve().parent.parent
ADULT = ROOT.parent / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results" / "collect.json"
CENSUS = {"age": 80, "sex": 2, "education": 6, "region": 9, "occupation": 50}
QUASI = ("age", "sex", "race", "marital-status", "education", "occupation")


def study_of(k: int, options: str = "") -> Study:
    """Six columns of Adult, a row a respondent."""
    head = f'[study]\nname = "adult"\nprotocol = "collect"\npartition = "respondents"\n[privacy]\nk = {k}\n'
    columns = "".join(
        f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\nmissing = "error"\n' for name in QUASI
    )
    rest = '[columns.salary-class]\nrole = "sensitive"\nvalues = ["<=50K", ">50K"]\n'
    return Study.parse(f'{head}[protocol]\n{options}\n{columns}{rest}[parties.collector]\nrole = "collector"\n', ADULT)


def census_study(k: int, options: str = "") -> Study:
    """Five columns with the paper's domains: 80, 2, 6, 9 and 50 values, 432,000 cells in all."""
    head = f'[study]\nname = "census"\nprotocol = "collect"\npartition = "respondents"\n[privacy]\nk = {k}\n'
    steps = {"age": "5, 10, 20, 40", "sex": "", "education": "2", "region": "3", "occupation": "5, 10"}
    columns = "".join(
        f'[columns.{name}]\nrole = "quasi"\nhierarchy = {{ min = 0, max = {size - 1}, steps = [{steps[name]}] }}\n'
        'missing = "error"\n'
        for name, size in CENSUS.items()
    )
    rest = '[columns.income]\nrole = "sensitive"\nvalues = ["low", "high"]\n'
    return Study.parse(f'{head}[protocol]\n{options}\n{columns}{rest}[parties.collector]\nrole = "collector"\n')


def census_rows(count: int, seed: int = 1) -> pa.Table:
    """People of that census: ages and occupations crowd, as they do."""
    draws = np.random.default_rng(seed)
    cells = {
        name: [str(value) for value in (size * draws.beta(1.5, 2.5, count)).astype(int)]
        for name, size in CENSUS.items()
    }
    return pa.table({**cells, "income": draws.choice(["low", "high"], count, p=[0.7, 0.3])})


def rows_of(study: Study, count: int, seed: int = 1) -> pa.Table:
    """Rows of Adult, drawn without replacement."""
    names = [column.name for column in study.columns]
    whole = pa.Table.from_batches(connect(str(ADULT / "adult.csv")).batches(names)).rename_columns(names)
    order = np.random.default_rng(seed).permutation(whole.num_rows)[:count]
    return whole.take(pa.array(np.sort(order)))


def one(respondents: int, cells: int, k: int) -> dict[str, object]:
    """One run, in this process: on Adult, or on the census where the grid is as fine as its domains."""
    census = cells >= math.prod(CENSUS.values())
    study = (census_study if census else study_of)(k, f"grid = {cells}")
    parameters, table = Parameters.of(study), census_rows(respondents) if census else rows_of(study, respondents)
    begun, computed = time.monotonic(), time.process_time()
    release = simulate(study, table, seed=1)
    seconds, computed = time.monotonic() - begun, time.process_time() - computed
    summary = release.summary
    per_party = summary["per_party"]
    assert isinstance(per_party, dict)
    total = sum(party["bytes"] for party in per_party.values())
    return {
        "respondents": respondents,
        "cells": parameters.grid.cells,
        "k": k,
        "retrieval": "private" if parameters.private_retrieval else "broadcast",
        "seconds": round(seconds, 1),
        "cpu_seconds": round(computed, 1),
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000),
        "bytes_per_respondent": round(total / respondents),
        "sent_by_respondent": round(per_party["respondents"]["bytes"] / respondents),
        "rounds": summary["rounds"],
        "lm": round(release.loss.lm or 0.0, 5),
        "central_lm": round(central_loss(study, table, k), 5),
        "phases": {phase["name"]: phase["seconds"] for phase in summary["phases"]},  # type: ignore[union-attr]
    }


def central_loss(study: Study, table: pa.Table, k: int) -> float:
    """Of the centralized cut of the same records on the same grid, closed on leaves."""
    parameters, trees, rows = Parameters.of(study), trees_of(study), load_rows(study, table)
    return clear_loss(rows.codes, parameters.grid.rank(rows.codes), trees, k)


def clear_loss(codes: Ints, places: Longs, trees: Sequence[Hierarchy], k: int) -> float:
    """The mean loss of a cut of these places."""
    order = np.argsort(places, kind="stable")
    group = cut_line(places[order], k)
    nodes = boxes(trees, codes[:, order], group)
    cost = sum(lm(tree)[nodes[:, column]] for column, tree in enumerate(trees))
    return float(np.dot(cost, np.bincount(group)) / (len(trees) * len(order)))


def leaf_loss(study: Study, table: pa.Table, k: int) -> float:
    """Of `hilbert` as it stands, on leaves instead of the grid."""
    rows, trees = load_rows(study, table), trees_of(study)
    costs, scale = integer_costs(trees)
    codes, counts = np.unique(rows.codes, axis=1, return_counts=True)
    problem = Problem(trees, codes.astype(np.int32), counts.astype(np.int64), costs, scale, k)
    return hilbert(problem).loss(problem)


def in_process_of_its_own(*arguments: int) -> dict[str, object]:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.protocol_collect", "one", *map(str, arguments)],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    answer: dict[str, object] = json.loads(run.stdout.splitlines()[-1])
    print(answer, flush=True)
    return answer


def measure_scale() -> Iterator[dict[str, object]]:
    """Two thousand respondents and up to 2^14 cells."""
    yield in_process_of_its_own(2000, 1 << 14, 10)


def measure_retrieval() -> Iterator[dict[str, object]]:
    """Two thousand respondents and 432,000 cells, read privately."""
    yield in_process_of_its_own(2000, 432_000, 10)


def measure_growth() -> Iterator[dict[str, object]]:
    """What grows with the respondents."""
    for respondents in (500, 1_000, 5_000, 10_000):
        yield in_process_of_its_own(respondents, 1 << 14, 10)


def measure_loss() -> Iterator[dict[str, object]]:
    """The release beside the centralized cut of the same records on the same grid, and on leaves."""
    for k in (5, 10, 20):
        answer = in_process_of_its_own(1000, 1 << 14, k)
        study = study_of(k, f"grid = {1 << 14}")
        yield {**answer, "leaf_lm": round(leaf_loss(study, rows_of(study, 1000), k), 5)}


PARTS = {"scale": measure_scale, "retrieval": measure_retrieval, "growth": measure_growth, "loss": measure_loss}


def main(parts: list[str]) -> None:
    """Measures the parts named, or all, and keeps the results of the others."""
    if not (ADULT / "adult.csv").exists():
        print("the Adult table (shared/data/adult beside the project) is not on this machine: nothing measured")
        return
    if parts[:1] == ["one"]:
        respondents, cells, k = map(int, parts[1:])
        print(json.dumps(one(respondents, cells, k)))
        return
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in parts or list(PARTS):
        known[name] = list(PARTS[name]())
        RESULTS.write_text(json.dumps(known, indent=2) + "\n")


def run(arguments: list[str]) -> None:
    """Measures the parts named, or all."""
    main(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
