"""`collect` by peeling: real equals ideal, over memory and with drawn or named trustees."""

from __future__ import annotations

import pytest
from tests.harness.harness import answers, run
from tests.harness.peel_survey_cases import draw_people, study_of, trial_of


@pytest.mark.parametrize(
    ("seed", "people", "options"),
    [
        (1, 12, {}),
        (2, 12, {"trustees": ()}),
        (3, 12, {"privacy": "l = 2"}),
        (4, 14, {"privacy": 'l = 2\ndiversity = "distinct"', "note": True, "trustees": ()}),
    ],
)
def test_the_collector_gets_what_a_trusted_party_would_release(
    seed: int, people: int, options: dict[str, object]
) -> None:
    trial = trial_of(study_of(people, **options), draw_people(seed, people))  # type: ignore[arg-type]
    assert answers(trial, run(trial)) == trial.ideal
