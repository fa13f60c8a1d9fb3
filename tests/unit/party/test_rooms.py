"""The rooms of the party import downward only: identity < record < session < audit, simulate, collection."""

from __future__ import annotations

import ast
from pathlib import Path

import covey.party

PARTY = Path(covey.party.__file__).parent
FLOOR = {"identity": 0, "record": 1, "session": 2, "audit": 3, "simulate": 3, "collection": 3}


def imports() -> list[tuple[str, str, str]]:
    """Every import of one room by another as (file, room, the room it enters); late imports count too."""
    found = []
    for file in sorted(PARTY.rglob("*.py")):
        room = file.relative_to(PARTY).parts[0]
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("covey.party"):
                steps = str(node.module).split(".")
                entered = [steps[2]] if len(steps) > 2 else [alias.name for alias in node.names]
                found += [(file.name, room, each) for each in entered if each != room]
    return found


def test_every_room_has_its_floor() -> None:
    assert {path.name for path in PARTY.iterdir() if (path / "__init__.py").exists()} == set(FLOOR)


def test_no_room_enters_one_beside_or_above_it() -> None:
    wrong = [f"{room}/{file} imports {to}" for file, room, to in imports() if FLOOR[to] >= FLOOR.get(room, 9)]
    assert not wrong
