"""`collect` with thousands of respondents: time, memory, bytes, and where they go.

Each run is a process of its own, so that its memory is its own: all parties in one process, on
rows of Adult, which is looked for beside the project (shared/data/adult).
`python -m benchmarks collect scale|retrieval|growth|loss` runs a part, `… growth 1000:16384:10` one point of it
(respondents, cells, k); results are kept by part.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import covey
from benchmarks import _adult
from benchmarks._measuring import Row, apart, peak_megabytes, run_parts
from covey.anonymizers.hilbert import hilbert
from covey.anonymizers.problem import Problem
from covey.bench.papers.collect import CurveOrder
from covey.measures import integer_costs
from covey.party.simulate.deal import seed_of
from covey.party.simulate.letters import letters_of, load_rows
from covey.protocols.as_printed.collect.parameters import Parameters, trees_of
from covey.study import Study
from covey.study.study import RESPONDENTS

CENSUS = {"age": 80, "sex": 2, "education": 6, "region": 9, "occupation": 50}
QUASI = ("age", "sex", "race", "marital-status", "education", "occupation")


CURVE = "as_printed = true\n"
TRUSTEES = ("trustee0", "trustee1", "trustee2")
COLLECTOR = '[parties.collector]\nrole = "collector"\n'


def study_of(k: int, options: str = "") -> Study:
    """Six columns of Adult, a row a respondent."""
    columns = _adult.quasi_columns(QUASI, 'missing = "error"\n')
    return Study.parse(
        _adult.head("collect", "respondents", k, CURVE + options) + columns + _adult.SALARY + COLLECTOR, _adult.FOLDER
    )


def census_study(k: int, options: str = "") -> Study:
    """Five columns with the paper's domains: 80, 2, 6, 9 and 50 values, 432,000 cells in all."""
    steps = {"age": "5, 10, 20, 40", "sex": "", "education": "2", "region": "3", "occupation": "5, 10"}
    columns = "".join(
        f'[columns.{name}]\nrole = "quasi"\nhierarchy = {{ min = 0, max = {size - 1}, steps = [{steps[name]}] }}\n'
        'missing = "error"\n'
        for name, size in CENSUS.items()
    )
    income = '[columns.income]\nrole = "sensitive"\nvalues = ["low", "high"]\n'
    return Study.parse(_adult.head("collect", "respondents", k, CURVE + options) + columns + income + COLLECTOR)


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
    table = _adult.people().select([column.name for column in study.columns])
    order = np.random.default_rng(seed).permutation(table.num_rows)[:count]
    return table.take(pa.array(np.sort(order)))


def one(respondents: int, cells: int, k: int) -> Row:
    """One run, in this process: on Adult, or on the census where the grid is as fine as its domains."""
    census = cells >= math.prod(CENSUS.values())
    study = (census_study if census else study_of)(k, f"grid = {cells}")
    terms, table = Parameters.of(study), census_rows(respondents) if census else rows_of(study, respondents)
    release, figures = simulated(study, table)
    total = sum(figures.pop("sent").values())
    return {
        "respondents": respondents,
        "cells": terms.grid.cells,
        "retrieval": "private" if terms.private_retrieval else "broadcast",
        "bytes_per_respondent": round(total / respondents),
        **figures,
        "central_lm": round(central_loss(study, table, k), 5),
        "phases": {phase["name"]: phase["seconds"] for phase in release.summary["phases"]},  # type: ignore[attr-defined]
    }


def simulated(study: Study, table: pa.Table) -> tuple[covey.Release, dict[str, Any]]:
    """A run in this process: its release, what it took, and the bytes that each party sent."""
    start, work = time.monotonic(), time.process_time()
    release = covey.simulate(study, {RESPONDENTS: table}, seed=1)
    sent = {name: figures["bytes"] for name, figures in release.summary["per_party"].items()}  # type: ignore[attr-defined]
    return release, {
        "k": study.privacy.k,
        "seconds": round(time.monotonic() - start, 1),
        "cpu_seconds": round(time.process_time() - work, 1),
        "peak_megabytes": peak_megabytes(),
        "sent": sent,
        **({"sent_by_respondent": round(sent[RESPONDENTS] / table.num_rows)} if RESPONDENTS in sent else {}),
        "rounds": release.summary["rounds"],
        "lm": round(release.loss.lm or 0.0, 5),
    }


