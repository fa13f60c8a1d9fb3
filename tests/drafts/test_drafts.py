"""An unedited draft harms nobody: raw tables go in, and a stranger with the release alone finds no one."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from tests.drafts import linker, tables, trial

import covey

ONE_WORKER = "all of them look at the same trials"
SEED = 20_261
QUICK = ("polish-library", "uk-foodbank", "korean-licence", "mobile-money")
"""Tables of `make test`: a long one, a short one, another script, several rows a person."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drafts")


@cache
def tried(name: str, folder: Path) -> trial.Trial:
    return trial.run(name, folder, SEED)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.thorough) for name in tables.TABLES]
)
def test_nobody_is_led_home_by_an_unedited_draft(name: str, folder: Path) -> None:
    found = tried(name, folder)
    assert found.answer
    assert found.one == 0
    assert found.two <= 0.05 * found.rows
    assert found.recognized == {}


@pytest.mark.thorough
def test_most_tables_keep_half_of_what_may_be_published(folder: Path) -> None:
    found = [tried(name, folder) for name in tables.TABLES]
    assert sum(each.useful for each in found) >= len(found) * 17 / 20, [each.name for each in found if not each.useful]


@pytest.mark.parametrize("name", ["korean-licence", pytest.param("pet-insurance", marks=pytest.mark.thorough)])
def test_a_frame_and_a_k_give_a_release_that_is_as_safe(name: str, tmp_path: Path) -> None:
    path = tables.write(name, tmp_path, SEED + 1)
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    release = covey.anonymize(frame, k=10)
    release.save(tmp_path / "out")
    found = trial.judge(name, path, tmp_path / "out" / "release.csv", bool(covey.verify(release.table, release.study)))
    assert found.answer
    assert found.one == 0
    assert found.two <= 0.05 * found.rows
    assert found.recognized == {}
    assert set(tables.TABLES[name].names("never")) <= set(release.left_out)


@pytest.mark.parametrize(
    "name", ["swedish-gym", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("aged-care", "swiss-parish"))]
)
def test_a_joint_draft_of_three_parties_is_as_safe_and_lists_nobody(name: str, tmp_path: Path) -> None:
    raw = tables.TABLES[name]
    path = tables.write(name, tmp_path, SEED + 2)
    with path.open(encoding=raw.encoding, newline="") as file:
        header, *rows = list(csv.reader(file, delimiter=raw.separator))
    parts = [tmp_path / f"{party}.csv" for party in ("north", "south", "east")]
    for place, part in enumerate(parts):
        with part.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *rows[place::3]])
    covey.new(*parts, out=tmp_path / "study.toml")
    study = covey.Study.load(tmp_path / "study.toml")
    written = study.text + "".join(content.decode() for content in study.files.values()) if study.text else ""
    for column in raw.names("never"):
        values = {row[header.index(column)] for row in rows}
        assert not {value for value in values if len(value) >= 6 and value in written}, column
    release = covey.simulate(study, {part.stem: part for part in parts}, seed=1)
    release.save(tmp_path / "out")
    found = trial.judge(name, path, tmp_path / "out" / "release.csv", bool(covey.verify(release.table, study)))
    assert found.answer
    assert found.one == 0
    assert found.two <= 0.05 * found.rows
    assert found.recognized == {}


def test_the_linker_finds_who_is_alone_and_what_can_be_read() -> None:
    release = linker.Published({"town": ["a", "a", "b"], "age": ["1", "2", "1"], "note": ["x", "x", "Anna K."]})
    raw = linker.Published({"name": ["Anna K.", "Berta L.", "Carla M."]})
    assert linker.singled_out(release, 1) == {1, 2}
    assert linker.singled_out(release, 2) == {0, 1, 2}
    assert linker.recognized(release, raw, ["name"]) == {"note": "name"}
    assert linker.alive(release, "town")
    assert not linker.alive(linker.Published({"town": ["*", "*", "a", "b", "*"]}), "town")
