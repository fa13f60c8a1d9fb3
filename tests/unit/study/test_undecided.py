"""Columns that wait for an answer, and values that a study does not list."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import Covey

import covey as product
from covey.errors import InputError, StudyError, Unmet
from covey.schema import Role
from covey.study import Study

HEAD = '[study]\nname = "s"\n[privacy]\nk = 2\n'
HEAD += '[columns.age]\nrole = "quasi"\nhierarchy = { min = 0, max = 99, steps = [10] }\n'
ASK = '[columns.stay]\nrole = "ask"\nquestion = "could others know it?"\n'
TOWN = '[columns.town]\nrole = "sensitive"\nvalues = ["Bonn", "other"]\nunlisted = "other"\n'
ROWS = "age,stay,town\n" + "".join(
    f"{30 + row % 3},{row},{'Bonn' if row % 4 else f'town {row}'}\n" for row in range(24)
)


def test_a_column_that_waits_is_left_out_of_the_release_and_keeps_its_question(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    study = Study.parse(HEAD + ASK)
    assert [(column.name, column.question) for column in study.waiting] == [("stay", "could others know it?")]
    release = product.anonymize(str(tmp_path / "rows.csv"), study)
    assert release.arranged.column_names == ["age"] and product.verify(release.table, study).answer


def test_a_joint_study_that_waits_for_an_answer_is_refused_in_one_sentence() -> None:
    parties = "".join(f"[parties.{name}]\n" for name in ("north", "south", "east"))
    joint = HEAD.replace("[privacy]", 'protocol = "peel"\npartition = "horizontal"\n[privacy]') + ASK + parties
    with pytest.raises(StudyError, match='role = "ask" is for one owner: agree on another role'):
        Study.parse(joint)
    assert Study.parse(joint.replace(ASK, "")).parties


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TOWN.replace(', "other"]', "]"), "needs a hierarchy, or a list of values, that has 'other'"),
        (ASK.replace('"ask"', '"plain"'), 'question is for columns with role = "ask"'),
        (TOWN.replace('unlisted = "other"', 'unlisted = "drop"'), "unlisted"),
    ],
)
def test_keys_that_do_not_fit_the_column_are_refused(text: str, said: str) -> None:
    with pytest.raises(StudyError, match=said):
        Study.parse(HEAD + text)


def test_the_studys_hash_covers_the_question_and_what_becomes_of_unlisted_values() -> None:
    studies = [HEAD + ASK, HEAD + ASK.replace("could", "can"), HEAD + TOWN, HEAD + TOWN.replace("unlisted", "# ")]
    assert len({Study.parse(text).study_hash for text in studies}) == 4


def test_values_that_the_study_does_not_list_become_other_and_check_counts_them(tmp_path: Path, covey: Covey) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "study.toml").write_text(HEAD + TOWN)
    checked = covey("check", tmp_path / "study.toml", "--data", tmp_path / "rows.csv")
    assert (
        checked.code == 0 and "town: 6 rows have a value that the study does not list, read as 'other'" in checked.out
    )
    study = Study.load(tmp_path / "study.toml")
    release = product.anonymize(str(tmp_path / "rows.csv"), study)
    assert set(release.arranged.column("town").to_pylist()) == {"Bonn", "other"}
    assert study.column("town").role is Role.SENSITIVE and product.verify(release.table, study).answer
    strange = release.arranged.to_pandas().astype(str).replace("other", "Ulm")
    with pytest.raises(InputError, match="values in 6 rows that the study does not list"):
        product.verify(strange, study)


def test_a_study_of_columns_that_all_wait_can_be_read_and_its_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    study = Study.parse(HEAD[: HEAD.index("[columns")] + ASK)
    with pytest.raises(Unmet, match="no column may be published yet, and 1 wait"):
        product.anonymize(str(tmp_path / "rows.csv"), study)


def test_codes_are_read_up_to_the_length_that_the_study_says() -> None:
    tree = '[columns.zip]\nrole = "quasi"\nhierarchy = "flat"\nvalues = ["010", "other"]\ncut = 3\nunlisted = "other"\n'
    column = Study.parse(HEAD + tree).column("zip")
    assert [column.read(cell) for cell in ("01067", "01", None)] == ["010", "other", ""]
    assert column.published.read("other") == "other"
    with pytest.raises(StudyError, match="cut is for codes"):
        Study.parse(HEAD + '[columns.zip]\nrole = "plain"\ntype = "number"\ncut = 3\n')
