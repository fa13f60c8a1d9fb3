"""The list of lattice nodes to visit: those that matter on synthetic tables like the one that nobody sees.

Everyone computes the list alike from what is public: the columns, k and the `Marginals`, which are the number of
records, the counts of frequent values, and, where the parties look, which pairs of values k or more records share. So
the same people have the same list in every run, whoever takes part and however their rows are split. Where a table and
its lattice are small, all nodes are listed: few made-up records say little about which of them matter, and a visit
costs little.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from covey.anonymizers.peel import lattice
from covey.anonymizers.problem import Problem
from covey.arrays import Bits, Floats, Ints, Longs
from covey.compiled import jit
from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs
from covey.option import Flag, Whole
from covey.protocols.shared.peeling.gains import probed, published_at
from covey.protocols.shared.peeling.marginals import Marginals, measure_of, study_seed
from covey.protocols.shared.peeling.synthetic import count_families, distinct, in_families, synthesize
from covey.study import Study

NODES = Whole("nodes", 2000, "generalizations that are visited at most (default 2000)", 1, 100_000)
PAIRS = Flag(
    "pairs",
    True,
    "look first which pairs of values k or more records share (default true): the list of generalizations is then "
    "shorter and fits better; false: everyone learns less, and the release loses a little more",
)
MULTIPLES = (0.4, 0.7, 1.0, 1.5, 2.5)
"""The synthetic tables are peeled for these multiples of k: real columns are not independent."""
SAMPLE = 200_000
"""Rows of a synthetic table at most; beyond that k is scaled down with them."""
FEW = 100
"""All nodes are listed where they are no more than this,"""
WHOLE = 1 << 18
"""or where their number times the number of records is no more than this."""


class Effort(NamedTuple):
    """The length of a list of nodes, by what decides it."""

    saves: float
    """A node is visited if that saves this part of the loss at least for a visit to all records; to fewer, less."""
    tables: int
    """The number of synthetic tables that are peeled."""


EFFORTS = {"quick": Effort(2e-3, 2), "normal": Effort(4e-4, 2), "thorough": Effort(5e-5, 6)}
"""A list of half the length, the default, and twice the length (`[utility] effort`)."""
MANY = 400
"""A thorough list is longer only where there are so many times k records: among fewer, more nodes do not lose less."""
DEARER = 1.4
"""What a node has to save where synthetic tables come in families, as a multiple: there more nodes save something."""
VISIT = 0.03
"""What a visit costs besides, as a part of a visit to all records."""
NEAR = 0.01
"""A node beside one at which made-up records were published is likely to publish this part as many real ones."""
CONSIDERED = 1 << 17
"""Nodes beside others are considered where these are no more than this."""


def lists_all(trees: Sequence[Hierarchy], records: int, most: int) -> bool:
    """True if the list has every node of the lattice, whatever the marginals are."""
    return math.prod(tree.levels for tree in trees) <= min(most, max(FEW, WHOLE // max(records, 1)))


def list_nodes(study: Study, trees: tuple[Hierarchy, ...], marginals: Marginals, most: int) -> Ints:
    """The nodes to visit (nodes x columns: a level each), by increasing public cost; the root is the last.

    Those nodes stay that save much of the synthetic tables' loss for the records that a visit looks at (`Effort`), and
    `most` at most. Pairs of columns do not tell how many people agree in many columns: where the lattice is too large
    to be listed, synthetic records come in families, if the pairs do not speak against it, and the finest node is
    always visited.
    """
    if lists_all(trees, marginals.records, most):
        every = _problem(study, trees, np.zeros((len(trees), 0), dtype=np.int32), np.zeros(0, dtype=np.int64))
        return lattice.whole(every)
    rows, effort = min(marginals.records, SAMPLE), _effort(study, marginals.records)
    k = study.privacy.k * rows / max(marginals.records, 1)
    seeds = [derive(study_seed(study), "peel synthetic", number) for number in range(effort.tables)]
    tables = [synthesize(trees, marginals, rows, seed) for seed in seeds]
    codes, counts = distinct(tables[-1])
    wide = not lattice.is_listed(_problem(study, trees, codes, counts), len(counts))
    families = count_families(trees, marginals, tables, seeds[-1]) if wide else 0
    peeled: list[tuple[Ints, Longs]] = []
    for table, base in zip(tables, seeds, strict=True):
        problem = _problem(study, trees, *distinct(in_families(table, families, base)))
        for bound in sorted({max(2, round(k * multiple)) for multiple in MULTIPLES}):
            nodes = _candidates(problem, bound, base)
            gain = published_at(problem, bound, nodes)
            peeled.append((nodes[gain > 0], gain[gain > 0]))
    chosen = _chosen(problem, peeled, rows, most, effort.saves * (DEARER if families else 1))
    if not wide:
        return chosen
    return lattice.by_cost(problem, np.concatenate([np.zeros_like(chosen[:1]), chosen[-most:]]))


def _effort(study: Study, records: int) -> Effort:
    """The effort that the study asks for, as far as so many records are worth it."""
    asked = study.effort or "normal"
    return EFFORTS["normal" if asked == "thorough" and records < MANY * study.privacy.k else asked]


def digest(nodes: Ints) -> bytes:
    """The hash of a list, which parties compare before the first visit."""
    return hashlib.sha256(b"covey peel list/4" + str(nodes.shape).encode() + nodes.astype("<i4").tobytes()).digest()


def _problem(study: Study, trees: tuple[Hierarchy, ...], codes: Ints, counts: Longs) -> Problem:
    """A table with costs that no data enters."""
    costs, scale = integer_costs(trees, measure_of(study), None, [column.weight for column in study.quasi])
    return Problem(trees, codes, counts, costs, scale, study.privacy.k)


def _candidates(problem: Problem, bound: int, seed: Secret) -> Ints:
    """The whole lattice where it can be listed, else what probes find."""
    if lattice.is_listed(problem, problem.items):
        return lattice.whole(problem)
    return lattice.by_cost(problem, probed(problem, bound, seed))


def _chosen(problem: Problem, peeled: Sequence[tuple[Ints, Longs]], rows: int, most: int, saves: float) -> Ints:
    """The nodes that are worth a visit, from the records that each synthetic table had published at its nodes."""
    root = np.array([[tree.height for tree in problem.trees]], dtype=np.int32)
    nodes = np.unique(np.concatenate([root, *(own for own, _ in peeled)]), axis=0)
    if len(nodes) * 2 * problem.columns <= CONSIDERED:
        nodes = np.concatenate([nodes, *(each for each, _ in _beside(nodes, root[0]))])
    nodes = lattice.by_cost(problem, nodes)
    place = {node.tobytes(): number for number, node in enumerate(nodes)}
    gain, left = np.zeros(len(nodes), dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    for own, records in peeled:
        here = np.zeros(len(nodes), dtype=np.int64)
        here[[place[node.tobytes()] for node in own]] = records
        gain += here
        left += rows - (np.cumsum(here) - here)
    likely, where = gain.astype(np.float64), np.flatnonzero(gain)
    for each, inside in _beside(nodes[where], root[0]):
        for node, records in zip(each, gain[where[inside]], strict=True):
            if node.tobytes() in place:
                likely[place[node.tobytes()]] += NEAR * records
    costs, whole = lattice.costs(problem, nodes), rows * len(peeled)
    loss = float((gain * costs).sum() + (whole - gain.sum()) * costs[-1])
    worth = _worth(nodes, costs, likely / max(loss, 1.0), left / max(whole, 1) + VISIT, saves, most)
    return np.ascontiguousarray(nodes[worth])


def _beside(nodes: Ints, highest: Ints) -> Iterator[tuple[Ints, Bits]]:
    """The nodes one level finer or coarser in one column, for each column, and which of the nodes have such a one."""
    for column, level in enumerate(highest):
        for step in (-1, 1):
            moved = nodes.copy()
            moved[:, column] += step
            inside = (moved[:, column] >= 0) & (moved[:, column] <= level)
            yield moved[inside], inside


@jit
def _worth(nodes: Ints, costs: Floats, gain: Floats, price: Floats, saves: float, most: int) -> Bits:
    """Strikes out the nodes (by increasing cost, the root last) that save least for their price, one after the other.

    A node's records can leave at the cheapest node above it that stays, at the latest: the difference is what the node
    saves. Struck out, it passes its records on to that one.
    """
    number, stays, gain = len(nodes), np.ones(len(nodes), np.bool_), gain.copy()
    above = np.arange(1, number + 1)
    for node in range(number - 1):
        above[node] = _next_above(nodes, stays, node, node)
    left = number
    while True:
        least, worst = np.inf, -1
        for node in range(number - 1):
            if stays[node]:
                saved = gain[node] * (costs[above[node]] - costs[node]) / price[node]
                if saved < least:
                    least, worst = saved, node
        if worst < 0 or (least >= saves and left - 1 <= most):
            return stays
        stays[worst] = False
        left -= 1
        gain[above[worst]] += gain[worst]
        for node in range(worst):
            if stays[node] and above[node] == worst:
                above[node] = _next_above(nodes, stays, node, worst)


@jit
def _next_above(nodes: Ints, stays: Bits, node: int, after: int) -> int:
    """The first node after a place that stays and is nowhere finer than another; the root is one."""
    for place in range(after + 1, len(nodes)):
        if stays[place]:
            column = 0
            while column < nodes.shape[1] and nodes[place, column] >= nodes[node, column]:
                column += 1
            if column == nodes.shape[1]:
                return place
    return len(nodes) - 1
