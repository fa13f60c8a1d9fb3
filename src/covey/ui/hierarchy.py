"""A column's hierarchy in the study: made from a wizard's few fields, and the history of its edits.

The steps of each column lie among the notes of the workbench. They end where the column was changed in another way: by
hand, or with a partner's study."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path

import msgspec

from covey.errors import InputError
from covey.files import PRIVATE, write_atomically
from covey.study import Study
from covey.study.editing import set_keys, spelled
from covey.ui.workspace import Workspace, mark

UNITS = ("month", "quarter", "year", "half-decade", "decade")


def fields_of(spec: object) -> dict[str, str]:
    """The fields of the wizard that would make a hierarchy."""
    if not isinstance(spec, dict):
        return {}
    fields = {name: str(value).lower() for name, value in spec.items() if not isinstance(value, list)}
    for name, field in (("steps", "steps"), ("prefix", "lengths")):
        if name in spec:
            fields[field] = " ".join(map(str, spec[name]))
    return fields | {f"unit-{unit}": "yes" for unit in spec.get("date", ())}


def with_hierarchy(text: str, name: str, spec: str, path: str) -> str:
    """The study's text with another hierarchy of a column."""
    typed = '"text"' if spec.startswith("{ prefix") else None
    changes: dict[str, str | None] = {"hierarchy": spec}
    if typed is not None and "type" in tomllib.loads(text)["columns"][name]:
        changes["type"] = typed
    return set_keys(text, ("columns", name), changes, path)


def line_of(kind: str, field: Callable[[str], str]) -> str:
    """The hierarchy that a wizard's fields describe, as the study has it."""
    if kind == "numbers":
        parts = [
            f"{name} = {_number(field(name), name)}" for name in ("min", "max", "bottom", "top", "unit") if field(name)
        ]
        parts = [f"age_on = {_day(field('age_on'), 'age_on')}", *parts] if field("age_on") else parts
        steps = ", ".join(_number(step, "steps") for step in field("steps").replace(",", " ").split())
        rounding = ["round = true"] if field("round") else []
        return "{ " + ", ".join([*parts, f"steps = [{steps}]", *rounding]) + " }"
    if kind == "dates":
        units = [f'"{unit}"' for unit in UNITS if field(f"unit-{unit}")]
        ends = [f"{name} = {_day(field(name), name)}" for name in ("min", "max")]
        return "{ date = [" + ", ".join(units) + "], " + ", ".join(ends) + " }"
    if kind == "prefix":
        lengths = [_number(length, "lengths") for length in field("lengths").replace(",", " ").split()]
        return "{ prefix = [" + ", ".join(lengths) + "] }"
    if kind == "flat":
        return '"flat"'
    raise InputError("choose one of the ways to make a hierarchy")


def _number(text: str, name: str) -> str:
    try:
        float(text)
    except ValueError:
        raise InputError(f"{name}: {text!r} is no number") from None
    return text.strip()


def _day(text: str, name: str) -> str:
    try:
        return date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        raise InputError(f"{name}: write a day as 2024-12-31") from None


_KEYS = ("hierarchy", "values", "type")
_MOST_STEPS, _MOST_BYTES = 50, 64 * 2**20


class State(msgspec.Struct, frozen=True):
    """A column's hierarchy at one moment: its keys in the study, and their files."""

    keys: dict[str, str | None]
    files: dict[str, str]


class Step(msgspec.Struct, frozen=True):
    """A state, the edit that led to it, and the files that this edit made."""

    state: State
    edit: str
    files: list[str]


class History(msgspec.Struct, frozen=True):
    """The states of a column one after the other, and the present one."""

    steps: list[Step]
    position: int = 0

    @property
    def undo(self) -> str:
        """The edit that can be undone; empty if there is none."""
        return self.steps[self.position].edit if self.position else ""

    @property
    def redo(self) -> str:
        """The edit that was undone last; empty if there is none."""
        return self.steps[self.position + 1].edit if self.position + 1 < len(self.steps) else ""


def state_of(workspace: Workspace, study: str, column: str) -> State:
    """The column as the study and its files have it now. Raises InputError if there is no such study."""
    _, text = workspace.study(study)
    section: dict[str, object] = {}
    with suppress(tomllib.TOMLDecodeError, KeyError):
        section = tomllib.loads(text)["columns"][column]
    files = {}
    for key in _KEYS[:2]:
        name = section.get(key)
        with suppress(InputError, OSError, UnicodeDecodeError):
            if isinstance(name, str) and (file := _file(workspace, study, name)).is_file():
                files[name] = file.read_bytes().decode()
    return State({key: spelled(section[key]) if key in section else None for key in _KEYS}, files)


def history_of(workspace: Workspace, study: str, column: str) -> History:
    """The steps of a column; none if it was changed in another way since."""
    present = state_of(workspace, study, column)
    with suppress(OSError, msgspec.MsgspecError, IndexError):
        history = msgspec.json.decode(_notes(workspace, study, column).read_bytes(), type=History)
        if history.steps[history.position].state == present:
            return history
    return History([Step(present, "", [])])


def keep(workspace: Workspace, study: str, column: str, previous: History, edit: str) -> None:
    """Keeps the step that an edit has made; what had been undone before is forgotten."""
    state, last = state_of(workspace, study, column), previous.steps[previous.position].state
    if state == last:
        return
    new_files = [name for name in state.files if name not in last.files]
    steps = [*previous.steps[: previous.position + 1], Step(state, edit, new_files)]
    while len(steps) > _MOST_STEPS or (len(steps) > 2 and sum(map(_size, steps)) > _MOST_BYTES):
        steps.pop(0)
    _write(workspace, study, column, History(steps, len(steps) - 1))


def walk(workspace: Workspace, study: str, column: str, step: int) -> None:
    """Puts the column into the state before (-1) or after (1) the present one. Raises InputError if there is none."""
    history = history_of(workspace, study, column)
    position = history.position + step
    if not 0 <= position < len(history.steps):
        raise InputError(f"there is nothing to {'undo' if step < 0 else 'do again'} in the hierarchy of {column!r}")
    file, text = workspace.study(study)
    current, target = history.steps[history.position].state, history.steps[position].state
    changes = {key: value for key, value in target.keys.items() if value != current.keys[key]}
    edited = set_keys(text, ("columns", column), changes, study) if changes else text
    for name, content in target.files.items():
        write_atomically(_file(workspace, study, name), content.encode())
    parsed = Study.parse(edited, file.parent)
    workspace.write_study(study, edited, mark(text))
    for name in history.steps[history.position].files if step < 0 else ():
        if name not in parsed.files:
            _file(workspace, study, name).unlink(missing_ok=True)
    _write(workspace, study, column, History(history.steps, position))


def _write(workspace: Workspace, study: str, column: str, history: History) -> None:
    write_atomically(_notes(workspace, study, column), msgspec.json.encode(history), PRIVATE)


def _file(workspace: Workspace, study: str, name: str) -> Path:
    """A file of a study, which must lie in the folder of the workbench."""
    return workspace.path(workspace.relative(workspace.path(study).parent / name))


def _notes(workspace: Workspace, study: str, column: str) -> Path:
    folder = workspace.notes / "history"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{mark(f'{study} {column}')}.json"


def _size(step: Step) -> int:
    return sum(map(len, step.state.files.values()))
