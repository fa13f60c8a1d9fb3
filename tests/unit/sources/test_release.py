from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.cells import clean
from covey.errors import InputError
from covey.files import write_atomically
from covey.sources import arrange, canonical_csv, connect, write_release

cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6).map(clean).map(clean)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_rows_carries_nothing(rows: list[tuple[str, str]], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = rows[:]
    random.shuffle(shuffled)

    def written(some: list[tuple[str, str]]) -> bytes:
        return canonical_csv(arrange(pa.table({"a": [row[0] for row in some], "b": [row[1] for row in some]})))

    assert written(rows) == written(shuffled)
    parsed = list(csv.reader(io.StringIO(written(rows).decode(), newline="")))
    assert parsed[0] == ["a", "b"]
    assert sorted((clean(a), clean(b)) for a, b in parsed[1:]) == sorted((clean(a), clean(b)) for a, b in rows)


def test_a_release_is_comma_separated_with_line_feeds() -> None:
    table = pa.table({"age": ["[20, 29]", "*"], "note": ["=1+1", "ok"]})
    expected = b'age,note\n*,ok\n"[20, 29]",\'=1+1\n'
    assert canonical_csv(arrange(table)) == expected


def test_plain_labels_stay_as_they_are_and_formulas_do_not() -> None:
    table = pa.table({"age": ["[-5, 4]", "*", "-", "-5", "-2.5", "-9 to 0", "=HYPERLINK(1)", "@x"]})
    cells = canonical_csv(arrange(table)).decode().splitlines()[1:]
    assert cells == ["'-9 to 0", "'=HYPERLINK(1)", "'@x", "*", "-", "-2.5", "-5", '"[-5, 4]"']


def test_parquet_and_csv_hold_the_same_cells(tmp_path: Path) -> None:
    table = arrange(pa.table({"a": ["y", "x"], "b": ["=1", ""]}))
    write_release(table, tmp_path / "release.csv")
    write_release(table, tmp_path / "release.parquet")
    both = [
        [
            [clean(cell or "") for cell in row.values()]
            for b in connect(file).batches(["a", "b"])
            for row in b.to_pylist()
        ]
        for file in (tmp_path / "release.csv", tmp_path / "release.parquet")
    ]
    assert both[0] == both[1] == [["x", ""], ["y", "=1"]]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "release.csv"
    file.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"release\.csv: cannot be written \(No space left"):
        write_atomically(file, b"new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_read_only_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_atomically(tmp_path / "file" / "release.csv", b"x")
