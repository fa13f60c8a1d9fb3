"""`make house` prints every room and the walks of the page."""

from __future__ import annotations

import ast

import pytest
from scripts import house
from tests.unit.test_imports import FLOOR


def test_every_room_and_every_stop_of_a_walk_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    house.main([])
    lines = capsys.readouterr().out.splitlines()
    assert set(FLOOR) <= {line.split()[1] for line in lines if len(line.split()) > 2}
    assert len(house.walks()) == 3
    for stops in house.walks().values():
        assert [stop for stop in stops if not any(f" {stop}, " in line for line in lines)] == []


def test_the_files_of_a_room_are_printed_with_their_importers(capsys: pytest.CaptureFixture[str]) -> None:
    house.main(["version"])
    assert "version.py: " in capsys.readouterr().out


def test_blank_lines_comments_and_docstrings_are_no_code() -> None:
    text = '"""A module."""\n\n# why\nx = 1\n\n\ndef f():\n    """Does it."""\n    return """not a\n    docstring"""\n'
    assert house.code_lines(text, ast.parse(text)) == 4
