"""The history of a column's hierarchy: an edit can be undone, and what was undone can be done again.

The steps of each column lie among the notes of the workbench. They end where the column was changed in another way: by
hand, or with a partner's study.
"""

from __future__ import annotations

import tomllib
from contextlib import suppress
from pathlib import Path

import msgspec

from covey.errors import InputError
from covey.files import PRIVATE, write_atomically
from covey.study import Study
from covey.study.editing import set_keys, spelled
from covey.ui.workspace import Workspace, mark

_KEYS = ("hierarchy", "values", "type")
_MOST_STEPS, _MOST_BYTES = 50, 64 * 2**20


class State(msgspec.Struct, frozen=True):
    """A column's hierarchy at one moment: its keys in the study, and the files that these name."""

    keys: dict[str, str | None]
    files: dict[str, str]


class Step(msgspec.Struct, frozen=True):
    """A state, the edit that led to it, and the files that this edit made."""

    state: State
    edit: str
    made: list[str]


class History(msgspec.Struct, frozen=True):
    """The states of a column one after the other, and the one in which it is now."""

    steps: list[Step]
    now: int = 0

    @property
    def undo(self) -> str:
        """The edit that can be undone; empty if there is none."""
        return self.steps[self.now].edit if self.now else ""

    @property
    def redo(self) -> str:
        """The edit that was undone last; empty if there is none."""
        return self.steps[self.now + 1].edit if self.now + 1 < len(self.steps) else ""


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
    """The steps of a column; none where it is not in the state to which they led."""
    present = state_of(workspace, study, column)
    with suppress(OSError, msgspec.MsgspecError, IndexError):
        found = msgspec.json.decode(_notes(workspace, study, column).read_bytes(), type=History)
        if found.steps[found.now].state == present:
            return found
    return History([Step(present, "", [])])


def keep(workspace: Workspace, study: str, column: str, before: History, edit: str) -> None:
    """Keeps the step that an edit has made; what had been undone before is forgotten."""
    after, last = state_of(workspace, study, column), before.steps[before.now].state
    if after == last:
        return
    made = [name for name in after.files if name not in last.files]
    steps = [*before.steps[: before.now + 1], Step(after, edit, made)]
    while len(steps) > _MOST_STEPS or (len(steps) > 2 and sum(map(_size, steps)) > _MOST_BYTES):
        steps.pop(0)
    _write(workspace, study, column, History(steps, len(steps) - 1))


def walk(workspace: Workspace, study: str, column: str, by: int) -> None:
    """Puts the column into the state before (-1) or after (1) the present one. Raises InputError if there is none."""
    history = history_of(workspace, study, column)
    there = history.now + by
    if not 0 <= there < len(history.steps):
        raise InputError(f"there is nothing to {'undo' if by < 0 else 'do again'} in the hierarchy of {column!r}")
    place, text = workspace.study(study)
    now, then = history.steps[history.now].state, history.steps[there].state
    changes = {key: value for key, value in then.keys.items() if value != now.keys[key]}
    new = set_keys(text, ("columns", column), changes, study) if changes else text
    for name, content in then.files.items():
        write_atomically(_file(workspace, study, name), content.encode())
    parsed = Study.parse(new, place.parent)
    workspace.write_study(study, new, mark(text))
    for name in history.steps[history.now].made if by < 0 else ():
        if name not in parsed.files:
            _file(workspace, study, name).unlink(missing_ok=True)
    _write(workspace, study, column, History(history.steps, there))


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
