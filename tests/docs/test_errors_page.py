"""The sentences that the page of errors explains are sentences that Covey says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import covey

ONE_WORKER = "what Covey says is read once"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"


def quoted() -> list[str]:
    """The pieces of the quoted sentences, cut where they leave something out."""
    pieces = []
    for line in PAGE.read_text("utf-8").splitlines():
        first = line.split("|")[1] if line.startswith("| `") else ""
        for sentence in re.findall(r"`([^`]+)`", first):
            pieces += [piece.strip() for piece in re.split("…|hierarchy", sentence) if len(piece.strip()) >= 8]
    return pieces


def said() -> Iterator[str]:
    """Every string of the package, with a gap where a value is put in."""
    for file in Path(covey.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@cache
def everything_said() -> str:
    return "\n".join(said())


@pytest.mark.parametrize("piece", quoted())
def test_an_explained_sentence_is_one_that_is_said(piece: str) -> None:
    assert piece in everything_said()
