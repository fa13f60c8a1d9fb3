"""A network that loses, repeats, swaps, delays and cuts: the ideal's result or an abort that says why, then a resume.

A failing seed is in the message; `tests.harness.safety.storm(CASES[name].draw(seed), seed, folder)` repeats it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.cases import CASES
from tests.harness.harness import run
from tests.harness.network import FaultyNetwork
from tests.harness.safety import storm, weather_of
from tests.harness.tiers import some

SEEDS = 200


def stormy(name: str, seeds: range, folder: Path) -> list[str]:
    return [sentence for seed in seeds for sentence in storm(CASES[name].draw(seed), seed, folder / str(seed))]


@pytest.mark.parametrize("name", some(CASES, 3))
def test_any_case_is_safe_in_a_few_storms(name: str, quick_path: Path) -> None:
    place = sorted(CASES).index(name)
    assert stormy(name, range(place, place + (3 if CASES[name].is_quick else 1)), quick_path) == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", some(CASES, 1, every=3, rest="slow"))
def test_any_case_is_safe_in_some_storms(name: str, quick_path: Path) -> None:
    assert stormy(name, range(max(1, CASES[name].quick // 4)), quick_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES))
def test_any_case_is_safe_in_two_hundred_storms(name: str, quick_path: Path) -> None:
    assert stormy(name, range(SEEDS), quick_path) == []


def test_a_storm_repeats_itself() -> None:
    def once(seed: int) -> dict[str, str]:
        trial = CASES["sum"].draw(seed)
        ends = run(trial, seed=seed, network=FaultyNetwork(trial.names, weather_of(seed), seed))
        return {name: str(end.error) for name, end in ends.items()}

    ends = [once(seed) for seed in range(12)]
    assert ends == [once(seed) for seed in range(12)]
    assert len({str(end) for end in ends}) > 3
