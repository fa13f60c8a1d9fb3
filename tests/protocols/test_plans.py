"""What a plan foresees is what a run takes, within one and a half times: rounds and bytes, every protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.harness.harness import run, spent
from tests.harness.planned import Compared, compare, made_up, made_up_columns, plan_of, sample, survey
from tests.harness.tiers import few_first
from tests.harness.trial import Trial

from covey.party.plan import FAR, NEAR

FEW_ROWS_OF_MANY_COLUMNS = {"peel, wide": 2.5, "peel with columns, wide": 2.5}
"""Labels published so far lead to another list than the made-up rows': the plan of 300 rows is within this."""
Case = tuple[str, Callable[[], Trial]]
CELLS = 'local = "peel"\nvariant = "finished-cells"'
TRUST = 'cheating = "trust"'
POPULATION = 'population = "population.csv"'
CASES: list[Case] = [
    ("peel, long", lambda: made_up("peel", 2, 300)),
    ("suppress, wide", lambda: made_up("suppress", 8, 300, parties=2)),
    ("generalize, wide", lambda: made_up_columns("generalize", 10, 300)),
    ("federate, wide", lambda: made_up_columns("federate", 10, 400, options=POPULATION, roles="recipient")),
    ("count", lambda: sample("count", 100)),
    ("suppress, sample", lambda: sample("suppress")),
    ("generalize, long", lambda: made_up_columns("generalize", 4, 2000)),
    ("cluster with columns, long", lambda: made_up_columns("cluster", 3, 1500)),
    ("federate, long", lambda: made_up_columns("federate", 3, 2000, options=POPULATION, roles="recipient")),
    ("peel with columns, long", lambda: made_up_columns("peel", 2, 300, roles="helper")),
    ("peel, wide", lambda: made_up("peel", 4, 100, options=TRUST)),
    ("suppress, long", lambda: made_up("suppress", 2, 1500, parties=2)),
    ("generalize, sample", lambda: sample("generalize")),
    ("generalize, finished cells", lambda: made_up_columns("generalize", 4, 600, options=CELLS)),
    ("federate, sample", lambda: sample("federate")),
    ("cluster with columns, wide", lambda: made_up_columns("cluster", 10, 300, holders=3)),
    ("cluster with columns, sample", lambda: sample("cluster-columns")),
    ("peel with columns, wide", lambda: made_up_columns("peel", 8, 100, holders=3)),
    ("peel with columns, sample", lambda: sample("peel-columns")),
    ("peel, hospitals", lambda: sample("peel", 300)),
    ("peel, sample", lambda: sample("peel")),
]
SURVEYS = [("peel-respondents", 60, 2), ("collect", 60, 0), ("collect", 60, 6), ("collect", 800, 0)]


@pytest.mark.parametrize(("name", "trial"), few_first(CASES, 7))
def test_a_run_takes_what_its_plan_says(name: str, trial: Callable[[], Trial]) -> None:
    """With rows of one's own; without, where the data decide on the cost, as nearly as the plan says."""
    played = trial()
    compared = compare(played)
    assert_close(compared, FEW_ROWS_OF_MANY_COLUMNS.get(name, NEAR))
    if played.protocol.name == "peel":
        assert_close(replace(compared, plan=plan_of(played, own=False)), FAR)


@pytest.mark.slow
def test_a_plan_of_random_clusters_is_within_twice_what_runs_take_on_average() -> None:
    """One run takes up to twice as many rounds as another on the same rows: its first clusters are drawn."""
    trial = made_up("cluster", 4, 150)
    plan, runs = plan_of(trial), [spent(run(trial, seed=seed)) for seed in range(1, 7)]
    for what in ("rounds", "bytes"):
        mean = sum(getattr(each, what) for each in runs) / len(runs)
        assert 1 / 2 < mean / getattr(plan, what) < 2


@pytest.mark.parametrize(
    ("protocol", "respondents", "columns"),
    [SURVEYS[0], *(pytest.param(*survey, marks=pytest.mark.slow) for survey in SURVEYS[1:])],
)
def test_a_collection_takes_what_its_plan_says(protocol: str, respondents: int, columns: int) -> None:
    assert_close(survey(protocol, respondents, columns))


def assert_close(compared: Compared, within: float = NEAR) -> None:
    assert all(1 / within < off < within for what, off in compared.off().items() if what != "messages"), compared
