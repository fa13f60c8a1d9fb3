from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyarrow import csv, parquet
from tests.conftest import Covey
from tests.consortium import ROWS, data_text, study_text

from covey import counting, samples
from covey.party.plan import STATE_BYTES

STUDY = samples.path("hospitals") / "study.toml"


@pytest.mark.parametrize(
    "rows",
    [
        ["--rows", "10", "20", "30"],
        ["--rows", "10", "--rows", "20", "--rows", "30"],
        ["--rows", "north=10", "south=20", "east=30"],
    ],
)
def test_rows_are_given_in_the_studys_order_or_by_name(covey: Covey, rows: list[str]) -> None:
    called = covey("plan", STUDY, *rows, "--json")
    assert called.code == 0
    assert json.loads(called.out)["rows"] == {"north": 10, "south": 20, "east": 30}


def test_numbers_without_the_option_are_a_wrong_call(covey: Covey) -> None:
    called = covey("plan", STUDY, "10")
    assert called.code == 2 and "behind --rows" in called.err


def test_a_plan_says_what_takes_longest_on_three_kinds_of_lines_and_how_near_it_is(covey: Covey) -> None:
    made = json.loads(covey("plan", STUDY, "--rows", "30", "--json").out)
    seconds = [line["seconds"] for line in made["lines"].values()]
    assert len(seconds) == 3 and seconds == sorted(seconds)
    assert {line["bottleneck"] for line in made["lines"].values()} <= {"computing", "sending", "waiting for messages"}
    assert made["within"] == 4
    shown = " ".join(covey("plan", STUDY, "--rows", "30").out.split())
    assert "s at 30 ms, 20 Mbit/s (mostly waiting for messages)" in shown
    assert "up to 4 times more or less rounds and bytes; for a closer plan give your own rows: --as and --data" in shown


def test_two_numbers_for_three_parties_are_refused(covey: Covey) -> None:
    assert covey("plan", STUDY, "--rows", "1", "2").code == 2


@pytest.mark.thorough
def test_a_plan_names_disk_and_memory_and_looks_at_our_rows(covey: Covey, tmp_path: Path) -> None:
    text = STUDY.read_text().replace("l = 2 ", "# ")
    shutil.copytree(STUDY.parent, tmp_path / "study")
    study = tmp_path / "study" / "study.toml"
    study.write_text(text)
    data = "".join((STUDY.parent / "north.csv").read_text().splitlines(keepends=True)[:60])
    (tmp_path / "north.csv").write_text(data)
    called = covey("plan", study, "--rows", "60", "--as", "north", "--data", tmp_path / "north.csv", "--json")
    assert called.code == 0, called.err
    made = json.loads(called.out)
    assert made["looked_at_data"] is True
    assert 60 * 2 * STATE_BYTES < made["disk"] == made["disk_for_replay"]
    assert made["memory"] > 4 * 10**8
    assert json.loads(covey("plan", study, "--rows", "60", "--json").out)["looked_at_data"] is False
    shown = covey("plan", study, "--rows", "60")
    assert "disk      about" in shown.out and "memory    about" in shown.out and "a made-up table" in shown.out
    nobody = covey("plan", study, "--rows", "60", "--data", tmp_path / "north.csv")
    assert nobody.code == 2 and "say whose rows these are, with --as" in nobody.err


@pytest.mark.thorough
def test_a_plan_foretells_the_time_on_a_partys_line(covey: Covey) -> None:
    made = {
        width: json.loads(covey("plan", STUDY, "--rows", "300", "--bandwidth", width, "--json").out)
        for width in ("20mbit", "40mbit")
    }
    sent = made["20mbit"]["bytes"] / 3
    longer = made["20mbit"]["seconds"] - made["40mbit"]["seconds"]
    assert longer == pytest.approx(sent / 2.5e6 - sent / 5e6, abs=0.02)


def lay_on_engine(folder: Path) -> tuple[Path, Path]:
    """A study, and a party's rows in a folder of Parquet files."""
    (folder / "study.toml").write_text(study_text())
    (folder / "rows").mkdir()
    (folder / "north.csv").write_text(data_text(ROWS["north"]))
    parquet.write_table(csv.read_csv(folder / "north.csv"), folder / "rows" / "a.parquet")
    return folder / "study.toml", folder / "rows"


def test_a_plan_and_a_check_say_where_rows_are_counted(covey: Covey, tmp_path: Path) -> None:
    study, rows = lay_on_engine(tmp_path)
    asked = ("plan", study, "--as", "north", "--data", rows)
    said = [
        f"{rows}: the rows stay on DuckDB, which counts them",
        f"{rows}: is counted: 4 distinct tuples of 4 rows",
    ]
    assert json.loads(covey(*asked, "--json").out)["data"] == said
    shown = "".join(covey(*asked).out.split())
    assert all(f"data {sentence}".replace(" ", "") in shown for sentence in said)
    checked = covey("check", *asked[1:], "--json")
    assert checked.code == 0, checked.err
    assert [note for note in json.loads(checked.out)["notes"] if "DuckDB" in note or "counted" in note] == said


def test_more_tuples_than_memory_holds_are_named_before_a_run(
    covey: Covey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, rows = lay_on_engine(tmp_path)
    monkeypatch.setattr(counting, "limit", lambda: 1_000)
    limit = "rows: has 4 distinct tuples, and 2 of 196 bytes each fit into memory; allow more (COVEY_MEMORY=1GB)"
    asked = (study, "--as", "north", "--data", rows)
    for command, code in (("check", 1), ("plan", 2)):
        called = covey(command, *asked)
        assert called.code == code and limit in " ".join(called.err.split()), called
