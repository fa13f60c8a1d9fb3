"""Text that somebody else wrote, made fit for a terminal, a log, a TOML file or the name of a folder."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from html import escape

STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that move a terminal's cursor, turn a line around, or cannot be written at all."""
UNSEEN = "\N{REPLACEMENT CHARACTER}"
"""Stands where a character was that would move the cursor, turn the line around, or cannot be written at all."""

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_SLUG = 56
_NARROWEST = 4


def plain(text: str) -> str:
    """One line without control characters and marks of direction, which a terminal just shows."""
    return STEERING.sub(UNSEEN, text)


def plain_lines(text: str) -> str:
    """Makes a text of several lines plain; its lines stay lines."""
    return "\n".join(plain(line.expandtabs(4)) for line in text.split("\n"))


def plural(number: int, singular: str, plural_form: str | None = None) -> str:
    """`1 row`, `3,000 rows`."""
    return f"{number:,} {singular if number == 1 else plural_form or singular + 's'}"


def some(number: int, singular: str, plural_form: str | None = None) -> str:
    """`no row`, `1 row`, `3,000 rows`."""
    return plural(number, singular, plural_form) if number else f"no {singular}"


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: north, south and east."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def wrapped(text: str, width: int, indent: str = "", hanging: str | None = None) -> str:
    """A paragraph in lines of that width; `hanging` begins every line but the first."""
    return textwrap.fill(
        plain(text), max(width, 20), initial_indent=indent, subsequent_indent=indent if hanging is None else hanging,
        break_on_hyphens=False,
    )  # fmt: skip


def grid(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, indent: str = "") -> list[str]:
    """A table in lines of that width. Long cells are cut, and surplus columns left out."""
    table = [[plain(cell) for cell in row] for row in (headings, *rows)]
    room = [max(map(len, column)) for column in zip(*table, strict=True)]
    free = max(width, 20) - len(indent)
    while sum(room) + 2 * (len(room) - 1) > free and max(room) > _NARROWEST:
        room[room.index(max(room))] -= 1
    while sum(room) + 2 * (len(room) - 1) > free:
        room.pop()
    cut = [[cell if len(cell) <= size else cell[: size - 1] + "…" for cell, size in zip(row, room)] for row in table]  # noqa: B905
    return [indent + "  ".join(cell.ljust(size) for cell, size in zip(row, room, strict=True)).rstrip() for row in cut]


def slug(text: str, otherwise: str) -> str:
    """The part of a text that may name a file, or `otherwise`."""
    return _UNFIT.sub("-", text).strip("-_")[:_LONGEST_SLUG] or otherwise


def toml_string(text: str) -> str:
    """A TOML basic string. JSON's escapes are TOML's, but for the one character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """A TOML key, in quotes where it needs them."""
    return toml_string(name) if not name or _UNFIT.search(name) else name


class Shown:
    """A result that shows its figures in one line, or in a notebook's table."""

    __slots__ = ()

    def _shown(self) -> Iterator[tuple[str, str]]:
        """The figures, each with its name."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name} {value}' for name, value in self._shown())})"

    def _repr_html_(self) -> str:
        """A notebook's view; texts are escaped."""
        figures = "".join(f"<td><b>{escape(name)}</b> {escape(value)}</td>" for name, value in self._shown())
        return f"<table><tr>{figures}</tr></table>"
