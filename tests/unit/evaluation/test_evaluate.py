"""`covey.evaluate`: figures that can be worked out by hand, truths that are known, and input that makes no sense."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import covey
from covey.evaluation.distributions import cramers_v, total_variation
from covey.evaluation.population import in_population, pitman, shifted_negative_binomial, uniques, zayatz
from covey.evaluation.prediction import area
from covey.evaluation.statistics import compare

STUDY = """
[study]
name = "evaluated"
[privacy]
k = 2
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 99, steps = [10, 50] }
[columns.town]
role = "quasi"
hierarchy = "flat"
values = ["north", "south"]
[columns.illness]
role = "sensitive"
"""
ROWS = pd.DataFrame({
    "age": ["31", "32", "35", "38", "61", "62", "63", "69"],
    "town": ["north"] * 4 + ["south"] * 4,
    "illness": ["flu", "flu", "flu", "cold", "cold", "cold", "flu", "cold"],
})  # fmt: skip
GENERAL = ROWS.assign(age=["[30, 39]"] * 4 + ["[60, 69]"] * 4)


@pytest.fixture
def study() -> covey.Study:
    return covey.Study.parse(STUDY)


def many(rows: int, seed: int = 1) -> pd.DataFrame:
    draws = np.random.default_rng(seed)
    age = draws.integers(0, 100, rows)
    ill = np.where(draws.random(rows) < 0.1 + 0.7 * (age > 50), "flu", "cold")
    return pd.DataFrame({"age": age.astype(str), "town": draws.choice(["north", "south"], rows), "illness": ill})


def test_a_release_equal_to_the_original_answers_all_queries_exactly(study: covey.Study) -> None:
    rows = many(300)
    found = covey.evaluate(rows, study, rows)
    assert found.use is not None
    assert {each.columns for each in found.use.queries} == {1, 2, 3}
    assert all(each.median == each.percentile_95 == each.uncertain == 0 for each in found.use.queries)
    assert all(each.total_variation < 1e-9 for each in (*found.use.single, *found.use.pairs))
    assert all(abs(each.overlap - 1) < 1e-9 for each in found.use.means)


def test_generalized_ages_are_spread_evenly_over_their_leaves(study: covey.Study) -> None:
    found = covey.evaluate(GENERAL, study, ROWS)
    assert found.use is not None
    # of 4 people over 10 leaves 4/10 stand on each: at each of the 4 leaves with a person 1 - .4 is lacking
    distance = next(each for each in found.use.single if each.columns == ("age",))
    in_runs = distance.total_variation
    assert in_runs == pytest.approx(0.6, abs=0.2)  # a hundred ages stand in fifty runs of neighbours
    assert found.use.means[0].name == "age"
    assert found.use.means[0].release[0] == pytest.approx((4 * 34.5 + 4 * 64.5) / 8)
    assert found.use.means[0].original[0] == pytest.approx(sum(map(int, ROWS["age"])) / 8)


def test_classes_tell_what_they_tell_of_sensitive_values(study: covey.Study) -> None:
    (illness,) = covey.evaluate(GENERAL, study).risk.disclosure
    assert (illness.guessed, illness.guessed_before, illness.worst_class) == (6 / 8, 4 / 8, 3 / 4)
    assert illness.homogeneous_rows == illness.nearly_certain == 0
    (alone,) = covey.evaluate(GENERAL.assign(illness=ROWS["town"]), study).risk.disclosure
    assert alone.homogeneous_rows == alone.guessed == 1


def test_linkage_finds_everyone_in_originals_and_one_in_a_class_after(study: covey.Study) -> None:
    before, after = covey.evaluate(ROWS, study, ROWS), covey.evaluate(GENERAL, study, ROWS)
    assert before.risk.linkage is not None
    assert after.risk.linkage is not None
    assert before.risk.linkage.reidentified == 1
    assert (after.risk.linkage.reidentified, after.risk.linkage.picked) == (1 / 4, 4)


def test_a_population_table_is_counted(study: covey.Study) -> None:
    people = pd.concat([ROWS, ROWS.assign(age="33"), ROWS.assign(age="68")])
    found = covey.evaluate(GENERAL, study, population=people).risk.population
    assert found is not None
    assert found.exact
    assert (found.highest, found.delta) == (1 / 8, 4 / 8)  # in the north 4 of 33 and more: 4 + 4 are meant


def test_a_part_of_a_population_is_taken_as_poisson() -> None:
    found = in_population(np.array([5, 5, 10]), 0.5)
    drawn = 5 + np.random.default_rng(1).poisson(5, 200_000)
    assert found.highest == pytest.approx(float((1 / drawn).mean()), rel=0.01)
    assert in_population(np.array([5, 10]), 1.0).highest == 1 / 5


def test_zayatz_on_numbers_worked_by_hand() -> None:
    """A sample of 4 in a population of 8: two alone, one pair. P(1 of 1 drawn) = 1/2, P(1 of 2) = 2·4·4/(8·7)."""
    one, pair = 4 / 8, 2 * 4 * 4 / (8 * 7)
    certain = 2 * one / (2 * one + 1 * pair)
    assert zayatz(np.array([1, 2]), np.array([2, 1]), 8) == pytest.approx(2 * certain / 0.5)


@pytest.mark.parametrize("fraction", [0.05, 0.3])
@pytest.mark.parametrize("kind", ["negative binomial", "pitman"])
def test_estimates_are_near_the_truth_of_generated_populations(kind: str, fraction: float) -> None:
    draws = np.random.default_rng(7)
    sizes = (
        1 + draws.negative_binomial(0.8, 0.2, 6_000) if kind == "negative binomial" else _pitman_sizes(60_000, draws)
    )
    of_class = np.repeat(np.arange(len(sizes)), sizes)
    sample = np.bincount(of_class[draws.random(len(of_class)) < fraction])
    found = uniques(sample[sample > 0], fraction)
    truth = int((sizes == 1).sum())
    size, number = np.unique(sample[sample > 0], return_counts=True)
    own = (
        shifted_negative_binomial(size, number, fraction)
        if kind == "negative binomial"
        else pitman(size, number, len(of_class))
    )
    assert own == pytest.approx(truth, rel=0.3)  # the estimator whose model it is
    assert truth / 3 < found.uniques < truth * 3  # the one that the rule takes


def _pitman_sizes(people: int, draws: np.random.Generator, theta: float = 200.0, alpha: float = 0.4) -> np.ndarray:
    """Class sizes of Pitman's own process: each person joins a class or begins one."""
    chance, earlier = draws.random((2, people)), draws.random(people)
    member, count = [0] * people, [0]
    for place in range(people):
        if place == 0 or chance[0, place] < (theta + alpha * len(count)) / (theta + place):
            member[place] = len(count)
            count.append(1)
            continue
        taken = member[int(earlier[place] * place)]  # an earlier person's class, anew as far as each class counts less
        while draws.random() < alpha / count[taken]:
            taken = member[int(draws.random() * place)]
        member[place] = taken
        count[taken] += 1
    return np.array(count[1:])


