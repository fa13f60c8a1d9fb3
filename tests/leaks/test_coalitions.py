"""The collector and some trustees together: fewer than half learn no more than the release, more than half all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.collection.town import record_of
from tests.harness.network import seed_of
from tests.harness.peel_survey_cases import study_of

from covey.bench.papers.coalition import WatchedRun, watch
from covey.party.simulate.respondents import load_rows

PEOPLE = 60


def watched(trustees: int, seed: int) -> WatchedRun:
    """A run among sixty people."""
    study = study_of(0, k=5, protocol="nodes = 3", trustees=())
    draws = np.random.default_rng(seed)
    people = [record_of(int(place)) for place in draws.integers(0, 1000, PEOPLE)]
    cells = {name: [person[name] for person in people] for name in ("age", "sex", "mood")}
    table = load_rows(study, pa.table({"name": [f"person {place}" for place in range(PEOPLE)], **cells}))
    return watch(study, table, seed_of(seed), trustees)


@pytest.mark.parametrize(
    "trustees", [pytest.param(3, marks=pytest.mark.thorough), pytest.param(5, marks=pytest.mark.slow)]
)
def test_fewer_than_half_tell_no_class_and_more_than_half_all(trustees: int) -> None:
    run = watched(trustees, 1)
    names, few = run.trustees.names, trustees // 2
    for first in range(trustees):
        told = [names[(first + place) % trustees] for place in range(few)]
        chance = max(run.largest, 0.25)
        assert run.guessed(told) < chance + 4 * np.sqrt(chance * (1 - chance) / PEOPLE)
        assert run.linked(told) == 0.0, "shares after a shuffle are new"
        assert run.read(told) == 0.0
    many = names[: few + 1]
    assert (run.guessed(many), run.read(many)) == (1.0, 1.0), "the attack works where it can"
