"""`peel` keeps t: the test is the distance but for a little, runs equal the ideal, and nothing is withheld."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.harness import harness
from tests.harness.hospitals import SITES, Person, draw_people, stream_of, study_of, trial_of
from tests.harness.tiers import examples, few_first
from tests.protocols import peelers
from tests.protocols.test_closeness import distance, trusted, two_wards

import covey
from covey.arrays import Bits
from covey.errors import Aborted, InputError, StudyError
from covey.judge import verify
from covey.protocols import of_study, peel
from covey.protocols.peel import closeness, search
from covey.protocols.peel.closeness import Closeness
from covey.protocols.peel.diversity import Histograms
from covey.protocols.peel.parameters import Parameters
from covey.protocols.shared.peeling.marginals import RARE, WITHHELD
from covey.study import Study

MODES = ("visit", "skip", "wave")


@settings(deadline=None, max_examples=examples(400))
@given(st.data(), st.integers(3, 5), st.sampled_from(["0.2", "0.25", "0.4", "0.6"]), st.integers(2, 9))
def test_what_is_kept_is_near_and_what_is_near_enough_is_kept(
    data: st.DataObject, parties: int, wanted: str, k: int
) -> None:
    values = data.draw(st.integers(2, 5))
    row = st.lists(st.integers(0, 6), min_size=values, max_size=values)
    own = np.array(data.draw(st.lists(row, min_size=parties, max_size=parties)))
    others = np.array(data.draw(st.lists(st.integers(0, 40), min_size=values, max_size=values)))
    joint, whole = own.sum(axis=0), own.sum(axis=0) + others
    size = int(joint.sum())
    assume(size > 0)
    study = peelers.study_of(parties, k=k)
    near = Closeness.of(Fraction(wanted), closeness.ideal(study, [whole]), parties)
    assert (near.twice[whole >= k] != 0).all()
    truth, below = distance(joint.tolist(), whole.tolist()), 2 * size - 1
    parts = [(np.array([each.sum()]), each[np.newaxis]) for each in own]
    found = bool(near.kept(np.array([below]), parts)[0])
    exact = bool(near.kept_exactly(np.array([size]), joint[np.newaxis])[0])
    off = 2 * (Fraction(wanted) - near.left[0])
    assert truth <= Fraction(wanted) or not (found or exact)
    assert exact or truth > Fraction(wanted) - off
    assert found or truth > Fraction(wanted) - off - 2 * closeness.rounding(values, parties)


@pytest.mark.parametrize(
    ("mode", "privacy"),
    few_first(
        [
            ("wave", "t = 0.3\nl = 1.25"),
            ("two", "t = 0.3\nl = 1.2"),
            ("visit", "t = 0.25"),
            ("skip", "t = 0.35\nk_insider = 1"),
            ("visit", "t = 0.4\nmost_of_a_class = 0.7"),
            ("skip", "t = 0.3\nl_insider = 1.1"),
            ("wave", "t = 0.2"),
        ]
    ),
)
def test_a_run_with_t_equals_the_ideal_withholds_nothing_and_the_judge_says_yes(mode: str, privacy: str) -> None:
    names, mode = (SITES[:2], "wave") if mode == "two" else (SITES, mode)
    study = study_of("peel", names, k=3, privacy=privacy, options=f'mode = "{mode}"\nbuckets = 1')
    people = draw_people(stream_of(len(privacy), "peel", "close"), names, 8, 14)
    trial = trial_of(study, people)
    assert harness.answers(trial, harness.run(trial)) == trial.ideal
    release = trusted(study, people)
    assert release.num_rows == sum(map(len, people.values()))
    assert verify(release, study).answer


@pytest.mark.thorough
@settings(max_examples=examples(40), deadline=None)
@given(st.integers(3, 6), st.integers(4, 30), st.integers(2, 5), st.sampled_from(MODES), st.integers(0, 10**6))
def test_a_trusted_party_withholds_nothing_and_keeps_t(parties: int, rows: int, k: int, mode: str, seed: int) -> None:
    study = peelers.study_of(parties, k=k, privacy="t = 0.3\nk_insider = 1", options=f'mode = "{mode}"\nbuckets = 1')
    tables = peelers.tables_of(study, peelers.draw_people(parties, rows, seed))
    ideal = peel.ideal(study, tables)
    assert ideal.figures is not None
    assert ideal.figures.withheld == 0
    assert ideal.release is not None
    assert verify(ideal.release, study).answer


def test_without_t_the_same_table_tells_who_is_ill() -> None:
    """The attack that t is for: of young people the flu is nearly certain in a class by age, and with t it is not."""
    people = two_wards()
    asked, plain = (study_of("peel", k=2, privacy=text) for text in ("t = 0.3", ""))
    assert verify(trusted(asked, people), asked).answer
    assert not verify(trusted(plain, people), asked).answer


def test_what_is_left_over_is_released_with_classes_that_are_taken_back() -> None:
    """Four of five old people have an ulcer, and nobody else: they are released with some of the young ones."""
    young: list[Person] = [(age, sex, ill) for age in (1, 2) for sex in ("F", "M") for ill in ("flu", "none")]
    people: dict[str, list[Person]] = dict.fromkeys(SITES, young * 3)
    people["east"] = [*people["east"], *[(13, "M", "ulcer")] * 4, (13, "F", "flu")]
    study = study_of("peel", k=4, privacy="t = 0.3\nk_insider = 1")
    trial = trial_of(study, people)
    ends = harness.run(trial)
    assert harness.answers(trial, ends) == trial.ideal
    release = trusted(study, people)
    assert release.num_rows == 3 * 24 + 5
    ages = release.column("age").to_pylist()
    assert 5 < ages.count("*") < len(ages)


def test_the_ledger_and_the_plan_say_what_t_teaches() -> None:
    study = study_of("peel", k=3, privacy="t = 0.3\nl = 1.2")
    planned = of_study(study).foresee(study, dict.fromkeys(SITES, 40))
    plain = study_of("peel", k=3, privacy="l = 1.2")
    for sentence in (
        "which of the 5 sensitive values 3 or more records have",
        "at most 1/1.2 of these records, and their sensitive values are within t = 0.3 of the whole table's",
        "whether what is left over at the end keeps t together with 1, 2, 4",
    ):
        assert all(
            sentence in " ".join(learned) for learned in of_study(study).learned(study, planned.lessons).values()
        )
    assert planned.rounds > of_study(plain).foresee(plain, dict.fromkeys(SITES, 40)).rounds


@pytest.mark.thorough
def test_a_plan_on_the_real_rows_is_near_what_a_run_costs() -> None:
    study = peelers.study_of(3, k=5, privacy="t = 0.35\nk_insider = 1")
    people = peelers.draw_people(3, 120, 4)
    tables = peelers.tables_of(study, people)
    planned = peel.PROTOCOL.rehearse
    assert planned is not None
    forecast = planned(study, dict.fromkeys(tables, 120), next(iter(tables.values())))
    real = covey.simulate(study, {name: peelers.frame_of(study, own) for name, own in people.items()}, seed=1)
    assert 0.4 < forecast.bytes / int(str(real.summary["bytes"])) < 2.5
    assert 0.4 < forecast.rounds / int(str(real.summary["rounds"])) < 2.5


def test_classes_that_are_too_far_are_never_written(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lazy(self: search.Finder, channel: object, own: Histograms) -> Bits:
        return np.ones(len(own.counts), dtype=bool)

    monkeypatch.setattr(search.Finder, "diverse", lazy)
    ends = harness.run(trial_of(study_of("peel", k=2, privacy="t = 0.3"), two_wards()))
    assert all(isinstance(end.error, Aborted) and end.finished is None for end in ends.values())
    assert any("do not keep t = 0.3" in str(end.error) for end in ends.values())


@pytest.mark.parametrize(
    ("names", "privacy", "options", "reason"),
    [
        (SITES, "t = 0.3", 'leftover = "merge"', "could undo a class's t"),
        (SITES, "t = 0.01", "", r"column 'ill'.* measured to within 0.0056, .*raise t, merge values"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_a_run(
    names: tuple[str, ...], privacy: str, options: str, reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        of_study(study_of("peel", names, privacy=privacy, options=options))


def test_two_parties_compare_sets_of_values_and_few_values_only() -> None:
    values = [3, 0, 2, 1]
    study = peelers.study_of(2, k=2)
    whole = np.array([9, 6, 5, 4])
    near = Closeness.of(Fraction(1, 4), closeness.ideal(study, [whole]), 2)
    for counts in (values, [6, 0, 0, 0], [3, 1, 1, 1], [9, 6, 5, 4]):
        joint = np.array([counts])
        kept = bool((near.of_two(joint.sum(axis=1), joint) >= 0).all())
        assert kept == bool(near.kept_exactly(joint.sum(axis=1), joint)[0])
    ills = ", ".join(f'"ill {place}"' for place in range(9))
    text = (
        '[study]\nname = "s"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\nk = 2\nt = 0.3\n'
        '[columns.sex]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["F", "M"]\n'
        f'[columns.ill]\nrole = "sensitive"\nvalues = [{ills}]\n[parties.a]\n[parties.b]\n'
    )
    with pytest.raises(InputError, match=r"takes 1,024 comparisons for each class.* take protocol = .cluster."):
        of_study(Study.parse(text))


@pytest.mark.parametrize(
    ("partition", "parties"),
    [("vertical", '[parties.a]\n[parties.b]\n[parties.e]\nrole = "evaluator"\n'), ("respondents", "")],
)
def test_protocols_that_withhold_records_refuse_t_with_the_reason(partition: str, parties: str) -> None:
    protocol = "peel" if partition == "vertical" else "collect"
    text = (
        f'[study]\nname = "s"\nprotocol = "{protocol}"\npartition = "{partition}"\n[privacy]\nk = 2\nt = 0.3\n'
        '[columns.sex]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["F", "M"]\n'
        f'[columns.ill]\nrole = "sensitive"\nvalues = ["a", "b"]\n{parties}'
    )
    with pytest.raises(StudyError, match="records that no class takes are withheld here"):
        Study.parse(text)


def test_another_distance_is_refused() -> None:
    text = (
        '[study]\nname = "s"\nprotocol = "peel"\npartition = "horizontal"\n[privacy]\nk = 2\nt = 0.3\n'
        '[columns.sex]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["F", "M"]\n'
        '[columns.pain]\nrole = "sensitive"\ndistance = "ordered"\nvalues = ["1", "2", "3"]\n'
        "[parties.a]\n[parties.b]\n[parties.c]\n"
    )
    with pytest.raises(InputError, match="keeps t by equal distance"):
        of_study(Study.parse(text))


def test_no_count_below_k_is_opened_before_the_release() -> None:
    study = peelers.study_of(3, k=5)
    known = closeness.ideal(study, [np.array([40, 20, 4, 9, 0])])
    opened = known.counts[0]
    assert (opened[[2, 4]] == RARE).all()
    assert (opened == WITHHELD).sum() == 1
    near = Closeness.of(Fraction(1, 2), known, 3)
    assert near.left[0] == Fraction(1, 2) - Fraction(2 * 4, 2 * 73)


def test_t_of_1_asks_for_nothing() -> None:
    assert Parameters.of(study_of("peel", k=3, privacy="t = 0.3")).near == Fraction(3, 10)
    assert Parameters.of(study_of("peel", k=3, privacy="t = 1")).near is None
