"""Edits of a study file's text: single keys and whole sections, with everything else left as it stands.

After each edit the text is read again: what was not to be changed must say what it said before.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from datetime import date, time
from decimal import Decimal

from covey.errors import InputError
from covey.plain import toml_key, toml_string

Path = tuple[str, ...]


def set_keys(text: str, path: Path, changes: Mapping[str, str | None], name: str = "the study") -> str:
    """The text with these keys of one section set to TOML values, or taken out; a missing section is added.

    A key that is there stays in its place, a new one comes first.

    Raises InputError where the text is written in a way that cannot be edited line by line.
    """
    lines = text.splitlines()
    said = {key: f"{toml_key(key)} = {value}" for key, value in changes.items() if value is not None}
    place = _section(lines, path)
    if place is None:
        head = ".".join(map(toml_key, path))
        new = [*lines, "", f"[{head}]", *said.values()] if said else lines
    else:
        first, last = place
        kept = _changed(lines[first + 1 : last], changes, said)
        new = [*lines[: first + 1], *said.values(), *kept, *lines[last:]]
    return _checked(text, "\n".join([*new, ""]), path, set(changes), name)


def set_section(text: str, path: Path, section: Sequence[str], name: str = "the study") -> str:
    """The text with one section, and the comment above it, replaced by these lines or added at the end."""
    lines = text.splitlines()
    place = _section(lines, path)
    if place is None:
        new = [*lines, "", *section]
    else:
        first, last = place
        while first > 0 and lines[first - 1].startswith("#"):
            first -= 1
        while last > first and (not lines[last - 1].strip() or lines[last - 1].startswith("#")):
            last -= 1  # empty lines and the comment above the next section stay
        new = [*lines[:first], *section, *lines[last:]]
    return _checked(text, "\n".join([*new, ""]), path, None, name)


def spelled(value: object) -> str:
    """A value as a study file has it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(name)} = {spelled(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(spelled, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, int | float | Decimal | date | time):
        return value.isoformat() if isinstance(value, date | time) else str(value)
    raise InputError(f"a value of type {type(value).__name__} has no place in a study: give texts, numbers or lists")


def _section(lines: Sequence[str], path: Path) -> tuple[int, int] | None:
    """The line of a section's head, and the line at which the next one begins."""
    heads = [place for place, line in enumerate(lines) if _head(line) is not None]
    first = next((place for place in heads if _head(lines[place]) == path), None)
    if first is None:
        return None
    return first, min((place for place in heads if place > first), default=len(lines))


def _head(line: str) -> Path | None:
    """The names of a section's head; None for any other line."""
    if not line.lstrip().startswith("["):
        return None
    try:
        found: object = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path = []
    while isinstance(found, dict) and len(found) == 1:
        name, found = next(iter(found.items()))
        path.append(name)
    return tuple(path) if found == {} else None


def _changed(lines: Sequence[str], keys: Collection[str], said: dict[str, str]) -> list[str]:
    """A section's lines with other ones, taken from `said`, for some keys, whose values may go over several lines."""
    kept: list[str] = []
    place = 0
    while place < len(lines):
        key = _key(lines[place])
        found = key is not None and key in keys
        kept += [lines[place]] if not found else [said.pop(str(key))] if key in said else []
        place += _size(lines, place) if found else 1
    return kept


def _key(line: str) -> str | None:
    """The key that a line begins with; None for an empty line and for a comment."""
    before, equals, _ = line.partition("=")
    if not equals or before.lstrip().startswith("#"):
        return None
    try:
        found = tomllib.loads(f"{before} = 0")
    except tomllib.TOMLDecodeError:
        return None
    return next(iter(found))


def _size(lines: Sequence[str], place: int) -> int:
    """The number of lines of the value that begins there."""
    for end in range(place + 1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[place:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end - place
    return 1


def _checked(old: str, new: str, path: Path, keys: set[str] | None, name: str) -> str:
    """The new text. Raises InputError if it changes anything but the section, or but these keys of it."""
    by_hand = f"{name}: [{'.'.join(path)}] cannot be changed here, as it is written in another way; edit the file"
    try:
        before, after = tomllib.loads(old), tomllib.loads(new)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{by_hand} ({error})") from None
    for content in (before, after):
        _take_out(content, path, keys)
    if before != after:
        raise InputError(by_hand)
    return new


def _take_out(content: dict[str, object], path: Path, keys: set[str] | None) -> None:
    """Takes a section out of a document, or some keys of it."""
    *above, last = path
    here: object = content
    for part in above:
        here = here.setdefault(part, {}) if isinstance(here, dict) else {}
    if not isinstance(here, dict):
        return
    if keys is None:
        here.pop(last, None)
        return
    section = here.setdefault(last, {})
    for key in keys if isinstance(section, dict) else ():
        section.pop(key, None)
