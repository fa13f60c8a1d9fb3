from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyarrow import csv, parquet
from tests.conftest import Covey
from tests.consortium import ROWS, data_text, study_text

from covey import samples

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


def test_two_numbers_for_three_parties_are_refused(covey: Covey) -> None:
    assert covey("plan", STUDY, "--rows", "1", "2").code == 2


@pytest.mark.thorough
def test_a_plan_names_disk_and_memory_and_looks_at_our_rows(covey: Covey, tmp_path: Path) -> None:
    text = STUDY.read_text().replace('protocol = "cluster"', 'protocol = "peel"').replace("l = 2 ", "# ")
    shutil.copytree(STUDY.parent, tmp_path / "study")
    study = tmp_path / "study" / "study.toml"
    study.write_text(text)
    data = "".join((STUDY.parent / "north.csv").read_text().splitlines(keepends=True)[:60])
    (tmp_path / "north.csv").write_text(data)
    called = covey("plan", study, "--rows", "60", "--as", "north", "--data", tmp_path / "north.csv", "--json")
    assert called.code == 0, called.err
    made = json.loads(called.out)
    assert made["looked_at_data"] is True
    assert made["bytes"] / 3 < made["disk"] <= made["disk_for_replay"]
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


def test_a_plan_says_where_rows_are_counted(covey: Covey, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(study_text())
    (tmp_path / "rows").mkdir()
    (tmp_path / "north.csv").write_text(data_text(ROWS["north"]))
    parquet.write_table(csv.read_csv(tmp_path / "north.csv"), tmp_path / "rows" / "a.parquet")
    asked = ("plan", tmp_path / "study.toml", "--as", "north", "--data", tmp_path / "rows")
    said = [
        f"{tmp_path / 'rows'}: the rows stay on DuckDB, which counts them",
        f"{tmp_path / 'rows'}: is counted: 4 distinct tuples of 4 rows",
    ]
    assert json.loads(covey(*asked, "--json").out)["data"] == said
    shown = "".join(covey(*asked).out.split())
    assert all(f"data {sentence}".replace(" ", "") in shown for sentence in said)
