"""The table of bad inputs: each gets one clear sentence and exit 2, and nothing is written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conftest import Covey

from covey.errors import InputError
from covey.party.record.folder import RunFolder

STUDY = """[study]
name = "trial"
[privacy]
k = 2
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 120, steps = [10] }
[columns.region]
role = "quasi"
hierarchy = "region.csv"
[columns.illness]
role = "sensitive"
singles_out = "nobody is real"
"""
REGION = "Kent;South;*\nYork;North;*\n"
DATA = b"age,region,illness\n37,Kent,flu\n41,York,none\n"


@dataclass(frozen=True)
class Bad:
    says: str
    data: bytes = DATA
    study: str = STUDY
    region: str = REGION


BAD = {
    "a missing column": Bad("data.csv: has no column 'illness'", b"age,region\n37,Kent\n"),
    "two columns of one name": Bad("two columns are named 'age'", b"age,age,region,illness\n1,2,Kent,flu\n"),
    "a column without a name": Bad("column 2 has no name", b"age,,illness\n1,Kent,flu\n"),
    "an unknown role": Bad(
        "line 12: [columns.illness] role must be one of", study=STUDY.replace('"sensitive"', '"secret"')
    ),
    "a hierarchy with two parents": Bad("'South' has two parents", region="Kent;South;E;*\nYork;South;S;*\n"),
    "a hierarchy with rows of unequal length": Bad("line 2: 'York' has 2 levels", region="Kent;South;*\nYork;*\n"),
    "an empty hierarchy": Bad("region.csv: is empty", region=""),
    "an empty file": Bad("data.csv: is empty", b""),
    "a file of blank lines": Bad("data.csv: is empty", b"\n\n\n"),
    "no rows": Bad("has a header but no rows", b"age,region,illness\n"),
    "NaN": Bad("column 'age' has NaN or an infinity in 1 row", DATA + b"NaN,Kent,flu\n"),
    "an infinity": Bad("column 'age' has NaN or an infinity in 2 rows", DATA + b"inf,Kent,flu\n-Infinity,Kent,flu\n"),
    "NaN in the study": Bad("must be finite", study=STUDY.replace("max = 120", "max = nan")),
    "a 10 MB cell": Bad(
        "line 2: is longer than 2,000,000 bytes", b"age,region,illness\n1,Kent," + b"x" * 10_000_000 + b"\n"
    ),
    "a NUL byte": Bad("line 3: has a NUL byte", b"age,region,illness\n37,Kent,flu\n41,Yo\0rk,none\n"),
    "mixed encodings": Bad("line 3: not UTF-8", "age,region,illness\n37,Kent,é\n".encode() + b"41,York,\xe9\n"),
    "UTF-16": Bad("is UTF-16", "age,region,illness\n37,Kent,flu\n".encode("utf-16")),
    "too many cells in a row": Bad("line 2: has another number of cells", b"age,region,illness\n37,Kent,flu,4\n"),
    "too few cells in a row": Bad("line 2: has another number of cells", b"age,region,illness\n37,Kent\n41,York,x\n"),
    "an open quote": Bad("quoted cell is not closed", b'age,region,illness\n37,Kent,"flu\n41,York,none\n'),
    "a file outside the folder": Bad("outside the study's folder", study=STUDY.replace("region.csv", "../region.csv")),
    "a study that is no TOML": Bad("study.toml: 1 problem", study="[study\n"),
}


def files(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.lstat().st_size for path in sorted(folder.rglob("*"))}


def lay(folder: Path, bad: Bad) -> None:
    (folder / "study.toml").write_text(bad.study)
    (folder / "region.csv").write_text(bad.region)
    (folder / "data.csv").write_bytes(bad.data)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_input_gets_one_clear_sentence(covey: Covey, tmp_path: Path, name: str) -> None:
    bad = BAD[name]
    lay(tmp_path, bad)
    before = files(tmp_path)
    called = covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv")
    assert called.code == 2
    assert bad.says in called.err
    assert called.err.startswith("covey: ") and called.err.count("covey: ") == 1
    assert "Traceback" not in called.err and len(called.err) < 600
    assert files(tmp_path) == before


def test_the_same_table_without_a_flaw_is_fit(covey: Covey, tmp_path: Path) -> None:
    lay(tmp_path, Bad(""))
    assert covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv").code == 0


def test_a_linked_hierarchy_is_refused(covey: Covey, tmp_path: Path) -> None:
    lay(tmp_path, Bad(""))
    (tmp_path / "region.csv").rename(tmp_path / "other.csv")
    (tmp_path / "region.csv").symlink_to("other.csv")
    called = covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv")
    assert called.code == 2 and "is a link" in called.err


@pytest.mark.parametrize("name", ["study.toml", "region.csv", "data.csv"])
def test_an_unreadable_file_is_named(covey: Covey, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, Bad(""))
    if os.geteuid() == 0:  # nothing is unreadable to root: let the system say no instead
        real_open, real_read = Path.open, Path.read_bytes

        def refuse(path: Path) -> None:
            if path.name == name:
                raise PermissionError(13, "Permission denied")

        def opened(self: Path, *arguments: object, **named: object) -> object:
            refuse(self)
            return real_open(self, *arguments, **named)  # type: ignore[call-overload]

        def read(self: Path) -> bytes:
            refuse(self)
            return real_read(self)

        monkeypatch.setattr(Path, "open", opened)
        monkeypatch.setattr(Path, "read_bytes", read)
    else:
        (tmp_path / name).chmod(0)
    called = covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv")
    assert called.code == 2
    assert name in called.err and "Permission denied" in called.err


@pytest.mark.thorough
def test_no_message_quotes_a_cell(covey: Covey, tmp_path: Path) -> None:
    """Error messages travel to logs and to other people."""
    for bad in BAD.values():
        marked = Bad(bad.says, bad.data.replace(b"flu", b"kanarie"), bad.study, bad.region)
        lay(tmp_path, marked)
        assert "kanarie" not in covey("check", tmp_path / "study.toml", "--data", tmp_path / "data.csv").err


def test_a_path_that_the_system_refuses_is_named_and_is_no_error_of_ours(covey: Covey, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "region.csv").write_text(REGION)
    long = "x" * 5000
    called = covey("check", tmp_path / "study.toml", "--data", long)
    assert called.code == 2 and long in called.err and "check the path and its permissions" in called.err


def test_a_run_into_a_file_says_that_it_needs_a_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="is a file; name a folder with --out"):
        RunFolder(tmp_path / "out").prepare()
