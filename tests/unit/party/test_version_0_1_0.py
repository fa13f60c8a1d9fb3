"""Folders that version 0.1.0 left, a simulation and a collection: they are judged, pass the audit and get their report.

Made by `covey simulate` (the demo's study with twelve rows) and by a collector with seven respondents. Journals, keys
and one of the three parties' folders were left out to keep them small.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from covey.cli import main

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v0.1.0"
RUNS = ("demo", "collection")
PARTIES = ("demo/north", "demo/south", "collection")
SIGNED = ("transcript.jsonl", "ledger.json", "summary.json", "certificate.json", "release.csv")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A copy of all folders."""
    return Path(shutil.copytree(FIXTURES, tmp_path / "kept"))


def covey(*arguments: object) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return int(str(ended.value.code))


def verify(folder: Path) -> int:
    study, certificate = folder / "study.toml", folder / "certificate.json"
    return covey("verify", folder / "release.csv", "--study", study, "--certificate", certificate)


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("name", [*RUNS, "demo/north"])
def test_the_certificate_holds_and_the_release_is_judged_by_today_s_rules(
    kept: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The simulation's release singles people out by their stay; the collection's does not."""
    assert verify(kept / name) == (0 if name == "collection" else 1)
    shown = capsys.readouterr()
    assert "signed by" in shown.out
    assert name == "collection" or "rows singled out by one published cell of 'stay'" in shown.err


@pytest.mark.parametrize("name", RUNS)
def test_the_audit_accepts_it(kept: Path, name: str) -> None:
    assert covey("audit", kept / name) == 0


@pytest.mark.parametrize("name", [*RUNS, "demo/north"])
def test_its_report_has_the_judge_s_answer(kept: Path, name: str) -> None:
    assert covey("report", kept / name) == 0
    word = "yes" if name == "collection" else "no"
    assert f'class="answer {word}"' in (kept / name / "report.html").read_text()


@pytest.mark.few(3)
@pytest.mark.parametrize("name", PARTIES)
@pytest.mark.parametrize("file", SIGNED)
def test_the_audit_refuses_a_flipped_bit(kept: Path, name: str, file: str) -> None:
    path = kept / name / file
    size = path.stat().st_size
    for place in (size // 3, size // 2, size - 3):
        flip(path, place)
        assert covey("audit", kept / name) == 1
        flip(path, place)
    assert covey("audit", kept / name) == 0


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("file", ["release.csv", "certificate.json"])
def test_verify_refuses_a_flipped_bit(kept: Path, name: str, file: str) -> None:
    path = kept / name / file
    flip(path, path.stat().st_size // 2)
    assert verify(kept / name) in (1, 2)
