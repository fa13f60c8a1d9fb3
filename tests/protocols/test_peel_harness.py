"""What the generated tests of `peel` lack: every type of message is among them, and lanes change no byte."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.harness.harness import lines, run
from tests.harness.hospitals import SITES, draw_people, stream_of, study_of, trial_of
from tests.harness.peel_cases import PEEL, PEEL_ASKED, PEEL_OF_TWO
from tests.harness.trial import Case

from covey.party.audit.script import strays
from covey.protocols.peel import role, supply


def test_every_type_of_message_is_reached_by_the_smallest_run() -> None:
    trial = PEEL.smallest()
    tags = {line.tag for line in lines(run(trial))}
    assert tags >= {
        "reach.dealt", "reach.masked", "reach.part", "peel.shares", "peel.part", "peel.listed", "coin.commitment",
        "coin.opening", "sum.masked", "and.deal", "shuffle.onions", "approval.vote",
    }  # fmt: skip


def test_many_batches_say_the_same_bytes_whichever_lane_prepares_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supply, "BATCH", 6)
    monkeypatch.setattr(supply, "SMALLEST", 4)
    people = draw_people(stream_of(1, "many"), SITES, 25, 30)
    trial = trial_of(study_of("peel", k=4, options="buckets = 4"), people)
    calm = lines(run(trial, seed=9))
    assert len([line for line in calm if line.step.startswith("prepare/")]) > 200
    monkeypatch.setattr(role, "LANES", 1)
    assert lines(run(trial, seed=9)) == calm


@pytest.mark.few(1)
@pytest.mark.parametrize("case", [PEEL, PEEL_ASKED, PEEL_OF_TWO], ids=lambda case: case.name)
def test_every_message_of_a_run_is_declared_and_a_stray_one_is_named(case: Case) -> None:
    trials = [case.smallest(), *(case.draw(seed) for seed in range(5))]
    for trial in trials:
        said = lines(run(trial, seed=2))
        assert strays(trial.study, trial.protocol, said, finished=True) == []
    assert any("declares no" in each for each in strays(
        trial.study, trial.protocol, [*said, replace(said[-1], step="visit/1/find/secret", number=0)], finished=True
    ))  # fmt: skip
    listed = next(line for line in said if line.tag == "peel.listed")
    assert any("'peel.listed' is missing" in each for each in strays(
        trial.study, trial.protocol, [line for line in said if line.step != listed.step], finished=True
    ))  # fmt: skip


def test_a_study_of_two_with_values_that_it_does_not_list_says_only_what_is_declared() -> None:
    people = draw_people(stream_of(4, "two"), SITES[:2], 6, 9)
    for head in ("", 'sizes = "public"'):
        trial = trial_of(study_of("peel", SITES[:2], head=head, note=True), people)
        assert strays(trial.study, trial.protocol, lines(run(trial)), finished=True) == []
