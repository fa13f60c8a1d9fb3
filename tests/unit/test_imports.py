"""Imports go one way: a room may enter only rooms on floors below its own (docs/architecture.md).

Late imports and imports for type checkers count like any other. Each rule is tried on the tree as it is, and on a tree
with a planted violation, so that a rule that finds nothing is known to look.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import covey

ONE_WORKER = "it keeps what each module imports"
SOURCE = Path(covey.__file__).parent
ARCHITECTURE = Path(__file__).parents[2] / "docs" / "architecture.md"

Tree = Mapping[str, str]
"""Each module's source, by its path below src/covey without its ending."""

FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "sizes"}),
    frozenset({"addresses", "arrays", "bounds", "cells", "compiled", "option", "plain", "version"}),
    frozenset({"crypto", "doctor", "files", "hierarchy", "samples"}),
    frozenset({"measures", "schema", "sources", "summary", "wire"}),
    frozenset({"mpc", "secure", "study"}),
    frozenset({"coarsening", "judge", "table"}),
    frozenset({"anonymizers", "counting", "evaluation", "fitness"}),
    frozenset({"guess", "protocols", "release", "report"}),
    frozenset({"party", "publish"}),
    frozenset({"bench", "publish_large", "steward"}),
    frozenset({"ui"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}

NEVER = {
    ("protocols", "sources"): "a protocol sees no file",
    **{
        ("judge", judged): "a judge must not share a mistake with the judged"
        for judged in ("anonymizers", "measures", "table", "crypto", "secure", "protocols")
    },
}
SUBROOMS = {
    "party": (
        frozenset({"identity"}),
        frozenset({"record"}),
        frozenset({"session"}),
        frozenset({"audit", "collection", "simulate"}),
    ),
}
"""Floors within a room; files beside the folders are below all of them."""

FORBIDDEN = {
    "crypto": "asyncio logging socket ssl subprocess pathlib shutil tempfile time datetime",
    "anonymizers": "asyncio logging socket ssl subprocess pathlib shutil tempfile datetime",
    "mpc": "logging os pathlib shutil socket ssl subprocess tempfile time datetime io",
    "secure": "logging os pathlib shutil socket ssl subprocess tempfile time datetime io",
    "protocols": "logging os pathlib shutil socket ssl subprocess tempfile time datetime io",
}
"""Modules that a pure room does not import: files, sockets, clocks, logs."""
EXEMPT = {("secure/workers", "subprocess")}
"""Worker processes that compute beside a role; they are given no file, socket or clock."""

DYNAMIC = {
    "__init__": "public names are loaded when they are first used",
    "anonymizers/__init__": "an algorithm is loaded when it is used",
    "bench/papers/__init__": "an experiment is loaded when it is used",
    "doctor": "asks if libraries can be loaded",
    "secure/workers": "a worker loads the function that it is told to run",
    "study/requirements": "a protocol is found by its folder",
}
"""Modules that import by a computed name, and why."""


def read_tree() -> dict[str, str]:
    return {
        file.relative_to(SOURCE).with_suffix("").as_posix(): file.read_text() for file in sorted(SOURCE.rglob("*.py"))
    }


@cache
def imported(source: str) -> tuple[str, ...]:
    """The dotted names of all modules that a source imports, anywhere in it."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(found)


def ours(tree: Tree) -> Iterator[tuple[str, list[str]]]:
    """Every import of ours: the importing module, and the path below `covey` of what it imports."""
    for module, source in tree.items():
        for name in imported(source):
            path = name.split(".")
            if path[0] == "covey" and len(path) > 1:
                yield module, path[1:]


def upward_or_level(tree: Tree) -> list[str]:
    """Imports of a room on the same floor or above."""
    found = set()
    for module, path in ours(tree):
        room = module.split("/")[0]
        if room not in ("__init__", path[0]) and path[0] in FLOOR and FLOOR[path[0]] >= FLOOR[room]:
            found.add(f"{module} imports covey.{path[0]}")
    return sorted(found)


def strangers(tree: Tree) -> list[str]:
    """Imports between rooms that never meet."""
    pairs = {(module, (module.split("/")[0], path[0])) for module, path in ours(tree)}
    return sorted(f"{module} imports covey.{pair[1]}: {NEVER[pair]}" for module, pair in pairs if pair in NEVER)


def siblings(tree: Tree) -> list[str]:
    """Imports of one protocol by another but a form of its own, and imports of a protocol by what protocols share."""
    protocols = {_protocol(module.split("/")) for module in tree if module.startswith("protocols/")} - {"shared", ""}
    found = set()
    for module, path in ours(tree):
        parts, other = module.split("/"), _protocol([*path, ""])
        inside = parts[0] == path[0] == "protocols" and module != "protocols/__init__"
        here = _protocol(parts)
        if inside and other in protocols and here != other and not here.startswith(f"{other}_"):
            found.add(f"{module} imports covey.protocols.{other}")
    return sorted(found)


def _protocol(path: list[str]) -> str:
    """The folder of a protocol in which a module of the room lies; nothing for one beside the folders."""
    inner = path[2:] if path[1:2] == ["as_printed"] else path[1:]
    return inner[0] if len(inner) > 1 else ""


def upward_within(tree: Tree) -> list[str]:
    """Imports within a room of a folder on the same floor or above."""
    found = set()
    for module, path in ours(tree):
        parts = module.split("/")
        if parts[0] != path[0] or path[0] not in SUBROOMS or len(path) < 2:
            continue
        floor = {name: height for height, names in enumerate(SUBROOMS[path[0]], 1) for name in names}
        own = floor.get(parts[1], 0)
        if parts[1] != path[1] and floor.get(path[1], 0) >= max(own, 1):
            found.add(f"{module} imports covey.{path[0]}.{path[1]}")
    return sorted(found)


def impure(tree: Tree) -> list[str]:
    """Modules of pure rooms that reach for a file, a socket, a clock or a log."""
    found = set()
    for module, source in tree.items():
        forbidden = FORBIDDEN.get(module.split("/")[0], "").split()
        names = {name.split(".")[0] for name in imported(source)}
        found |= {f"{module} imports {name}" for name in names if name in forbidden and (module, name) not in EXEMPT}
        if forbidden and re.search(r"(?<![\w.])open\(", source) and "def open(" not in source:
            found.add(f"{module} opens a file")
    return sorted(found - {"crypto/rng imports os", "crypto/sodium imports os"})


def dynamic(tree: Tree) -> list[str]:
    """Modules that import by a computed name without being known to."""
    return sorted(
        module
        for module, source in tree.items()
        if module not in DYNAMIC and re.search(r"\b(import_module|__import__)\(", source)
    )


Rule = Callable[[Tree], list[str]]


@pytest.mark.parametrize("rule", [upward_or_level, strangers, siblings, upward_within, impure, dynamic])
def test_the_tree_keeps(rule: Rule) -> None:
    assert rule(read_tree()) == []


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (upward_or_level, "crypto/group", "from covey.wire import Channel"),
        (upward_or_level, "study/read", "def late():\n    from covey.secure import sum"),
        (upward_or_level, "table", "from covey import protocols"),
        (strangers, "judge/risk", "from covey.anonymizers.constraints import entropy"),
        (siblings, "protocols/peel/role", "from covey.protocols.as_printed.cluster_rows import sweep"),
        (siblings, "protocols/peel/role", "def late():\n    from covey.protocols import suppress"),
        (siblings, "protocols/shared/rows", "from covey.protocols.peel import role"),
        (upward_within, "party/identity/keys", "from covey.party.session import handshake"),
        (upward_within, "party/audit/evidence", "from covey.party.simulate import deal"),
        (impure, "protocols/count/__init__", "import socket"),
        (impure, "protocols/count/__init__", "import time"),
        (impure, "protocols/count/__init__", "def peek():\n    return open('file')"),
        (impure, "secure/sum", "from pathlib import Path"),
        (dynamic, "protocols/count/__init__", "import_module('covey.cli')"),
    ],
)
def test_a_planted_violation_is_found(rule: Rule, module: str, source: str) -> None:
    tree = read_tree()
    assert module in tree, "plant it in a module that exists"
    found = set(rule({**tree, module: f"{tree[module]}\n{source}\n"})) - set(rule(tree))
    assert len(found) == 1
    assert found.pop().startswith(module)


def test_a_cycle_on_one_floor_is_found() -> None:
    tree = read_tree()
    planted = {
        **tree,
        "release": f"{tree['release']}\nfrom covey import report\n",
        "report/page": f"{tree['report/page']}\nfrom covey.release import Release\n",
    }
    assert upward_or_level(planted) == ["release imports covey.report", "report/page imports covey.release"]


def test_every_room_has_its_floor_and_stands_on_the_page() -> None:
    rooms = {module.split("/")[0] for module in read_tree()} - {"__init__"}
    assert rooms == set(FLOOR)
    page = ARCHITECTURE.read_text()
    rooms -= {"__main__"}
    assert [room for room in sorted(rooms) if not re.search(rf"\b{room}(  |\n)", page)] == []


def test_the_list_of_dynamic_imports_is_no_longer_than_it_must_be() -> None:
    tree = read_tree()
    assert [
        module for module in DYNAMIC if not re.search(r"\b(import_module|__import__)\(", tree.get(module, ""))
    ] == []
