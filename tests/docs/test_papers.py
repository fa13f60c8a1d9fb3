"""docs/papers.md names modules, tests and commands that exist, and says of every item whether it is here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from covey.bench import papers
from covey.cli import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text()
QUOTED = sorted(set(re.findall(r"`([^`]+)`", PAGE)))
PLACES = [each for each in QUOTED if re.fullmatch(r"[\w./-]+/[\w./-]+(::\w+)?|\w+\.py", each)]
COMMANDS = [each for each in QUOTED if each.startswith("covey ")]


def items() -> Iterator[list[str]]:
    """The cells of each line of the tables."""
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and cells[0] not in ("in the paper", "---"):
            yield cells


def found(place: str) -> Path | None:
    """The file or folder of that name, below the package or from the repository's top."""
    return next((top / place for top in (ROOT / "src" / "covey", ROOT) if (top / place).exists()), None)


@pytest.mark.parametrize("place", PLACES)
def test_every_module_and_every_test_exists(place: str) -> None:
    file, _, name = place.partition("::")
    path = found(file)
    assert path is not None, file
    if name:
        names = {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
        assert name in names


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_exists(command: str) -> None:
    _, name, *rest = command.split()
    known = {each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands}
    assert name in known | {group.name for group in app.registered_groups}
    if name == "bench" and rest:
        assert rest[0] in (*papers.MODULES, papers.ALL, "NAME")


def test_every_item_has_an_answer_and_says_where_or_why_not() -> None:
    listed = list(items())
    assert len(listed) >= 191
    assert {len(cells) for cells in listed} == {3}
    assert {cells[1] for cells in listed} == {"yes", "changed", "no"}
    assert all(len(cells[2]) > 10 for cells in listed)


def test_no_item_is_listed_twice() -> None:
    listed = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| in", "| ---"))]
    assert len(listed) == len(set(listed))
