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
    """The text with these keys of one section set to TOML values, or taken out. A missing section is added.

    A key that is there stays in its place, a new one comes first.

    Raises InputError where the text is written in a way that cannot be edited line by line.
    """
    lines = text.splitlines()
    assignments = {key: f"{toml_key(key)} = {value}" for key, value in changes.items() if value is not None}
    span = _section(lines, path)
    if span is None:
        head = ".".join(map(toml_key, path))
        edited = [*lines, "", f"[{head}]", *assignments.values()] if assignments else lines
    else:
        first, last = span
        unchanged = _changed(lines[first + 1 : last], changes, assignments)
        edited = [*lines[: first + 1], *assignments.values(), *unchanged, *lines[last:]]
    return _checked(text, "\n".join([*edited, ""]), path, set(changes), name)


def set_section(text: str, path: Path, section: Sequence[str], name: str = "the study") -> str:
    """The text with one section and the comment above it replaced, or added at the end."""
    lines = text.splitlines()
    span = _section(lines, path)
    if span is None:
        edited = [*lines, "", *section]
    else:
        first, last = span
        while first > 0 and lines[first - 1].startswith("#"):
            first -= 1
        while last > first and (not lines[last - 1].strip() or lines[last - 1].startswith("#")):
            last -= 1  # empty lines and the comment above the next section stay
        edited = [*lines[:first], *section, *lines[last:]]
    return _checked(text, "\n".join([*edited, ""]), path, None, name)


def spelled(value: object) -> str:
    """A value as a study file has it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(name)} = {spelled(content)}" for name, content in value.items()) + " }"
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
    heads = [number for number, line in enumerate(lines) if _head(line) is not None]
    first = next((number for number in heads if _head(lines[number]) == path), None)
    if first is None:
        return None
    return first, min((number for number in heads if number > first), default=len(lines))


def _head(line: str) -> Path | None:
    """The names of a section's head; None for any other line."""
    if not line.lstrip().startswith("["):
        return None
    try:
        content: object = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path = []
    while isinstance(content, dict) and len(content) == 1:
        name, content = next(iter(content.items()))
        path.append(name)
    return tuple(path) if content == {} else None


def _changed(lines: Sequence[str], keys: Collection[str], assignments: dict[str, str]) -> list[str]:
    """A section's lines, some keys with other lines, from `assignments`. Their values may go over several lines."""
    result: list[str] = []
    index = 0
    while index < len(lines):
        key = _key(lines[index])
        is_changed = key is not None and key in keys
        result += [lines[index]] if not is_changed else [assignments.pop(str(key))] if key in assignments else []
        index += _size(lines, index) if is_changed else 1
    return result


def _key(line: str) -> str | None:
    """The key that a line begins with. None for an empty line and for a comment."""
    left_side, equals, _ = line.partition("=")
    if not equals or left_side.lstrip().startswith("#"):
        return None
    try:
        content = tomllib.loads(f"{left_side} = 0")
    except tomllib.TOMLDecodeError:
        return None
    return next(iter(content))


def _size(lines: Sequence[str], start: int) -> int:
    """The number of lines of the value that begins there."""
    for end in range(start + 1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end - start
    return 1


def _checked(old: str, edited: str, path: Path, keys: set[str] | None, name: str) -> str:
    """The new text. Raises InputError if it changes anything but the section, or but these keys of it."""
    by_hand = f"{name}: [{'.'.join(path)}] cannot be changed here, as it is written in another way; edit the file"
    try:
        old_content, new_content = tomllib.loads(old), tomllib.loads(edited)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{by_hand} ({error})") from None
    for content in (old_content, new_content):
        _take_out(content, path, keys)
    if old_content != new_content:
        raise InputError(by_hand)
    return edited


def _take_out(content: dict[str, object], path: Path, keys: set[str] | None) -> None:
    """Takes a section out of a document, or some keys of it."""
    *ancestors, last = path
    table: object = content
    for part in ancestors:
        table = table.setdefault(part, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        return
    if keys is None:
        table.pop(last, None)
        return
    section = table.setdefault(last, {})
    for key in keys if isinstance(section, dict) else ():
        section.pop(key, None)
