"""A PostgreSQL server is a source like a file: started here for the test, on a socket of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Covey
from tests.harness.engines import postgres_server

from covey.errors import InputError
from covey.sources import connect

pytestmark = pytest.mark.postgres

STUDY = """[study]
name = "t"
[privacy]
k = 2
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 120, steps = [10] }
[columns.code]
role = "quasi"
hierarchy = "flat"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres_server() as running:
        running.run("""
            create table patients (age double precision, code text, "Name" varchar);
            insert into patients values (37, '01', 'ann'), (37, '01', 'bob'), ('NaN', '1', 'cyd'), (null, null, 'dan');
            create schema ward; create table ward.beds (age int, code text); insert into ward.beds values (5, 'x');
        """)
        yield running.url


def test_a_table_is_read_as_text_and_grouped_there(server: str) -> None:
    source = connect(f"{server}&table=patients")
    assert source.columns == ("age", "code", "Name")
    assert source.rows == 4
    tuples, counts = source.distinct(["code"])
    assert dict(zip(tuples.column(0).to_pylist(), counts.tolist(), strict=True)) == {"01": 2, "1": 1, None: 1}
    rows = [row for batch in source.batches(["age", "Name"]) for row in batch.to_pylist()]
    assert sorted((row["Name"], row["age"]) for row in rows if row["age"] is not None) == [("ann", "37"), ("bob", "37")]


def test_a_query_and_a_table_of_another_schema_are_read(server: str) -> None:
    assert connect(server + "&query=select age, code from patients where code = '01'").rows == 2  # noqa: S608
    assert connect(f"{server}&table=ward.beds").rows == 1


def test_check_works_on_a_server(server: str, covey: Covey, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    called = covey("check", tmp_path / "study.toml", "--data", f"{server}&table=patients")
    assert called.code == 0 and "4 rows" in called.out


@pytest.mark.parametrize("asked", ["&table=nowhere", "&query=selec 1", "", "&table=a&query=b"])
def test_a_wrong_table_or_query_is_refused_in_one_sentence(server: str, asked: str) -> None:
    with pytest.raises(InputError, match="postgres://"):
        connect(server + asked)


def test_a_release_is_written_into_a_table_and_replaced_only_when_that_is_asked(
    server: str, covey: Covey, tmp_path: Path
) -> None:
    (tmp_path / "release.csv").write_text('age,code\n*,01\n*,01\n"[30, 39]",x\n')
    target = f"{server}&table=ward.release"
    called = covey("export", tmp_path, target)
    assert called.code == 0 and "wrote 3 rows to postgres://" in called.out, called
    assert covey("verify", target, "--study", _study(tmp_path), "--json").code == 1, "one row is alone"
    again = covey("export", tmp_path, target)
    assert again.code == 2 and "has a table 'ward.release' already" in again.err
    assert covey("export", tmp_path, target, "--force").code == 0
    assert connect(target).rows == 3
    assert covey("export", tmp_path, server).code == 2


def _study(folder: Path) -> Path:
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"
