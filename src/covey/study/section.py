"""One table of a study file: typed reads that note what is wrong, with the line, and go on."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Mapping, Sequence

from covey.study.lines import Lines
from covey.study.rules import GONE


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
        where = ".".join(self._path)
        entry = (self._lines.of(*self._path, *keys), f"[{where}] {message}" if where else message)
        if entry not in self.problems:
            self.problems.append(entry)

    def problem_lines(self) -> list[str]:
        return [f"line {line}: {message}" for line, message in sorted(self.problems)]

    def allow(self, keys: Sequence[str]) -> None:
        """Refuses any other key, with its successor or the nearest allowed one as a suggestion."""
        for key in self._content:
            if key in keys:
                continue
            if key in GONE:
                self.problem(f"{key} {GONE[key]}", key)
            else:
                near = difflib.get_close_matches(key, keys, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(keys)}"
                self.problem(f"unknown key {key!r}{hint}", key)

    def section(
        self, key: str, keys: Sequence[str] | None = None, *, required: bool = False, again: bool = False
    ) -> Section:
        """The table below `key`, empty if it is not there; `again` re-opens it without judging it twice."""
        value = self._content.get(key, {})
        if not again and required and key not in self._content:
            self.problem(f"needs a [{'.'.join((*self._path, key))}] section")
        if not isinstance(value, dict):
            if not again:
                self.problem(f"{key} must be a table: [{'.'.join((*self._path, key))}]", key)
            value = {}
        below = Section(value, self._lines, (*self._path, key), self._root)
        if keys is not None and not again:
            below.allow(keys)
        return below

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
        near = difflib.get_close_matches(str(value), list(map(str, allowed)), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        self.problem(f"{key} must be one of {', '.join(allowed)}{hint}", key)
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
