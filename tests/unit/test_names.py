"""Names are nouns of the field: fewer pronouns, quantifiers, participles and adverbs as names, never more.

A ceiling is the number of such bindings in a room when it was last counted. Lower it when you rename; never raise it.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import covey

SOURCE = Path(covey.__file__).parent
ROOT = Path(__file__).parents[2]

LIST = """
    of to at by out off about above after again ago all alone along among another any apart around back before begun
    below both due each either else enough everyone everything far few fewer fewest fresh given gone here how inside
    joined just kept known lacking least left less listed lost made many me mine more most much named near needed new
    next none now nobody often once one only opened other others ours own owns place places rest said same seen sent
    shown some spent such taken that their theirs them then there these they this those thrown told together under upon
    wanted what when where which who whole whose why with within without wrong yes asked chosen drawn held found done
    dealt carried moved reached thing things way ways everywhere elsewhere somewhere"""
UNWELCOME = frozenset(LIST.split())

CEILINGS = {
    "bench": 284,
    "benchmarks": 144,
    "bounds": 1,
    "coarsening": 4,
    "crypto": 409,
    "doctor": 1,
    "errors": 1,
    "evaluation": 3,
    "guess": 2,
    "hierarchy": 1,
    "judge": 5,
    "mpc": 104,
    "party": 658,
    "protocols": 2307,
    "publish_large": 1,
    "report": 4,
    "samples": 1,
    "secure": 258,
    "steward": 2,
    "study": 1,
    "summary": 2,
    "table": 1,
    "ui": 8,
    "wire": 210,
}
"""Unwelcome bindings by room; a room that does not stand here has none."""


def bindings(source: str) -> list[str]:
    """The names that a module binds: assignments, loops, parameters."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
    return names


def unwelcome(source: str) -> list[str]:
    return [name for name in bindings(source) if name in UNWELCOME]


def rooms() -> dict[str, list[Path]]:
    """The modules of each room, and of the two folders beside the package."""
    folders: dict[str, list[Path]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        folders.setdefault(file.relative_to(SOURCE).parts[0].removesuffix(".py"), []).append(file)
    for folder in ("benchmarks", "scripts"):
        folders[folder] = sorted((ROOT / folder).rglob("*.py"))
    return folders


def test_no_room_has_more_unwelcome_names_than_its_ceiling() -> None:
    over = []
    for room, files in rooms().items():
        names = [(name, file) for file in files for name in unwelcome(file.read_text())]
        if len(names) > CEILINGS.get(room, 0):
            common = ", ".join(f"{name} ({file.name}) {n}" for (name, file), n in Counter(names).most_common(12))
            over.append(f"{room}: {len(names)} names, {CEILINGS.get(room, 0)} at most: {common}")
    assert not over, "rename to nouns of the field:\n" + "\n".join(over)


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "def f(own): ...",
        "for each in rows: ...",
        "[mine for mine in rows]",
        "lambda place: 0",
        "x, way = y",
    ],
)
def test_an_unwelcome_name_is_counted(source: str) -> None:
    assert len(unwelcome(source)) == 1
