"""Imports go one way: a room may enter only the rooms below it (docs/architecture.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import covey

SOURCE = Path(covey.__file__).parent

FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"arrays", "cells", "compiled", "errors", "files", "option", "plain", "version"}),
    frozenset({"hierarchy", "schema", "measures", "summary", "samples", "doctor"}),
    frozenset({"study"}),
    frozenset({"table", "crypto", "anonymizers", "wire"}),
    frozenset({"secure", "sources"}),
    frozenset({"release"}),
    frozenset({"protocols", "check", "guess", "judge"}),
    frozenset({"report"}),
    frozenset({"party", "publish", "testing"}),
    frozenset({"bench"}),
    frozenset({"cli", "__main__"}),
)
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}

NEVER = {
    ("crypto", "wire"),
    ("protocols", "sources"),
    *(("judge", judged) for judged in ("anonymizers", "measures", "table", "crypto", "secure", "protocols")),
    ("wire", "anonymizers"),
    ("anonymizers", "wire"),
    ("crypto", "study"),
}


def imports() -> list[tuple[str, str, str]]:
    """Every import of ours as (file, its room, the room it enters); imports for type checkers count too."""
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        room = parts[0]
        if room == "__init__":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [f"covey.{a.name}" for a in node.names] if node.module == "covey" else [node.module]
            for name in names:
                steps = name.split(".")
                if steps[0] == "covey" and len(steps) > 1:
                    found.append(("/".join(parts), room, steps[1]))
    return found


def test_every_room_has_its_floor() -> None:
    rooms = {file.relative_to(SOURCE).with_suffix("").parts[0] for file in SOURCE.rglob("*.py")} - {"__init__"}
    assert rooms <= set(FLOOR), f"no floor for {sorted(rooms - set(FLOOR))}"


def test_no_room_enters_one_above_it() -> None:
    upward = [f"{file} imports covey.{to}" for file, room, to in imports() if FLOOR[to] > FLOOR[room]]
    assert not upward


def test_some_rooms_never_see_each_other() -> None:
    seen = [f"{file} imports covey.{to}" for file, room, to in imports() if (room, to) in NEVER]
    assert not seen


def test_pure_rooms_do_no_input_or_output() -> None:
    """crypto and the anonymizers are maths: no sockets, files, event loops or logs."""
    forbidden = {"asyncio", "logging", "socket", "ssl", "subprocess", "pathlib", "shutil", "tempfile"}
    seen = []
    for room in ("crypto", "anonymizers"):
        for file in sorted((SOURCE / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                modules = (
                    [alias.name for alias in node.names]
                    if isinstance(node, ast.Import)
                    else [node.module or ""]
                    if isinstance(node, ast.ImportFrom)
                    else []
                )
                seen += [f"{file.name} imports {name}" for name in modules if name.split(".")[0] in forbidden]
    assert not seen
