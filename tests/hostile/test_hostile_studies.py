"""Study files made to bite: each is refused in a sentence, at once, whatever it holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from covey.errors import InputError
from covey.study import Study
from covey.study.section import Lines

pytestmark = pytest.mark.timeout(20)

STUDY = '[study]\nname = "s"\n[privacy]\nk = 2\n[columns.a]\nrole = "quasi"\nhierarchy = "flat"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" + " " * 200_000 + "\n" + STUDY, "problem"),
        ("[ a" + " " * 200_000 + "b ]\n" + STUDY, "problem"),
        ("a" + " " * 200_000 + "\n" + STUDY, "problem"),
        (".".join(["a"] * 1_000_000) + " = 1\n" + STUDY, "parts between dots"),
        ("[" + ".".join(["a"] * 1_000_000) + "]\n" + STUDY, "parts between dots"),
        (STUDY + "[protocol]\nx = " + "[" * 100_000 + "]" * 100_000 + "\n", "too deeply"),
        (STUDY + "[protocol]\nx = " + "9" * 5_000 + "\n", "too many digits"),
        ("k" * 3_000_000 + STUDY, "problem"),
    ],
    ids=["header", "header-name", "key", "dotted-key", "dotted-header", "nested", "digits", "one-word"],
)
def test_it_is_refused_at_once(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Study.parse(text)


def test_a_pipe_a_device_and_a_folder_are_no_study_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(InputError, match="is no file"):
            Study.load(path)


def test_a_study_may_not_name_a_pipe_as_its_hierarchy(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tree.csv")
    (tmp_path / "study.toml").write_text(STUDY.replace('"flat"', '"tree.csv"'))
    with pytest.raises(InputError, match="is no file"):
        Study.load(tmp_path / "study.toml")


def test_a_long_study_is_refused_by_its_size(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("#" * (4 * 10**6 + 1))
    with pytest.raises(InputError, match=r"larger than 4 MB, the most that is read; .* COVEY_MEMORY"):
        Study.load(tmp_path / "study.toml")


def test_lines_are_found_in_every_way_to_write_a_key() -> None:
    text = (
        "[ study ] # c\nname = 1\n\n[columns.\"a b\"]\n'x.y' . z = [\n  1, # ]\n  2\n]\nafter = 2\n[[list]]\nq=1\n"
        '["esc\\"aped"]\nw = 1\n'
    )
    lines = Lines(text)
    assert lines.of("study") == 1
    assert lines.of("study", "name") == 2
    assert lines.of("columns", "a b", "x.y", "z") == 5
    assert lines.of("columns", "a b", "after") == 9
    assert lines.of("list", "q") == 11
    assert lines.of('esc"aped', "w") == 13
    assert lines.of("columns", "nothing") == 4
    assert lines.of("nothing") == 1
