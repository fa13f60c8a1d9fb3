"""The commands that run parties: called as a user would."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Covey
from tests.consortium import RELEASE, found, study_text


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(study_text())
    return path


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    return [part for name, site in found(tmp_path / "sites").items() for part in ("--data", f"{name}={site.data}")]


def test_keys_are_made_and_shown_with_one_fingerprint(covey: Covey, tmp_path: Path) -> None:
    made = covey("keys", "new", "north", "--out", tmp_path / "keys", "--json")
    assert made.code == 0
    fingerprint = json.loads(made.out)["fingerprint"]
    shown = covey("keys", "show", tmp_path / "keys", "--json")
    public = covey("keys", "show", tmp_path / "keys" / "north.pem", "--json")
    assert json.loads(shown.out)["fingerprint"] == json.loads(public.out)["fingerprint"] == fingerprint
    people = covey("keys", "show", tmp_path / "keys")
    assert fingerprint[:4] in people.out
    again = covey("keys", "new", "north", "--out", tmp_path / "keys")
    assert again.code == 2
    assert "never replaced" in again.err


def test_showing_what_is_no_certificate_is_refused(covey: Covey, study: Path) -> None:
    assert covey("keys", "show", study).code == 4
    assert covey("keys", "show", study.parent / "nothing").code == 2


def test_a_simulation_in_one_process_leaves_what_a_run_leaves(covey: Covey, study: Path, data: list[str]) -> None:
    out = study.parent / "out"
    done = covey("simulate", study, *data, "--in-process", "--out", out, "--seed", 3, "--json")
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert (out / "release.csv").read_text() == RELEASE
    assert summary["party"] is None
    assert summary["rows"] == 12
    assert summary["k_reached"] == 6
    assert (summary["rounds"], summary["messages"]) == (2, 12)
    assert set(summary["per_party"]) == {"north", "south", "east"}
    for name in summary["parties"]:
        own = json.loads((out / name / "summary.json").read_bytes())
        assert own["release_sha256"] == summary["release_sha256"]
        assert all(line.startswith(name) for line in own["ledger"])
        ledger = json.loads((out / name / "ledger.json").read_bytes())
        assert set(ledger["others"]) == set(summary["parties"]) - {name}
    assert "://" not in (out / "report.html").read_text()
    again = covey("simulate", study, *data, "--in-process", "--out", out)
    assert again.code == 2
    assert "holds a finished run" in again.err


def test_a_simulation_tells_people_what_was_released_and_learned(covey: Covey, study: Path, data: list[str]) -> None:
    done = covey("simulate", study, *data, "--in-process", "--out", study.parent / "out")
    assert "Released: 12 rows in 2 classes; the smallest has 6 (k = 3)" in done.out
    assert "What every party learned:\n  - that north, south and east took part" in done.out
    assert "all parties: approval (phase 1 of 3)" in done.err


@pytest.mark.thorough
def test_one_table_is_dealt_and_the_release_does_not_depend_on_how(covey: Covey, study: Path) -> None:
    whole = study.parent / "whole.csv"
    with whole.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["patient", "age", "sex", "diagnosis"])
        writer.writerows([f"P{i}", i % 100, "FM"[i % 2], "flu"] for i in range(300))
    releases = []
    for number, how in enumerate((["--deal-seed", "1"], ["--deal-seed", "2"], ["--skew", "age"])):
        out = study.parent / f"out{number}"
        done = covey("simulate", study, "--table", whole, *how, "--in-process", "--out", out)
        assert done.code == 0, done.err
        releases.append((out / "release.csv").read_text())
        assert sum(1 for name in ("north", "south", "east") if (out / name / "data.csv").is_file()) == 3
    assert len(set(releases)) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "either --data PARTY=DATA for each party, or --table"),
        (["--data", "north"], "write it as PARTY=DATA"),
        (["--data", "north=a.csv", "--data", "north=b.csv"], "given twice"),
        (["--data", "west=a.csv"], "no party 'west'"),
        (["--data", "north=a.csv"], "party 'south' has no data"),
        (["--data", "north=a.csv", "--skew", "age"], "there is no --table"),
        (["--table", "t.csv", "--latency", "soon"], "not a latency"),
    ],
)
def test_a_wrong_call_is_told_in_one_sentence(covey: Covey, study: Path, arguments: list[str], told: str) -> None:
    done = covey("simulate", study, *arguments, "--out", study.parent / "out")
    assert done.code == 2
    assert told in done.err
    assert not (study.parent / "out" / "release.csv").exists()


def test_a_party_with_bad_data_is_named_by_a_simulation(covey: Covey, study: Path, data: list[str]) -> None:
    bad = study.parent / "bad.csv"
    bad.write_text("patient,age,sex\nP1,3,F\n")
    done = covey("simulate", study, *data[:4], "--data", f"east={bad}", "--in-process", "--out", study.parent / "out")
    assert done.code == 2
    assert "'diagnosis'" in done.err


def test_fewer_rows_than_k_in_all_release_nothing(covey: Covey, study: Path, data: list[str]) -> None:
    study.write_text(study_text(k=13))
    out = study.parent / "out"
    done = covey("simulate", study, *data, "--in-process", "--out", out)
    assert done.code == 1
    assert "fewer than k = 13" in done.err
    assert not (out / "release.csv").exists()
    ledger = json.loads((out / "north" / "ledger.json").read_bytes())
    assert any("how many records" in line for line in ledger["learned"])


def test_a_plan_says_what_the_run_then_costs(covey: Covey, study: Path, data: list[str]) -> None:
    planned = json.loads(covey("plan", study, "--rows", "4", "--json").out)
    covey("simulate", study, *data, "--in-process", "--out", study.parent / "out")
    summary = json.loads((study.parent / "out" / "summary.json").read_bytes())
    assert (planned["rounds"], planned["messages"]) == (summary["rounds"], summary["messages"])
    assert planned["bytes"] == pytest.approx(summary["bytes"], rel=0.02)
    assert "north, south, east will each learn" in covey("plan", study).out


@pytest.mark.parametrize("rows", [["--rows", "many"], ["--rows", "1", "--rows", "2"], ["--rows", "west=3"]])
def test_a_plan_for_rows_that_nobody_has_is_refused(covey: Covey, study: Path, rows: list[str]) -> None:
    assert covey("plan", study, *rows).code == 2


def test_protocols_are_compared_and_explained(covey: Covey) -> None:
    listed = json.loads(covey("protocols", "--json").out)
    assert "count" in {each["name"] for each in listed}
    assert "count" in covey("protocols").out
    explained = covey("protocols", "count").out
    assert "level" in explained
    assert "everyone learns" in explained
    assert covey("protocols", "guess").code == 2


def test_what_is_told_of_protocols_fits_eighty_columns_and_says_what_is_as_printed(
    covey: Covey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for told in (covey("protocols").out, covey("protocols", "collect").out):
        assert max(map(len, told.splitlines())) <= 80
        assert "collect as printed: " in told


def test_a_report_is_made_again_and_escapes_what_a_study_is_called(covey: Covey, study: Path, data: list[str]) -> None:
    study.write_text(study_text(name="<script>alert(1)</script>"))
    out = study.parent / "out"
    covey("simulate", study, *data, "--in-process", "--out", out)
    before = (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    assert covey("report", out).code == 0
    assert (out / "report.html").read_bytes() == before
    assert b"<script>" not in before
    assert covey("report", study.parent / "nothing").code == 2


def test_a_run_of_a_study_without_addresses_says_what_is_missing(covey: Covey, study: Path) -> None:
    done = covey("run", study, "--as", "north", "--data", "x.csv", "--out", study.parent / "out")
    assert done.code == 2
    assert "party 'north' has no certificate" in done.err


@pytest.mark.parametrize("size", ["lots", "512", "-1MB"])
def test_a_journal_of_no_size_is_refused(size: str, covey: Covey, study: Path) -> None:
    done = covey("run", study, "--as", "north", "--out", study.parent / "out", "--journal", size)
    assert done.code == 2
    assert f"--journal {size}: write a size such as 512MB, 0, or all" in done.err


@pytest.mark.few(1)
@pytest.mark.parametrize("how", [["--in-process"], []])
def test_progress_goes_on_until_the_reports_are_written(
    covey: Covey, study: Path, data: list[str], how: list[str]
) -> None:
    done = covey("simulate", study, *data, *how, "--out", study.parent / "out")
    assert done.code == 0, done.err
    told = [line for line in done.err.splitlines() if line.startswith("all parties: ")]
    said = [line.partition(": ")[2].partition(";")[0] for line in told]
    assert said[-2:] == ["report", "finished"], done.err


@pytest.mark.thorough
def test_a_reader_that_has_seen_enough_is_no_failure() -> None:
    command = f"{sys.executable} -m covey protocols | head -1 > /dev/null; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("0\n", "")
