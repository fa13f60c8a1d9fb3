"""Raw tables through a draft and an anonymization, unedited: nobody is led home, and enough is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.raw_tables import TABLES, RawColumn, alone, as_csv, raw_table

import covey as product
from covey import samples
from covey.guess import Draft, draft_of
from covey.schema import Role
from covey.study import Study


def drafted(
    folder: Path, columns: list[RawColumn], parties: int = 1, roles: dict[str, Role] | None = None
) -> tuple[Draft, Study, list[str]]:
    files = []
    for party in range(parties):
        dealt = [RawColumn(column.name, column.cells[party::parties], column.publishable) for column in columns]
        files.append(str(folder / f"p{party}.tsv"))
        Path(files[-1]).write_text(as_csv(dealt))
    made = draft_of(files, 10, roles=roles)
    made.write(folder / "study.toml")
    return made, Study.load(folder / "study.toml"), files


def anonymized(folder: Path, columns: list[RawColumn]) -> dict[str, list[str]]:
    _, study, files = drafted(folder, columns)
    release = product.anonymize(files[0], study)
    assert product.verify(release.table, study)
    return {
        name: [cell or "" for cell in release.arranged.column(name).to_pylist()]
        for name in release.arranged.column_names
    }


def require_harmless(columns: list[RawColumn], released: dict[str, list[str]]) -> None:
    cells = list(released.values())
    assert alone(cells, 1) == 0
    assert alone(cells, 2) <= 0.05 * len(cells[0])
    assert not [column.name for column in columns if column.name in released and not column.publishable]
    publishable = [column.name for column in columns if column.publishable]
    alive = [name for name in publishable if is_alive(released.get(name, ["*"]))]
    assert len(alive) * 2 >= len(publishable), (alive, publishable)


def is_alive(cells: list[str]) -> bool:
    said = [cell for cell in cells if cell != "*"]
    return len(said) * 2 >= len(cells) and len(set(said)) > 1


@pytest.mark.parametrize("name", ["council", "nameless"])
def test_a_raw_table_is_published_unedited_and_harms_nobody(name: str, tmp_path: Path) -> None:
    columns = raw_table(name)
    require_harmless(columns, anonymized(tmp_path, columns))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("name", TABLES)
def test_raw_tables_of_many_trades_are_published_unedited_and_harm_nobody(name: str, seed: int, tmp_path: Path) -> None:
    columns = raw_table(name, seed)
    require_harmless(columns, anonymized(tmp_path, columns))


@pytest.mark.thorough
def test_the_clinics_table_is_published_unedited_and_harms_nobody(tmp_path: Path) -> None:
    path = str(samples.path("clinic") / "clinic.csv")
    draft_of([path], 10).write(tmp_path / "study.toml")
    release = product.anonymize(path, Study.load(tmp_path / "study.toml"), effort="quick")
    found = release.figures.singled_out
    assert found is not None and found.one == 0 and found.two <= 0.05 * release.arranged.num_rows


@pytest.mark.parametrize("name", ["hospital", "nameless"])
def test_a_draft_for_partners_names_no_value_that_fewer_than_ten_rows_have(name: str, tmp_path: Path) -> None:
    columns = raw_table(name, rows=600)
    made, study, files = drafted(tmp_path, columns, parties=3)
    text = made.text + "".join(made.files.values())
    for column in columns:
        rare = {cell for cell in column.cells if len(cell) > 3 and column.cells.count(cell) < 10}
        assert not [cell for cell in rare if f'"{cell}"' in text or f"\n{cell};" in text], column.name
    waiting = [guess.name for guess in made.guesses if guess.fate == "ask"]
    assert not study.waiting, "questions are comments, so that it runs as it is"
    assert all(f"{waits} is left out" in made.text for waits in waiting) and (name == "hospital" or waiting)
    for party, file in enumerate(files):
        checked = product.check(file, study, f"p{party}")
        assert checked.fit, checked
        assert name == "nameless" or any("read as 'other'" in note for note in checked.notes)


def test_the_l_of_a_draft_can_be_kept_with_missing_cells_and_rare_values(tmp_path: Path) -> None:
    columns = raw_table("council", rows=500)
    result = ["" if row % 5 else ("pos", "neg")[row % 10 == 0] for row in range(500)]
    columns.append(RawColumn("test result", result, publishable=True))
    _, study, files = drafted(tmp_path, columns)
    assert study.sensitive and any(study.l_of(column) for column in study.sensitive)
    assert product.verify(product.anonymize(files[0], study).table, study)


def test_a_column_that_somebody_opens_against_the_draft_is_published_and_the_answer_is_no(tmp_path: Path) -> None:
    columns = raw_table("council", rows=300)
    _, study, files = drafted(tmp_path, columns, roles={"bsn": Role.SENSITIVE})
    assert not product.check(files[0], study)
    release = product.anonymize(files[0], study)
    assert "bsn" in release.arranged.column_names and not product.verify(release.table, study)


def test_rows_of_one_person_make_k_larger_and_their_number_is_left_out(tmp_path: Path) -> None:
    people = raw_table("nameless", rows=150)
    columns = [
        RawColumn(column.name, column.cells * 3, column.publishable)
        for column in people
        if column.name not in ("v1", "v9", "v12")
    ]
    columns.append(RawColumn("who", [f"{4000 + 7 * (row % 150)}" for row in range(450)], publishable=False))
    made, study, _ = drafted(tmp_path, columns)
    assert study.privacy.k == 30 and study.column("who").role is Role.IDENTIFIER
    assert any("up to 3 rows each" in note for note in made.notes)
