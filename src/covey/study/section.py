"""One table of a study file: typed reads that note what is wrong, with the line of the key, and go on.

Every line of the TOML text is read once, left to right, so that a problem can name its line.
"""

from __future__ import annotations

import difflib
import math
import sys
import tomllib
from collections.abc import Mapping, Sequence

from covey.study.gone import successor

MOST_PARTS = 16
"""The most parts of a dotted key; a study needs three."""


class Lines:
    """The line of each key path. A path that does not stand in the text has its nearest ancestor's line."""

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
    maximum, line_number = 0, 1
    for number, line in enumerate(text.splitlines(), start=1):
        parts = line.count(".") + 1 if "." in line else 1
        if parts > MOST_PARTS:
            _, parts = _keys(line.strip().lstrip("["), "]=")
        if parts > maximum:
            maximum, line_number = parts, number
    return maximum, line_number


def _keys(text: str, ends: str) -> tuple[tuple[str, ...], int]:
    """The parts of a dotted key up to one of `ends`, and their number."""
    keys: list[str] = []
    position, parts = 0, 0
    while position < len(text):
        while position < len(text) and text[position] in " \t":
            position += 1
        key, position = _part(text, position)
        if key is None:
            break
        parts += 1
        if parts <= MOST_PARTS:
            keys.append(key)
        while position < len(text) and text[position] in " \t":
            position += 1
        if position >= len(text) or text[position] in ends or text[position] != ".":
            break
        position += 1
    return tuple(keys), parts


def _part(text: str, position: int) -> tuple[str | None, int]:
    """One part of a key, bare or quoted, and the place behind it. None where none begins."""
    quote = text[position : position + 1]
    if quote not in ("'", '"') or not quote:
        end = position
        while end < len(text) and (text[end].isalnum() or text[end] in "_-"):
            end += 1
        return (text[position:end], end) if end > position else (None, position)
    end = position + 1
    while end < len(text) and text[end] != quote:
        end += 2 if quote == '"' and text[end] == "\\" else 1
    content = text[position + 1 : end]
    return (_unescaped(content) if quote == '"' else content), end + 1


def _unescaped(basic: str) -> str:
    try:
        return str(tomllib.loads(f'x = "{basic}"')["x"])
    except tomllib.TOMLDecodeError:
        return basic


def _opened(line: str) -> int:
    """The number of brackets that a line leaves open, outside strings and comments."""
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


class Section:
    """A view of one table; problems are collected at the root and shown together."""

    def __init__(
        self, content: Mapping[str, object], lines: Lines, path: tuple[str, ...] = (), root: Section | None = None
    ) -> None:
        self._content, self._lines, self._path = content, lines, path
        self.problems: list[tuple[int, str]] = [] if root is None else root.problems
        self._root = self if root is None else root

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def names(self) -> tuple[str, ...]:
        return tuple(self._content)

    def raw(self, key: str) -> object:
        return self._content.get(key)

    def problem(self, message: str, *keys: str) -> None:
        """Note a problem; it is shown with the line of the key."""
        path = ".".join(self._path)
        entry = (self._lines.of(*self._path, *keys), f"[{path}] {message}" if path else message)
        if entry not in self.problems:
            self.problems.append(entry)

    def problem_lines(self) -> list[str]:
        return [f"line {line}: {message}" for line, message in sorted(self.problems)]

    def allow(self, keys: Sequence[str]) -> None:
        """Refuses any other key, with its successor or the nearest allowed one as a suggestion."""
        for key in self._content:
            if key in keys:
                continue
            sentence = self.successor(key)
            if sentence is not None:
                self.problem(sentence, key)
            else:
                similar = difflib.get_close_matches(key, keys, n=1)
                hint = f"; did you mean {similar[0]!r}?" if similar else f"; known are {', '.join(keys)}"
                self.problem(f"unknown key {key!r}{hint}", key)

    def successor(self, name: str) -> str | None:
        """The sentence on what replaces a key, or `key=value`, that is gone; None for others."""
        section = self._path[0] if self._path else ""
        study = self._root.raw("study")
        protocol = study.get("protocol", "peel") if isinstance(study, dict) else "peel"
        return successor(str(protocol) if section == "protocol" else section, name)

    def section(
        self, key: str, keys: Sequence[str] | None = None, *, required: bool = False, repeated: bool = False
    ) -> Section:
        """The table below `key`, empty if it is not there. `repeated` re-opens it without judging it twice."""
        value = self._content.get(key, {})
        if not repeated and required and key not in self._content:
            self.problem(f"needs a [{'.'.join((*self._path, key))}] section")
        if not isinstance(value, dict):
            if not repeated:
                self.problem(f"{key} must be a table: [{'.'.join((*self._path, key))}]", key)
            value = {}
        subsection = Section(value, self._lines, (*self._path, key), self._root)
        if keys is not None and not repeated:
            subsection.allow(keys)
        return subsection

    def text(self, key: str) -> str | None:
        value = self._content.get(key)
        if value is None or isinstance(value, str):
            return value
        self.problem(f'{key} must be a text in quotes: {key} = "…"', key)
        return None

    def texts(self, key: str) -> tuple[str, ...] | None:
        value = self._content.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            self.problem(f'{key} must be a list of texts: {key} = ["…", "…"]', key)
            return None
        if len(set(value)) != len(value):
            self.problem(f"{key} names something twice", key)
        return tuple(value)

    def flag(self, key: str) -> bool | None:
        value = self._content.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.problem(f"{key} must be true or false", key)
        return None

    def choice(self, key: str, allowed: Sequence[str]) -> str | None:
        value = self._content.get(key)
        if value is None:
            return None
        if isinstance(value, str) and value in allowed:
            return value
        similar = difflib.get_close_matches(str(value), list(map(str, allowed)), n=1)
        hint = f"; did you mean {similar[0]!r}?" if similar else ""
        self.problem(self.successor(f"{key}={value}") or f"{key} must be one of {', '.join(allowed)}{hint}", key)
        return None

    def whole(self, key: str, *, low: int) -> int | None:
        value = self._content.get(key)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and low <= value < 2**31:
            return value
        self.problem(f"{key} must be a whole number of {low} or more", key)
        return None

    def number(self, key: str, *, low: float, high: float = math.inf) -> float | None:
        value = self._content.get(key)
        if value is None:
            return None
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and abs(value) <= sys.float_info.max  # no whole number beyond, no infinity, no nan
            and low <= value <= high
        ):
            return value
        bounds = f"{low} or more" if high == math.inf else f"from {low} to {high}"
        self.problem(f"{key} must be a finite number {bounds}", key)
        return None
