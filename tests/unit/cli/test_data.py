"""`covey data` as a user calls it."""

from __future__ import annotations

import csv
import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from covey import samples
from covey.cli.data import app
from covey.errors import InputError
from covey.samples import adult
from covey.study import Study

SHARED = Path(__file__).parents[3].parent / "shared" / "data" / "adult" / "adult.csv"


def covey_data(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def refusal(result: Result) -> InputError:
    assert isinstance(result.exception, InputError)
    assert result.exception.exit_code == 2
    return result.exception


def test_list_names_every_sample_and_what_can_be_fetched() -> None:
    result = covey_data("list", "--json")
    assert result.exit_code == 0
    listed = json.loads(result.stdout)
    assert {each["name"] for each in listed if each["kind"] == "sample"} == set(samples.names())
    assert [each["name"] for each in listed if each["kind"] == "public"] == ["adult"]
    plain = covey_data("list").stdout
    assert all(f"covey data sample {name}" in plain for name in samples.names())


def test_sample_copies_into_a_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = covey_data("sample", "hospitals")
    assert result.exit_code == 0, result.exception
    assert Study.load("hospitals/study.toml").name == "hospitals"
    assert "study.toml" in result.stdout


def test_sample_says_for_programs_what_it_wrote(tmp_path: Path) -> None:
    result = covey_data("sample", "survey", "--out", str(tmp_path / "here"), "--json")
    written = json.loads(result.stdout)
    assert written["files"] == ["hierarchies/occupation.csv", "hierarchies/town.csv", "study.toml", "survey.csv"]


def test_an_unknown_name_is_refused_with_those_there_are(tmp_path: Path) -> None:
    assert "clinic-billing" in str(refusal(covey_data("sample", "x", "--out", str(tmp_path / "x"))))
    assert "adult" in str(refusal(covey_data("fetch", "x", "--out", str(tmp_path / "x"))))
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_fetch_says_so_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    result = covey_data("fetch", "adult", "--out", str(tmp_path / "adult"), "--from", f"http://127.0.0.1:{port}/")
    message = str(refusal(result))
    assert "cannot be reached" in message
    assert "--from FILE" in message
    assert list(tmp_path.iterdir()) == []


def test_rows_of_another_table_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    raw = tmp_path / "adult.data"
    raw.write_text("9, " * 14 + ">50K\n")
    result = covey_data("fetch", "adult", "--out", str(tmp_path / "adult"), "--from", str(raw))
    assert "SHA-256 differs" in str(refusal(result))
    assert list(tmp_path.iterdir()) == [raw]


@pytest.mark.skipif(not SHARED.is_file(), reason="the copy of Adult beside the project is not there")
def test_the_real_adult_is_recognised_and_fits_the_study_written_with_it(tmp_path: Path) -> None:
    with SHARED.open(newline="") as text:
        real = [tuple(row) for row in csv.reader(text, delimiter=";")][1:]
    raw = tmp_path / "adult.data"
    with raw.open("w") as text:
        for row in real:
            known = dict(zip(adult.COLUMNS, row, strict=True))
            text.write(", ".join(known.get(field, "0") for field in adult.FIELDS) + "\n")
        text.write(", ".join(["?"] * len(adult.FIELDS)) + "\n")
    result = covey_data("fetch", "adult", "--out", str(tmp_path / "adult"), "--from", str(raw))
    assert result.exit_code == 0, result.exception
    study = Study.load(tmp_path / "adult" / "study.toml")
    for at, column in enumerate(study.columns):
        values = {column.read(row[at]) for row in real}
        leaves = set(column.values or ()) if column.hierarchy is None else set(column.tree().labels)
        assert values <= leaves, column.name
