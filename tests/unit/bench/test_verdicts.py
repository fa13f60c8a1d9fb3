"""Every verdict of `covey bench NAME` follows from the run: none is written into the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from covey.bench import papers
from covey.bench.findings import Claim

SOURCES = sorted(path for path in Path(papers.__file__).parent.glob("*.py") if "Claim(" in path.read_text())


def verdicts(source: str) -> list[ast.expr]:
    """The expressions that become a claim's verdict."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Claim":
            named = [each.value for each in node.keywords if each.arg == "holds"]
            found += [*node.args[3:4], *named]
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_verdict_is_a_word_in_the_source(path: Path) -> None:
    assert not [each.lineno for each in verdicts(path.read_text()) if isinstance(each, ast.Constant)]


def test_a_planted_verdict_is_found() -> None:
    assert isinstance(verdicts('Claim("a", "b", "c", "no")')[0], ast.Constant)
    assert isinstance(verdicts('Claim("a", "b", "c", holds="no")')[0], ast.Constant)


def test_a_share_of_cases_may_differ_where_they_are_a_matter_of_luck() -> None:
    held = [Claim.counted("", "", number, 8, slack=0.25).holds for number in range(9)]
    assert held == ["no"] * 3 + ["in part"] * 3 + ["yes"] * 3
    assert [Claim.counted("", "", number, 2).holds for number in range(3)] == ["no", "in part", "yes"]
