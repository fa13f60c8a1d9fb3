"""Tables made to fill the memory or never to end: each is refused in a sentence that names the limit."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from covey.errors import InputError
from covey.sources import connect

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COVEY_MEMORY", "200MB")


def test_a_pipe_and_a_device_are_no_tables(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    os.mkfifo(tmp_path / "pipe.parquet")
    for path in (tmp_path / "pipe.csv", tmp_path / "pipe.parquet", Path("/dev/zero")):
        with pytest.raises(InputError, match="is a pipe or a device"):
            connect(path)


def test_a_small_gzip_file_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    line = b"x" * 999 + b"\n"
    with gzip.open(tmp_path / "bomb.csv.gz", "wb", compresslevel=1) as stream:
        stream.write(b"a\n")
        for _ in range(210):
            stream.write(line * 1000)
    with pytest.raises(InputError, match=r"bomb.csv.gz: unpacks to more than .* COVEY_MEMORY=16GB"):
        connect(tmp_path / "bomb.csv.gz")


def test_a_small_parquet_file_of_long_cells_is_refused(tmp_path: Path) -> None:
    cells = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), pa.array(["x" * 100_000]))
    parquet.write_table(pa.table({"a": cells}), tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 2**20
    with pytest.raises(InputError, match=r"bomb.parquet: takes more than 200 MB"):
        connect(tmp_path / "bomb.parquet")


def test_a_parquet_file_of_too_many_rows_is_refused_by_its_metadata(tmp_path: Path) -> None:
    cells = pa.DictionaryArray.from_arrays(pa.nulls(13_000_000, pa.int32()), pa.array(["x"]))
    parquet.write_table(pa.table({"a": cells}), tmp_path / "bomb.parquet")
    with pytest.raises(InputError, match=r"bomb.parquet: takes more than 200 MB"):
        connect(tmp_path / "bomb.parquet")


def test_damaged_gzip_and_parquet_files_are_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"a\n" + os.urandom(5000).hex().encode())
    (tmp_path / "bad.csv.gz").write_bytes(whole[:200] + bytes(50) + whole[250:])
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + zlib.compress(b"x") + b"PAR1")
    for name in ("bad.csv.gz", "bad.parquet"):
        with pytest.raises(InputError, match=name):
            connect(tmp_path / name)


def test_the_user_can_raise_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data.csv").write_text("a\n" + "x" * 100 + "\n" + "yy\n" * 700_000)
    monkeypatch.setenv("COVEY_MEMORY", "1MB")
    with pytest.raises(InputError, match="more than 1 MB"):
        connect(tmp_path / "data.csv")
    monkeypatch.setenv("COVEY_MEMORY", "1 gb")
    assert connect(tmp_path / "data.csv").rows == 700_001
    monkeypatch.setenv("COVEY_MEMORY", "much")
    with pytest.raises(InputError, match="COVEY_MEMORY must be a size"):
        connect(tmp_path / "data.csv")
