"""Hierarchy files made to fill the memory: each is refused in a sentence that names the limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from covey.errors import InputError
from covey.hierarchy import parse, read

pytestmark = pytest.mark.timeout(60)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"".join(b"%d;*\n" % leaf for leaf in range(1_000_001)), r"line 1000001: .* at most 1,000,000 leaves"),
        (b"a;*\n" * 10_000_000, "at most 1,000,000 leaves"),
        (b"a;" * 3_000_000 + b"*\n", r"line 1: is longer than 1,048,576 characters"),
        (b"a;" * 400_000 + b"*\n", r"line 1: .* at most 100 levels"),
        ((b"a;" * 99 + b"*\n") * 100_001, r"line 100001: .* at most 10,000,000 labels"),
        (b"a" * 500_000 + b";*\n", "field larger than field limit"),
        (b'"' + b"a;*\n" * 100_000, "line"),
    ],
    ids=["leaves", "lines", "one-line", "levels", "labels", "label", "quote"],
)
def test_it_is_refused_with_its_line_and_the_limit(content: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse(content, "tree.csv")


def test_a_pipe_and_a_device_are_no_hierarchies(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="is no file"):
            read(path)
