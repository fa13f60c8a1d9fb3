"""The line of each key in a TOML text, so that a problem can name its line. Every line is read once, left to right."""

from __future__ import annotations

import tomllib

MOST_PARTS = 16
"""The most parts of a dotted key; a study needs three."""


class Lines:
    """The line of each key path; a path that does not stand in the text has its nearest ancestor's line."""

    def __init__(self, text: str) -> None:
        self._line: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        depth = 0
        for number, raw in enumerate(text.splitlines(), start=1):
            line = raw.strip()
            if depth == 0 and line.startswith("["):
                table, _ = _keys(line.lstrip("["), "]")
                self._record(table, number)
                continue
            if depth == 0 and line and not line.startswith("#"):
                keys, _ = _keys(line, "=")
                self._record((*table, *keys), number)
            depth = max(0, depth + _opened(line))

    def _record(self, path: tuple[str, ...], number: int) -> None:
        for end in range(1, min(len(path), 2 * MOST_PARTS) + 1):
            self._line.setdefault(path[:end], number)

    def of(self, *path: str) -> int:
        """The line of that path, or of its nearest ancestor."""
        for end in range(len(path), 0, -1):
            if path[:end] in self._line:
                return self._line[path[:end]]
        return 1


def longest_key(text: str) -> tuple[int, int]:
    """The most parts that a dotted key of the text has, and its line.

    A key of a million parts would make as many nested tables.
    """
    most, where = 0, 1
    for number, line in enumerate(text.splitlines(), start=1):
        parts = line.count(".") + 1 if "." in line else 1
        if parts > MOST_PARTS:
            _, parts = _keys(line.strip().lstrip("["), "]=")
        if parts > most:
            most, where = parts, number
    return most, where


def _keys(text: str, ends: str) -> tuple[tuple[str, ...], int]:
    """The first parts of a dotted key up to one of `ends`, and how many parts there are."""
    keys: list[str] = []
    at, parts = 0, 0
    while at < len(text):
        while at < len(text) and text[at] in " \t":
            at += 1
        key, at = _part(text, at)
        if key is None:
            break
        parts += 1
        if parts <= MOST_PARTS:
            keys.append(key)
        while at < len(text) and text[at] in " \t":
            at += 1
        if at >= len(text) or text[at] in ends or text[at] != ".":
            break
        at += 1
    return tuple(keys), parts


def _part(text: str, at: int) -> tuple[str | None, int]:
    """One part of a key, bare or quoted, and the place behind it; None where none begins."""
    quote = text[at : at + 1]
    if quote not in ("'", '"') or not quote:
        end = at
        while end < len(text) and (text[end].isalnum() or text[end] in "_-"):
            end += 1
        return (text[at:end], end) if end > at else (None, at)
    end = at + 1
    while end < len(text) and text[end] != quote:
        end += 2 if quote == '"' and text[end] == "\\" else 1
    inside = text[at + 1 : end]
    return (_unescaped(inside) if quote == '"' else inside), end + 1


def _unescaped(basic: str) -> str:
    try:
        return str(tomllib.loads(f'x = "{basic}"')["x"])
    except tomllib.TOMLDecodeError:
        return basic


def _opened(line: str) -> int:
    """The number of brackets that a line leaves open, strings and comments aside (studies have no long ones)."""
    depth, quote = 0, ""
    for character in line:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "#":
            break
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
    return depth
