"""Compiled code that the searches share: trees as flat arrays, tuples by hash, boxes, and seeded draws.

A *box* is one node per column. Nodes of all columns are numbered through, so that a box is a row of integers and every
property of a node is one lookup. Costs are integers: no order of addition changes a decision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar, cast

import numba
import numpy as np

from covey.anonymizers.problem import Problem
from covey.arrays import Ints, Longs, Words
from covey.compiled import jit

P = ParamSpec("P")
R = TypeVar("R")


def small(function: Callable[P, R]) -> Callable[P, R]:
    """Compiles like `jit` and inlines. Passing a tuple of arrays costs more than a small function does."""
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True, forceinline=True)(function))


class Forest(NamedTuple):
    """All columns' trees in flat arrays; node numbers run through all columns."""

    up: Ints  # column j, level v, leaf code c: up[starts[j] + v * widths[j] + c]
    starts: Longs
    widths: Longs
    heights: Longs
    cost: Longs  # of each node
    first: Ints  # lowest and highest leaf code below each node
    last: Ints
    parent: Ints
    level: Ints
    roots: Ints  # per column
    offsets: Longs  # where each column's nodes begin


def forest(problem: Problem) -> Forest:
    """The problem's trees, flat."""
    trees = problem.trees
    offsets = np.cumsum([0, *(tree.nodes for tree in trees)], dtype=np.int64)
    return Forest(
        up=np.concatenate([(tree.up + start).ravel() for tree, start in zip(trees, offsets, strict=False)]).astype(
            np.int32
        ),
        starts=np.cumsum([0, *(tree.up.size for tree in trees)], dtype=np.int64)[:-1],
        widths=np.array([tree.codes for tree in trees], dtype=np.int64),
        heights=np.array([tree.height for tree in trees], dtype=np.int64),
        cost=np.concatenate(problem.costs).astype(np.int64),
        first=np.concatenate([tree.first for tree in trees]).astype(np.int32),
        last=np.concatenate([tree.last for tree in trees]).astype(np.int32),
        parent=np.concatenate([tree.parent + start for tree, start in zip(trees, offsets, strict=False)]).astype(
            np.int32
        ),
        level=np.concatenate([tree.level for tree in trees]).astype(np.int32),
        roots=np.array([tree.root + start for tree, start in zip(trees, offsets, strict=False)], dtype=np.int32),
        offsets=offsets[:-1].copy(),
    )


def signs(trees: Forest) -> Longs:
    """A random-looking number for each entry of `up`. A tuple's hash is the sum of its signs.

    Two tuples with equal hashes are taken for equal. That never spoils a result, because what a class publishes is
    closed over its members; it is as rare as 2^-64 per pair.
    """
    of_node = np.random.default_rng(0x636F766579).integers(-(2**63), 2**63 - 1, len(trees.cost), dtype=np.int64)
    return of_node[trees.up]


@jit
def hash_tuples(trees: Forest, sign: Longs, codes: Ints, levels: Ints, rows: Longs, hashes: Longs) -> None:
    """The hash of each listed record, generalized to these levels."""
    hashes[: len(rows)] = 0
    for column in range(len(levels)):
        base = trees.starts[column] + levels[column] * trees.widths[column]
        for index in range(len(rows)):
            hashes[index] += sign[base + codes[column, rows[index]]]


@jit
def number_groups(hashes: Longs, table: Longs, owner: Longs, group: Longs) -> int:
    """Numbers equal hashes alike, in order of appearance, and returns how many there are. `table` is a power of two."""
    mask = len(table) - 1
    owner[:] = -1
    groups = 0
    for index in range(len(hashes)):
        key = hashes[index]
        slot = (key ^ (key >> 31)) & mask
        while owner[slot] >= 0 and table[slot] != key:
            slot = (slot + 1) & mask
        if owner[slot] < 0:
            table[slot], owner[slot] = key, groups
            groups += 1
        group[index] = owner[slot]
    return groups


@small
def box_cost(trees: Forest, box: Ints) -> int:
    """The cost of one record in this box."""
    total = 0
    for column in range(len(box)):
        total += trees.cost[box[column]]
    return total


@small
def lowest_above(trees: Forest, column: int, low: int, high: int) -> int:
    """The lowest node above two leaf codes: the leaves below a node are contiguous."""
    node = trees.offsets[column] + low
    while trees.last[node] < high or trees.first[node] > low:
        node = trees.parent[node]
    return int(node)


@small
def covers(first: Ints, last: Ints, boxes: Ints, number: int, codes: Ints, record: int) -> bool:
    """True if a record lies in a box; `first` and `last` are the forest's."""
    for column in range(codes.shape[0]):
        code, node = codes[column, record], boxes[number, column]
        if code < first[node] or code > last[node]:
            return False
    return True


@small
def draw(state: Words, bound: int) -> int:
    """A number from 0 to below - 1, the next of a seeded stream (splitmix64). `state` is one word and moves on."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return int((word >> np.uint64(1)) % np.uint64(bound))