def test_nobody_is_unique_where_every_class_is_large() -> None:
    assert uniques(np.array([5, 7, 9]), 0.1).share == 0


def test_areas_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    draws = np.random.default_rng(3)
    answer, weight = draws.integers(0, 3, 200), draws.integers(1, 4, 200).astype(float)
    chance = draws.dirichlet([1, 1, 1], 200).round(1)
    two = answer % 2
    own = area(chance[:, :2], np.array([0, 1], np.int32), two.astype(np.int32), weight)
    theirs = [metrics.roc_auc_score(two == value, chance[:, value], sample_weight=weight) for value in (0, 1)]
    assert own == pytest.approx(np.mean(theirs))
    own = area(chance, np.array([0, 1, 2], np.int32), answer.astype(np.int32), weight)
    theirs = [metrics.roc_auc_score(answer == value, chance[:, value], sample_weight=weight) for value in range(3)]
    assert own == pytest.approx(np.mean(theirs))


@pytest.mark.thorough
def test_a_prediction_learns_from_the_release_what_is_in_it(study: covey.Study) -> None:
    pytest.importorskip("sklearn")
    rows = many(600)
    told = rows.assign(age=["[50, 99]" if int(age) >= 50 else "[0, 49]" for age in rows["age"]])
    nothing = rows.assign(age="*")
    scores = []
    for release in (rows, told, nothing):
        task = covey.evaluate(release, study, rows, target="illness").use
        assert task is not None
        assert task.prediction is not None
        scores.append(task.prediction.scores[1].auc_release)
        # who is tested is not learned from
        assert task.prediction.trained_on + task.prediction.tested_on == 600
    assert scores[0] > 0.7
    assert scores[1] > 0.7
    assert abs(scores[2] - 0.5) < 0.1


def test_measures_by_hand() -> None:
    assert total_variation(np.array([1.0, 1, 2]), np.array([2.0, 0, 2])) == 0.25
    assert cramers_v(np.array([[5.0, 0], [0, 5]])) == 1
    assert cramers_v(np.array([[4.0, 2], [2, 1]])) == pytest.approx(0)
    assert compare("", (1, 0, 2), (2, 1, 3)).overlap == 0.5
    assert compare("", (1, 0, 2), (9, 8, 10)).overlap < 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda study: covey.evaluate(GENERAL.drop(columns="town"), study), "town"),
        (lambda study: covey.evaluate(GENERAL.assign(town="moon"), study), "is this the study"),
        (lambda study: covey.evaluate(GENERAL, study, ROWS, target="salary"), "no such column"),
        (lambda study: covey.evaluate(GENERAL, study, ROWS, target="age"), "generalizes this column"),
        (lambda study: covey.evaluate(GENERAL.assign(illness="flu"), study, ROWS, target="illness"), "needs 2 to"),
        (lambda study: covey.evaluate(GENERAL, study, target="illness"), "--original"),
        (lambda study: covey.evaluate(GENERAL, study, population=3), "at least the release's 8 rows"),
        (lambda study: covey.evaluate(GENERAL, study, population=0.0), "--population 0"),
        (lambda study: covey.evaluate(GENERAL, study, population=ROWS[:5]), "fewer people"),
    ],
)
def test_input_that_makes_no_sense_gets_a_sentence(
    call: Callable[[covey.Study], object], words: str, study: covey.Study
) -> None:
    with pytest.raises(covey.InputError, match=words):
        call(study)


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from covey.cli import main

    (tmp_path / "study.toml").write_text(STUDY)
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    GENERAL.to_csv(tmp_path / "release.csv", index=False)
    call = [
        "evaluate",
        tmp_path / "release.csv",
        "--study",
        tmp_path / "study.toml",
        "--original",
        tmp_path / "rows.csv",
    ]
    for more in (["--population", "0.1", "--out", tmp_path], ["--json"]):
        with pytest.raises(SystemExit) as ended:
            main([str(part) for part in (*call, *more)])
        assert not ended.value.code
        printed = capsys.readouterr().out
        if more == ["--json"]:
            assert json.loads(printed)["risk"]["linkage"]["tried"] == 8
        else:
            assert "linkage attack on 8 people" in printed.replace("\n", " ")
            assert max(map(len, printed.splitlines())) <= 80
    assert json.loads((tmp_path / "evaluation.json").read_text())["useful"].startswith("A count over")
    assert (tmp_path / "evaluation.json").stat().st_mode & 0o077 == 0  # it tells of original rows
