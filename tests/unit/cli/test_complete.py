"""Tab offers what a command knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.tiers import few_first


@pytest.mark.parametrize(
    ("typed", "offered"),
    few_first(
        [
            ("covey anonymize study.toml --algorithm mo", "mondrian"),
            ("covey demo --protocol pe", "peel"),
            ("covey protocols cl", "cluster"),
            ("covey bench pap", "papers"),
            ("covey data sample hosp", "hospitals"),
            ("covey ver", "verify"),
        ],
        few=2,
    ),
)
def test_the_shell_is_offered_the_names_that_are_known(typed: str, offered: str) -> None:
    words = typed.split(" ")
    environment = {
        **os.environ, "_COVEY_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    script = Path(sys.executable).parent / "covey"
    ended = subprocess.run([script], env=environment, capture_output=True, text=True, timeout=60)
    assert ended.stdout.split() == [offered]


@pytest.mark.thorough
def test_colours_can_be_turned_off(tmp_path: Path) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text("a;x;*\nb;x;*\n")
    script = Path(sys.executable).parent / "covey"
    coloured = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    coloured.pop("NO_COLOR", None)
    plain = {**coloured, "NO_COLOR": "1"}
    for environment, says in ((coloured, True), (plain, False)):
        ended = subprocess.run(
            [script, "--help"], env=environment, capture_output=True, text=True, timeout=60
        )  # fmt: skip
        assert ("\x1b[3" in ended.stdout or "\x1b[1;3" in ended.stdout) == says
