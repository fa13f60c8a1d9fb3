"""`collect` with thousands of respondents: time, memory, bytes, and where they go; its loss beside the curve's own.

Each run is a process of its own, so that its memory is its own: the collector and all respondents in one process, on
rows of Adult, which is looked for beside the project (shared/data/adult).
`python -m benchmarks collect scale|retrieval|growth|loss` runs a part, `… growth 1000:16384:10` one point of it
(respondents, cells, k); `beside` puts both methods' losses side by side, as trusted parties would release; results are
kept by part.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from benchmarks import _adult
from benchmarks._measuring import Row, apart, peak_megabytes, run_parts
from covey.anonymizers.hilbert import hilbert
from covey.anonymizers.problem import Problem
from covey.bench.papers.collect import CurveOrder
from covey.measures import integer_costs
from covey.party.simulate.respondents import load_rows, simulate
from covey.protocols import of_study
from covey.protocols.collect.parameters import Parameters, trees_of
from covey.study import Study
from covey.study.study import RESPONDENTS

CENSUS = {"age": 80, "sex": 2, "education": 6, "region": 9, "occupation": 50}
QUASI = ("age", "sex", "race", "marital-status", "education", "occupation")


CURVE = 'method = "curve"\n'
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
    rest = '[columns.income]\nrole = "sensitive"\nvalues = ["low", "high"]\n'
    return Study.parse(_adult.head("collect", "respondents", k, CURVE + options) + columns + rest + COLLECTOR)


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
    whole = _adult.people().select([column.name for column in study.columns])
    order = np.random.default_rng(seed).permutation(whole.num_rows)[:count]
    return whole.take(pa.array(np.sort(order)))


def one(respondents: int, cells: int, k: int) -> Row:
    """One run, in this process: on Adult, or on the census where the grid is as fine as its domains."""
    census = cells >= math.prod(CENSUS.values())
    study = (census_study if census else study_of)(k, f"grid = {cells}")
    terms, table = Parameters.of(study), census_rows(respondents) if census else rows_of(study, respondents)
    begun, computed = time.monotonic(), time.process_time()
    release = simulate(study, table, seed=1)
    seconds, computed = time.monotonic() - begun, time.process_time() - computed
    summary = release.summary
    per_party = summary["per_party"]
    assert isinstance(per_party, dict)
    total = sum(party["bytes"] for party in per_party.values())
    return {
        "respondents": respondents,
        "cells": terms.grid.cells,
        "k": k,
        "retrieval": "private" if terms.private_retrieval else "broadcast",
        "seconds": round(seconds, 1),
        "cpu_seconds": round(computed, 1),
        "peak_megabytes": peak_megabytes(),
        "bytes_per_respondent": round(total / respondents),
        "sent_by_respondent": round(per_party["respondents"]["bytes"] / respondents),
        "rounds": summary["rounds"],
        "lm": round(release.loss.lm or 0.0, 5),
        "central_lm": round(central_loss(study, table, k), 5),
        "phases": {phase["name"]: phase["seconds"] for phase in summary["phases"]},  # type: ignore[attr-defined]
    }


def peeling_study(trustees: int, nodes: int, k: int) -> Study:
    """Eight columns of Adult, a row a respondent, to be peeled."""
    named = "".join(f'[parties.trustee{place}]\nrole = "trustee"\n' for place in range(trustees))
    columns = _adult.quasi_columns(_adult.QUASI, 'missing = "error"\n') + _adult.SALARY
    head = _adult.head("collect", "respondents", k, f"nodes = {nodes}")
    return Study.parse(head + columns + COLLECTOR + named, _adult.FOLDER)


def peeled(respondents: int, trustees: int, nodes: int, k: int) -> Row:
    """One run by peeling, in this process, with so many named trustees: eight columns of Adult."""
    study = peeling_study(trustees, nodes, k)
    table = rows_of(study, respondents)
    begun, computed = time.monotonic(), time.process_time()
    release = simulate(study, table, seed=1)
    seconds, computed = time.monotonic() - begun, time.process_time() - computed
    per_party = release.summary["per_party"]
    assert isinstance(per_party, dict)
    return {
        "respondents": respondents,
        "trustees": trustees,
        "nodes": nodes,
        "k": k,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(computed, 1),
        "peak_megabytes": peak_megabytes(),
        "sent_by_respondent": round(per_party["respondents"]["bytes"] / respondents),
        "sent_by_trustee": round(per_party["trustee0"]["bytes"]),
        "sent_by_collector": round(per_party["collector"]["bytes"]),
        "rounds": release.summary["rounds"],
        "lm": round(release.loss.lm or 0.0, 5),
    }


def measure_peeling(asked: list[str]) -> Iterator[Row]:
    """Runs by peeling: respondents, trustees, nodes and k, as in `2000:3:128:10`."""
    for text in asked or ["500:3:128:10", "2000:3:128:10", "2000:5:128:10"]:
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


def measure_beside(asked: list[str]) -> Iterator[Row]:
    """The loss of both methods on the same eight columns, in the clear: respondents and k, as in `2000:10`."""
    for text in asked or ["1000:5", "1000:10", "2000:10", "5000:10"]:
        respondents, k = map(int, text.split(":"))
        study = peeling_study(3, 128, k)
        table = rows_of(study, respondents)
        figures = of_study(study).ideal(study, {RESPONDENTS: load_rows(study, table)}).figures
        if figures is None:
            raise TypeError("a trusted party has the release")
        head = _adult.head("collect", "respondents", k, f"{CURVE}grid = {1 << 14}")
        curve = Study.parse(
            head + _adult.quasi_columns(_adult.QUASI, 'missing = "error"\n') + _adult.SALARY + COLLECTOR, _adult.FOLDER
        )
        yield {
            "respondents": respondents, "k": k, "nodes": 128, "peel": round(float(figures.loss["lm"] or 0), 5),
            "curve": round(central_loss(curve, table, k), 5),
        }  # fmt: skip


def one_of(text: str) -> Row:
    """One run in a process of its own: respondents, cells and k, as in `2000:16384:10`."""
    return apart(one, *map(int, text.split(":")))


def measure(*points: str) -> Callable[[list[str]], Iterator[Row]]:
    """The part that measures these points, or those that are asked for."""
    return lambda asked: (one_of(text) for text in asked or points)


def measure_loss(asked: list[str]) -> Iterator[Row]:
    """The release beside the centralized cut of the same records on the same grid, and on leaves."""
    for k in map(int, asked or ["5", "10", "20"]):
        answer = apart(one, 1000, 1 << 14, k)
        study = study_of(k, f"grid = {1 << 14}")
        yield {**answer, "leaf_lm": round(leaf_loss(study, rows_of(study, 1000), k), 5)}


PARTS = {
    "scale": measure("2000:16384:10"),
    "retrieval": measure("2000:432000:10"),
    "growth": measure("500:16384:10", "1000:16384:10", "5000:16384:10", "10000:16384:10"),
    "loss": measure_loss,
    "peel": measure_peeling,
    "beside": measure_beside,
}


def run(arguments: list[str]) -> None:
    """Measures a part, or some points of it, or all; results/collect.json keeps the rows."""
    if _adult.is_here():
        run_parts("collect", PARTS, ("respondents", "cells", "trustees", "nodes", "k"), arguments)
