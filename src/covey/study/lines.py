"""Where in a TOML text each key stands, so that a problem can name its line."""

from __future__ import annotations

import re
import tomllib

_HEADER = re.compile(r"\s*\[{1,2}\s*(?P<path>[^\[\]]+?)\s*\]{1,2}\s*(#.*)?")
_BARE_OR_QUOTED = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(\.|=|$)""")


class Lines:
    """The line of each key path; a path that does not stand in the text has its nearest ancestor's line."""

    def __init__(self, text: str) -> None:
        self._line: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        depth = 0
        for number, line in enumerate(text.splitlines(), start=1):
            if depth == 0 and (header := _HEADER.fullmatch(line)):
                table = _keys(header["path"] + "=")
                self._record(table, number)
            elif depth == 0 and "=" in line and not line.lstrip().startswith("#"):
                self._record((*table, *_keys(line)), number)
            depth = max(0, depth + _opened(line))

    def _record(self, path: tuple[str, ...], number: int) -> None:
        for end in range(1, len(path) + 1):
            self._line.setdefault(path[:end], number)

    def of(self, *path: str) -> int:
        for end in range(len(path), 0, -1):
            if path[:end] in self._line:
                return self._line[path[:end]]
        return 1


def _keys(text: str) -> tuple[str, ...]:
    keys: list[str] = []
    at = 0
    while match := _BARE_OR_QUOTED.match(text, at):
        basic, literal, bare = match[1], match[2], match[3]
        keys.append(_unescaped(basic) if basic is not None else literal if literal is not None else bare)
        at = match.end()
        if match[4] != ".":
            break
    return tuple(keys)


def _unescaped(basic: str) -> str:
    try:
        return str(tomllib.loads(f'x = "{basic}"')["x"])
    except tomllib.TOMLDecodeError:
        return basic


def _opened(line: str) -> int:
    """How many brackets a line leaves open, strings and comments aside (multi-line strings are not used in studies)."""
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
