"""The list of nodes to visit, in whole numbers: nodes that save much on synthetic tables like the unseen one.

Everyone computes the list alike from what is public: the columns, k, the measure and frequencies (`Marginals`), which
a reference file or the labels published so far tell. Small lattices are listed whole, and need no frequencies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from covey.anonymizers.peel import lattice as listing
from covey.anonymizers.problem import Problem
from covey.arrays import Bits, Ints, Longs
from covey.compiled import jit
from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.protocols.peel.costs import Lattice
from covey.protocols.shared.peeling.gains import probed, published_at
from covey.protocols.shared.peeling.marginals import Marginals
from covey.protocols.shared.peeling.nodes import CONSIDERED, FEW, MANY, SAMPLE, WHOLE
from covey.protocols.shared.peeling.synthetic import count_families, distinct, in_families, synthesize

MOST = 2000
"""Nodes that are listed at most."""
MULTIPLES = (40, 70, 100, 150, 250)
"""The synthetic tables are peeled for these parts of k, in percent: real columns are not independent."""
EFFORTS = {"quick": (200, 2), "normal": (55, 2), "thorough": (5, 6)}
"""By effort: a visit to all records must save so much of the loss, in parts of 100,000; the number of tables."""
DEARER = 14
"""With families of synthetic records a node has to save so many tenths of that."""
VISIT = 3
"""A visit costs so many percent of a visit to all records besides."""
_PRICE = 1 << 16


def lists_all(lattice: Lattice, records: int) -> bool:
    """Returns if the list has every node, whatever the frequencies are."""
    return lattice.size <= min(MOST, max(FEW, WHOLE // max(records, 1)))


def list_nodes(lattice: Lattice, marginals: Marginals, effort: str, seed: Secret) -> Ints:
    """Returns the nodes to visit (nodes x columns), by increasing cost; the root is the last."""
    if lists_all(lattice, marginals.records):
        return lattice.whole()
    trees, rows = lattice.trees, min(marginals.records, SAMPLE)
    saves, number = EFFORTS["normal" if effort == "thorough" and marginals.records < MANY * marginals.k else effort]
    seeds = [derive(seed, "peel synthetic", place) for place in range(number)]
    tables = [synthesize(trees, marginals, rows, own) for own in seeds]
    problem = _problem(lattice, marginals.k, *distinct(tables[-1]))
    wide = not listing.is_listed(problem, problem.items)
    families = count_families(trees, marginals, tables, seeds[-1]) if wide else 0
    peeled: list[tuple[Ints, Longs]] = []
    for table, own in zip(tables, seeds, strict=True):
        problem = _problem(lattice, marginals.k, *distinct(in_families(table, families, own)))
        scaled = [marginals.k * rows * part // (100 * max(marginals.records, 1)) for part in MULTIPLES]
        for bound in sorted({max(2, each) for each in scaled}):
            listed = listing.is_listed(problem, problem.items)
            nodes = lattice.whole() if listed else lattice.by_cost(probed(problem, bound, own))
            gain = published_at(problem, bound, nodes)
            peeled.append((nodes[gain > 0], gain[gain > 0]))
    chosen = _chosen(lattice, peeled, rows, saves * (DEARER if families else 10))
    return lattice.by_cost(np.concatenate([np.zeros_like(chosen[:1]), chosen])) if wide else chosen


def digest(nodes: Ints) -> bytes:
    """Returns the hash of a list of nodes: a public decision, which parties compare."""
    return hashlib.sha256(b"covey peel nodes/5" + str(nodes.shape).encode() + nodes.astype("<i4").tobytes()).digest()


def _problem(lattice: Lattice, k: int, codes: Ints, counts: Longs) -> Problem:
    return Problem(lattice.trees, codes, counts, lattice.columns, 1, k)


def _chosen(lattice: Lattice, peeled: Sequence[tuple[Ints, Longs]], rows: int, saves: int) -> Ints:
    """Returns the nodes that are worth a visit, from the records that each synthetic table had published at its nodes.

    A node beside one at which records were published is likely to publish a hundredth of them.
    """
    root = lattice.heights
    nodes = np.unique(np.concatenate([root[np.newaxis], *(own for own, _ in peeled)]), axis=0)
    if len(nodes) * 2 * len(root) <= CONSIDERED:
        nodes = np.concatenate([nodes, *(beside for beside, _ in _beside(nodes, root))])
    nodes = lattice.by_cost(nodes)
    place = {node.tobytes(): number for number, node in enumerate(nodes)}
    gain, left = np.zeros(len(nodes), dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    for own, records in peeled:
        here = np.zeros(len(nodes), dtype=np.int64)
        here[[place[node.tobytes()] for node in own]] = records
        gain += here
        left += rows - (np.cumsum(here) - here)
    likely, where = 100 * gain, np.flatnonzero(gain)
    for beside, inside in _beside(nodes[where], root):
        for node, records in zip(beside, gain[where[inside]].tolist(), strict=True):
            if node.tobytes() in place:
                likely[place[node.tobytes()]] += records
    costs, whole = lattice.costs(nodes), rows * len(peeled)
    loss = int(gain @ costs) + (whole - int(gain.sum())) * int(costs[-1])
    price = left * _PRICE // max(whole, 1) + VISIT * _PRICE // 100
    least = 100 * max(loss, 1) * saves // (1_000_000 * _PRICE)
    return np.ascontiguousarray(nodes[_worth(nodes, costs, likely, price, least, MOST)])


def _beside(nodes: Ints, highest: Ints) -> Iterator[tuple[Ints, Bits]]:
    """Yields the nodes one level finer or coarser in one column, and which of the nodes have such a one."""
    for column, level in enumerate(highest):
        for step in (-1, 1):
            moved = nodes.copy()
            moved[:, column] += step
            inside = (moved[:, column] >= 0) & (moved[:, column] <= level)
            yield moved[inside], inside


@jit
def _worth(nodes: Ints, costs: Longs, gain: Longs, price: Longs, least: int, most: int) -> Bits:
    """Strikes out the nodes (by increasing cost, the root last) that save least for their price, one after the other.

    A node's records can leave at the cheapest node above it that stays, at the latest: the difference is what the node
    saves. Struck out, it passes its records on to that one.
    """
    number, stays, gain = len(nodes), np.ones(len(nodes), np.bool_), gain.copy()
    above, saved = np.arange(1, number + 1), np.zeros(number, np.int64)
    for node in range(number - 1):
        above[node] = _next_above(nodes, stays, node, node)
        saved[node] = gain[node] * (costs[above[node]] - costs[node]) // price[node]
    left = number
    while True:
        worst = -1
        for node in range(number - 1):
            if stays[node] and (worst < 0 or saved[node] < saved[worst]):
                worst = node
        if worst < 0 or (saved[worst] >= least and left <= most):
            return stays
        stays[worst] = False
        left -= 1
        heir = above[worst]
        gain[heir] += gain[worst]
        if heir < number - 1:
            saved[heir] = gain[heir] * (costs[above[heir]] - costs[heir]) // price[heir]
        for node in range(worst):
            if stays[node] and above[node] == worst:
                above[node] = _next_above(nodes, stays, node, worst)
                saved[node] = gain[node] * (costs[above[node]] - costs[node]) // price[node]


@jit
def _next_above(nodes: Ints, stays: Bits, node: int, after: int) -> int:
    """Returns the first node after a place that stays and is nowhere finer than another; the root is one."""
    for place in range(after + 1, len(nodes)):
        if stays[place]:
            column = 0
            while column < nodes.shape[1] and nodes[place, column] >= nodes[node, column]:
                column += 1
            if column == nodes.shape[1]:
                return place
    return len(nodes) - 1