def peeling_study(k: int) -> Study:
    """Eight columns of Adult, a row a respondent, to be peeled by three trustees."""
    trustees = "".join(f'[parties.{name}]\nrole = "trustee"\n' for name in TRUSTEES)
    columns = _adult.quasi_columns(_adult.QUASI, 'missing = "error"\n') + _adult.SALARY
    return Study.parse(_adult.head("peel", "respondents", k) + columns + COLLECTOR + trustees, _adult.FOLDER)


def peeled(respondents: int, k: int) -> Row:
    """One run on letters, all four parties in this process: eight columns of Adult."""
    study = peeling_study(k)
    rows, start = rows_of(study, respondents), time.process_time()
    letters = letters_of(study, "collector", rows, seed_of(1)).delivered
    writing = time.process_time() - start
    _, figures = simulated(study, rows)
    sent = figures.pop("sent")
    return {
        "respondents": respondents,
        **figures,
        "milliseconds_a_letter": round(1000 * writing / respondents, 2),
        "cpu_seconds_a_party": round((figures["cpu_seconds"] - writing) / 4, 1),
        "bytes_of_a_letter": len(next(iter(letters.values()))),
        "sent_by_trustee": sent[TRUSTEES[0]],
        "sent_by_collector": sent["collector"],
    }


def measure_peeling(points: list[str]) -> Iterator[Row]:
    """Runs by peeling: respondents and k, as in `2000:10`."""
    for text in points or ["2000:10", "10000:10"]:
        yield apart(peeled, *map(int, text.split(":")))


def central_loss(study: Study, table: pa.Table, k: int) -> float:
    """The loss of the centralized cut of the same records on the same grid, closed on leaves."""
    rows = load_rows(study, table)
    order = CurveOrder(trees_of(study), rows.codes, Parameters.of(study).grid)
    return order.loss(order.cells, k)


def leaf_loss(study: Study, table: pa.Table, k: int) -> float:
    """The loss of `hilbert` as it stands, on leaves instead of the grid."""
    rows, trees = load_rows(study, table), trees_of(study)
    costs, scale = integer_costs(trees)
    codes, counts = np.unique(rows.codes, axis=1, return_counts=True)
    problem = Problem(trees, codes.astype(np.int32), counts.astype(np.int64), costs, scale, k)
    return hilbert(problem).loss(problem)


def one_of(text: str) -> Row:
    """One run in a process of its own: respondents, cells and k, as in `2000:16384:10`."""
    return apart(one, *map(int, text.split(":")))


def measure(*points: str) -> Callable[[list[str]], Iterator[Row]]:
    """The part that measures these points, or those that are asked for."""
    return lambda asked: (one_of(text) for text in asked or points)


def measure_loss(points: list[str]) -> Iterator[Row]:
    """The release beside the centralized cut of the same records on the same grid, and on leaves."""
    for k in map(int, points or ["5", "10", "20"]):
        answer = apart(one, 1000, 1 << 14, k)
        study = study_of(k, f"grid = {1 << 14}")
        yield {**answer, "leaf_lm": round(leaf_loss(study, rows_of(study, 1000), k), 5)}


PARTS = {
    "scale": measure("2000:16384:10"),
    "retrieval": measure("2000:432000:10"),
    "growth": measure("500:16384:10", "1000:16384:10", "5000:16384:10", "10000:16384:10"),
    "loss": measure_loss,
    "peel": measure_peeling,
}


def run(arguments: list[str]) -> None:
    """Measures a part, or some points of it, or all; results/collect.json keeps the rows."""
    if _adult.is_here():
        run_parts("collect", PARTS, ("respondents", "cells", "trustees", "k"), arguments)
