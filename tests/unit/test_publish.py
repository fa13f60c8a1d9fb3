from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import covey
from covey import samples
from covey.errors import Aborted, InputError, Unmet


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    samples.copy("clinic", tmp_path / "clinic")
    return tmp_path / "clinic"


def test_the_kind_of_frame_that_goes_in_comes_out_with_the_same_content(clinic: Path) -> None:
    study = covey.Study.load(clinic / "study.toml")
    frame = pd.read_csv(clinic / "clinic.csv", dtype=str, keep_default_na=False)
    from_pandas = covey.anonymize(frame, study, "mondrian")
    from_polars = covey.anonymize(pl.from_pandas(frame), study, "mondrian")
    from_arrow = covey.anonymize(pa.Table.from_pandas(frame), study, "mondrian")
    assert isinstance(from_pandas.table, pd.DataFrame)
    assert isinstance(from_polars.table, pl.DataFrame)
    assert isinstance(from_arrow.table, pa.Table)
    assert from_pandas.content == from_polars.content == from_arrow.content
    assert list(from_pandas.table.columns) == [column.name for column in study.released]


def test_the_release_is_kept_by_an_independent_judge_against_the_original(clinic: Path) -> None:
    study = covey.Study.load(clinic / "study.toml")
    release = covey.anonymize(clinic / "clinic.csv", study, "hilbert")
    verdict = covey.verify(release.table, study, clinic / "clinic.csv")
    assert verdict.answer, verdict.sentence()
    assert release.loss.lm == pytest.approx(verdict.loss.lm)
    assert release.loss.em == pytest.approx(verdict.loss.em)


def test_what_is_saved_is_complete_and_verifies_by_itself(clinic: Path, tmp_path: Path) -> None:
    release = covey.anonymize(clinic / "clinic.csv", covey.Study.load(clinic / "study.toml"), "datafly")
    release.save(tmp_path / "deep" / "out")
    out = tmp_path / "deep" / "out"
    copied = covey.Study.load(out / "study.toml")
    assert copied.study_hash == release.study.study_hash
    assert covey.verify(out / "release.csv", copied).answer
    summary = json.loads((out / "summary.json").read_text())
    assert summary["study_hash"] == copied.study_hash
    assert summary["k_reached"] >= summary["k"] == 5
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_saving_over_what_is_no_release_is_refused_and_leaves_it(clinic: Path, tmp_path: Path) -> None:
    release = covey.anonymize(clinic / "clinic.csv", covey.Study.load(clinic / "study.toml"), "datafly")
    for name in ("release.csv", "release.parquet", "study.toml"):
        folder = tmp_path / f"with {name}"
        folder.mkdir()
        (folder / name).write_text("somebody's own")
        with pytest.raises(InputError, match=f"{name}: is there already, and is no release of ours"):
            release.save(folder)
        assert [path.read_text() for path in folder.iterdir()] == ["somebody's own"]
    release.save(clinic)  # the study itself lies there
    release.save(clinic)  # and then an earlier release


@pytest.mark.thorough
def test_what_others_may_not_read_by_the_umask_they_may_not(clinic: Path, tmp_path: Path) -> None:
    script = (
        "import sys, covey; study = covey.Study.load('study.toml'); "
        "covey.anonymize('clinic.csv', study, 'datafly').save(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "out")], cwd=clinic, check=True, umask=0o077)
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "out", *(tmp_path / "out").iterdir())} == {0}


def test_saving_over_a_file_is_refused(clinic: Path, tmp_path: Path) -> None:
    release = covey.anonymize(clinic / "clinic.csv", covey.Study.load(clinic / "study.toml"), "datafly")
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="taken: is a file"):
        release.save(tmp_path / "taken")


def test_saving_again_leaves_nothing_of_the_release_before(clinic: Path, tmp_path: Path) -> None:
    study, out = covey.Study.load(clinic / "study.toml"), tmp_path / "out"
    covey.anonymize(clinic / "clinic.csv", study, "hilbert", explain=True).save(out)
    (out / "release.parquet").touch()
    covey.anonymize(clinic / "clinic.csv", study, "datafly").save(out)
    assert json.loads((out / "summary.json").read_text())["algorithm"] == "datafly"
    assert not (out / "explanation.json").exists()
    assert not (out / "release.parquet").exists()


def test_the_folder_of_a_joint_run_is_left_alone(clinic: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "ledger.json").write_text("{}")
    release = covey.anonymize(clinic / "clinic.csv", covey.Study.load(clinic / "study.toml"), "datafly")
    with pytest.raises(InputError, match="holds the run of a protocol"):
        release.save(tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["ledger.json"]


def test_a_k_beyond_the_table_is_answered_with_the_largest_k() -> None:
    study = covey.Study.parse('[study]\nname = "t"\n[privacy]\nk = 5\n[columns.a]\nrole = "quasi"\nhierarchy = "flat"')
    with pytest.raises(Unmet, match="k can be 3 at most"):
        covey.anonymize(pa.table({"a": ["x", "y", "z"]}), study)


def test_a_caller_can_stop_it(clinic: Path) -> None:
    with pytest.raises(Aborted, match="cancelled"):
        covey.anonymize(clinic / "clinic.csv", covey.Study.load(clinic / "study.toml"), "hilbert", cancel=lambda: True)


def test_identifiers_are_not_even_read(clinic: Path) -> None:
    study = covey.Study.load(clinic / "study.toml")
    frame = pd.read_csv(clinic / "clinic.csv", dtype=str).drop(columns=["patient_id", "invoice"])
    assert covey.anonymize(frame, study, "mondrian").summary["rows"] == 3000


def test_a_release_shows_itself_with_its_cells_escaped(tmp_path: Path) -> None:
    study = covey.Study.parse(
        """
[study]
name = "<b>"
protocol = "count"
partition = "horizontal"
[privacy]
k = 2
[columns.town]
role = "quasi"
hierarchy = "flat"
[columns.note]
role = "plain"
[parties.north]
[parties.south]
""",
        tmp_path,
    )
    rows = pa.table({"town": ["a", "a", "a"], "note": ["<script>alert(1)</script>", "x", "y"]})
    release = covey.anonymize(rows, study, "datafly")
    assert repr(release) == (
        "Release(answer no: one published cell singles out people, by the column 'note' (rows: 3); group rare values, "
        "code those at the ends, or allow the column with a reason: singles_out, study '<b>', by datafly, singled out "
        "by one cell 3, by two 3, rows 3, classes 1, withheld 0, k 3 (asked: 2))"
    )
    page = release._repr_html_()
    assert "&lt;script&gt;" in page and "<script>" not in page and "&lt;b&gt;" in page
    assert release.ledger == {} and release.loss.lm == 0
