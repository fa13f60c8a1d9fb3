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
from covey.protocols.cluster_rows import ancestor
from covey.protocols.cluster_rows.ground import Clusters, Ground
from covey.protocols.cluster_rows.kernels import close_own, count_below, go_below
from covey.protocols.cluster_rows.ranges import Tests
from covey.protocols.cluster_rows.regroup import favours
from covey.secure import sum as secure_sum
from covey.wire import Channel

ROUGHEST = 1 << 14
"""The largest doubling of k that is tested for a rough count."""
_FRACTION = 16  # bits after the point of a logarithm
_FIXED = int(0.3 * (1 << _FRACTION))  # what a cut costs besides the bits of size that it spends: measured on Adult


@dataclass
class Openings:
    """What was opened so far, counted; every party counts the same."""

    tests: int = 0
    counts: int = 0
    closures: int = 0
    smallest: int = 2**62  # the fewest records behind an opened closure or count
    calls: int = 0  # of the paper's AND
    exact: int = 0  # closures of a single record of others that this party asked for: its own business, as is
    single: int = 0  # how many clusters of a single record, not its own, it was shown with everyone

    def saw(self, sizes: Longs) -> None:
        """Closures or counts of groups of these sizes are opened."""
        self.smallest = min(self.smallest, int(sizes.min(initial=self.smallest)))

    def showed(self, sizes: Longs, own: Longs) -> None:
        """Everyone is shown clusters of these sizes, in which the party has so many records itself."""
        self.single += int(((sizes == 1) & (own == 0)).sum())


@dataclass(frozen=True)
class Asked:
    """The children of all columns' nodes in the boxes of some clusters, in one row."""

    clusters: Longs  # the asked clusters
    places: Longs  # clusters x columns: where a cell's children begin, -1 for a leaf
    cell: Longs  # of each child: asked cluster times columns, plus column
    node: Ints  # each child

    @classmethod
    def of(cls, ground: Ground, clusters: Longs, boxes: Ints) -> Asked:
        """All children of these boxes' nodes."""
        starts = ground.children.starts
        nodes = boxes.ravel().astype(np.int64)
        counts = starts[nodes + 1] - starts[nodes]
        begins = np.cumsum(counts) - counts
        cell = np.repeat(np.arange(len(nodes)), counts)
        node = ground.children.nodes[starts[nodes[cell]] + np.arange(len(cell)) - begins[cell]]
        return cls(clusters, np.where(counts > 0, begins, -1).reshape(boxes.shape), cell, node)


async def divide(
    channel: Channel,
    tests: Tests,
    ground: Ground,
    codes: Ints,
    label: Longs,
    clusters: Clusters,
    openings: Openings,
    *,
    favoured: bool = False,
    nested: bool = False,
) -> tuple[Longs, Clusters, Longs]:
    """Each own record's group, the groups, and the one that each was cut from, after cutting as long as a cut helps.

    If `favoured`, some columns' cuts are favoured at random, the same at every party. If `nested`, cuts are chosen by
    rough counts, and only of those that are carried out are the numbers opened: opened sets are then nested.
    """
    label = label.copy()
    may_cut = np.ones(len(clusters), dtype=bool)
    origin = np.arange(len(clusters))
    level = 0
    while (asked := np.flatnonzero(may_cut & (clusters.sizes >= 2 * ground.k))).size:
        with channel.at("level", level) as at:
            favour = favour_of(clusters, asked, ground.columns, favoured)
            cut = await _find_cuts(at, tests, ground, codes, label, clusters, asked, favour, openings, nested)
            may_cut[asked[cut.column < 0]] = False
            if (cut.column >= 0).any():
                plan = carry_out(ground, clusters, may_cut, cut)
                go_below(ground.forest, ground.children, codes, label, *plan.ways)
                label, may_cut, origin = plan.place[label], plan.may_cut, origin[plan.source]
                closing = at.at("close")
                clusters = await close_jointly(closing, ground, codes, label, plan.clusters, plan.changed, openings)
        level += 1
    return label, clusters, origin


def favour_of(clusters: Clusters, asked: Longs, columns: int, favoured: bool) -> Floats:
    """By how much each cut's worth is multiplied."""
    if not favoured:
        return np.ones((len(asked), columns))
    return favours(clusters, len(asked), columns)


@dataclass(frozen=True)
class Cut:
    """The best cut of each asked cluster: its column (-1 for none), and what each child of that cell becomes."""

    asked: Asked
    column: Longs
    separate: Bits  # of each child of any cell: whether it becomes a part of its own in its cell's cut
    count: Longs  # of each separate child


