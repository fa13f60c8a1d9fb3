"""Files of spreadsheets and statistics packages, other encodings, and releases written in other formats."""

from __future__ import annotations

import datetime
from pathlib import Path

import openpyxl
import pandas
import pyarrow as pa
import pyreadstat
import pytest
from tests.conftest import Covey

import covey as product
from covey import samples
from covey.errors import InputError
from covey.sources import connect
from covey.study import Study


def cells(data: str | Path) -> dict[str, list[str | None]]:
    source = connect(data)
    table = pa.Table.from_batches(source.batches(source.columns)).rename_columns(list(source.columns))
    return {name: table.column(name).to_pylist() for name in source.columns}


def workbook(path: Path, **sheets: list[list[object]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_sheet_is_read_as_text(tmp_path: Path) -> None:
    day = datetime.datetime(2024, 12, 31)
    rows: list[list[object]] = [
        ["age", " born ", "code", "x"],
        [37, day, "01067", True],
        [31.5, None, "09111", None],
        [None] * 4,
    ]
    found = cells(workbook(tmp_path / "a.xlsx", data=rows))
    assert found == {
        "age": ["37", "31.5"], "born": ["2024-12-31", None], "code": ["01067", "09111"], "x": ["true", None],
    }  # fmt: skip


def test_of_several_sheets_one_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", north=[["a"], [1]], south=[["a"], [2]])
    with pytest.raises(InputError, match=r"several sheets, 'north', 'south'; say which one: .*\?sheet=north"):
        connect(path)
    assert cells(f"{path}?sheet=south") == {"a": ["2"]}
    with pytest.raises(InputError, match="has no sheet 'east'"):
        connect(f"{path}?sheet=east")


@pytest.mark.parametrize("rows", [[["a", "a"], [1, 2]], [["a", None, "b"], [1, 2, 3]], [[None], [1]]])
def test_a_sheet_without_names_for_its_columns_is_refused(tmp_path: Path, rows: list[list[object]]) -> None:
    with pytest.raises(InputError, match="the first row must name the columns"):
        connect(workbook(tmp_path / "a.xlsx", data=rows))


@pytest.mark.parametrize("ending", ["xlsx", "sav", "dta", "sas7bdat"])
def test_a_damaged_file_is_refused_in_a_sentence(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"a.{ending}").write_bytes(b"not what it says" * 100)
    with pytest.raises(InputError, match=rf"a\.{ending}: is no readable"):
        connect(tmp_path / f"a.{ending}")


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_statistics_packages_give_labels_whole_numbers_and_days(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    frame = pandas.DataFrame({
        "age": [37.0, None], "sex": [1.0, 2.0], "seen": [datetime.date(2024, 12, 31), datetime.date(2025, 1, 1)],
    })  # fmt: skip
    labels = {"sex": {1: "male", 2: "female"}}
    if ending == "sav":
        pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
    elif ending == "dta":
        pyreadstat.write_dta(frame, str(path), variable_value_labels=labels)
    else:
        pyreadstat.write_xport(frame, str(path), file_format_version=5)
    found = cells(path)
    names = list(found)
    assert found[names[0]] == ["37", None]
    assert found[names[1]] == (["1", "2"] if ending == "xpt" else ["male", "female"])
    assert found[names[2]] == ["2024-12-31", "2025-01-01"]
    assert cells(f"{path}?labels=no")[names[1]] == ["1", "2"]


def test_another_encoding_is_read_where_it_is_named_and_an_error_says_how(covey: Covey, tmp_path: Path) -> None:
    text = 'name;ort\n"Jürgen; der";Köln\nZoë;Saarbrücken\n'
    for encoding in ("cp1252", "utf-16"):
        (tmp_path / "a.csv").write_bytes(text.encode(encoding))
        with pytest.raises(InputError, match="--encoding"):
            connect(tmp_path / "a.csv")
        assert cells(f"{tmp_path / 'a.csv'}?encoding={encoding}") == {
            "name": ["Jürgen; der", "Zoë"], "ort": ["Köln", "Saarbrücken"],
        }  # fmt: skip
    with pytest.raises(InputError, match="line 1: is not ascii"):
        connect(f"{tmp_path / 'a.csv'}?encoding=ascii")
    with pytest.raises(InputError, match="'klingon' is no encoding"):
        connect(f"{tmp_path / 'a.csv'}?encoding=klingon")
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,2\n3\n")
    with pytest.raises(InputError, match="line 3: has another number of cells"):
        connect(f"{tmp_path / 'a.csv'}?encoding=latin-1")
    (tmp_path / "b.csv").write_bytes(("age,ort\n" + "30,Köln\n40,Köln\n" * 20).encode("latin-1"))
    assert covey("new", tmp_path / "b.csv", "--encoding", "latin-1", "--out", tmp_path / "study.toml").code == 0
    called = covey("check", tmp_path / "study.toml", "--data", tmp_path / "b.csv", "--encoding", "latin-1")
    assert "40 rows" in " ".join(called.out.split()), called


def test_codes_that_became_numbers_are_refused_under_a_prefix(tmp_path: Path) -> None:
    study = Study.parse(
        '[study]\nname = "x"\n[privacy]\nk = 2\n[columns.zip]\nrole = "quasi"\nhierarchy = { prefix = [4, 3] }\n',
        tmp_path,
    )
    product.anonymize(pandas.DataFrame({"zip": [10671, 12345, 10671, 12345]}), study)
    product.anonymize(pandas.DataFrame({"zip": ["1067", "12345", "1067", "12345"]}), study)
    with pytest.raises(InputError, match="'zip' has codes for a prefix hierarchy, but is stored as numbers"):
        product.anonymize(pandas.DataFrame({"zip": [1067, 12345, 1067, 12345]}), study)
    with pytest.raises(InputError, match="leading zeros are lost"):
        product.anonymize(str(workbook(tmp_path / "a.xlsx", data=[["zip"], [1067], [1067]])), study)


@pytest.mark.thorough
def test_a_release_is_written_in_every_format(covey: Covey, tmp_path: Path) -> None:
    clinic = samples.path("clinic")
    study = Study.load(clinic / "study.toml")
    product.anonymize(str(clinic / "clinic.csv"), study, budget=1).save(tmp_path / "out")
    asked = cells(tmp_path / "out" / "release.csv")
    for name in ("a.csv", "a.parquet", "a.xlsx"):
        assert covey("export", tmp_path / "out", tmp_path / name).code == 0
        assert {key: [cell or "" for cell in column] for key, column in cells(tmp_path / name).items()} == {
            key: [cell or "" for cell in column] for key, column in asked.items()
        }
        assert product.verify(str(tmp_path / name), study).answer
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "out" / "release.csv").read_bytes()
    again = covey("export", tmp_path / "out", tmp_path / "a.xlsx")
    assert again.code == 2 and "--force" in again.err
    assert covey("export", tmp_path / "out", tmp_path / "a.xlsx", "--force").code == 0
    assert "is written as .csv, .parquet or .xlsx" in covey("export", tmp_path / "out", tmp_path / "a.doc").err
