"""Peel under the harness: over TLS, in any weather, killed and resumed, searched for secrets, seen from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from covey.crypto.rng import Rng
from covey.protocols.peel import role, supply
from covey.testing.harness import answers, lines, run, run_over_tls, spent
from covey.testing.leaks import differing_shapes, sightings
from covey.testing.network import FaultyNetwork, Weather, seed_of
from covey.testing.peel_cases import PEEL, PEEL_CASES, THRESHOLD, draw_people, study_of, trial_of
from covey.testing.safety import kill, points, storm
from covey.testing.trial import Case

BOTH = pytest.mark.parametrize("case", PEEL_CASES, ids=lambda case: case.name)


@BOTH
def test_real_equals_ideal_on_random_inputs(case: Case) -> None:
    for seed in range(6):
        trial = case.draw(seed)
        assert answers(trial, run(trial, seed=seed)) == trial.ideal, f"seed {seed}"


@BOTH
def test_real_equals_ideal_over_tls(case: Case, quick_path: Path) -> None:
    trial = case.draw(5)
    assert answers(trial, run_over_tls(trial, quick_path / "keys", folder=quick_path)) == trial.ideal


@BOTH
def test_the_same_seed_says_the_same_bytes_in_any_weather(case: Case) -> None:
    trial = case.draw(2)
    calm = lines(run(trial, seed=9))
    for weather in range(2):
        network = FaultyNetwork(trial.names, Weather(delay=15), weather)
        assert lines(run(trial, seed=9, network=network)) == calm
    assert lines(run(trial, seed=10)) != calm


def test_a_threshold_test_costs_what_it_declares() -> None:
    for seed in range(3):
        trial = THRESHOLD.draw(seed)
        assert trial.cost is not None
        real = spent(run(trial, seed=seed))
        assert (real.rounds, real.messages) == (trial.cost.rounds, trial.cost.messages)
        assert real.bytes == pytest.approx(trial.cost.bytes, rel=0.02)


@BOTH
def test_equal_leakage_gives_equal_sequences_and_sizes(case: Case) -> None:
    assert differing_shapes(case) == []


def test_no_secret_is_seen_in_messages_logs_journals_or_folders(quick_path: Path) -> None:
    assert PEEL.marked is not None
    assert sightings(PEEL.marked(), quick_path) == []


def killed(case: Case, folder: Path, most: int) -> list[str]:
    trial = case.smallest()
    chosen, _ = points(trial, folder / "counting")
    stride = max(1, len(chosen) // most)
    return [s for n, point in enumerate(chosen[::stride]) for s in kill(trial, point, folder / str(n))]


@BOTH
def test_a_party_is_killed_here_and_there_and_goes_on(case: Case, quick_path: Path) -> None:
    assert killed(case, quick_path, 10) == []


@pytest.mark.slow
@BOTH
def test_a_party_is_killed_at_every_message_and_record(case: Case, quick_path: Path) -> None:
    assert killed(case, quick_path, 10**6) == []


@BOTH
def test_any_storm_ends_in_the_ideal_or_in_an_abort_that_can_resume(case: Case, quick_path: Path) -> None:
    assert [s for seed in range(5) for s in storm(case.draw(seed), seed, quick_path / str(seed))] == []


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
    people = draw_people(Rng(seed_of(1)).stream("many"), 25, 30)
    trial = trial_of(study_of(k=4, options="buckets = 4"), people)
    calm = lines(run(trial, seed=9))
    assert len([line for line in calm if line.step.startswith("prepare/")]) > 200
    monkeypatch.setattr(role, "LANES", 1)
    assert lines(run(trial, seed=9)) == calm
