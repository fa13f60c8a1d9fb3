"""Docstrings begin with a verb or a noun, so that a reader understands them at the first reading."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import covey
from covey.errors import InputError, counted, uncounted

SOURCE = Path(covey.__file__).parent
NEVER = {"How", "Of", "What", "When", "Where", "Whether", "Which", "Who", "Whoever", "Whom", "Whose", "Why"}


def first_words(source: str) -> list[str]:
    """The first word of every docstring in a source."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [ast.get_docstring(node) for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    return [text.split()[0].strip(",.:;") for text in found if text]


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)}: {word}"
        for path in sorted(SOURCE.rglob("*.py"))
        for word in first_words(path.read_text())
        if word in NEVER
    ]
    assert wrong == []


def test_a_question_is_noticed() -> None:
    assert first_words('def f():\n    """What it is."""\n') == ["What"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 rows have no key", "1 row has no key"),
        ("in 1 rows; 11 rows, 2.1 rows and k - 1 rows", "in 1 row; 11 rows, 2.1 rows and k - 1 rows"),
        ("1 records are in 1 classes", "1 record is in 1 class"),
        ("21 records, 1,001 records", "21 records, 1,001 records"),
    ],
)
def test_one_is_followed_by_the_singular(text: str, expected: str) -> None:
    assert counted(text) == str(InputError(text)) == expected


def test_sentences_that_differ_in_numbers_are_alike_without_them() -> None:
    for one in ("1 answers came", "1 records have 1 classes", "1 of 1 rows are in 1 passes"):
        spelled = {number: counted(one.replace("1", number)).replace(number, "#") for number in ("1", "8")}
        assert uncounted(spelled["1"]) == uncounted(spelled["8"])
