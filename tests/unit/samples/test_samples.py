"""The shipped sample data: what the generator makes, dealt as the studies beside it say."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from scripts.samples import generate
from scripts.samples.vocabulary import DIAGNOSES

from covey import samples
from covey.errors import InputError
from covey.hierarchy import Hierarchy
from covey.schema import Column
from covey.study import Study

TABLES: dict[str, dict[str | None, str]] = {
    "clinic": {None: "clinic.csv"},
    "hospitals": {"north": "north.csv", "south": "south.csv", "east": "east.csv"},
    "clinic-billing": {"clinic": "clinic.csv", "billing": "billing.csv"},
    "providers": {"gym": "gym.csv", "insurer": "insurer.csv"},
    "survey": {None: "survey.csv"},
}


def rows(name: str, file: str) -> list[dict[str, str]]:
    with (samples.path(name) / file).open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def knows(column: Column, value: str) -> bool:
    """Whether the study has a place for a canonical value."""
    if value == "":
        return column.missing == "value"
    if isinstance(column.hierarchy, Hierarchy):
        leaves = column.hierarchy.labels[: column.hierarchy.leaves]
        return value in leaves
    return column.values is None or value in column.values


def test_generating_again_gives_the_shipped_bytes() -> None:
    for name, content in generate().items():
        shipped = samples.path(name.split("/")[0]).parent / name
        assert shipped.read_bytes() == content, name


def test_no_table_ships_that_the_generator_does_not_make() -> None:
    folder = samples.path("clinic").parent
    shipped = {path.relative_to(folder).as_posix() for path in folder.rglob("*.csv")}
    assert {name for name in shipped if not name.startswith("adult/hierarchies/")} == set(generate())


def test_another_seed_gives_other_people() -> None:
    ours, others = generate(), generate(1)
    assert ours.keys() == others.keys()
    assert ours["clinic/clinic.csv"] != others["clinic/clinic.csv"]


def test_every_sample_has_a_study_and_a_description() -> None:
    assert set(samples.names()) == set(TABLES) == {name.split("/")[0] for name in generate()}
    for name in samples.names():
        assert (samples.path(name) / "study.toml").is_file()
        assert samples.describe(name)


@pytest.mark.parametrize("name", samples.names())
def test_the_study_has_a_place_for_every_cell(name: str) -> None:
    study = Study.load(samples.path(name) / "study.toml")
    for party, file in TABLES[name].items():
        table = rows(name, file)
        columns = study.held_by(party)
        assert {column.name for column in columns} == set(table[0])
        for column in columns:
            strangers = {cell for row in table if not knows(column, cell := column.read(row[column.name]))}
            assert not strangers, (file, column.name)


@pytest.mark.parametrize("name", [name for name in samples.names() if name != "clinic"])
def test_in_a_joint_study_every_domain_is_agreed_before_the_data_is_seen(name: str) -> None:
    study = Study.load(samples.path(name) / "study.toml")
    assert [column.name for column in study.quasi + study.sensitive if not column.closed] == []


def test_the_sample_is_small_enough_to_ship() -> None:
    assert sum(map(len, generate().values())) < 800_000


def test_three_hospitals_share_no_patient_and_differ_in_their_cases() -> None:
    tables = {file: rows("hospitals", file) for file in TABLES["hospitals"].values()}
    ids = [row["patient_id"] for table in tables.values() for row in table]
    assert len(ids) == len(set(ids)) == 3000
    assert min(map(len, tables.values())) >= 500
    commonest = {Counter(row["diagnosis"] for row in table).most_common(1)[0][0] for table in tables.values()}
    assert len(commonest) == 3


def test_only_the_south_writes_ages_untidily() -> None:
    untidy = {
        file: sum(not row["age"].isdigit() for row in rows("hospitals", file)) for file in ("north.csv", "east.csv")
    }
    assert untidy == {"north.csv": 0, "east.csv": 0}
    ages = [row["age"] for row in rows("hospitals", "south.csv")]
    assert sum(age.startswith(" ") for age in ages) > 10
    assert sum(age.endswith(".0") for age in ages) > 10


def test_some_cells_are_missing_but_no_diagnosis_is() -> None:
    table = rows("clinic", "clinic.csv")
    assert 0 < sum(row["postcode"] == "" for row in table) < 60
    assert 0 < sum(row["occupation"] == "" for row in table) < 120
    assert all(row["diagnosis"] for row in table)


def test_clinic_and_billing_know_a_few_people_that_the_other_does_not() -> None:
    clinic = {row["patient_id"] for row in rows("clinic-billing", "clinic.csv")}
    billing = {row["patient_id"] for row in rows("clinic-billing", "billing.csv")}
    assert 0 < len(clinic - billing) < 30
    assert 0 < len(billing - clinic) < 30


def test_the_providers_share_few_enough_customers_for_delta_to_hold_at_the_root() -> None:
    study = Study.load(samples.path("providers") / "study.toml")
    gym = {row["uid"] for row in rows("providers", "gym.csv")}
    insurer = {row["uid"] for row in rows("providers", "insurer.csv")}
    population = (samples.path("providers") / "population.csv").read_text().split()
    assert len(population) == len(set(population)) == 3000
    assert gym | insurer < set(population)
    assert study.privacy.delta is not None
    assert len(gym & insurer) > 900
    assert len(gym & insurer) / min(len(gym), len(insurer)) < study.privacy.delta


def test_of_three_providers_any_two_share_few_enough_customers_for_delta_to_hold_at_the_root() -> None:
    study = Study.load(samples.path("providers") / "three.toml")
    names = [party.name for party in study.holders]
    assert names == ["gym", "pharmacy", "insurer"]
    users = {}
    for name in names:
        table = rows("providers", f"{name}.csv")
        columns = study.held_by(name)
        assert {column.name for column in columns} == set(table[0])
        assert all(knows(column, column.read(row[column.name])) for row in table for column in columns)
        users[name] = {row["uid"] for row in table}
    common = set.intersection(*users.values())
    assert study.privacy.delta is not None
    assert len(common) > 500
    for absent in names:
        both = set.intersection(*(own for name, own in users.items() if name != absent))
        assert len(common) / len(both) < study.privacy.delta


def test_columns_hang_together_as_they_do_in_life() -> None:
    table = rows("clinic", "clinic.csv")
    assert all(row["sex"] == "F" for row in table if row["diagnosis"] == "childbirth")
    assert all(int(row["age"]) >= 57 for row in table if row["occupation"] == "pensioner")
    assert all(row["ward"] == "paediatrics" for row in table if int(row["age"]) < 15)
    coughs = {"asthma", "pneumonia", "influenza", "chronic bronchitis"}
    winter = [row["diagnosis"] in coughs for row in table if row["admission"][5:7] in {"12", "01", "02"}]
    summer = [row["diagnosis"] in coughs for row in table if row["admission"][5:7] in {"06", "07", "08"}]
    assert sum(winter) / len(winter) > 2 * sum(summer) / len(summer)


def test_the_studies_list_every_diagnosis() -> None:
    for name in ("hospitals", "clinic-billing"):
        study = Study.load(samples.path(name) / "study.toml")
        column = study.column("diagnosis")
        assert set(column.values or column.tree().labels[: column.tree().leaves]) == {each.name for each in DIAGNOSES}


def test_a_copy_is_the_sample_itself(tmp_path: Path) -> None:
    folder = samples.copy("survey", tmp_path / "mine")
    source = samples.path("survey")
    files = [path.relative_to(source) for path in source.rglob("*") if path.is_file()]
    assert len(files) == 4
    assert all((folder / file).read_bytes() == (source / file).read_bytes() for file in files)


def test_a_copy_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("mine")
    with pytest.raises(InputError, match="new or empty"):
        samples.copy("survey", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
    assert (tmp_path / "study.toml").read_text() == "mine"


def test_an_unknown_sample_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InputError, match="hospitals"):
        samples.path("hospital")
