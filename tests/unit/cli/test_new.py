from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Covey

from covey import samples
from covey.study import Study


def roles(called_out: str) -> dict[str, str]:
    return {column["column"]: column["role"] for column in json.loads(called_out)["columns"]}


def test_a_new_study_loads_and_its_data_is_fit(covey: Covey, tmp_path: Path) -> None:
    data = samples.path("clinic") / "clinic.csv"
    called = covey("new", data, "--out", tmp_path / "study.toml")
    assert called.code == 0 and "because" in called.out
    assert covey("check", tmp_path / "study.toml", "--data", data).code == 0


def test_the_guesses_are_what_a_steward_would_expect(covey: Covey, tmp_path: Path) -> None:
    data = samples.path("clinic") / "clinic.csv"
    found = roles(covey("new", data, "--out", tmp_path / "study.toml", "--json").out)
    assert found["patient_id"] == "identifier"
    assert found["diagnosis"] == "sensitive"
    assert {found[name] for name in ("age", "sex", "postcode", "occupation", "admission")} == {"quasi"}


def test_tables_with_the_same_columns_make_a_horizontal_study(covey: Covey, tmp_path: Path) -> None:
    data = [samples.path("hospitals") / f"{name}.csv" for name in ("north", "south", "east")]
    assert covey("new", *data, "--out", tmp_path / "study.toml").code == 0
    study = Study.load(tmp_path / "study.toml")
    assert study.partition == "horizontal"
    assert [party.name for party in study.parties] == ["north", "south", "east"]
    assert all(column.closed for column in study.quasi), "parties compute jointly over listed domains only"
    for file, party in zip(data, study.parties, strict=True):
        assert covey("check", tmp_path / "study.toml", "--data", file, "--as", party.name).code == 0


def test_parties_whose_files_names_have_no_plain_letters_are_told_apart(covey: Covey, tmp_path: Path) -> None:
    names = ("é.csv", "ü.csv", "a b.csv", "a-b.csv", "_x.csv", "n" * 80 + ".csv")
    for name in names:
        (tmp_path / name).write_text("age,ill\n" + "".join(f"{20 + row},flu\n" for row in range(30)))
    covey("new", *(str(tmp_path / name) for name in names), "--out", str(tmp_path / "study.toml"))
    parties = [party.name for party in Study.load(tmp_path / "study.toml").parties]
    assert len(set(parties)) == len(names)


def test_tables_that_share_a_key_make_a_vertical_study(covey: Covey, tmp_path: Path) -> None:
    folder = samples.path("clinic-billing")
    data = [folder / "clinic.csv", folder / "billing.csv"]
    assert covey("new", *data, "--out", tmp_path / "study.toml").code == 0
    study = Study.load(tmp_path / "study.toml")
    assert study.partition == "vertical" and study.key is not None


def test_a_file_that_is_there_is_never_written_over(covey: Covey, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("mine")
    called = covey("new", samples.path("clinic") / "clinic.csv", "--out", tmp_path / "study.toml")
    assert called.code == 2 and "is there already" in called.err
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.parametrize("name", ['quote"d', "ünïcode", "with space", "a.b", "<script>"])
def test_odd_column_names_survive_into_the_study(covey: Covey, tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    (tmp_path / "data.csv").write_text(f"{quoted},b\nx,1\ny,2\nx,3\nx,1\n")
    assert covey("new", tmp_path / "data.csv", "--out", tmp_path / "study.toml").code == 0
    assert Study.load(tmp_path / "study.toml").columns[0].name == name


@pytest.mark.parametrize(("decimals", "top"), [(2, 95), (1, 900), (2, 90_000), (0, 5_000), (0, 60)])
def test_numbers_are_proposed_in_steps_that_are_nobodys_values(
    covey: Covey, tmp_path: Path, decimals: int, top: int
) -> None:
    drawn = np.random.default_rng(top).uniform(top / 20, top, 300)
    costs = np.round(drawn, decimals).tolist()
    costs = [cost for cost in costs if cost % 1] or [int(cost) for cost in costs]
    (tmp_path / "data.csv").write_text("cost,sex\n" + "".join(f"{cost},{'FM'[int(cost) % 2]}\n" for cost in costs))
    assert covey("new", tmp_path / "data.csv", "--out", tmp_path / "study.toml").code == 0
    text = (tmp_path / "study.toml").read_text()
    assert covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv").code == 0
    assert ('"interval"' in text) == (top == 90_000)
    hierarchy = next(line for line in text.splitlines() if line.startswith(("hierarchy = { min", "range")))
    ends = [float(found) for found in re.findall(r"[\d.]+", hierarchy)[:2]]
    assert ends[0] <= min(costs) and max(costs) <= ends[1]
    assert not decimals or not set(ends) & set(costs)
