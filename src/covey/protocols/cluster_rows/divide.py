"""Division: groups of records are cut along their hierarchies while every part keeps k or more.

Source    ours; the better start. All records are one group. In each round, of each group of 2k or more and for each
          column, everyone learns which children of the group's node have k or more records; of the cuts that leave k
          or more (or nothing) in every part, the numbers of records; and cuts where a cell's loss falls most for the
          bits of size that are spent on it. What lies below light children stays together, with one heavy child
          where it is too little alone.
Security  that of `ranges`, `sum` and `ancestor`. Every number and every closure that is opened is of k records or
          more; that a child has fewer is learned, how many it has is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Floats, Ints, Longs
from covey.compiled import jit
from covey.protocols.cluster_rows.kernels import count_below, go_below
from covey.protocols.cluster_rows.party import SearchParty
from covey.protocols.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.cluster_rows.regroup import favours
from covey.protocols.cluster_rows.state import OwnRecords

ROUGHEST = 1 << 14
"""The largest doubling of k that is tested for a rough count."""
_FRACTION = 16  # bits after the point of a logarithm
_FIXED = int(0.3 * (1 << _FRACTION))  # what a cut costs besides the bits of size that it spends: measured on Adult


@dataclass(frozen=True)
class ChildNodes:
    """The children of all columns' nodes in the boxes of some clusters, in one row."""

    clusters: Longs  # the asked clusters
    places: Longs  # clusters x columns: where a cell's children begin, -1 for a leaf
    cell: Longs  # of each child: asked cluster times columns, plus column
    node: Ints  # each child

    @classmethod
    def of(cls, problem: ClusterProblem, clusters: Longs, boxes: Ints) -> ChildNodes:
        """All children of these boxes' nodes."""
        starts = problem.children.starts
        nodes = boxes.ravel().astype(np.int64)
        counts = starts[nodes + 1] - starts[nodes]
        begins = np.cumsum(counts) - counts
        cell = np.repeat(np.arange(len(nodes)), counts)
        node = problem.children.nodes[starts[nodes[cell]] + np.arange(len(cell)) - begins[cell]]
        return cls(clusters, np.where(counts > 0, begins, -1).reshape(boxes.shape), cell, node)


async def divide(
    party: SearchParty, label: Longs, clusters: PublicClusters, *, favoured: bool = False, nested: bool = False
) -> tuple[Longs, PublicClusters, Longs]:
    """Each own record's group, the groups, and the one that each was cut from, after cutting as long as a cut helps.

    If `favoured`, some columns' cuts are favoured at random, the same at every party. If `nested`, cuts are chosen by
    rough counts, and only of those that are carried out are the numbers opened: opened sets are then nested.
    """
    problem, label = party.problem, label.copy()
    may_cut = np.ones(len(clusters), dtype=bool)
    origin = np.arange(len(clusters))
    level = 0
    while (asked := np.flatnonzero(may_cut & (clusters.sizes >= 2 * problem.k))).size:
        with party.within("level", level) as at:
            favour = favours(clusters, len(asked), problem.columns) if favoured else np.ones(1)
            cuts = await _find_cuts(at, label, clusters, asked, favour, nested=nested)
            may_cut[asked[cuts.column < 0]] = False
            if (cuts.column >= 0).any():
                division = carry_out(problem, clusters, may_cut, cuts)
                go_below(problem.forest, problem.children, party.codes, label, *division.ways)
                label, may_cut, origin = division.place[label], division.may_cut, origin[division.source]
                clusters = await close_jointly(at.at("close"), label, division.clusters, division.changed)
        level += 1
    return label, clusters, origin


@dataclass(frozen=True)
class BestCuts:
    """The best cut of each asked cluster: its column (-1 for none), and what each child of that cell becomes."""

    below: ChildNodes
    column: Longs
    separate: Bits  # of each child of any cell: whether it becomes a part of its own in its cell's cut
    count: Longs  # of each separate child


