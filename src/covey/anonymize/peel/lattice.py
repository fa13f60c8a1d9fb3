"""Which nodes of the generalization lattice are visited, and in which order.

A node is one level per column. Its cost is the mean over the leaves of each column, weighted alike: no data enters it,
and on the tables tried that order was at least as good as one that knows the data.

A small lattice is listed whole. A lattice of 10^9 nodes is not: *probes* then look for the nodes that matter. A probe
starts at a record and the root and lowers one column after another, in random order and as far as k records still share
the record's tuple. The node where it gets stuck is one at which a class can form.
"""

from __future__ import annotations

import math

import numpy as np

from covey.anonymize.compiled import jit
from covey.anonymize.kernels import Forest, Words, draw
from covey.anonymize.problem import Ints, Longs, Problem

LISTED = 20_000  # a lattice up to this size is listed whole


def size(problem: Problem) -> int:
    """How many nodes the lattice has."""
    return math.prod(tree.levels for tree in problem.trees)


def whole(problem: Problem) -> Ints:
    """Every node, columns as the problem has them."""
    grids = np.indices([tree.levels for tree in problem.trees], dtype=np.int32)
    return np.ascontiguousarray(grids.reshape(problem.columns, -1).T)


def by_cost(problem: Problem, nodes: Ints) -> Ints:
    """These nodes, each once, by increasing cost; ties by levels."""
    nodes = np.unique(nodes, axis=0)
    cost = np.zeros(len(nodes))
    for column, tree in enumerate(problem.trees):
        leaves = max(tree.leaves, 1)
        per_level = problem.costs[column][tree.up[:, :leaves]].sum(axis=1) / leaves
        cost += per_level[nodes[:, column]]
    return np.ascontiguousarray(nodes[np.argsort(cost, kind="stable")])


@jit
def probe(
    trees: Forest, codes: Ints, weight: Longs, k: int, record: int, state: Words, members: Longs, out: Ints
) -> int:
    """Writes the levels of a node at which the record has company of k, and returns the work in records looked at."""
    columns = len(out)
    for column in range(columns):
        out[column] = trees.heights[column]
    number, work = len(weight), 0
    members[:] = np.arange(number)
    open_columns = np.arange(columns)
    left = columns
    while left:
        pick = draw(state, left)
        column = open_columns[pick]
        level = out[column] - 1
        if level < 0:
            inside, shared = 0, 0
        else:
            inside, shared = narrow(trees, codes, weight, record, column, level, members[:number])
            work += number
        if shared >= k:
            out[column], number = level, inside
        else:
            left -= 1
            open_columns[pick], open_columns[left] = open_columns[left], column
    return work


@jit
def narrow(
    trees: Forest, codes: Ints, weight: Longs, record: int, column: int, level: int, members: Longs
) -> tuple[int, int]:
    """Moves the members that share the record's node to the front; returns their number and their records."""
    base = trees.starts[column] + level * trees.widths[column]
    node = trees.up[base + codes[column, record]]
    inside, shared = 0, 0
    for place in range(len(members)):
        atom = members[place]
        if trees.up[base + codes[column, atom]] == node:
            members[place], members[inside] = members[inside], atom
            inside += 1
            shared += weight[atom]
    return inside, shared
