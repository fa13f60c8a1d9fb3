"""Columns in the names of folders (`year=2024`): the same cells on every engine and in memory, or a clear error."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.harness.engines import COLUMNS, HEAD, people, require_spark

import covey
from covey.errors import InputError
from covey.sources import connect
from covey.sources.folders import NO_CELL
from covey.sources.writing import open_rows
from covey.study import Study

STUDY = HEAD + COLUMNS + '[columns.month]\nrole = "plain"\n'
MONTHS = ("03", "3", "a b", "x/y=ö", "5%+", None)

ENGINES = [
    "",
    pytest.param(
        "spark://?parquet=",
        marks=[
            pytest.mark.slow,
            pytest.mark.filterwarnings("ignore::ResourceWarning"),
            pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning"),  # Spark's own calls
        ],
    ),
]


def in_folders(rows: pa.Table, root: Path) -> pa.Table:
    """Writes towns and months as names of folders; the rows in the order of the files, with both columns."""
    parts = []
    for place, month in enumerate(MONTHS):
        for town in ("Köln", " Rom", ""):
            own = rows.slice(30 * place + 10 * len(town), 10).drop_columns("town")
            folder = root / f"town={quote(town, safe='') or NO_CELL}"
            folder /= f"month={NO_CELL if month is None else quote(month, safe=' ö')}"
            folder.mkdir(parents=True)
            parquet.write_table(own, folder / "part-0.parquet")
            cells = {"town": [town] * own.num_rows, "month": pa.array([month] * own.num_rows, pa.string())}
            whole = own
            for name, values in cells.items():
                whole = whole.append_column(name, pa.array(values))
            parts.append((folder / "part-0.parquet", whole))
    return pa.concat_tables([whole for _, whole in sorted(parts, key=lambda part: part[0])])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thorough
def test_cells_in_names_of_folders_are_those_of_a_column(engine: str, tmp_path: Path) -> None:
    """Leading zeros, spaces, escapes and no value at all; a quasi column and a plain one."""
    if engine:
        require_spark()
    above = tmp_path / "age=30" / "month=7"  # says nothing: it is above the folder that is asked for
    rows, study = in_folders(people(240), above / "rows"), Study.parse(STUDY)
    data = engine + str(above / "rows")
    expected = covey.anonymize(rows, study)
    found = covey.anonymize_on_engine(data, study, tmp_path / "out")
    assert (tmp_path / "out" / "release.csv").read_bytes() == expected.content
    same = ("rows", "withheld", "dropped", "k_reached", "classes", "loss")
    assert {key: found.describe()[key] for key in same} == {key: expected.summary[key] for key in same}
    there = connect(data)
    months, counts = there.distinct(["month"])
    counted = dict(zip(months.column("month").to_pylist(), counts.tolist(), strict=True))
    assert counted == Counter(rows.column("month").to_pylist())
    assert {"town", "month"}.isdisjoint(there.numeric)
    assert covey.anonymize(data, study).content == expected.content


@pytest.mark.parametrize("engine", ENGINES)
def test_folders_that_disagree_are_refused_where_the_column_is_asked_for(engine: str, tmp_path: Path) -> None:
    if engine:
        require_spark()
    rows, asked = people(40), Study.parse(STUDY)
    cases = {
        "some": (["month=3", "."], r"stands in the names of some folders \(month=…/1.parquet\) and not of others \("),
        "twice": (["month=3/month=4", "month=4/month=4"], r"stands twice in the names of folders \(month=…/month=…/"),
        "ways": (["month=3", "%6Donth=4"], "is spelled in several ways in the names of folders"),
        "escape": (["month=3", "month=4%f"], "with a % that is no escape of UTF-8; write %25 for a %"),
        "bytes": (["month=3", "month=%ff"], "with a % that is no escape of UTF-8"),
    }
    for name, (folders, said) in cases.items():
        for number, folder in enumerate(folders, start=1):
            (tmp_path / name / folder).mkdir(parents=True, exist_ok=True)
            parquet.write_table(rows.slice(20 * number - 20, 20), tmp_path / name / folder / f"{number}.parquet")
        data = engine + str(tmp_path / name)
        with open_rows(data, tmp_path) as there:
            there.require(("age",))  # others are there
            with pytest.raises(InputError, match=f"column 'month' .*{said}") as error:
                there.require(("age", "month"))
        assert f"{name}: " in str(error.value)
        with pytest.raises(InputError, match=f"column 'month' .*{said}"):
            connect(data).require(("month",))
    with pytest.raises(InputError, match="column 'month'"):
        covey.check(engine + str(tmp_path / "some"), asked)


@pytest.mark.parametrize("engine", ENGINES)
def test_folders_count_below_the_one_that_is_named_and_files_have_the_last_word(engine: str, tmp_path: Path) -> None:
    if engine:
        require_spark()
    for month in (3, 4):
        folder = tmp_path / "rows" / f"month={month}" / "age=old"
        folder.mkdir(parents=True)
        parquet.write_table(people(20), folder / "a.parquet")
    every = connect(f"{engine}{tmp_path}/rows/month=*/age=*/*.parquet")
    assert sorted(every.distinct(["month"])[0].column("month").to_pylist()) == ["3", "4"]
    assert "old" not in every.distinct(["age"])[0].column("age").to_pylist()
    with open_rows(f"{engine}{tmp_path}/rows/month=3", tmp_path) as one:
        assert "month" not in one.columns and one.count() == 20
