"""Every protocol and block that is listed: equals its ideal, says the same bytes again, costs what it declares."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.cases import CASES
from tests.harness.harness import answers, lines, run, run_over_tls, spent
from tests.harness.network import FaultyNetwork, Weather
from tests.harness.tiers import THOROUGH, some

NAMES = sorted(CASES)
FEW, MORE = range(1), range(1, 4)


@pytest.mark.parametrize("seeds", [FEW, pytest.param(MORE, marks=pytest.mark.thorough)], ids=["few", "more"])
@pytest.mark.parametrize("name", NAMES)
def test_real_equals_ideal_on_random_inputs(name: str, seeds: range) -> None:
    for seed in seeds:
        trial = CASES[name].draw(seed)
        assert answers(trial, run(trial, seed=seed)) == trial.ideal, f"seed {seed}"


@pytest.mark.parametrize("name", some(CASES, 0))
def test_real_equals_ideal_over_tls(name: str, quick_path: Path) -> None:
    trial = CASES[name].draw(5)
    assert answers(trial, run_over_tls(trial, quick_path / "keys", folder=quick_path)) == trial.ideal


@pytest.mark.parametrize("name", some(CASES, 1))
def test_the_same_seed_says_the_same_bytes_in_any_weather(name: str) -> None:
    trial = CASES[name].draw(2)
    calm = lines(run(trial, seed=9))
    network = FaultyNetwork(trial.names, Weather(delay=15), 0, beats=True)
    assert lines(run(trial, seed=9, network=network)) == calm
    assert lines(run(trial, seed=10)) != calm


@pytest.mark.parametrize("name", NAMES)
def test_the_cost_is_as_declared(name: str) -> None:
    for seed in range(2 if THOROUGH else 1):
        trial = CASES[name].draw(seed)
        if trial.cost is None:
            pytest.skip("its data decide what it costs: an estimate, which the protocol's own tests judge")
        real = spent(run(trial, seed=seed))
        assert (real.rounds, real.messages) == (trial.cost.rounds, trial.cost.messages)
        assert real.bytes == pytest.approx(trial.cost.bytes, rel=0.02)
