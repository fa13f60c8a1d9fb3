"""Tests that the documentation names are there, under the names that it gives them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "page", ["docs/threat-model.md", "docs/trust.md", "docs/protocols/peel.md", "docs/cheating.md"]
)
def test_tests_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    files = set(re.findall(r"`(tests/[\w/]+\.\w+)`", text))
    assert files
    assert [each for each in sorted(files) if not (ROOT / each).is_file()] == []
    sources = "".join((ROOT / each).read_text() for each in files)
    names = set(re.findall(r"`(test_\w+)`", text))
    assert [name for name in sorted(names) if f"def {name}(" not in sources] == []
