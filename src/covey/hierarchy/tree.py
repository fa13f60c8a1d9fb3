"""A generalization tree, encoded once for everyone: names at the edges, integers inside.

Nodes are numbered leaves first, in tree order, so that the leaves below any node are the contiguous codes
`first[node] .. last[node]`; then the leaf for missing values, if the column has one; then the inner nodes,
the root last.

`up[level, leaf]` is the leaf's ancestor at that level: level 0 is the leaf, the last level is the root.
The root may have a name of its own (`Europe`); `*` means it too, whatever it is called.
A node that stands on several levels (a label repeated for the same leaves) is one node.
The missing leaf hangs directly below the root and is not part of the domain: no size counts it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from covey.arrays import Ints, Longs
from covey.cells import MISSING, SUPPRESSED, Kind, canonical, clean
from covey.errors import InputError

LARGEST = 1_000_000


class PathProblem(NamedTuple):
    """One reason why paths are no tree: the row (from 0), the label, and the fault."""

    row: int
    label: str
    reason: str


class Malformed(Exception):
    """Paths that are no tree, with every reason."""

    def __init__(self, problems: Sequence[PathProblem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("; ".join(f"row {row + 1}: {label!r} {reason}" for row, label, reason in self.problems))


class Hierarchy:
    """A tree over one column's domain. Immutable; equal if every leaf has the same path."""

    closed = True

    def __init__(
        self,
        labels: Sequence[str],
        up: Ints,
        *,
        kind: Kind = "text",
        missing: bool = False,
        sizes: Longs | None = None,
    ) -> None:
        self.labels = tuple(labels)
        self.up = np.ascontiguousarray(up, dtype=np.int32)
        self.up.setflags(write=False)
        self.kind = kind
        self.missing: int | None = self.up.shape[1] - 1 if missing else None
        self._sizes = sizes

    @classmethod
    def from_paths(cls, paths: Sequence[Sequence[str]], kind: Kind = "text") -> Hierarchy:
        """The tree whose leaves have these paths, leaf first and root last. Raises Malformed with every problem."""
        root = SUPPRESSED if any(path[-1] == SUPPRESSED for path in paths) else paths[0][-1]
        unique, problems = _distinct_leaves(paths, root)
        problems += _two_parents(paths, unique)
        if problems:
            raise Malformed(problems)
        levels = len(paths[0])
        by_level = [[paths[row][level] for row in unique] for level in range(levels)]
        ranks = [_first_seen(names) for names in by_level]
        order = np.lexsort(ranks) if len(unique) > 1 else np.zeros(1, dtype=np.int64)
        leaves = len(unique)
        labels: list[str] = [by_level[0][i] for i in order]
        up = np.empty((levels, leaves), dtype=np.int32)
        up[0] = np.arange(leaves)
        node_of = {label: node for node, label in enumerate(labels)}
        members: dict[int, tuple[int, int]] = {node: (node, 1) for node in range(leaves)}
        for level in range(1, levels):
            names = [by_level[level][i] for i in order]
            for label, (start, count) in _runs(names).items():
                node = node_of.get(label)
                if node is None:
                    node = node_of[label] = len(labels)
                    labels.append(label)
                    members[node] = (start, count)
                elif members[node] != (start, count):
                    row = unique[int(order[start])]
                    problems.append(PathProblem(row, label, "stands for different leaves on two levels"))
                up[level, start : start + count] = node
        if problems:
            raise Malformed(problems)
        return cls(labels, up, kind=kind)

    def with_missing(self) -> Hierarchy:
        """This tree with a leaf of its own for missing values, directly below the root."""
        if self.missing is not None:
            return self
        leaves = self.up.shape[1]
        shifted = np.where(self.up >= leaves, self.up + 1, self.up)
        column = np.full((len(shifted), 1), leaves, dtype=np.int32)
        column[-1] = shifted[-1, 0] if len(shifted) > 1 else leaves
        labels = (*self.labels[:leaves], MISSING, *self.labels[leaves:])
        sizes = None if self._sizes is None else np.insert(self._sizes, leaves, 1)
        return Hierarchy(labels, np.hstack([shifted, column]), kind=self.kind, missing=True, sizes=sizes)

    @property
    def leaves(self) -> int:
        """The number of leaves of the domain, without the missing leaf."""
        return int(self.up.shape[1]) - (self.missing is not None)

    @property
    def codes(self) -> int:
        """The number of leaf codes that a table may hold, the missing leaf included."""
        return int(self.up.shape[1])

    @property
    def nodes(self) -> int:
        return len(self.labels)

    @property
    def levels(self) -> int:
        return int(self.up.shape[0])

    @property
    def height(self) -> int:
        return self.levels - 1

    @property
    def root(self) -> int:
        return int(self.up[-1, 0])

    @cached_property
    def parent(self) -> Ints:
        """Each node's parent; the root's is itself."""
        parent = np.arange(self.nodes, dtype=np.int32)
        for level in range(self.height):
            changed = self.up[level] != self.up[level + 1]
            parent[self.up[level][changed]] = self.up[level + 1][changed]
        return _frozen(parent)

    @cached_property
    def depth(self) -> Ints:
        """Each node's distance from the root."""
        depth = np.zeros(self.nodes, dtype=np.int32)
        for level in range(self.height - 1, -1, -1):
            depth[self.up[level]] = depth[self.up[level + 1]] + (self.up[level] != self.up[level + 1])
        return _frozen(depth)

    @cached_property
    def level(self) -> Ints:
        """The lowest level on which each node stands."""
        level = np.zeros(self.nodes, dtype=np.int32)
        for number in range(self.height, -1, -1):
            level[self.up[number]] = number
        return _frozen(level)

    @cached_property
    def first(self) -> Ints:
        """The lowest leaf code below each node."""
        first = np.full(self.nodes, self.codes, dtype=np.int32)
        for row in self.up:
            np.minimum.at(first, row, np.arange(self.codes, dtype=np.int32))
        return _frozen(first)

    @cached_property
    def last(self) -> Ints:
        """The highest leaf code below each node, itself included."""
        last = np.full(self.nodes, -1, dtype=np.int32)
        for row in self.up:
            np.maximum.at(last, row, np.arange(self.codes, dtype=np.int32))
        return _frozen(last)

    @cached_property
    def sizes(self) -> Longs:
        """The number of values that each node stands for. The missing leaf has one."""
        if self._sizes is not None:
            return self._sizes
        sizes = (self.last - self.first + 1).astype(np.int64)
        sizes[self.root] = max(self.leaves, 1)
        sizes.setflags(write=False)
        return sizes

    @property
    def top(self) -> str:
        """The root's label."""
        return self.labels[self.root]

    @cached_property
    def _node_of(self) -> dict[str, int]:
        return {SUPPRESSED: self.root, **{label: node for node, label in enumerate(self.labels)}}

    def node(self, label: str) -> int | None:
        """The node that a clean label names, or None."""
        return self._node_of.get(label)

    def encode(self, cells: Sequence[str]) -> Ints:
        """The leaf code of each clean cell; -1 where the hierarchy does not have it."""
        nodes = (self._node_of.get(canonical(cell, self.kind), -1) for cell in cells)
        codes = np.fromiter(nodes, dtype=np.int32, count=len(cells))
        return np.where(codes < self.codes, codes, np.int32(-1))

    def common_ancestor(self, a: Ints, b: Ints) -> Ints:
        """The lowest node above both, element by element."""
        a, b = np.array(a, dtype=np.int32), np.array(b, dtype=np.int32)
        a, b = np.broadcast_arrays(a, b)
        a, b = a.copy(), b.copy()
        while (unequal := a != b).any():
            deeper = self.depth[a] >= self.depth[b]
            climb_a, climb_b = unequal & deeper, unequal & ~deeper
            a[climb_a] = self.parent[a[climb_a]]
            b[climb_b] = self.parent[b[climb_b]]
        return a

    def lifted(self, level: int) -> Ints:
        """The node above each node on a level, or the node itself if it is not below."""
        lifted = np.arange(self.nodes, dtype=np.int32)
        for row in self.up[:level]:
            lifted[row] = self.up[level]
        return lifted

    def paths(self) -> list[tuple[str, ...]]:
        """Each leaf's labels from itself to the root, without the missing leaf."""
        return [tuple(self.labels[node] for node in self.up[:, leaf]) for leaf in range(self.leaves)]

    @cached_property
    def digest(self) -> str:
        """A hash of what the tree says, independent of file and order."""
        lines = sorted("\x1f".join(path) for path in self.paths())
        return hashlib.sha256("\x1e".join([self.kind, *lines]).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        equal = self.labels == other.labels and self.kind == other.kind and self.missing == other.missing
        return equal and np.array_equal(self.up, other.up) and np.array_equal(self.sizes, other.sizes)

    def __hash__(self) -> int:
        return hash((self.labels, self.kind, self.missing))

    def __repr__(self) -> str:
        return f"Hierarchy({self.leaves} leaves, {self.levels} levels, {self.kind})"


def check_size(leaves: int, noun: str) -> None:
    """Refuse a domain too large to list."""
    if leaves > LARGEST:
        raise InputError(
            f'{noun} would have {leaves:,} leaves; {LARGEST:,} is the most: use a larger unit or hierarchy = "interval"'
        )


def _frozen(values: Ints) -> Ints:
    values.setflags(write=False)
    return values


def _distinct_leaves(paths: Sequence[Sequence[str]], root: str) -> tuple[list[int], list[PathProblem]]:
    """The rows to keep, the first of each leaf, and the problems of the others. A leaf may be repeated as it is."""
    row_of: dict[str, int] = {}
    problems = []
    for row, path in enumerate(paths):
        reason = _problem_of(path, len(paths[0]), root)
        if reason is None and tuple(paths[first_row := row_of.setdefault(path[0], row)]) != tuple(path):
            reason = path[0], f"is repeated with another path than in row {first_row + 1}"
        if reason is not None:
            problems.append(PathProblem(row, *reason))
    return list(row_of.values()), problems


def _problem_of(path: Sequence[str], levels: int, root: str) -> tuple[str, str] | None:
    """The label that makes a path unfit for a tree of so many levels, and why."""
    if len(path) != levels:
        return path[0], f"has {len(path)} levels where the first row has {levels}"
    if path[0] in (MISSING, SUPPRESSED):
        return path[0], "cannot be a leaf: missing and suppressed values have rules of their own"
    if path[-1] != root or levels < 2:
        return path[-1], f"stands where the root {root} must be"
    if root != SUPPRESSED and SUPPRESSED in path:
        return SUPPRESSED, f"stands below the root {root}; it can only be the root itself"
    return (path[0], "has an empty label on its path") if MISSING in path else None


def _two_parents(paths: Sequence[Sequence[str]], rows: Sequence[int]) -> list[PathProblem]:
    """The labels that have different parents in two rows, each with the first such row."""
    problems: dict[str, PathProblem] = {}
    for level in range(len(paths[0]) - 1):
        parent: dict[str, str] = {}
        for row in rows:
            label, parent_label = paths[row][level], paths[row][level + 1]
            if parent.setdefault(label, parent_label) != parent_label:
                problems.setdefault(label, PathProblem(row, label, "has two parents"))
    return list(problems.values())


def _first_seen(names: Sequence[str]) -> Longs:
    ranks: dict[str, int] = {}
    return np.fromiter((ranks.setdefault(name, len(ranks)) for name in names), dtype=np.int64, count=len(names))


def _runs(names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Each label's run of neighbouring leaves as (start, count)."""
    runs: dict[str, tuple[int, int]] = {}
    for leaf, name in enumerate(names):
        start, count = runs.get(name, (leaf, 0))
        runs[name] = (start, count + 1)
    return runs


def labels_of(cells: Sequence[str], kind: Kind = "text") -> list[str]:
    """Labels as a hierarchy holds them: clean, and canonical for the kind."""
    return [canonical(clean(cell), kind) for cell in cells]
