"""Gains: how many records of a synthetic table each node of a list publishes, and probes that find such nodes."""

from __future__ import annotations

import numpy as np

from covey.anonymizers.kernels import Forest, forest, hash_tuples, number_groups, signs
from covey.anonymizers.peel import lattice
from covey.anonymizers.problem import Problem
from covey.arrays import Bits, Ints, Longs, Words
from covey.compiled import jit
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret

PROBES = 1500
"""Searches for a node on each synthetic table and for each multiple, where the lattice is too large to be listed."""


def published_at(problem: Problem, bound: int, nodes: Ints) -> Longs:
    """Returns the number of records that leave at each node, visited in this order, in classes of `bound` or more."""
    flat, gain = forest(problem), np.zeros(len(nodes), dtype=np.int64)
    size = lattice.size(problem)
    strides = np.cumprod([1, *(tree.levels for tree in problem.trees[:-1])]).astype(np.int64)
    out = np.zeros(size if len(nodes) == size else 0, dtype=np.bool_)
    _peel_all(flat, signs(flat), problem.codes, problem.counts, bound, nodes, strides, out, gain)
    return gain


def probed(problem: Problem, bound: int, seed: Secret) -> Ints:
    """Returns the nodes at which probes from random records get stuck; the root is one of them."""
    flat = forest(problem)
    stream = Rng(derive(seed, "probe", bound)).stream("starts")
    starts = stream.words_below(problem.items, PROBES).astype(np.int64)
    state = stream.words(1) >> np.uint64(2)
    nodes = np.tile(flat.heights.astype(np.int32), (PROBES + 1, 1))
    _probe_all(flat, problem.codes, problem.counts, bound, starts, state, nodes)
    return nodes


@jit
def _peel_all(
    trees: Forest, sign: Longs, codes: Ints, weight: Longs, k: int, nodes: Ints, strides: Longs, out: Bits, gain: Longs
) -> None:
    """Peels a table, and writes down how many records each node published.

    The anonymizer's own kernel does this too, but carries all its constraints, which take nine seconds to compile.
    Records only leave: a node without a tuple of k will never have one, nor will any finer node. So a node without one
    is raised, a column at a time, as far as it stays without, and all below it are ruled out. `out` has a place for
    each node of the lattice, or none where nodes are not ruled out.
    """
    number, total = len(weight), weight.sum()
    which, hashes, group = np.arange(number), np.empty(number, np.int64), np.empty(number, np.int64)
    room = 16
    while room < 2 * number:
        room *= 2
    table, owner, size = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(number, np.int64)
    levels, raised = np.empty(nodes.shape[1], np.int32), 0
    for turn in range(len(nodes)):
        if total < k:
            return
        if len(out) and out[(nodes[turn] * strides).sum()]:
            continue
        while room > 16 and room // 2 >= 2 * number:
            room //= 2
        levels[:] = nodes[turn]
        step = -1
        while not _has_heavy(
            trees, sign, codes, weight, k, levels, which[:number], hashes, table[:room], owner[:room], group, size
        ):
            raised += 1
            step = raised % len(levels)
            while len(out) and levels[step] == trees.heights[step]:  # not at the root: it has a tuple of k
                step = (step + 1) % len(levels)
            if not len(out):
                break
            levels[step] += 1
        if step >= 0:
            if len(out):
                levels[step] -= 1
                _rule_out(levels, strides, out)
            continue
        stay = 0
        for place in range(number):
            if size[group[place]] >= k:
                gain[turn] += weight[which[place]]
            else:
                which[stay] = which[place]
                stay += 1
        number = stay
        total -= gain[turn]


@jit
def _has_heavy(
    trees: Forest, sign: Longs, codes: Ints, weight: Longs, k: int, levels: Ints, which: Longs, hashes: Longs,
    table: Longs, owner: Longs, group: Longs, size: Longs,
) -> bool:  # fmt: skip
    """Counts the records of each tuple at a node, and tells whether one has k."""
    hash_tuples(trees, sign, codes, levels, which, hashes)
    size[: number_groups(hashes[: len(which)], table, owner, group)] = 0
    heavy = False
    for place in range(len(which)):
        size[group[place]] += weight[which[place]]
        heavy |= size[group[place]] >= k
    return heavy


@jit
def _rule_out(highest: Ints, strides: Longs, out: Bits) -> None:
    """Rules out a node and all finer ones."""
    levels, column = np.zeros_like(highest), 0
    while column < len(levels):
        out[(levels * strides).sum()] = True
        column = 0
        while column < len(levels) and levels[column] == highest[column]:
            levels[column] = 0
            column += 1
        if column < len(levels):
            levels[column] += 1


@jit
def _probe_all(trees: Forest, codes: Ints, weight: Longs, k: int, starts: Longs, state: Words, nodes: Ints) -> None:
    members = np.empty(len(weight), np.int64)
    for number in range(len(starts)):
        lattice.probe(trees, codes, weight, k, starts[number], state, members, nodes[number])
