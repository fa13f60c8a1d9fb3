"""Sizes are read as people write them, and spelled as they read them."""

from __future__ import annotations

import pytest

from covey import sizes


@pytest.mark.parametrize(
    ("text", "size"),
    [("512MB", 512 * 10**6), ("16 gb", 16 * 10**9), ("3kB", 3000), ("1TB", 10**12), ("0", 0), ("0MB", 0)],
)
def test_a_size_is_read(text: str, size: int) -> None:
    assert sizes.read(text) == size


@pytest.mark.parametrize("text", ["", "512", "-1MB", "1.5GB", "MB", "all", "1GiB", "9999999999MB"])
def test_anything_else_is_no_size(text: str) -> None:
    assert sizes.read(text) is None


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (145_234, "145.2 kB"), (4 * 10**9, "4 GB"), (1.5e13, "15 TB")],
)
def test_a_size_is_spelled(size: float, text: str) -> None:
    assert sizes.spell(size) == text
