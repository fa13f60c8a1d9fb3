"""Prints the house: its rooms with their lines of code, who imports whom, and the walks of docs/architecture.md.

`make house`, or `python -m scripts.house [ROOM]` for the files of one room and their importers.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.unit.test_imports import FLOORS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "covey"
PAGE = ROOT / "docs" / "architecture.md"
STOP = re.compile(r"^\d+\. `([\w/]+\.py)`", re.MULTILINE)
GROUND = FLOORS[0] | FLOORS[1]
"""Rooms that every other may use; they are not listed."""
BODIES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Module:
    """One file: its path below the package, its lines of code, its purpose, and the modules that it imports."""

    path: str
    lines: int
    says: str
    imports: frozenset[str]

    @property
    def room(self) -> str:
        """The room that the module lies in."""
        return self.path.split("/")[0].removesuffix(".py")

    @property
    def name(self) -> str:
        """The name by which others import it, below `covey`."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def read(file: Path) -> Module:
    """Reads one file of the package."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    says = (ast.get_docstring(tree) or "").partition("\n")[0]
    names = {name for node in ast.walk(tree) for name in _imported(node)}
    return Module(file.relative_to(SOURCE).as_posix(), code_lines(text, tree), says, frozenset(names))


def code_lines(text: str, tree: ast.Module) -> int:
    """Counts lines without blank ones, comments and docstrings."""
    docs: set[int] = set()
    for node in ast.walk(tree):
        for child in node.body if isinstance(node, BODIES) else ():
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                docs |= set(range(child.lineno, (child.end_lineno or child.lineno) + 1))
    lines = (line.strip() for number, line in enumerate(text.splitlines(), 1) if number not in docs)
    return sum(bool(line) and not line.startswith("#") for line in lines)


def _imported(node: ast.AST) -> list[str]:
    """The names below `covey` that an import brings, with the modules that they may be in."""
    if isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    elif isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        names = []
    return [name.removeprefix("covey.") for name in names if name.startswith("covey.")]


def walks() -> dict[str, list[str]]:
    """The files of each walk on the page, by its heading."""
    sections = re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {section.partition("\n")[0]: stops for section in sections if (stops := STOP.findall(section))}


def print_rooms(modules: Sequence[Module]) -> None:
    """Prints each room on its floor, with the rooms that it imports and how many of its files do."""
    print(f"{'floor':>5}  {'room':<15}{'files':>6}{'lines':>8}   imports (files)")
    for floor in range(len(FLOORS) - 1, -1, -1):
        for room in sorted(FLOORS[floor]):
            files = [module for module in modules if module.room == room]
            used = [name for file in files for name in {name.split(".")[0] for name in file.imports} - {room}]
            uses = Counter(name for name in used if name not in GROUND)
            rooms = ", ".join(f"{name} {count}" for name, count in uses.most_common())
            print(f"{floor:>5}  {room:<15}{len(files):>6}{sum(file.lines for file in files):>8,}   {rooms}")
    print(f"{'':7}{'in all':<15}{len(modules):>6}{sum(module.lines for module in modules):>8,}")


def print_room(modules: Sequence[Module], room: str) -> None:
    """Prints the files of a room, and who imports each."""
    for module in modules:
        if module.room == room:
            importers = [user.path for user in modules if module.name in user.imports and user is not module]
            print(
                f"{module.lines:>6}  {module.path}: {module.says}\n        imported by {', '.join(importers) or 'none'}"
            )


def print_walks(modules: Sequence[Module]) -> None:
    """Prints the way of a row, file after file, with what each file does."""
    by_path = {module.path: module for module in modules}
    for heading, stops in walks().items():
        print(f"\n{heading.replace('`', '')}")
        for number, stop in enumerate(stops, 1):
            print(f"{number:>4}. {stop}, {by_path[stop].lines} lines: {by_path[stop].says}")


def main(arguments: Sequence[str]) -> None:
    """Prints the house, or one room of it."""
    modules = [read(file) for file in sorted(SOURCE.rglob("*.py"))]
    if arguments:
        print_room(modules, arguments[0])
    else:
        print_rooms(modules)
        print_walks(modules)


if __name__ == "__main__":
    main(sys.argv[1:])
