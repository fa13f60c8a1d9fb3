"""Cluster under the harness: over TLS, in any weather, killed and resumed, searched for secrets, seen from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from covey.testing.cluster_cases import CLUSTER
from covey.testing.harness import answers, lines, run, run_over_tls
from covey.testing.leaks import differing_shapes, sightings
from covey.testing.network import FaultyNetwork, Weather
from covey.testing.safety import kill, points, storm


def test_real_equals_ideal_over_tls(quick_path: Path) -> None:
    trial = CLUSTER.draw(5)
    assert answers(trial, run_over_tls(trial, quick_path / "keys", folder=quick_path)) == trial.ideal


def test_the_same_seed_says_the_same_bytes_in_any_weather() -> None:
    trial = CLUSTER.draw(2)
    calm = lines(run(trial, seed=9))
    network = FaultyNetwork(trial.names, Weather(delay=15), 1)
    assert lines(run(trial, seed=9, network=network)) == calm


def test_equal_leakage_gives_equal_sequences_and_sizes() -> None:
    assert differing_shapes(CLUSTER) == []


def test_no_secret_is_seen_in_messages_logs_journals_or_folders(quick_path: Path) -> None:
    assert CLUSTER.marked is not None
    assert sightings(CLUSTER.marked(), quick_path) == []


def killed(folder: Path, most: int) -> list[str]:
    """What was unsafe when a party was killed at that many points of the smallest run."""
    trial = CLUSTER.smallest()
    chosen, _ = points(trial, folder / "counting")
    stride = max(1, len(chosen) // most)
    return [s for n, point in enumerate(chosen[::stride]) for s in kill(trial, point, folder / str(n))]


def test_a_party_is_killed_here_and_there_and_goes_on(quick_path: Path) -> None:
    assert killed(quick_path, 4) == []


@pytest.mark.slow
def test_a_party_is_killed_at_every_message_and_record(quick_path: Path) -> None:
    assert killed(quick_path, 10**6) == []


def test_any_storm_ends_in_the_ideal_or_in_an_abort_that_can_resume(quick_path: Path) -> None:
    assert [s for seed in range(4) for s in storm(CLUSTER.draw(seed), seed, quick_path / str(seed))] == []


@pytest.mark.slow
def test_two_hundred_storms_end_in_the_ideal_or_in_an_abort_that_can_resume(quick_path: Path) -> None:
    assert [s for seed in range(200) for s in storm(CLUSTER.draw(seed), seed, quick_path / str(seed))] == []
