"""The largest files that people have are read as they always were: a million rows, or a hundred thousand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import csv, parquet

from covey.sources import connect

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
MANY, FEWER = 10**6, 10**5


def people(rows: int) -> pa.Table:
    """Numbers, codes, words and dates as they are in a register."""
    draws = np.random.default_rng(1)
    words = np.array(["none", "influenza", "diabetes mellitus", "hypertension", "asthma"])
    return pa.table({
        "id": [f"p{number:07}" for number in range(rows)],
        "age": draws.integers(0, 100, rows),
        "weight": np.round(draws.normal(70, 12, rows), 1),
        "code": np.char.zfill(draws.integers(0, 99999, rows).astype(str), 5),
        "ill": draws.choice(words, rows),
        "day": np.datetime_as_string(np.datetime64("2020-01-01") + draws.integers(0, 2000, rows)),
        "group": draws.integers(0, 4, rows),
    })  # fmt: skip


def as_csv(table: pa.Table, folder: Path) -> Path:
    csv.write_csv(table, folder / "a.csv")
    return folder / "a.csv"


def as_parquet(table: pa.Table, folder: Path) -> Path:
    parquet.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def as_excel(table: pa.Table, folder: Path) -> Path:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("a")
    sheet.append(table.column_names)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        sheet.append(row)
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def as_spss(table: pa.Table, folder: Path) -> Path:
    pyreadstat.write_sav(table.to_pandas(), str(folder / "a.sav"))
    return folder / "a.sav"


def as_packed_spss(table: pa.Table, folder: Path) -> Path:
    pyreadstat.write_sav(table.to_pandas(), str(folder / "a.zsav"), compress=True)
    return folder / "a.zsav"


def as_sas(table: pa.Table, folder: Path) -> Path:
    pyreadstat.write_xport(table.to_pandas(), str(folder / "a.xpt"), file_format_version=5)
    return folder / "a.xpt"


def as_stata(table: pa.Table, folder: Path) -> Path:
    pyreadstat.write_dta(table.to_pandas(), str(folder / "a.dta"))
    return folder / "a.dta"


WRITERS: tuple[tuple[Callable[[pa.Table, Path], Path], int], ...] = (
    (as_csv, MANY), (as_parquet, MANY), (as_excel, MANY - 1), (as_spss, FEWER), (as_packed_spss, FEWER),
    (as_sas, FEWER), (as_stata, FEWER),
)  # fmt: skip


@pytest.mark.parametrize(("write", "rows"), WRITERS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_large_honest_file_is_read(write: Callable[[pa.Table, Path], Path], rows: int, tmp_path: Path) -> None:
    table = people(rows)
    source = connect(write(table, tmp_path))
    assert source.rows == rows
    _, counts = source.distinct(["age"])
    assert sorted(counts.tolist()) == sorted(np.bincount(table.column("age").to_numpy()).tolist())
