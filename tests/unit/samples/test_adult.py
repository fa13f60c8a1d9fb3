"""Adult: read as UCI writes it, checked by its rows, written with hierarchies of our own."""

from __future__ import annotations

import csv
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from covey import hierarchy
from covey.errors import InputError
from covey.samples import adult
from covey.samples.fetch import ADULT, fetch
from covey.study import Study

RAW = b"""\
41, Private, 1001, Bachelors, 13, Divorced, Sales, Unmarried, White, Female, 0, 0, 40, United-States, <=50K
23, ?, 1002, 11th, 7, Never-married, ?, Own-child, Black, Male, 0, 0, 20, United-States, <=50K
67, State-gov, 1003, Masters, 14, Widowed, Adm-clerical, Unmarried, Other, Female, 9, 0, 60, ?, >50K
58, Local-gov, 1004, Doctorate, 16, Separated, Prof-specialty, Unmarried, White, Male, 0, 0, 38, Trinadad&Tobago, >50K

"""
COMPLETE = [
    ("Female", "41", "White", "Divorced", "Bachelors", "United-States", "Private", "Sales", "<=50K"),
    ("Male", "58", "White", "Separated", "Doctorate", "Trinadad&Tobago", "Local-gov", "Prof-specialty", ">50K"),
]


class Archive(BaseHTTPRequestHandler):
    """Serves RAW as /adult.data and nothing else."""

    def do_GET(self) -> None:
        found = self.path == "/adult.data"
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(RAW if found else b"no such page")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the library's)
        pass


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Archive) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_incomplete_rows_are_dropped_and_nine_columns_kept() -> None:
    assert adult.parse(RAW) == COMPLETE


def test_line_ends_and_blanks_do_not_change_the_rows() -> None:
    assert adult.parse(RAW.replace(b"\n", b"\r\n").replace(b", ", b",")) == COMPLETE


def test_a_short_line_is_refused_with_its_number_and_without_its_cells() -> None:
    with pytest.raises(InputError, match="line 2: 2 fields, expected 15") as caught:
        adult.parse(RAW.splitlines()[0] + b"\nTopSecret, 12\n")
    assert "TopSecret" not in str(caught.value)


def test_the_digest_does_not_depend_on_the_order_of_rows_but_on_every_cell() -> None:
    assert adult.digest(COMPLETE) == adult.digest(COMPLETE[::-1])
    changed = [COMPLETE[0], (*COMPLETE[1][:-1], "<=50K")]
    assert adult.digest(changed) != adult.digest(COMPLETE)


def test_a_fetched_table_is_written_with_a_study_that_loads(archive: str, tmp_path: Path) -> None:
    expected = replace(ADULT, sha256=adult.digest(COMPLETE))
    folder = fetch(expected, tmp_path / "adult", source=f"{archive}/adult.data")
    with (folder / "adult.csv").open(newline="") as text:
        header, *written = csv.reader(text)
    assert tuple(header) == adult.COLUMNS
    assert [tuple(row) for row in written] == COMPLETE
    study = Study.load(folder / "study.toml")
    assert tuple(column.name for column in study.columns) == adult.COLUMNS


def test_rows_that_are_not_adults_are_refused_and_nothing_is_written(archive: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="SHA-256 differs"):
        fetch(ADULT, tmp_path / "adult", source=f"{archive}/adult.data")
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_is_not_there_is_named_with_the_servers_answer(archive: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="answered 404"):
        fetch(ADULT, tmp_path / "adult", source=f"{archive}/moved")
    assert list(tmp_path.iterdir()) == []


def test_a_file_fetched_elsewhere_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "adult.data").write_bytes(RAW)
    expected = replace(ADULT, sha256=adult.digest(COMPLETE))
    folder = fetch(expected, tmp_path / "adult", source=str(tmp_path / "adult.data"))
    assert (folder / "adult.csv").is_file()


def test_a_file_far_too_large_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(InputError, match="larger than"):
        fetch(ADULT, tmp_path / "adult", source=str(tmp_path / "huge"))


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="new or empty"):
        fetch(ADULT, tmp_path, source=str(tmp_path / "mine.txt"))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_our_hierarchies_are_well_formed_and_of_two_levels_or_more() -> None:
    for name, content in adult.files([]).items():
        if name.startswith("hierarchies/"):
            paths = [line.split(";") for line in content.decode().splitlines()]
            tree = hierarchy.Hierarchy.from_paths(paths, "text")
            assert tree.leaves == len(paths), name
            assert len(paths[0]) >= 3, name


def test_addresses_that_are_fetched_by_default_are_encrypted() -> None:
    assert ADULT.address.startswith("https://")
