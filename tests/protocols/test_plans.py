"""What a plan foresees is what a run takes, within one and a half times: rounds and bytes, every protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.harness.harness import run, spent
from tests.harness.planned import Compared, compare, made_up, made_up_columns, plan_of, sample, survey
from tests.harness.tiers import few_first
from tests.harness.trial import Trial

WITHIN = 1.5
FEW_ROWS_OF_MANY_COLUMNS = {"peel, wide": 2.5}
"""Labels published so far lead to another list than the made-up rows': the plan of 300 rows is within this."""
Case = tuple[str, Callable[[], Trial]]
CELLS = 'local = "peel"\nvariant = "finished-cells"'
WINDOW = "window = 8\nnodes = 100"
CURVE = 'method = "curve"\ngrid = 4096'
POPULATION = 'population = "population.csv"'
CASES: list[Case] = [
    ("peel, long", lambda: made_up("peel", 2, 300)),
    ("suppress, wide", lambda: made_up("suppress", 8, 300, parties=2)),
    ("generalize, wide", lambda: made_up_columns("generalize", 10, 300)),
    ("federate, wide", lambda: made_up_columns("federate", 10, 400, options=POPULATION, roles="recipient")),
    ("count", lambda: sample("count", 100)),
    ("cluster, long", lambda: made_up("cluster", 2, 1000)),
    ("suppress, sample", lambda: sample("suppress")),
    ("generalize, long", lambda: made_up_columns("generalize", 4, 2000)),
    ("cluster with columns, long", lambda: made_up_columns("cluster", 3, 1500)),
    ("federate, long", lambda: made_up_columns("federate", 3, 2000, options=POPULATION, roles="recipient")),
    ("suppress among three", lambda: made_up("suppress", 2, 300)),
    ("peel with columns, long", lambda: made_up_columns("peel", 2, 1000, roles="evaluator")),
    ("peel, hospitals", lambda: sample("peel", 300)),
    ("cluster, wide", lambda: made_up("cluster", 10, 150)),
    ("peel, wide", lambda: made_up("peel", 8, 100)),
    ("peel, sample", lambda: sample("peel")),
    ("suppress, long", lambda: made_up("suppress", 2, 1500, parties=2)),
    ("generalize, sample", lambda: sample("generalize")),
    ("generalize, finished cells", lambda: made_up_columns("generalize", 4, 600, options=CELLS)),
    ("federate, sample", lambda: sample("federate")),
    ("cluster with columns, wide", lambda: made_up_columns("cluster", 10, 300, holders=3)),
    ("cluster with columns, sample", lambda: sample("cluster-columns")),
    ("peel with columns, wide", lambda: made_up_columns("peel", 8, 100, roles="evaluator", options=WINDOW)),
    ("peel with columns, sample", lambda: sample("peel-columns")),
    ("cluster, sample", lambda: sample("cluster-rows")),
    ("cluster, between two", lambda: made_up("cluster", 3, 300, parties=2)),
    ("cluster, strict", lambda: made_up("cluster", 4, 300, options='schedule = "strict"')),
]
SURVEYS: list[tuple[int, int, str]] = [
    (60, 2, "nodes = 12"),
    (60, 0, CURVE),
    (100, 6, "nodes = 24"),
    (300, 3, "nodes = 64"),
    (60, 6, CURVE),
    (800, 0, "nodes = 24"),
    (800, 0, CURVE),
]


@pytest.mark.parametrize(("name", "trial"), few_first(CASES, 7))
def test_a_run_takes_what_its_plan_says(name: str, trial: Callable[[], Trial]) -> None:
    assert_close(compare(trial()), FEW_ROWS_OF_MANY_COLUMNS.get(name, WITHIN))


@pytest.mark.slow
def test_a_plan_of_random_clusters_is_within_twice_what_runs_take_on_average() -> None:
    """One run of `exact` takes up to twice as many rounds as another on the same rows: its first clusters are drawn."""
    trial = made_up("cluster", 4, 150, options='schedule = "exact"')
    plan, runs = plan_of(trial), [spent(run(trial, seed=seed)) for seed in range(1, 7)]
    for what in ("rounds", "bytes"):
        mean = sum(getattr(each, what) for each in runs) / len(runs)
        assert 1 / 2 < mean / getattr(plan, what) < 2


@pytest.mark.parametrize(
    ("respondents", "columns", "options"),
    [SURVEYS[0], *(pytest.param(*survey, marks=pytest.mark.slow) for survey in SURVEYS[1:])],
)
def test_a_collection_takes_what_its_plan_says(respondents: int, columns: int, options: str) -> None:
    assert_close(survey(respondents, columns, options=options))


def assert_close(compared: Compared, within: float = WITHIN) -> None:
    assert all(1 / within < off < within for what, off in compared.off().items() if what != "messages"), compared


def test_rows_of_ones_own_change_the_plan_where_the_data_decide_on_the_cost() -> None:
    spread = made_up("cluster", 4, 300)
    alike = made_up("cluster", 4, 300, apart=0)
    assert plan_of(alike).bytes < 0.9 * plan_of(spread).bytes
    assert plan_of(alike, own=False).bytes == plan_of(spread, own=False).bytes


@pytest.mark.thorough
def test_a_plan_counts_what_l_asks_and_the_rows_that_are_shuffled() -> None:
    trial = sample("cluster-rows", 150)
    diverse = trial.study
    plain = replace(diverse, privacy=replace(diverse.privacy, l=None))
    unbounded = replace(plain, rows_at_most=None)
    foresee, rows = trial.protocol.foresee, dict.fromkeys(("north", "south", "east"), 150)
    assert foresee(diverse, rows).rounds > foresee(plain, rows).rounds
    fewer = replace(plain, rows_at_most=160)
    assert foresee(unbounded, rows).bytes > foresee(fewer, rows).bytes + 10**5  # as many rows as all have, of each
