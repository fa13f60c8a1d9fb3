"""`collect` along a curve publishes intervals whose ends are public steps, as the paper's Figure 1b does."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.tiers import examples
from tests.papers.test_paper_001 import PATIENTS

from covey import verify
from covey.bench.papers import collect as experiment
from covey.cells import SUPPRESSED, spell
from covey.errors import InputError
from covey.hierarchy import Interval
from covey.hierarchy.numbers import label
from covey.hierarchy.steps import StepTree
from covey.party.collection.questions import questions
from covey.party.simulate.in_process import simulate
from covey.party.simulate.letters import load_rows
from covey.protocols import of_study
from covey.sources.release import arrange, canonical_csv
from covey.study import Study

FIGURE_1B = {("[35, 45]", "[50, 65]"), ("[55, 65]", "[50, 65]"), ("[55, 70]", "[75, 85]")}
STUDY = """
[study]
name = "patients"
protocol = "collect"
partition = "respondents"
[privacy]
k = {k}
[protocol]
as_printed = true
grid = 64
committee = 3
[columns.age]
role = "quasi"
hierarchy = "interval"
range = {ages}
step = {step}
missing = "error"
[columns.weight]
role = "quasi"
hierarchy = "interval"
range = [50, 85]
step = {step}
missing = "error"
[parties.office]
role = "collector"
"""


def study_of(*, k: int = 4, step: str = "5", ages: str = "[35, 70]") -> Study:
    return Study.parse(STUDY.format(k=k, step=step, ages=ages))


def people(rows: list[tuple[str, str]]) -> pa.Table:
    ages, weights = zip(*rows, strict=True)
    return pa.table({"age": list(ages), "weight": list(weights)})


def test_a_run_on_the_patients_of_figure_1_publishes_its_intervals_without_a_tree_of_ours() -> None:
    study = study_of()
    release = simulate(study, {"respondents": people(list(PATIENTS))}, seed=1)
    assert isinstance(release.table, pa.Table)
    cells = release.table.to_pydict()
    assert Counter(zip(cells["age"], cells["weight"], strict=True)) == dict.fromkeys(FIGURE_1B, 4)
    verdict = verify(release.table, study)
    assert verdict.answer and verdict.loss.lm == pytest.approx(release.loss.lm) == pytest.approx(0.357143, abs=5e-7)


@pytest.mark.thorough
def test_a_release_is_the_ideal_s_and_no_end_is_anybody_s_own_value() -> None:
    draws = np.random.default_rng(4)
    drawn = zip(draws.uniform(35, 70, 24), draws.uniform(50, 85, 24), strict=True)
    rows = [(f"{age:.1f}", f"{weight:.1f}") for age, weight in drawn]
    study = study_of(k=5, step="10", ages="[30, 70]")
    release = simulate(study, {"respondents": people(rows)}, seed=2)
    assert isinstance(release.table, pa.Table)
    table = load_rows(study, people(rows))
    due = of_study(study).ideal(study, {f"r{row}": table.select(np.array([row])) for row in range(24)}).release
    assert due is not None and canonical_csv(arrange(due)) == release.content
    verdict = verify(release.table, study)
    assert verdict.answer and verdict.loss.lm == pytest.approx(release.loss.lm)
    tree = Interval(Decimal(30), Decimal(70), Decimal(10))
    assert all(tree.on_steps(text) for text in release.table["age"].to_pylist())


@given(
    low=st.integers(-50, 50), steps=st.integers(1, 12), step=st.sampled_from(["0.5", "1", "5", "7"]),
    parts=st.lists(st.integers(0, 64), min_size=2, max_size=2),
)  # fmt: skip
@settings(max_examples=examples(200), deadline=None)
def test_the_ends_are_those_of_one_owner_s_intervals(low: int, steps: int, step: str, parts: list[int]) -> None:
    width = Decimal(step)
    interval = Interval(Decimal(low), Decimal(low) + width * steps, width)
    tree = StepTree(interval)
    found = sorted(Decimal(low) + (width * steps * part / 64).quantize(Decimal("0.01")) for part in parts)
    codes = tree.encode([spell(value) for value in found])
    node = int(tree.common_ancestor(codes[:1], codes[1:])[0])
    ends = interval.outward(*found)
    assert tree.labels[node] == (SUPPRESSED if ends == interval.whole() else label(*ends))
    assert tree.first[node] <= codes.min() and codes.max() <= tree.last[node]


def test_a_range_of_too_many_steps_is_refused() -> None:
    study = study_of(step="0.1")
    with pytest.raises(InputError, match="column 'age': its range has 350 steps; 200 can be told apart"):
        of_study(study).judge(study)


def test_a_range_has_to_be_public() -> None:
    text = STUDY.format(k=4, ages="[35, 70]", step="5").replace("range = [50, 85]\n", "")
    with pytest.raises(InputError, match="intervals need a public range"):
        study = Study.parse(text)
        of_study(study).judge(study)


def test_the_bench_finds_figure_1_and_says_so_from_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    table, claim = experiment._figure_1()
    assert {(row[1], row[2]) for row in table.rows} == FIGURE_1B and claim.holds == "yes"
    monkeypatch.setattr(experiment, "PATIENTS", ((36, 50), *experiment.PATIENTS[1:]))
    table, claim = experiment._figure_1()
    assert ("[36, 45]", "[50, 65]", "[35, 45]", "[50, 65]") in {row[1:] for row in table.rows}
    assert claim.holds == "in part"


def test_a_respondent_is_asked_for_a_number_of_the_range() -> None:
    asked = questions(study_of())[0]
    assert asked.allowed == "a number from 35 to 70" and asked.read("41.5") == "41.5"
    for answer in ("34", "70.5", "young"):
        with pytest.raises(InputError, match="allows a number from 35 to 70"):
            asked.read(answer)
