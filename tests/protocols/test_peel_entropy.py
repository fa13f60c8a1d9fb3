"""`peel` keeps l by entropy: what is tested is the entropy but for a little, and runs equal the ideal."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.harness import harness
from tests.harness.hospitals import SITES, draw_people, stream_of, study_of, trial_of
from tests.harness.tiers import examples, few_first
from tests.protocols import peelers
from tests.protocols.test_closeness import trusted

from covey.errors import InputError, Unmet
from covey.judge import verify
from covey.protocols import of_study, peel
from covey.protocols.peel.entropy import Entropy
from covey.protocols.peel.parameters import Parameters

BY_ENTROPY = 'diversity = "entropy"'


def entropy(counts: list[int]) -> float:
    """In natural logarithms, by the definition."""
    size = sum(counts)
    return -sum(each / size * math.log(each / size) for each in counts if each)


def classes(release: pa.Table) -> list[list[int]]:
    """The numbers of records with each illness, class by class."""
    found: defaultdict[tuple[object, ...], Counter[object]] = defaultdict(Counter)
    for row in release.to_pylist():
        found[tuple(value for name, value in row.items() if name != "ill")][row["ill"]] += 1
    return [list(own.values()) for own in found.values()]


@settings(deadline=None, max_examples=examples(400))
@given(st.data(), st.integers(3, 5), st.sampled_from(["1.2", "1.5", "2", "2.5", "3"]), st.integers(4, 12))
def test_what_is_kept_has_the_entropy_and_what_has_more_than_enough_is_kept(
    data: st.DataObject, parties: int, wanted: str, values: int
) -> None:
    row = st.lists(st.integers(0, 30), min_size=values, max_size=values)
    own = np.array(data.draw(st.lists(row, min_size=parties, max_size=parties)))
    joint = own.sum(axis=0)
    size = int(joint.sum())
    assume(size > 0)
    rule = Entropy.of(Fraction(wanted), [values], parties)
    truth, least = entropy(joint.tolist()), math.log(float(wanted))
    below = data.draw(st.integers(size + 1, 2 * size))
    parts = [(np.array([each.sum()]), each[np.newaxis]) for each in own]
    found = bool(rule.kept(np.array([below]), parts)[0])
    exact = bool(rule.kept_exactly(np.array([size]), joint[np.newaxis])[0])
    assert truth >= least or not (found or exact)
    rare = sum(each / size * math.log(size / (32 * each)) for each in joint.tolist() if 0 < 32 * each < size)
    assert exact or truth < least + rare + 0.06
    assert found or truth < least + rare + 0.06 + 2 * float(rule.rounding)
    odd = np.sum([rule.odd(np.array([below]), *part, first=not place) for place, part in enumerate(parts)], axis=0)
    left = np.sum([rule.allowed(np.array([below]), *part, first=not place) for place, part in enumerate(parts)], axis=0)
    assert np.abs(odd).max() <= rule.bound
    assert left.max() - np.abs(odd).sum() < rule.most


@pytest.mark.parametrize(
    ("mode", "privacy"),
    few_first(
        [
            ("wave", "l = 2"),
            ("visit", "l = 1.5\nk_insider = 1"),
            ("skip", "l = 2.2"),
            ("visit", "l = 1.6\nt = 0.4"),
            ("wave", "l = 1.8\nmost_of_a_class = 0.7"),
        ]
    ),
)
def test_a_run_with_l_by_entropy_equals_the_ideal_and_the_judge_says_yes(mode: str, privacy: str) -> None:
    study = study_of(
        "peel", SITES, k=3, privacy=f"{privacy}\n{BY_ENTROPY}", options=f'mode = "{mode}"\nbuckets = 1'
    )  # fmt: skip
    people = draw_people(stream_of(len(privacy), "peel", "entropy"), SITES, 8, 14)
    trial = trial_of(study, people)
    assert harness.answers(trial, harness.run(trial)) == trial.ideal
    release = trusted(study, people)
    assert verify(release, study).answer
    assert study.privacy.l is not None
    assert min(map(entropy, classes(release))) >= math.log(study.privacy.l) - 1e-9


@pytest.mark.thorough
@settings(max_examples=examples(40), deadline=None)
@given(st.integers(3, 6), st.integers(4, 30), st.integers(2, 5), st.integers(0, 10**6))
def test_a_trusted_party_keeps_l_by_entropy(parties: int, rows: int, k: int, seed: int) -> None:
    study = peelers.study_of(parties, k=k, privacy=f"l = 2\n{BY_ENTROPY}\nk_insider = 1")
    try:
        ideal = peel.ideal(study, peelers.tables_of(study, peelers.draw_people(parties, rows, seed)))
    except Unmet:
        return
    assert ideal.release is not None
    assert verify(ideal.release, study).answer


def test_entropy_keeps_classes_that_frequency_refuses() -> None:
    """Half of a class with one illness and three others in the rest: l = 3 by entropy, only l = 2 by frequency."""
    study = study_of("peel", SITES, k=3, privacy=f"l = 3\n{BY_ENTROPY}")
    rule = Parameters.of(study).entropy
    assert rule is not None
    half = np.zeros((1, rule.values[0]), dtype=np.int64)
    half[0, :4] = (30, 10, 10, 10)
    assert rule.kept_exactly(np.array([60]), half)[0]
    half[0, :4] = (44, 6, 5, 5)
    assert not rule.kept_exactly(np.array([60]), half)[0]


def test_the_plan_says_what_is_tested() -> None:
    study = study_of("peel", k=3, privacy=f"l = 2\n{BY_ENTROPY}")
    planned = of_study(study).foresee(study, dict.fromkeys(SITES, 40))
    for sentence in (
        "the values of each sensitive column have the entropy of l = 2 there",
        "how many they are to within a factor of two",
    ):
        assert all(
            sentence in " ".join(learned) for learned in of_study(study).learned(study, planned.lessons).values()
        )


@pytest.mark.parametrize(
    ("names", "privacy", "said"),
    [
        (SITES[:2], "l = 2", 'between two parties cannot keep diversity = "entropy"; ask for diversity'),
        (SITES, "l = 4.9", "measured too coarsely for any class to keep it; lower l"),
        (SITES, "l = 2\nl_insider = 1.5", "l_insider is kept by frequency"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_what_to_do(names: tuple[str, ...], privacy: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Parameters.of(study_of("peel", names, k=3, privacy=f"{privacy}\n{BY_ENTROPY}"))