async def _find_cuts(
    party: SearchParty, label: Longs, clusters: PublicClusters, asked: Longs, favour: Floats, *, nested: bool
) -> BestCuts:
    problem, sizes, boxes = party.problem, clusters.sizes[asked], clusters.boxes[asked]
    below = ChildNodes.of(problem, asked, boxes)
    slot = np.full(len(clusters), -1, dtype=np.int64)
    slot[asked] = np.arange(len(asked))
    own = count_below(
        problem.forest, problem.children, party.codes, label, slot, boxes, below.places, len(below.cell)
    )  # fmt: skip
    heavy = await party.joint.tests.reaches(own, problem.k)
    party.disclosed.tests += len(heavy)
    apart = await _stand_apart(party, below, own, heavy, boxes.size)
    if not nested:
        count = await _open_counts(party, own, apart)
        return BestCuts(below, best_cuts(problem, below, apart, count, sizes, boxes, favour), apart, count)
    rough = await _rough_counts(party, own, apart, np.repeat(sizes, problem.columns)[below.cell])
    column = best_cuts(problem, below, apart, rough, sizes, boxes, favour)
    chosen = apart & (column[below.cell // problem.columns] == below.cell % problem.columns)
    return BestCuts(below, column, apart, await _open_counts(party, own, chosen))


async def _open_counts(party: SearchParty, own: Longs, which: Bits) -> Longs:
    """The joint counts of these children, 0 elsewhere."""
    count = np.zeros(len(own), dtype=np.int64)
    count[which] = await party.joint.at("count").total(own[which])
    party.disclosed.counts += int(which.sum())
    party.disclosed.open_groups(count[which])
    return count


async def _rough_counts(party: SearchParty, own: Longs, apart: Bits, whole: Longs) -> Longs:
    """About how many records these children have: which doubling of k each reaches, and not the number."""
    k, tests = party.problem.k, party.joint.tests
    level = np.where(apart, k, 0)
    likely = {step: int((apart & (whole >= 2 * step)).sum()) for step in doublings(k)}
    await tests.provide({step: width for step, width in likely.items() if width})  # side by side
    for step in doublings(k):
        here = np.flatnonzero((level == step // 2) & (whole >= step))
        if not len(here):
            break
        level[here[await tests.reaches(own[here], step)]] = step
        party.disclosed.tests += len(here)
    return np.asarray(np.minimum(level + 2 * level // 5, whole), dtype=np.int64)  # between one doubling and the next


def doublings(k: int) -> list[int]:
    """The bounds by which rough counts are found."""
    return [k << power for power in range(1, 32) if k << power <= ROUGHEST]


def best_cuts(
    problem: ClusterProblem, below: ChildNodes, apart: Bits, count: Longs, sizes: Longs, boxes: Ints, favour: Floats
) -> Longs:
    """The column of each group's best cut, -1 where none helps."""
    worth = scores(problem, below, apart, count, sizes, boxes) * favour
    best = worth.argmax(axis=1)
    return np.asarray(np.where(worth[np.arange(len(best)), best] > 0, best, -1), dtype=np.int64)


async def _stand_apart(party: SearchParty, below: ChildNodes, own: Longs, heavy: Bits, cells: int) -> Bits:
    """The heavy children that may become parts: all, or all but one where the rest would be too few alone."""
    light = np.bincount(below.cell[~heavy], minlength=cells) > 0
    some = np.bincount(below.cell[heavy], minlength=cells) > 0
    doubtful = np.flatnonzero(light & some)
    rest = np.bincount(below.cell[~heavy], weights=own[~heavy], minlength=cells).astype(np.int64)
    fine = np.ones(cells, dtype=bool)
    fine[doubtful] = await party.joint.tests.none_or_many(rest[doubtful], party.problem.k)
    # of each cell whose rest is not fine, the costliest heavy child takes the rest in: it comes first in this order
    apart = heavy.copy()
    costs = party.problem.forest.cost[below.node]
    order = np.lexsort((np.arange(len(heavy)), -costs, ~heavy, below.cell))
    apart[order[np.searchsorted(below.cell[order], np.flatnonzero(~fine & some))]] = False
    return apart


def scores(problem: ClusterProblem, below: ChildNodes, apart: Bits, count: Longs, sizes: Longs, boxes: Ints) -> Floats:
    """Clusters x columns: the loss that a cut saves for the bits of size it spends; 0 where there is no cut."""
    cells = boxes.size
    here = np.flatnonzero(apart)
    cell, parts = below.cell[here], count[here]
    whole = np.repeat(sizes, boxes.shape[1])
    saved = problem.forest.cost[boxes.ravel()][cell] - problem.forest.cost[below.node[here]]
    gain = np.zeros(cells, dtype=np.int64)
    spent = _FIXED * whole
    rest = whole.copy()
    np.add.at(gain, cell, saved * parts)
    np.add.at(spent, cell, parts * (_log2(whole[cell]) - _log2(parts)))
    np.subtract.at(rest, cell, parts)
    spent += np.where(rest > 0, rest * (_log2(whole) - _log2(np.maximum(rest, 1))), 0)
    return np.asarray(gain / np.maximum(spent, 1), dtype=np.float64).reshape(boxes.shape)


@dataclass(frozen=True)
class DividedClusters:
    """Cuts as they are carried out: where own records go, and the clusters before they are closed anew."""

    ways: tuple[Longs, Longs, Ints, Longs, Longs]
    """Arguments of `go_below`: the asked clusters' slots, columns and nodes, the labels below, and where they begin."""
    place: Longs
    """Each label's number once empty clusters are gone."""
    clusters: PublicClusters
    changed: Bits
    may_cut: Bits
    source: Longs
    """The cluster that each one was cut from."""


def carry_out(problem: ClusterProblem, clusters: PublicClusters, may_cut: Bits, cuts: BestCuts) -> DividedClusters:
    """The plan of these cuts: every separate child becomes a cluster, the rest stays with the old one."""
    below, columns = cuts.below, problem.columns
    cutting = np.flatnonzero(cuts.column >= 0)
    of_cell = np.full(len(below.clusters) * columns, -1, dtype=np.int64)
    of_cell[cutting * columns + cuts.column[cutting]] = cutting
    born = np.flatnonzero(cuts.separate & (of_cell[below.cell] >= 0))
    parent = of_cell[below.cell[born]]
    new = len(clusters) + np.arange(len(born))
    to = np.full(len(below.cell), -1, dtype=np.int64)
    to[born] = new
    slot = np.full(len(clusters) + len(born), -1, dtype=np.int64)
    slot[below.clusters[cutting]] = cutting
    column = np.maximum(cuts.column, 0)
    old = clusters.boxes[below.clusters]
    everyone = np.arange(len(column))
    sizes = np.concatenate([clusters.sizes, cuts.count[born]])
    np.subtract.at(sizes, below.clusters[parent], cuts.count[born])
    boxes = np.concatenate([clusters.boxes, old[parent]])
    boxes[new, column[parent]] = below.node[born]
    alive = np.flatnonzero(sizes > 0)
    place = np.full(len(sizes), -1, dtype=np.int64)
    place[alive] = np.arange(len(alive))
    return DividedClusters(
        ways=(slot, column, old[everyone, column], to, below.places[everyone, column]),
        place=place,
        clusters=PublicClusters(sizes[alive], boxes[alive]),
        changed=np.isin(alive, np.concatenate([below.clusters[cutting], new])),
        may_cut=np.concatenate([may_cut, np.ones(len(born), dtype=bool)])[alive],
        source=np.concatenate([np.arange(len(clusters)), below.clusters[parent]])[alive],
    )


async def close_jointly(party: SearchParty, label: Longs, clusters: PublicClusters, which: Bits) -> PublicClusters:
    """The clusters with the marked ones' boxes closed anew, for everyone; no box grows."""
    problem, marked = party.problem, np.flatnonzero(which)
    sizes, own = clusters.sizes[marked], OwnRecords.of(problem, party.codes, label, len(clusters))
    party.disclosed.closures += len(marked)
    party.disclosed.open_groups(sizes)
    party.disclosed.show_clusters(sizes, own.counts[marked])
    bounds = problem.local(clusters.boxes[marked])
    boxes = clusters.boxes.copy()
    found = await party.joint.ancestors(problem.trees, problem.local(own.boxes[marked]), bounds)
    boxes[marked] = problem.flat(found)
    closed = PublicClusters(clusters.sizes, boxes)
    party.disclosed.infer(problem.forest, closed, own.counts, own.boxes)
    return closed


@jit
def _log2(numbers: Longs) -> Longs:
    """Logarithms with 16 bits after the point, by squaring integers: every machine finds the same."""
    answer = np.zeros(len(numbers), np.int64)
    for place in range(len(numbers)):
        number, whole = np.uint64(max(numbers[place], 1)), 0
        while number >> np.uint64(whole + 1):
            whole += 1
        scaled = number << np.uint64(31 - whole) if whole <= 31 else number >> np.uint64(whole - 31)
        found = np.int64(whole)
        for _ in range(16):
            scaled = (scaled * scaled) >> np.uint64(31)
            found *= 2
            if scaled >> np.uint64(32):
                found += 1
                scaled >>= np.uint64(1)
        answer[place] = found
    return answer
