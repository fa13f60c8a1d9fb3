"""What a party's own data tell is refused when they are read, before anyone is met; `covey check` finds it too."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import Covey
from tests.harness.columns_cases import study_of, tables_of

from covey import samples
from covey.errors import InputError, Unmet
from covey.party.session.data import load_table
from covey.protocols.as_printed.suppress import messages
from covey.study import Study

HOSPITALS, PROVIDERS, BILLING = (samples.path(name) for name in ("hospitals", "providers", "clinic-billing"))


def hospitals(protocol: str, folder: Path) -> Study:
    shutil.copytree(HOSPITALS, folder / "hospitals")
    path = folder / "hospitals" / "study.toml"
    text = path.read_text().replace('protocol = "peel"', f'protocol = "{protocol}"')
    if protocol != "peel":
        ours = 'encryption = "waters"\ncompare = "bins"' if protocol == "suppress" else 'calls = "turn"'
        text = text.replace("[utility]", f"[protocol]\nas_printed = true\n{ours}\n[utility]")
    if protocol == "suppress":
        text = text.replace("l = 2 ", "# ").replace("[parties.east]", "[authority]")
    path.write_text(text)
    return Study.load(path)


@pytest.mark.parametrize(
    ("protocol", "says"),
    [("peel", "texts of 100,000 bytes"), ("cluster", "16,384"), ("suppress", "cells of more")],
)
def test_a_row_that_is_too_long_to_be_released_is_refused(
    protocol: str, says: str, covey: Covey, tmp_path: Path
) -> None:
    study = hospitals(protocol, tmp_path)
    head, first, *rest = (HOSPITALS / "north.csv").read_text().splitlines()[:30]
    cells = dict(zip(head.split(","), first.split(","), strict=True)) | {"stay": "9" * 100_000}
    data = tmp_path / "north.csv"
    data.write_text("\n".join([head, ",".join(cells.values()), *rest]) + "\n")
    with pytest.raises(InputError, match=says):
        load_table(study, "north", str(data))
    checked = covey("check", tmp_path / "hospitals" / "study.toml", "--as", "north", "--data", data, "--json")
    assert checked.code == 1
    assert says in json.loads(checked.out)["problem"]
    data.write_text("\n".join([head, first, *rest]) + "\n")
    assert load_table(study, "north", str(data)) is not None


def test_an_id_that_the_population_lacks_is_refused(tmp_path: Path) -> None:
    study = Study.load(PROVIDERS / "study.toml")
    lines = (PROVIDERS / "gym.csv").read_text().splitlines()
    key = lines[0].split(",").index(next(column.name for column in study.columns if column.role == "key"))
    cells = lines[1].split(",")
    cells[key] = "a stranger"
    (tmp_path / "gym.csv").write_text("\n".join([lines[0], ",".join(cells), *lines[2:20]]) + "\n")
    with pytest.raises(InputError, match=r"gym.csv: column .* 1 row has an id that the population does not list"):
        load_table(study, "gym", str(tmp_path / "gym.csv"))


def test_fewer_rows_than_k_are_refused_where_columns_are_split(covey: Covey, tmp_path: Path) -> None:
    """People whom all parties have are some of our own: nobody need be met to know that they are too few."""
    study = Study.load(BILLING / "study.toml")
    data = tmp_path / "clinic.csv"
    lines = (BILLING / "clinic.csv").read_text().splitlines()[: study.privacy.k]
    data.write_text("\n".join(lines) + "\n")
    with pytest.raises(Unmet, match=rf"clinic.csv: has {len(lines) - 1} rows, .* fewer than k = {len(lines)};"):
        load_table(study, "clinic", str(data))
    checked = covey("check", BILLING / "study.toml", "--as", "clinic", "--data", data, "--json")
    assert checked.code == 1 and f"fewer than k = {len(lines)}" in json.loads(checked.out)["problem"]


def test_fewer_sensitive_values_than_l_are_refused_where_columns_are_split() -> None:
    study = study_of(privacy="l = 2")
    people: list[tuple[int, str, str, int, str]] = [(age, "F", "low", 1, "flu") for age in range(9)]
    with pytest.raises(Unmet, match="column 'ill' has 1 value, too few for l = 2; lower l"):
        tables_of(study, people)


def test_an_l_above_the_listed_values_is_a_no_before_anyone_is_met(tmp_path: Path) -> None:
    study = hospitals("peel", tmp_path)
    asked = replace(study, privacy=replace(study.privacy, l=50.0))
    with pytest.raises(Unmet, match=r"l = 50 cannot be kept: column 'diagnosis' lists \d+ values"):
        load_table(asked, "north", str(HOSPITALS / "north.csv"))


def test_more_rows_than_a_list_may_have_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = replace(hospitals("suppress", tmp_path), rows_at_most=None)
    monkeypatch.setattr(messages, "MOST_ROWS", 100)
    with pytest.raises(InputError, match=r"north.csv: this party has more than 100 rows; say rows_at_most in"):
        load_table(study, "north", str(HOSPITALS / "north.csv"))
