from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covey.errors import InputError
from covey.party.simulate.in_process import simulate
from covey.sources import connect, like
from covey.sources.packages import Frame, to_arrow
from covey.study import Study


def cells(data: object, *columns: str) -> list[list[str | None]]:
    source = connect(data)  # type: ignore[arg-type]
    rows = [batch.to_pylist() for batch in source.batches(columns)]
    return [[row[column] for column in columns] for part in rows for row in part]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_sniffed(tmp_path: Path, separator: str) -> None:
    file = tmp_path / "data.csv"
    file.write_text(f"code{separator}n\n01234{separator}37.0\n1E10{separator}nan\n")
    assert cells(file, "code", "n") == [["01234", "37.0"], ["1E10", "nan"]]


def test_a_comma_in_one_cell_does_not_mislead_the_sniffing(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("a;b;c\n1,5;x;y\n2,5;x;y\n")
    assert connect(file).columns == ("a", "b", "c")


def test_quotes_line_breaks_and_marks_are_read(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_bytes(b'\xef\xbb\xbf"a, b",c\r\n"x\ny","say ""ah"""\r\n,""\r\n')
    assert cells(file, "a, b", "c") == [["x\ny", 'say "ah"'], [None, None]]


def test_a_zipped_table_and_one_with_an_odd_name_are_read(tmp_path: Path) -> None:
    file = tmp_path / "data [1].csv.gz"
    file.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert cells(file, "a", "b") == [["1", "2"]]


def test_a_folder_named_like_a_column_and_a_value_says_nothing_about_the_cells(tmp_path: Path) -> None:
    folder = tmp_path / "a=7" / "k=5"
    folder.mkdir(parents=True)
    (folder / "data.csv").write_text("a,b\n1,2\n3,4\n")
    pq.write_table(pa.table({"a": ["1", "3"], "b": ["2", "4"]}), folder / "data.parquet")
    for name in ("data.csv", "data.parquet"):
        assert connect(folder / name).columns == ("a", "b")
        assert cells(folder / name, "a", "b") == [["1", "2"], ["3", "4"]]


@pytest.mark.parametrize("start", ["\n", "\r\n\r\n", "\ufeff\n"])
def test_an_empty_line_above_the_header_is_refused_and_makes_no_row_of_it(tmp_path: Path, start: str) -> None:
    file = tmp_path / "data.csv"
    file.write_bytes(f"{start}a,b\n1,2\n".encode())
    with pytest.raises(InputError, match="line 1: is empty; the first line names the columns"):
        connect(file)


def test_a_single_column_is_a_table(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("a\n1\n2\n")
    assert cells(file, "a") == [["1"], ["2"]]


def test_parquet_is_read_as_text(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    pq.write_table(pa.table({"age": [37, None], "cost": [1.5, float("nan")], "name": ["x", "y"]}), file)
    assert cells(file, "age", "cost", "name") == [["37", "1.5", "x"], [None, None, "y"]]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_go_in_and_the_same_kind_comes_out(kind: Callable[[dict[str, list[object]]], Frame]) -> None:
    frame = kind({"a": ["x", None], "n": [1, 2]})
    assert cells(frame, "a", "n") == [["x", "1"], [None, "2"]]
    assert isinstance(like(pa.table({"a": ["x"]}), frame), type(frame))


def test_anything_else_is_refused() -> None:
    with pytest.raises(InputError, match="not list"):
        connect([1, 2])  # type: ignore[arg-type]


def test_rows_are_counted_by_distinct_tuple_in_the_engine(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("a,count\nx,1\nx,1\ny,1\nx,2\n")
    tuples, counts = connect(file).distinct(["a", "count"])
    found = {tuple(row.values()): int(n) for row, n in zip(tuples.to_pylist(), counts, strict=True)}
    assert found == {("x", "1"): 2, ("y", "1"): 1, ("x", "2"): 1}


def test_a_folder_and_an_absent_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no Parquet file"):
        connect(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        connect(tmp_path / "absent.csv")


@pytest.mark.parametrize("url", ["mysql://user:geheim@host/db?table=t", "postgres://user:geheim@127.0.0.1:1/db"])
def test_a_password_is_never_shown(url: str) -> None:
    with pytest.raises(InputError) as refused:
        connect(url)
    assert "geheim" not in str(refused.value)


def test_a_column_of_several_types_is_read_as_text() -> None:
    frame = pd.DataFrame({"a": [1, "two", 3.5, None, float("nan")]})
    assert to_arrow(frame).column("a").to_pylist() == ["1", "two", "3.5", None, None]


@pytest.mark.parametrize("cell", [b"SECRET", {"x": "SECRET"}, ["SECRET"]])
def test_a_cell_that_is_no_text_is_refused_by_column_and_type_and_not_quoted(cell: object) -> None:
    with pytest.raises(InputError, match=f"column 'a' has cells of type {type(cell).__name__}") as refused:
        to_arrow(pd.DataFrame({"a": [1, cell, "text"]}))
    assert "SECRET" not in str(refused.value)


def test_tables_without_the_parties_names_are_refused_and_not_quoted() -> None:
    study = Study.parse("[study]\nname = 's'\n[privacy]\nk = 2\n[columns.a]\nrole = 'quasi'\nhierarchy = 'flat'\n")
    with pytest.raises(InputError, match="by the party's name") as refused:
        simulate(study, [pd.DataFrame({"a": ["SECRET"]})])  # type: ignore[arg-type]
    assert "SECRET" not in str(refused.value)
