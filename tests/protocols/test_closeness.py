"""`cluster` keeps t: what parties test is the distance, runs equal the ideal, and the judge says yes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness import harness
from tests.harness.hospitals import SITES, Person, draw_people, stream_of, study_of, tables_of, trial_of
from tests.harness.trial import Trial

from covey.arrays import Longs
from covey.errors import Aborted, InputError
from covey.judge import verify
from covey.protocols import of_study
from covey.protocols.cluster_rows import closeness, ideal
from covey.protocols.shared.closeness import ClosenessRule, require_close
from covey.study import Study

ILLS = ("none", "flu", "asthma", "ulcer")


def distance(counts: list[int], whole: list[int]) -> Fraction:
    """Half the sum of the differences of the shares, as the textbook has it."""
    size, records = sum(counts), sum(whole)
    return (
        sum((abs(Fraction(f, size) - Fraction(w, records)) for f, w in zip(counts, whole, strict=True)), Fraction()) / 2
    )


@settings(deadline=None, max_examples=150)
@given(st.data(), st.sampled_from([2, 3]), st.sampled_from(["0", "0.1", "0.25", "0.5", "1"]))
def test_a_class_is_too_far_where_its_distance_is_above_t(data: st.DataObject, parties: int, wanted: str) -> None:
    values = data.draw(st.integers(1, 4))
    rows = st.lists(st.lists(st.integers(0, 5), min_size=values, max_size=values), min_size=parties, max_size=parties)
    classes = data.draw(st.lists(rows, min_size=1, max_size=4))
    joint = [[sum(column) for column in zip(*own, strict=True)] for own in classes]
    classes = [own for own, counts in zip(classes, joint, strict=True) if sum(counts)]
    joint = [counts for counts in joint if sum(counts)]
    if not joint:
        return
    whole = [sum(column) for column in zip(*joint, strict=True)]
    rule = ClosenessRule.of(float(wanted), [(np.zeros(0, dtype=np.int64), values)], [np.array(whole)])
    sizes = np.array([sum(counts) for counts in joint])
    names = [f"p{place}" for place in range(parties)]
    mine: dict[str, Longs] = {name: np.array([own[place] for own in classes]) for place, name in enumerate(names)}
    found = ideal.run(names, lambda trusted: closeness.too_far(trusted, rule, mine[trusted.me], sizes))
    truth = [distance(counts, whole) > Fraction(wanted) for counts in joint]
    assert all(far.tolist() == truth for far in found.values())


def two_wards(names: tuple[str, ...] = SITES) -> dict[str, list[Person]]:
    """Young people have the flu and old ones an ulcer: classes by age are as far from the whole as can be."""
    return {name: [(1 + place, "F", "flu"), (12 + place, "F", "ulcer"), (2, "M", "flu"), (13, "M", "ulcer")] * 2
            for place, name in enumerate(names)}  # fmt: skip


def trusted(study: Study, people: dict[str, list[Person]]) -> pa.Table:
    """The release of a trusted party."""
    release = of_study(study).ideal(study, tables_of(study, people)).release
    assert release is not None
    return release


def released(study: Study, people: dict[str, list[Person]]) -> tuple[Trial, dict[str, object]]:
    trial = trial_of(study, people)
    return trial, harness.answers(trial, harness.run(trial))


@pytest.mark.parametrize("names", [SITES, SITES[:2]], ids=["three parties", "two parties"])
def test_a_run_with_t_equals_the_ideal_and_the_judge_says_yes(names: tuple[str, ...]) -> None:
    asked = study_of("cluster", names, k=2, privacy="t = 0.3")
    people = two_wards(names)
    trial, found = released(asked, people)
    assert found == trial.ideal
    for study, kept in ((asked, True), (study_of("cluster", names, k=2), False)):
        assert verify(trusted(study, people), asked).answer == kept, (
            "without t the same table has classes that are too far"
        )


def test_the_ledger_and_the_plan_say_what_t_teaches() -> None:
    study = study_of("cluster", k=3, privacy="t = 0.3")
    planned = of_study(study).foresee(study, dict.fromkeys(SITES, 20))
    plain = study_of("cluster", k=3)
    sentence = "which classes have too much of these for t = 0.3"
    assert all(sentence in " ".join(learned) for learned in of_study(study).learned(study, planned.lessons).values())
    assert planned.rounds > of_study(plain).foresee(plain, dict.fromkeys(SITES, 20)).rounds


def test_random_tables_keep_t_and_lose_no_more_than_one_class_would() -> None:
    for seed in range(3):
        people = draw_people(stream_of(seed, "closeness"), SITES, 6, 14)
        study = study_of("cluster", k=3, privacy="t = 0.25\nl = 1.2")
        assert verify(trusted(study, people), study).answer


def test_opened_classes_that_are_too_far_are_never_written() -> None:
    study = study_of("cluster", k=2, privacy="t = 0.3")
    cells = {"ill": ["flu", "flu", "ulcer", "ulcer"]}
    require_close(study, np.array([0, 1, 0, 1]), cells)
    with pytest.raises(Aborted, match=r"do not keep t = 0\.3"):
        require_close(study, np.array([0, 0, 1, 1]), cells)


def test_another_distance_is_refused() -> None:
    text = (
        '[study]\nname = "s"\nprotocol = "cluster"\npartition = "horizontal"\n[privacy]\nk = 2\nt = 0.3\n'
        '[columns.sex]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["F", "M"]\n'
        '[columns.pain]\nrole = "sensitive"\ndistance = "ordered"\nvalues = ["1", "2", "3"]\n[parties.a]\n[parties.b]\n'
    )
    with pytest.raises(InputError, match="keeps t by equal distance"):
        of_study(Study.parse(text))
