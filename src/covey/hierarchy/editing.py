"""Edits of a tree that lists its leaves: values grouped, renamed, moved, put first, added; levels taken out.

Each edit gives new paths, leaf first and root last, which `Hierarchy.from_paths` judges: what is no tree is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from covey.cells import SUPPRESSED
from covey.errors import InputError
from covey.hierarchy.tree import Hierarchy, Malformed

Paths = list[list[str]]


def paths_of(tree: Hierarchy) -> Paths:
    """The tree's paths, to be edited."""
    return [list(path) for path in tree.paths()]


def built(paths: Paths, tree: Hierarchy) -> Hierarchy:
    """The tree of edited paths, of the kind of the one before. Raises InputError that names what is no tree."""
    if not paths:
        raise InputError("a hierarchy needs a value; this edit would leave none")
    try:
        return Hierarchy.from_paths(paths, tree.kind)
    except Malformed as error:
        _, label, reason = error.problems[0]
        raise InputError(f"{label!r} {reason}; the hierarchy was not changed") from None


def group(tree: Hierarchy, values: Collection[str], label: str) -> Hierarchy:
    """Puts nodes of one level under a new group, in the place of the first."""
    _refuse_taken(tree, label)
    paths, level = paths_of(tree), _level(tree, values)
    if level + 1 == tree.height:  # the root is next: a level is put in, on which all others stand for themselves
        for path in paths:
            path.insert(level + 1, path[level])
    ancestors: list[str] | None = None
    for path in paths:
        if path[level] in values:
            if ancestors is None:  # where the first one stands for itself further up, the group stands in its place
                ancestors = [label if name in values else name for name in path[level + 2 :]]
            path[level + 1 :] = [label, *ancestors]
    return built(paths, tree)


def rename(tree: Hierarchy, old: str, replacement: str) -> Hierarchy:
    """Gives a node another name."""
    node = tree.node(old)
    if node is None or node == tree.root:
        raise InputError("choose one value or group to rename; the root is always *")
    _refuse_taken(tree, replacement)
    return built([[replacement if label == old else label for label in path] for path in paths_of(tree)], tree)


def move(tree: Hierarchy, values: Collection[str], target: str) -> Hierarchy:
    """Moves nodes of one level to a group of the level above."""
    paths, level = paths_of(tree), _level(tree, values)
    tail = next((path[level + 1 :] for path in paths if level + 1 < tree.levels and path[level + 1] == target), None)
    if tail is None:
        raise InputError(f"{target!r} is no group on the level above the chosen values; choose one that is")
    for path in paths:
        if path[level] in values:
            path[level + 1 :] = tail
    return built(paths, tree)


def put_first(tree: Hierarchy, values: Collection[str]) -> Hierarchy:
    """Puts nodes before their neighbours. A tree's order is the one in which it is shown and written."""
    level = _level(tree, values)
    return built(sorted(paths_of(tree), key=lambda path: path[level] not in values), tree)


def without_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Takes a level out, neither that of the values nor the root."""
    if not 0 < level < tree.height:
        raise InputError("only a level between the values and * can be taken out")
    return built([[*path[:level], *path[level + 1 :]] for path in paths_of(tree)], tree)


def with_values(tree: Hierarchy, values: Sequence[str]) -> Hierarchy:
    """Adds values, each by itself directly below the root."""
    added = [[value] * tree.height + [SUPPRESSED] for value in values]
    return built([*paths_of(tree), *added], tree)


def without_values(tree: Hierarchy, values: Collection[str]) -> Hierarchy:
    """Takes values, or all values of groups, out of the tree."""
    return built([path for path in paths_of(tree) if not set(path) & set(values)], tree)


def _level(tree: Hierarchy, values: Collection[str]) -> int:
    """The lowest level on which all chosen nodes stand. Raises InputError if there is none below the root."""
    if not values:
        raise InputError("choose values or groups first")
    for level in range(tree.height):
        if set(values) <= {tree.labels[node] for node in tree.up[level].tolist()}:
            return level
    raise InputError("the chosen names stand on different levels; choose values, or groups of one level")


def _refuse_taken(tree: Hierarchy, label: str) -> None:
    if tree.node(label) is not None:
        raise InputError(f"{label!r} is in the hierarchy already; give another name")
