"""Text that somebody else wrote, made fit for a terminal, a log, a TOML file or the name of a folder."""

from __future__ import annotations

import json
import re

STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that move a terminal's cursor, turn a line around, or cannot be written at all."""
UNSEEN = "\N{REPLACEMENT CHARACTER}"
"""Stands where a character was that would move the cursor, turn the line around, or cannot be written at all."""

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_SLUG = 56


def plain(text: str) -> str:
    """One line without control characters and marks of direction: a terminal shows it and does nothing else."""
    return STEERING.sub(UNSEEN, text)


def plain_lines(text: str) -> str:
    """Makes a text of several lines plain; its lines stay lines."""
    return "\n".join(plain(line.expandtabs(4)) for line in text.split("\n"))


def slug(text: str, otherwise: str) -> str:
    """The part of a text that may name a file: letters, digits, `_` and `-`, so no folder; else `otherwise`."""
    return _UNFIT.sub("-", text).strip("-_")[:_LONGEST_SLUG] or otherwise


def toml_string(text: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's, but for the one character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """A TOML key, in quotes where it needs them."""
    return toml_string(name) if not name or _UNFIT.search(name) else name
