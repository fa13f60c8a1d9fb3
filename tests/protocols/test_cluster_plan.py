"""What `covey plan` foresees for `cluster` with rows split is what a run takes, within one and a half times."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.harness.harness import run, spent
from tests.harness.tiers import few_first
from tests.harness.trial import Trial

from covey import samples
from covey.party.session.data import load_table
from covey.protocols import of_study
from covey.sources.source import connect
from covey.study import Study

SAMPLE = samples.path("hospitals")
NAMES = ("north", "south", "east")


def study_of(k: int, schedule: str, parties: int = 3, l: float | None = None) -> Study:  # noqa: E741
    """The hospitals of the sample, with trees of a thousand nodes."""
    text = (SAMPLE / "study.toml").read_text()
    text = text.replace("k = 5 ", f"k = {k} ").replace("l = 2 ", f"l = {l} " if l else "# ")
    for name in NAMES[parties:]:
        text = text.replace(f"[parties.{name}]\n", "")
    return Study.parse(f'{text}\n[protocol]\nschedule = "{schedule}"\n', SAMPLE)


def trial_of(study: Study, rows: int) -> Trial:
    """The first so many patients of each hospital."""
    names = [column.name for column in study.columns]
    tables = {}
    for party in study.parties:
        batches = connect(str(SAMPLE / f"{party.name}.csv")).batches(names)
        frame = pa.Table.from_batches(batches).rename_columns(names).slice(0, rows)
        tables[party.name] = load_table(study, party.name, frame)
    return Trial(study, of_study(study), tables, {}, lambda name, finished: None)


@pytest.mark.parametrize(
    ("study", "rows"),
    few_first(
        [
            (study_of(5, "guarded"), 150),
            (study_of(5, "guarded", l=2), 150),
            (study_of(10, "guarded"), 300),
            (study_of(5, "guarded", parties=2), 60),
            (study_of(5, "strict"), 300),
            (study_of(5, "exact"), 100),
            (study_of(20, "exact"), 200),
        ],
        few=2,
    ),
    ids=["guarded", "guarded, l", "guarded, larger", "guarded, two", "strict", "exact", "exact, larger k"],
)
def test_a_run_takes_what_was_foreseen_within_one_and_a_half_times(study: Study, rows: int) -> None:
    trial = trial_of(study, rows)
    ends = run(trial, seed=1)
    assert all(end.error is None for end in ends.values())
    real = spent(ends)
    plan = trial.protocol.foresee(study, dict.fromkeys((party.name for party in study.parties), rows))
    assert plan.bytes / 1.5 < real.bytes < 1.5 * plan.bytes
    assert plan.rounds / 2 < real.rounds < 2 * plan.rounds
    assert plan.messages / 2 < real.messages < 2 * plan.messages


def test_a_plan_counts_what_l_asks_and_the_rows_that_are_shuffled() -> None:
    rows = dict.fromkeys(NAMES, 5000)

    def size(study: Study) -> int:
        return of_study(study).foresee(study, rows).bytes

    plain = study_of(50, "guarded")
    assert size(study_of(50, "guarded", l=2)) > 1.2 * size(plain)
    assert size(replace(plain, rows_at_most=None)) > size(plain) + 5 * 10**6  # as many rows as all have, of each