async def _find_cuts(
    channel: Channel,
    tests: Tests,
    ground: Ground,
    codes: Ints,
    label: Longs,
    clusters: Clusters,
    asked: Longs,
    favour: Floats,
    openings: Openings,
    nested: bool,
) -> Cut:
    boxes = clusters.boxes[asked]
    rows = Asked.of(ground, asked, boxes)
    slot = np.full(len(clusters), -1, dtype=np.int64)
    slot[asked] = np.arange(len(asked))
    own = count_below(
        ground.forest, ground.children, codes, label, slot, boxes, rows.places, len(rows.cell)
    )  # fmt: skip
    heavy = await tests.reaches(own, ground.k)
    openings.tests += len(heavy)
    apart = await _may_stand_apart(tests, ground, rows, own, heavy, boxes.size)
    sizes = clusters.sizes[asked]
    if not nested:
        count = await _open_counts(channel, own, apart, openings)
        return Cut(rows, best_cuts(ground, rows, apart, count, sizes, boxes, favour), apart, count)
    rough = await _rough_counts(tests, ground, own, apart, np.repeat(sizes, ground.columns)[rows.cell], openings)
    column = best_cuts(ground, rows, apart, rough, sizes, boxes, favour)
    chosen = apart & (column[rows.cell // ground.columns] == rows.cell % ground.columns)
    return Cut(rows, column, apart, await _open_counts(channel, own, chosen, openings))


async def _open_counts(channel: Channel, own: Longs, which: Bits, openings: Openings) -> Longs:
    """The joint counts of these children, 0 elsewhere."""
    count = np.zeros(len(own), dtype=np.int64)
    places = np.flatnonzero(which)
    opened = await secure_sum.total(channel.at("count"), own[places].astype(np.uint64))
    count[places] = opened.astype(np.int64)
    openings.counts += len(places)
    openings.saw(count[places])
    return count


async def _rough_counts(
    tests: Tests, ground: Ground, own: Longs, apart: Bits, whole: Longs, openings: Openings
) -> Longs:
    """About how many records these children have: which doubling of k each reaches, and not the number."""
    level = np.where(apart, ground.k, 0)
    likely = {step: int((apart & (whole >= 2 * step)).sum()) for step in doublings(ground.k)}
    await tests.provide({step: width for step, width in likely.items() if width})  # side by side
    for step in doublings(ground.k):
        here = np.flatnonzero((level == step // 2) & (whole >= step))
        if not len(here):
            break
        level[here[await tests.reaches(own[here], step)]] = step
        openings.tests += len(here)
    return about(level, whole)


def doublings(k: int) -> list[int]:
    """The bounds by which rough counts are found."""
    return [k << power for power in range(1, 32) if k << power <= ROUGHEST]


def about(level: Longs, whole: Longs) -> Longs:
    """What a count is taken for that reaches this doubling of k and not the next."""
    return np.asarray(np.minimum(level + 2 * level // 5, whole), dtype=np.int64)


def best_cuts(
    ground: Ground, rows: Asked, apart: Bits, count: Longs, sizes: Longs, boxes: Ints, favour: Floats
) -> Longs:
    """The column of each group's best cut, -1 where none helps."""
    worth = scores(ground, rows, apart, count, sizes, boxes) * favour
    best = worth.argmax(axis=1)
    return np.asarray(np.where(worth[np.arange(len(best)), best] > 0, best, -1), dtype=np.int64)


async def _may_stand_apart(tests: Tests, ground: Ground, rows: Asked, own: Longs, heavy: Bits, cells: int) -> Bits:
    """Which heavy children may become parts: all, or all but one where the rest would be too few alone."""
    light = np.bincount(rows.cell[~heavy], minlength=cells) > 0
    some = np.bincount(rows.cell[heavy], minlength=cells) > 0
    doubtful = np.flatnonzero(light & some)
    rest = np.bincount(rows.cell[~heavy], weights=own[~heavy], minlength=cells).astype(np.int64)
    fine = np.ones(cells, dtype=bool)
    fine[doubtful] = await tests.none_or_many(rest[doubtful], ground.k)
    return all_but_one(ground, rows, heavy, fine)


def all_but_one(ground: Ground, rows: Asked, heavy: Bits, fine: Bits) -> Bits:
    """The heavy children, without the costliest of each cell whose rest is not fine alone."""
    apart = heavy.copy()
    order = np.lexsort((np.arange(len(heavy)), -ground.forest.cost[rows.node], ~heavy, rows.cell))
    unfit = np.flatnonzero(~fine & (np.bincount(rows.cell[heavy], minlength=len(fine)) > 0))
    apart[order[np.searchsorted(rows.cell[order], unfit)]] = False
    return apart


def scores(ground: Ground, rows: Asked, apart: Bits, count: Longs, sizes: Longs, boxes: Ints) -> Floats:
    """Clusters x columns: the loss that a cut saves for the bits of size it spends; 0 where there is no cut."""
    cells = boxes.size
    here = np.flatnonzero(apart)
    cell, parts = rows.cell[here], count[here]
    whole = np.repeat(sizes, boxes.shape[1])
    saved = ground.forest.cost[boxes.ravel()][cell] - ground.forest.cost[rows.node[here]]
    gain = np.zeros(cells, dtype=np.int64)
    spent = _FIXED * whole
    rest = whole.copy()
    np.add.at(gain, cell, saved * parts)
    np.add.at(spent, cell, parts * (_log2(whole[cell]) - _log2(parts)))
    np.subtract.at(rest, cell, parts)
    spent += np.where(rest > 0, rest * (_log2(whole) - _log2(np.maximum(rest, 1))), 0)
    return np.asarray(gain / np.maximum(spent, 1), dtype=np.float64).reshape(boxes.shape)


@dataclass(frozen=True)
class Plan:
    """Cuts as they are carried out: where own records go, and the clusters before they are closed anew."""

    ways: tuple[Longs, Longs, Ints, Longs, Longs]
    """What `go_below` needs: the asked clusters' slots, columns and nodes, the labels below, and where they begin."""
    place: Longs
    """Each label's number once empty clusters are gone."""
    clusters: Clusters
    changed: Bits
    may_cut: Bits
    source: Longs
    """The cluster that each one was cut from."""


def carry_out(ground: Ground, clusters: Clusters, may_cut: Bits, cut: Cut) -> Plan:
    """The plan of these cuts: every separate child becomes a cluster, the rest stays with the old one."""
    rows, columns = cut.asked, ground.columns
    cutting = np.flatnonzero(cut.column >= 0)
    of_cell = np.full(len(rows.clusters) * columns, -1, dtype=np.int64)
    of_cell[cutting * columns + cut.column[cutting]] = cutting
    born = np.flatnonzero(cut.separate & (of_cell[rows.cell] >= 0))
    parent = of_cell[rows.cell[born]]
    new = len(clusters) + np.arange(len(born))
    to = np.full(len(rows.cell), -1, dtype=np.int64)
    to[born] = new
    slot = np.full(len(clusters) + len(born), -1, dtype=np.int64)
    slot[rows.clusters[cutting]] = cutting
    column = np.maximum(cut.column, 0)
    old = clusters.boxes[rows.clusters]
    everyone = np.arange(len(column))
    sizes = np.concatenate([clusters.sizes, cut.count[born]])
    np.subtract.at(sizes, rows.clusters[parent], cut.count[born])
    boxes = np.concatenate([clusters.boxes, old[parent]])
    boxes[new, column[parent]] = rows.node[born]
    alive = np.flatnonzero(sizes > 0)
    place = np.full(len(sizes), -1, dtype=np.int64)
    place[alive] = np.arange(len(alive))
    return Plan(
        ways=(slot, column, old[everyone, column], to, rows.places[everyone, column]),
        place=place,
        clusters=Clusters(sizes[alive], boxes[alive]),
        changed=np.isin(alive, np.concatenate([rows.clusters[cutting], new])),
        may_cut=np.concatenate([may_cut, np.ones(len(born), dtype=bool)])[alive],
        source=np.concatenate([np.arange(len(clusters)), rows.clusters[parent]])[alive],
    )


async def close_jointly(
    channel: Channel, ground: Ground, codes: Ints, label: Longs, clusters: Clusters, which: Bits, openings: Openings
) -> Clusters:
    """The clusters with the marked ones' boxes closed anew, for everyone; no box grows."""
    marked = np.flatnonzero(which)
    own = ground.clamped_boxes(close_own(ground.forest, codes, label, len(clusters)))[marked]
    bounds = ground.local(clusters.boxes[marked])
    openings.closures += len(marked)
    openings.saw(clusters.sizes[marked])
    openings.showed(clusters.sizes[marked], np.bincount(label, minlength=len(clusters))[marked])
    found = await ancestor.common(channel, ground.trees, ground.local(own), below=bounds)
    boxes = clusters.boxes.copy()
    if found is not None:
        boxes[marked] = ground.flat(found)
    return Clusters(clusters.sizes, boxes)


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
