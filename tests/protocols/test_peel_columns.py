"""`peel` with columns split: the release of a trusted party, whoever holds which columns, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.harness.columns_cases import THREE, TWO, Person, draw_people, stream_of, tables_of
from tests.harness.harness import answers, lines, run
from tests.harness.peel_columns_cases import ASKED, study_of, trial_of
from tests.harness.tiers import few_first

from covey.crypto.group import ORDER
from covey.errors import InputError, Unmet
from covey.party.plan import make_plan
from covey.protocols import find, named, of_study
from covey.protocols.peel_columns import leftover, tags
from covey.protocols.peel_columns.parameters import Parameters, Rule
from covey.protocols.peel_columns.visits import HolderPeeling
from covey.study import Study

FOUR = {"a": ("age",), "b": ("sex", "ill"), "c": ("income",), "d": ("stay",)}
FIVE = {"a": ("age",), "b": ("sex",), "c": ("income",), "d": ("stay",), "e": ("ill",)}
SPLITS = (TWO, THREE, FOUR, FIVE)


def released(study: Study, people: Sequence[Person]) -> bytes:
    """The release that a run of all parties ends with."""
    trial = trial_of(study, people)
    found = answers(trial, run(trial))
    assert found == dict(trial.ideal)
    return next(content for content in found.values() if isinstance(content, bytes))


def agrees(seed: int) -> None:
    """A generated study and table: everyone who gets the release gets the trusted party's."""
    stream = stream_of(seed, "peel generated")
    people = draw_people(stream, 8 + stream.below(40))
    split = SPLITS[stream.below(4)]
    privacy, options = ASKED[stream.below(len(ASKED))]
    study = study_of(split, k=2 + stream.below(3), privacy=privacy, options=options, recipient=stream.below(4) == 0)
    present = {name: [row for row in range(len(people)) if stream.below(25)] for name in split}
    try:
        trial = trial_of(study, people, present)
    except Unmet:
        with pytest.raises(Unmet):
            find("peel", "vertical").ideal(study, tables_of(study, people, present))
        return
    assert answers(trial, run(trial)) == dict(trial.ideal)


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", few_first(range(12), few=3))
def test_the_release_is_a_trusted_partys(seed: int) -> None:
    agrees(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_the_release_is_a_trusted_partys_on_a_thousand_tables(part: int) -> None:
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        agrees(seed)


def test_windows_publish_the_same_and_count_what_they_name_besides(monkeypatch: pytest.MonkeyPatch) -> None:
    people, seen = draw_people(stream_of(6, "windows"), 80), []
    digest = HolderPeeling.digest

    def heard(peeling: HolderPeeling) -> bytes:
        seen.append((peeling.params.window, peeling.unpublished, len(peeling.boxes)))
        return digest(peeling)

    monkeypatch.setattr(HolderPeeling, "digest", heard)
    one, many = study_of(THREE), study_of(THREE, options="window = 50")
    assert released(one, people) == released(many, people)
    assert len({classes for _, _, classes in seen}) == 1
    assert {unpublished for window, unpublished, _ in seen if window == 1} == {0}
    assert min(unpublished for window, unpublished, _ in seen if window == 50) > 0


def test_values_of_two_owners_are_each_kept_diverse() -> None:
    """Each owner hashes its own column with a secret of its own; both have to keep l."""
    text = study_of(TWO, k=3)
    exact = {"role": text.column("ill").role, "hierarchy": None, "singles_out": "nobody is real"}
    columns = tuple(replace(column, **exact) if column.name == "stay" else column for column in text.columns)  # type: ignore[arg-type]
    study = replace(text, columns=columns, privacy=replace(text.privacy, l=1.5))
    people = draw_people(stream_of(8, "owners"), 40)
    trial = trial_of(study, people)
    assert Parameters.of(study).watched == ("stay", "ill")
    assert answers(trial, run(trial)) == dict(trial.ideal)
    assert trial.ideal["clinic"] is not None


def test_diversity_is_told_from_multiplicities() -> None:
    group, value = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([5, 5, 9, 1, 2, 3, 3])
    frequent, distinct = Rule.of(study_of(privacy="l = 2")), Rule.of(study_of(privacy='l = 3\ndiversity = "distinct"'))
    assert frequent is not None and distinct is not None
    assert frequent.kept(group, value, 2).tolist() == [False, True]
    assert distinct.kept(group, value, 2).tolist() == [False, True]
    for wanted, kept in ((1.88, [True, True]), (1.9, [False, True]), (2.82, [False, True]), (2.83, [False, False])):
        entropy = Rule.of(study_of(privacy=f'l = {wanted}\ndiversity = "entropy"'))
        assert entropy is not None
        assert entropy.kept(group, value, 2).tolist() == kept


def test_with_l_by_entropy_a_run_equals_the_ideal_and_keeps_it() -> None:
    study = study_of(THREE, privacy='l = 1.5\ndiversity = "entropy"')
    trial = trial_of(study, draw_people(stream_of(9, "entropy"), 40))
    assert answers(trial, run(trial)) == dict(trial.ideal)
    assert Parameters.of(study).rule == Rule("entropy", Fraction(3, 2))


@pytest.mark.parametrize(
    ("privacy", "options", "reason"),
    [
        ("l = 2", "window = 2", "one at a time"),
        ("l = 2", 'leftover = "merge"', "could undo a class's l"),
        ("k_insider = 2", "", "cannot enforce k_insider with a vertical split"),
        ("", 'mode = "wave"', "mode"),
    ],
)
def test_what_it_cannot_keep_is_refused_with_what_to_change(privacy: str, options: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        of_study(study_of(privacy=privacy, options=options))


def test_without_an_evaluator_the_study_is_refused_with_the_way_out() -> None:
    text = '[study]\nname = "x"\nprotocol = "peel"\npartition = "vertical"\n[privacy]\nk = 2\n'
    text += '[columns.id]\nrole = "key"\n[columns.a]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["1", "2"]\n'
    text += '[columns.b]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["1", "2"]\n'
    text += '[parties.x]\ncolumns = ["a"]\n[parties.y]\ncolumns = ["b"]\n'
    with pytest.raises(InputError, match=r'needs one party with role = "evaluator"; without one, take .*"cluster"'):
        Study.parse(text)
    judge = '[parties.z]\nrole = "evaluator"\n'
    assert of_study(Study.parse(text + judge)).requirements.partition == "vertical"
    with pytest.raises(InputError, match="no party lists column 'b'"):
        Study.parse((text + judge).replace('[parties.y]\ncolumns = ["b"]\n', '[parties.y]\ncolumns = ["c"]\n'))


def test_a_key_twice_and_record_sets_that_differ_end_as_the_study_says() -> None:
    people = draw_people(stream_of(2, "sets"), 20)
    study = study_of()
    with pytest.raises(InputError, match="share their key"):
        tables_of(study, [*people, people[0]], ids=[*(f"p{row}" for row in range(20)), "p0"])
    fewer = {"clinic": list(range(20)), "office": list(range(3, 20))}
    trial = trial_of(study, people, fewer)
    assert answers(trial, run(trial)) == dict(trial.ideal)
    strict = study_of(head='mismatch = "abort"')
    ends = run(replace(trial, study=strict))
    assert all(isinstance(ends[name].error, Unmet) for name in ("clinic", "office"))
    assert "clinic' has ids" in str(ends["clinic"].error)


def test_too_much_suppression_ends_the_run_before_anything_is_shown() -> None:
    people = draw_people(stream_of(4, "suppressed"), 12)
    study = replace(study_of(k=12, options="nodes = 1"), suppression=0.5)
    with pytest.raises(Unmet, match="would be suppressed"):
        find("peel", "vertical").ideal(study, tables_of(study, people))
    ends = run(replace(trial_of(study_of(k=12, options="nodes = 1"), people), study=study))
    assert all(isinstance(ends[name].error, Unmet) for name in ("clinic", "office"))
    assert not any(line.step.startswith("rows") for line in lines(ends))


def test_the_plan_recommends_a_window_where_lines_are_slow() -> None:
    study = study_of(THREE)
    rows = dict.fromkeys(THREE, 3000)
    near, far = (make_plan(study, rows, latency, 1e7) for latency in (0.0001, 0.2))
    assert near.advice is None
    assert far.advice is not None and "window = " in far.advice
    assert list(near.choices) == ["window = 1", "window = 4", "window = 16", "window = 64"]
    assert not make_plan(study_of(THREE, privacy="l = 1.5"), rows, 0.2, 1e7).choices
    assert any("must not put together" in sentence for sentence in near.forecast.mind)


def test_people_who_are_left_over_are_compared_exactly_or_not_at_all() -> None:
    assert leftover.fits(study_of())
    wide = study_of()
    many = tuple(replace(wide.column("age"), name=f"age{place}") for place in range(40))
    assert not leftover.fits(replace(wide, columns=many))


def test_one_name_has_a_protocol_for_rows_and_one_for_columns() -> None:
    assert [each.requirements.partition for each in named("peel")] == ["horizontal", "vertical"]
    assert named("peel-columns") == (find("peel", "vertical"),)
    assert named("peel-rows") == (find("peel", "horizontal"),)
    with pytest.raises(InputError, match="peel-respondents"):
        named("peel-respondents")


def test_inverses_are_made_by_one_inversion() -> None:
    numbers = [3, 5, ORDER - 1]
    assert [a * b % ORDER for a, b in zip(numbers, tags.inverses(numbers), strict=True)] == [1, 1, 1]
    with pytest.raises(ValueError, match="invertible"):
        tags.inverses([3, 0])
