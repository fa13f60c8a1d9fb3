"""A party without rows takes part where the protocol can have it, and is refused with the reason where it cannot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import ROOT as REPOSITORY
from tests.harness.cluster_cases import same_choices
from tests.harness.tiers import few_first
from tests.protocols.small_studies import COLUMNS, PLACES, ROWS, data_of, sites_of, study_of

from covey import verify
from covey.errors import InputError, Unmet
from covey.fitness import check
from covey.party.session.data import load_table
from covey.party.simulate.in_process import simulate
from covey.party.simulate.processes import SimulationSetting
from covey.party.simulate.processes import simulate as simulate_processes
from covey.protocols import of_study
from covey.sources import connect
from covey.sources.release import arrange, canonical_csv
from covey.study import Study

PEOPLE = [(place, "FM"[number % 2], "flu" if number % 3 else "none") for number, place in enumerate([*PLACES] * 6)]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", few_first(ROWS[::-1], few=4))
@pytest.mark.parametrize("place", [0, -1], ids=["the first", "the last"])
def test_with_rows_split_anyone_may_have_none(
    name: str, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same_choices(monkeypatch)  # the first labels of `cluster` are random
    study, empty = study_of(name, tmp_path, 3, len(PEOPLE)), sites_of(name)[place]
    frames = data_of(name, PEOPLE, empty)
    release = simulate(study, frames, seed=1)
    tables = {site: table for site in frames if (table := load_table(study, site, frames[site])) is not None}
    assert tables[empty].rows == 0
    due = of_study(study).ideal(study, tables).release
    assert due is not None
    assert canonical_csv(arrange(due)) == release.content
    if not name.startswith("count"):
        assert verify(release.table, study).answer and release.summary["rows"] == len(PEOPLE)


@pytest.mark.parametrize("name", ROWS)
def test_if_nobody_has_a_row_there_is_no_release(name: str, tmp_path: Path) -> None:
    study = study_of(name, tmp_path, 3, 1)
    with pytest.raises(Unmet, match="fewer than"):
        simulate(study, data_of(name, []), seed=1)


@pytest.mark.parametrize("name", COLUMNS)
def test_with_columns_split_everyone_needs_people(name: str, tmp_path: Path) -> None:
    study = study_of(name, tmp_path, 3, len(PEOPLE))
    with pytest.raises(InputError, match="no rows, and a release of joined columns has the people whom all parties"):
        simulate(study, data_of(name, PEOPLE, "south"), seed=1)


def test_rows_that_all_lack_a_value_are_none(tmp_path: Path) -> None:
    study = study_of("generalize", tmp_path, 3, 2)
    text = (tmp_path / "study.toml").read_text().replace('missing = "error"', 'missing = "drop"')
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(InputError, match="has 2 rows, of which none can be released, and"):
        load_table(Study.load(tmp_path / "study.toml"), "north", data_of("generalize", [("", "F", "flu")] * 2)["north"])
    assert study.declared is not None


def test_a_check_lets_an_empty_table_pass_where_the_run_would(tmp_path: Path) -> None:
    found = check(study_of("peel", tmp_path / "rows", 3, 1), connect(data_of("peel", [])["north"]), "north")
    assert found.fit and found.rows == 0
    with pytest.raises(InputError, match="no rows"):
        check(study_of("generalize", tmp_path / "columns", 3, 1), connect(data_of("generalize", [])["north"]), "north")


def test_the_page_says_for_every_protocol_whether_a_party_may_be_empty() -> None:
    page = (REPOSITORY / "docs" / "protocols" / "README.md").read_text()
    said = {f"{name}, {split}" for name, split in re.findall(r"^\| `([a-z]+)`, ([a-z ]+) \| (?:yes|no)", page, re.M)}
    splits = dict.fromkeys(ROWS, "rows") | dict.fromkeys(COLUMNS, "columns")
    assert said == {f"{name.split()[0]}, {split}" for name, split in splits.items()}
    assert "\n| a row each | no: " in page


@pytest.mark.slow
def test_an_empty_file_over_processes(tmp_path: Path) -> None:
    study = study_of("count", tmp_path, 3, len(PEOPLE))
    data = {}
    for site, frame in data_of("count", PEOPLE, "north").items():
        rows = [",".join(cells) for cells in zip(*frame.to_pydict().values(), strict=True)]
        (tmp_path / f"{site}.csv").write_text("\n".join(["id,place,sex,ill", *rows]) + "\n")
        data[site] = str(tmp_path / f"{site}.csv")
    simulate_processes(study, data, tmp_path / "out", SimulationSetting())
    assert (tmp_path / "out" / "north" / "release.csv").read_text() == "place,count\neast,12\nwest,12\n"
