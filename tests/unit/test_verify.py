"""The judge, on releases small enough to judge by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from covey.errors import InputError
from covey.judge import Requirement, Verdict, verify
from covey.judge.singled_out import NAME
from covey.study import Study

STUDY = """
[study]
name = "trial"
[privacy]
k = 2
{privacy}
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
hierarchy = {{ min = 0, max = 99, steps = [10, 50] }}
{age}
[columns.town]
role = "quasi"
hierarchy = "flat"
[columns.illness]
role = "sensitive"
singles_out = "there are few rows"
{illness}
[columns.nights]
role = "plain"
singles_out = "there are few rows"
{nights}
"""


def study(privacy: str = "", age: str = "", illness: str = "", nights: str = "") -> Study:
    return Study.parse(STUDY.format(privacy=privacy, age=age, illness=illness, nights=nights))


def table(*rows: str) -> pd.DataFrame:
    """Rows of `age|town|illness`, each staying one night."""
    return pd.DataFrame([[*row.split("|"), "1"] for row in rows], columns=["age", "town", "illness", "nights"])


GOOD = table(
    *["[30, 39]|York|flu", "[30, 39]|York|cold", "[30, 39]|York|flu"],
    *["[0, 49]|*|flu", "[0, 49]|*|none"],
    *["*|*|none", "*|*|cold", "*|*|flu"],
)


def requirement(verdict: Verdict, name: str) -> Requirement:
    (found,) = [each for each in verdict.requirements if each.name == name]
    return found


def test_rows_that_share_a_generalized_tuple_are_one_class() -> None:
    verdict = verify(GOOD, study())
    assert (verdict.answer, verdict.rows, verdict.classes, verdict.k) == (True, 8, 3, 2)
    assert (verdict.suppressed_rows, verdict.suppressed_cells) == (3, 8)


def test_a_class_smaller_than_k_is_a_no_that_says_so() -> None:
    verdict = verify(GOOD.drop(index=3), study())
    assert not verdict.answer
    assert verdict.k == 1
    assert [(each.name, each.column) for each in verdict.unmet] == [("k", None), (NAME, "age")]
    assert "k must be at least 2 but it is 1" in verdict.sentence()


def test_a_single_suppressed_row_is_a_class_of_one() -> None:
    verdict = verify(pd.concat([GOOD.iloc[:5], table("*|*|flu")]), study())
    assert (verdict.answer, verdict.k, verdict.suppressed_rows) == (False, 1, 1)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_pandas_and_polars_tables_are_judged_alike(frame: type) -> None:
    given = GOOD if frame is pd.DataFrame else pl.DataFrame(GOOD.to_dict("list"))
    assert verify(given, study()).to_json() == verify(GOOD, study()).to_json()


def test_a_file_is_judged_like_the_frame_it_was_written_from(tmp_path: Path) -> None:
    GOOD.to_csv(tmp_path / "release.csv", index=False, sep=";")
    GOOD.to_parquet(tmp_path / "release.parquet")
    verdicts = [verify(tmp_path / name, study()) for name in ("release.csv", "release.parquet")]
    assert verdicts[0].release == str(tmp_path / "release.csv")
    assert {(v.rows, v.classes, v.loss.lm) for v in verdicts} == {(8, 3, verify(GOOD, study()).loss.lm)}


def test_l_is_that_of_the_worst_class_by_every_definition() -> None:
    (found,) = verify(GOOD, study()).diversity
    assert found.distinct == 2
    assert found.frequency == pytest.approx(3 / 2)  # the first class: two flus of three
    assert found.entropy == pytest.approx(math.exp(-(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))))
    assert found.recursive == 1  # 2 < 1 (2 + 1), but not 2 < 1
    assert found.c == 1


def test_recursive_diversity_uses_the_study_s_c() -> None:
    (found,) = verify(GOOD, study("l = 2\ndiversity = 'distinct'\nc = 2.5")).diversity
    assert (found.recursive, found.c) == (2, 2.5)  # 2 < 2.5 (1); 1 < 2.5 (1) in the others
    verdict = verify(GOOD, study("l = 2\ndiversity = 'distinct'\nc = 2"))
    assert [each.name for each in verdict.unmet] == ["l (recursive, c = 2)"]


@pytest.mark.parametrize(("l", "kind", "met"), [
    (1.5, "frequency", True), (1.6, "frequency", False), (2, "distinct", True), (3, "distinct", False),
    (1.8, "entropy", True), (1.9, "entropy", False),
])  # fmt: skip
def test_the_study_s_kind_of_diversity_decides(l: float, kind: str, met: bool) -> None:  # noqa: E741
    verdict = verify(GOOD, study(f"l = {l}\ndiversity = '{kind}'"))
    asked = requirement(verdict, f"l ({kind})")
    assert (asked.column, asked.asked, asked.met, verdict.answer) == ("illness", l, met, met)


def test_t_is_the_distance_of_the_farthest_class() -> None:
    # the table: flu 4/8, cold 2/8, none 2/8; the farthest class: flu 1/2, none 1/2, cold 0
    (found,) = verify(GOOD, study(illness="values = ['none', 'cold', 'flu']\nhierarchy = 'flat'")).diversity
    assert found.t_equal == pytest.approx(1 / 4)
    assert found.t_hierarchy == pytest.approx(1 / 4)
    # ordered none < cold < flu, the first class: (0 - 1/4, 1/3 - 1/2) -> (1/4 + 1/6) / 2
    assert found.t_ordered == pytest.approx((1 / 4 + 1 / 6) / 2)


def test_the_study_s_distance_decides_about_t() -> None:
    ordered = "values = ['none', 'cold', 'flu']\ndistance = 'ordered'"
    assert verify(GOOD, study("t = 0.21", illness=ordered)).answer
    assert not verify(GOOD, study("t = 0.20", illness=ordered)).answer
    assert not verify(GOOD, study("t = 0.21")).answer
    assert verify(GOOD, study("t = 0.25")).answer


def test_numbers_are_ordered_as_numbers() -> None:
    rows = table("*|York|9", "*|York|10", "*|Kent|100", "*|Kent|9")
    (found,) = verify(rows, study(illness="type = 'number'")).diversity
    # 9, 10, 100: table 1/2, 3/4; York 1/2, 1; Kent 1/2, 1/2
    assert found.t_ordered == pytest.approx((0 + 1 / 4) / 2)


def test_a_distance_without_meaning_is_absent_and_says_why() -> None:
    verdict = verify(GOOD, study())
    assert (verdict.diversity[0].t_ordered, verdict.diversity[0].t_hierarchy) == (None, None)
    assert "no order" in verdict.absent["illness.t_ordered"]
    assert "no hierarchy" in verdict.absent["illness.t_hierarchy"]


def test_a_distance_that_cannot_be_computed_never_meets_t() -> None:
    strange = study("t = 1", illness="hierarchy = { date = ['year'], min = 2020-01-01, max = 2020-12-31 }\n"
                    "distance = 'hierarchy'")  # fmt: skip
    verdict = verify(GOOD, strange)
    assert not verdict.answer
    assert "cannot be computed" in verdict.sentence()


def test_a_missing_sensitive_value_is_a_value_of_its_own() -> None:
    (found,) = verify(table("*|York|flu", "*|York|"), study()).diversity
    assert found.distinct == 2


def test_risk_is_one_over_the_class_for_every_attacker_when_nothing_else_is_known() -> None:
    risk = verify(GOOD, study("", "")).risk
    assert risk.population == "the release"
    for each in (risk.prosecutor, risk.journalist):
        assert (each.highest, each.average, each.at_risk) == (1 / 2, 3 / 8, 0.0)
    assert risk.marketer == 3 / 8


def test_rows_at_risk_are_those_in_classes_below_k() -> None:
    assert verify(GOOD.drop(index=3), study()).risk.prosecutor.at_risk == 1 / 7


def test_the_losses_of_a_release_by_hand() -> None:
    loss = verify(GOOD, study()).loss
    lm = (3 * (9 / 99 + 0) + 2 * (49 / 99 + 1) + 3 * (1 + 1)) / 8 / 2
    precision = (3 * (1 / 3 + 0) + 2 * (2 / 3 + 1) + 3 * 2) / 8 / 2
    assert loss.lm == pytest.approx(lm)
    assert loss.precision == pytest.approx(precision)
    assert loss.dm == 3 * 3 + 2 * 2 + 3 * 3
    assert loss.c_avg == pytest.approx(8 / 3 / 2)
    assert loss.cm == {"illness": 1 + 1 + 2}


def test_entropies_need_the_original_and_say_so() -> None:
    verdict = verify(GOOD, study())
    assert (verdict.loss.em, verdict.loss.em_monotone, verdict.loss.entropy) == (None, None, None)
    assert all("--original" in verdict.absent[f"loss.{name}"] for name in ("em", "em_monotone", "entropy"))


def test_masked_codes_cost_their_part_of_the_domain() -> None:
    codes = Study.parse(
        '[study]\nname = "c"\n[privacy]\nk = 2\n[columns.code]\nrole = "quasi"\nhierarchy = { prefix = [2, 1] }\n'
    )
    loss = verify(pd.DataFrame({"code": ["12*", "12*", "123", "123", "1*", "1*", "*", "*"]}), codes).loss
    assert loss.lm == pytest.approx((9 / 999 + 0 + 99 / 999 + 1) / 4)
    assert loss.precision == pytest.approx((1 / 3 + 0 + 2 / 3 + 1) / 4)
    with pytest.raises(InputError, match="column 'code' has a cell in 1 row that is no label"):
        verify(pd.DataFrame({"code": ["12*", "1234*"]}), codes)


INTERVAL = '[study]\nname = "i"\n[privacy]\nk = 2\n[columns.pay]\nrole = "quasi"\nhierarchy = "interval"\n{range}\n'


def test_intervals_cost_their_width_as_a_part_of_the_range() -> None:
    pay = pd.DataFrame({"pay": ["[10, 20]", "[10, 20]", "[30, 32]", "[30, 32]", "*", "*"]})
    verdict = verify(pay, Study.parse(INTERVAL.format(range="range = [0, 40]")))
    assert (verdict.answer, verdict.k, verdict.classes) == (True, 2, 3)
    assert verdict.loss.lm == pytest.approx((10 / 40 + 2 / 40 + 1) / 3)


def test_intervals_without_a_range_range_over_the_release_or_the_original() -> None:
    pay = pd.DataFrame({"pay": ["[10, 20]", "[10, 20]", "[30, 40]", "[30, 40]"]})
    before = pd.DataFrame({"pay": ["10", "19", "30", "30", "0"]})
    assert verify(pay, Study.parse(INTERVAL.format(range="step = 10"))).loss.lm == pytest.approx(10 / 30)
    against = verify(pay, Study.parse(INTERVAL.format(range="step = 10")), before)
    assert against.answer
    assert against.loss.lm == pytest.approx((4 * 10 / 30 + 1) / 5)  # one original is withheld: lost in full


@pytest.mark.parametrize("cell", ["[11, 20]", "[10, 19.99]", "30", "[30, 30]"])
def test_the_judge_says_no_to_an_interval_that_ends_at_no_public_step(cell: str) -> None:
    pay = pd.DataFrame({"pay": ["[10, 20]", "[10, 20]", cell, cell]})
    verdict = verify(pay, Study.parse(INTERVAL.format(range="range = [0, 40]\nstep = 10")))
    assert not verdict.answer
    (found,) = (each for each in verdict.requirements if "public steps" in each.name)
    assert (found.met, found.reached) == (False, 2)


@pytest.mark.parametrize("cell", ["[20, 10]", "[0, 50]", "ten", "[10, nan]", "[10,20]"])
def test_a_cell_that_is_no_interval_of_the_range_is_refused(cell: str) -> None:
    pay = pd.DataFrame({"pay": ["[10, 20]", cell]})
    with pytest.raises(InputError, match="column 'pay' has a cell in 1 row that is no label"):
        verify(pay, Study.parse(INTERVAL.format(range="range = [0, 40]")))


def test_a_label_that_the_hierarchy_does_not_have_is_refused_with_its_rows() -> None:
    with pytest.raises(InputError, match="column 'age' has a cell in 2 rows that is no label") as refused:
        verify(table("[30, 39]|York|flu", "[31, 39]|York|flu", "[32, 39]|York|flu"), study())
    assert "[31" not in str(refused.value)


def test_nan_is_refused_and_never_a_label() -> None:
    with pytest.raises(InputError, match="column 'age' has NaN or an infinity in 1 row"):
        verify(table("30|York|flu", "nan|York|flu"), study())


def test_cells_are_normalised_before_they_are_looked_up() -> None:
    verdict = verify(table(" 37.0|York |flu", " 37.0|York |flu", "[30, 39]|Kent|flu", "[30, 39]|Kent|flu"), study())
    assert (verdict.answer, verdict.k, verdict.classes) == (True, 2, 2)


@pytest.mark.parametrize("other", ["[30, 39] ", " [30, 39]", "[30, 39]\t", "[30, 39]\u00a0"])
def test_a_class_that_is_split_by_white_space_is_a_no(other: str) -> None:
    verdict = verify(table("[30, 39]|York|flu", f"{other}|York|cold", "*|*|flu", "*|*|flu"), study())
    assert (verdict.answer, verdict.k) == (False, 1)
    assert [each.name for each in verdict.unmet] == ["further spellings of labels", "k", NAME]


def test_parts_of_a_split_class_are_no_classes_of_k_even_if_each_is_large_enough() -> None:
    rows = ["[30, 39]|York|flu", "[30, 39]|York|cold", "[30, 39]|York |flu", "[30, 39]|York |cold"]
    verdict = verify(table(*rows), study())
    assert not verdict.answer
    assert "further spellings of labels of 'town' must be at most 0 but it is 1" in verdict.sentence()
    assert "York" not in verdict.sentence()


def test_other_spellings_of_a_number_or_an_interval_split_a_class_too() -> None:
    pay = pd.DataFrame({"pay": ["[10, 20]", "[10, 20.0]", "30", "30.0", "*", "*"]})
    verdict = verify(pay, Study.parse(INTERVAL.format(range="range = [0, 40]")))
    assert (verdict.answer, verdict.k) == (False, 1)
    assert "further spellings of labels of 'pay' must be at most 0 but it is 2" in verdict.sentence()


def test_a_sensitive_value_in_two_spellings_counts_once() -> None:
    verdict = verify(table("*|*|flu", "*|*|flu "), study("l = 2"))
    assert [each.name for each in verdict.unmet] == ["l (frequency)"]


def test_a_star_is_the_root_even_where_the_data_s_stars_mean_missing() -> None:
    verdict = verify(table("*|York|flu", "*|York|cold"), study(age='null = ["*", "?"]'))
    assert verdict.suppressed_cells == 2


def test_a_missing_quasi_cell_is_a_label_only_where_missing_is_a_value() -> None:
    rows = table("|York|flu", "|York|cold")
    assert verify(rows, study()).loss.lm == 0
    for policy in ("drop", "error"):
        with pytest.raises(InputError, match=f'no value in 2 rows, and the study says missing = "{policy}"'):
            verify(rows, study(age=f"missing = '{policy}'"))


@pytest.mark.parametrize("column", ["illness", "nights"])
def test_a_value_that_the_study_does_not_list_is_refused(column: str) -> None:
    given = study(**{column: "values = ['cold', '2']"})
    with pytest.raises(InputError, match=f"column {column!r} has values in [0-9]+ rows that the study does not list"):
        verify(GOOD, given)


def test_a_released_identifier_is_a_no() -> None:
    verdict = verify(GOOD.assign(name="Ann"), study())
    assert not verdict.answer
    assert "'name' (identifier)" in verdict.sentence()


def test_a_column_that_the_study_does_not_know_is_a_no() -> None:
    verdict = verify(GOOD.assign(notes="tall"), study())
    assert not verdict.answer
    assert "'notes' (not in the study)" in verdict.sentence()


@pytest.mark.parametrize("column", ["age", "illness", "nights"])
def test_a_lacking_column_is_an_error(column: str) -> None:
    with pytest.raises(InputError, match=f"has no column {column!r}"):
        verify(GOOD.drop(columns=column), study())


def test_more_suppression_than_the_study_allows_is_a_no() -> None:
    text = STUDY.format(privacy="", age="", illness="", nights="") + "\n[utility]\nsuppression = "
    assert verify(GOOD, Study.parse(text + "0.375")).answer
    assert not verify(GOOD, Study.parse(text + "0.374")).answer


def test_what_a_release_cannot_show_is_noted() -> None:
    notes = verify(GOOD, study("k_insider = 2")).notes
    assert any("k_insider" in note and "ledger" in note for note in notes)


def test_the_json_holds_every_figure() -> None:
    found = json.loads(verify(GOOD, study()).to_json())
    assert found["answer"] is True
    assert found["k"] == 2
    assert found["loss"]["em"] is None
    assert found["risk"]["prosecutor"]["highest"] == 0.5
    assert found["diversity"][0]["entropy"] == pytest.approx(1.889881574)
