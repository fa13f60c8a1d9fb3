"""Cells and column names that a spreadsheet would run as formulas: none reaches a release as it is."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest

import covey
from covey.errors import InputError
from covey.guess import write_draft
from covey.study import Study

FORMULAS = ['=HYPERLINK("http://x")', "-2+3+cmd|' /C calc'!A0", "@SUM(A1)", "+cmd"]
PLAIN = ["-", "-5", "-2.5", "plain"]
STUDY = """[study]
name = "s"
[privacy]
k = 2
[columns.job]
role = "quasi"
hierarchy = "jobs.csv"
[columns.town]
role = "quasi"
hierarchy = "flat"
[columns.note]
role = "sensitive"
"""


def study_in(folder: Path) -> Study:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=";", lineterminator="\n")
    writer.writerows([[cell, "-1+cmd|any", "*"] for cell in FORMULAS] + [[cell, "[-5, 4]", "*"] for cell in PLAIN])
    (folder / "jobs.csv").write_text(out.getvalue())
    (folder / "study.toml").write_text(STUDY)
    return Study.load(folder / "study.toml")


def rows_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


def test_labels_are_guarded_and_the_judge_reads_them_back(tmp_path: Path) -> None:
    study = study_in(tmp_path)
    cells = FORMULAS + PLAIN
    rows = pd.DataFrame({"job": cells * 2, "town": cells * 2, "note": cells * 2})
    release = covey.anonymize(rows, study)
    release.save(tmp_path / "out")
    _, *written = rows_of((tmp_path / "out" / "release.csv").read_bytes())
    for row in written:
        for cell in row:
            assert cell in {"-", "-5", "-2.5"} or cell[:1] not in tuple("=+-@\t\r"), "it would run"
    assert {row[0] for row in written} == {*("'" + cell for cell in FORMULAS), *PLAIN}
    verdict = covey.verify(tmp_path / "out" / "release.csv", study, rows)
    assert verdict.answer, verdict.sentence()
    assert verdict.loss.lm == 0


@pytest.mark.thorough
def test_labels_of_a_higher_level_are_guarded_too(tmp_path: Path) -> None:
    study = study_in(tmp_path)
    rows = pd.DataFrame({"job": FORMULAS[:2] + PLAIN[:2], "town": "x", "note": "n"})
    release = covey.anonymize(rows, study)
    assert {row[0] for row in rows_of(release.content)[1:]} == {"'-1+cmd|any", "[-5, 4]"}
    assert covey.verify(release.table, study, rows).answer


@pytest.mark.parametrize("name", FORMULAS)
def test_a_column_with_such_a_name_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    quoted = '"' + name.replace('"', '\\"') + '"'
    text = f'[study]\nname = "s"\n[privacy]\nk = 2\n[columns.{quoted}]\nrole = "quasi"\nhierarchy = "flat"\n'
    with pytest.raises(InputError, match=r"line 5: .*begins like a formula"):
        Study.parse(text)
    pd.DataFrame({name: ["a", "b"], "other": ["c", "d"]}).to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(InputError, match="begins like a formula"):
        write_draft([str(tmp_path / "data.csv")], tmp_path / "study.toml", 2)
