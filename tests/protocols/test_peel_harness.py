"""What the generated tests of `peel` lack: every type of message is among them, and lanes change no byte."""

from __future__ import annotations

import pytest

from covey.protocols.peel import role, supply
from covey.testing.harness import lines, run
from covey.testing.hospitals import SITES, draw_people, stream_of, study_of, trial_of
from covey.testing.peel_cases import PEEL


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
