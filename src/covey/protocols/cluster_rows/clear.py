"""What a trusted party would answer: the same search in the clear, on everyone's records at once.

It shares the work on records with the protocol, and none of its messages: joint numbers are added, joint closures are
common ancestors. So a release that equals it was computed from the right joint numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from covey.anonymizers.constraints import limits_of
from covey.anonymizers.sequential import Start, cluster
from covey.arrays import Bits, Ints, Longs
from covey.protocols.cluster_rows import ancestor, diverse, divide, guarded, regroup, repair, site
from covey.protocols.cluster_rows.descent import NOTHING
from covey.protocols.cluster_rows.ground import Clusters, Ground
from covey.protocols.cluster_rows.kernels import close_own, count_below, go_below
from covey.protocols.cluster_rows.sweep import NO_UNITS, SLOTS, Units, find_critical, sweep_guarded
from covey.protocols.cluster_rows.turn import Memory
from covey.study import Study

Hands = Mapping[str, Ints]
"""Each party's codes."""
Labels = dict[str, Longs]


def search(ground: Ground, hands: Hands, reaches_two: bool, strict: bool = False) -> tuple[Labels, Clusters]:
    """Each party's labels and the clusters, as the guarded (or the strict) schedule finds them."""
    labels: Labels = {name: np.zeros(codes.shape[1], dtype=np.int64) for name, codes in hands.items()}
    records = sum(codes.shape[1] for codes in hands.values())
    clusters = Clusters(np.array([records]), ground.flat(np.array([[tree.root for tree in ground.trees]])))
    clusters = close(ground, hands, labels, clusters)
    labels, clusters, _ = cut_all(ground, hands, labels, clusters, reaches_two, favoured=False, nested=strict)
    if strict:
        return labels, clusters
    for _ in range(guarded.REGROUPINGS):
        groups = regroup.put_together(ground, clusters)
        together = {name: groups.number[label] for name, label in labels.items()}
        after, new, origin = cut_all(ground, hands, together, groups.clusters, reaches_two, favoured=True)
        kept = regroup.keep_better(ground, groups, clusters, new, origin)
        labels = {name: kept.label(groups, labels[name], after[name]) for name in labels}
        if not kept.better.any():
            break
        clusters = kept.clusters
    return moved(ground, hands, labels, clusters, dict.fromkeys(hands, NO_UNITS))


def moved(
    ground: Ground, hands: Hands, labels: Labels, clusters: Clusters, units: Mapping[str, Units]
) -> tuple[Labels, Clusters]:
    """Each party's labels and the clusters after sweeps of single moves."""
    ordered = {name: guarded.in_order(ground, label, clusters) for name, label in labels.items()}
    labels = {name: label.copy() for name, (label, _, _) in ordered.items()}
    _, clusters, order = next(iter(ordered.values()))
    if any(own.places.shape[1] for own in units.values()):
        units = {name: own._replace(left=own.left[order]) for name, own in units.items()}
    memory = {name: Memory() for name in hands}
    for _ in range(guarded.SWEEPS):
        before = guarded.total_cost(ground, clusters)
        for mover in sorted(hands):
            clusters = turn(ground, hands, labels, clusters, mover, units[mover], memory[mover])
        clusters = close(ground, hands, labels, clusters)
        if before - guarded.total_cost(ground, clusters) < max(1, before // guarded.GAIN):
            break
    return labels, clusters


def sequential(ground: Ground, hands: Hands, seed: int = 0, start: Start = "fitted") -> tuple[Labels, Clusters]:
    """Each party's labels and the clusters, as the centralized algorithm finds them on all records."""
    names = sorted(hands)
    codes = np.ascontiguousarray(np.concatenate([hands[name] for name in names], axis=1))
    nothing = np.zeros((codes.shape[1], 0), dtype=np.int64)
    random = np.random.default_rng(seed)
    found, _ = cluster(ground.forest, limits_of(ground.problem), codes, nothing, random, start=start)
    label = np.unique(found, return_inverse=True)[1]
    ends = np.cumsum([hands[name].shape[1] for name in names])[:-1]
    labels = dict(zip(names, np.split(label, ends), strict=True))
    sizes = np.bincount(label).astype(np.int64)
    wide = Clusters(sizes, np.zeros((len(sizes), ground.columns), dtype=np.int32))
    return labels, close(ground, hands, labels, wide)


def close(ground: Ground, hands: Hands, labels: Labels, clusters: Clusters) -> Clusters:
    """The clusters with their true closures."""
    low, high = (np.full(clusters.boxes.shape, fill, dtype=np.int32) for fill in (2**31 - 1, -1))
    for name, codes in hands.items():
        for column in range(ground.columns):
            np.minimum.at(low[:, column], labels[name], codes[column])
            np.maximum.at(high[:, column], labels[name], codes[column])
    nodes = [tree.common_ancestor(low[:, c], high[:, c]) for c, tree in enumerate(ground.trees)]
    return Clusters(clusters.sizes, ground.flat(ground.clamped(np.stack(nodes, axis=1))))


def cut_all(
    ground: Ground,
    hands: Hands,
    labels: Labels,
    clusters: Clusters,
    reaches_two: bool,
    *,
    favoured: bool,
    nested: bool = False,
) -> tuple[Labels, Clusters, Longs]:
    """Division with open counts. Between two parties a count reaches k only if both have half of it."""
    labels, origin = dict(labels), np.arange(len(clusters))
    may_cut = np.ones(len(clusters), dtype=bool)
    while (asked := np.flatnonzero(may_cut & (clusters.sizes >= 2 * ground.k))).size:
        boxes = clusters.boxes[asked]
        rows = divide.Asked.of(ground, asked, boxes)
        slot = np.full(len(clusters), -1, dtype=np.int64)
        slot[asked] = np.arange(len(asked))
        own = [
            count_below(ground.forest, ground.children, codes, labels[name], slot, boxes, rows.places, len(rows.cell))
            for name, codes in hands.items()
        ]
        apart = stands_apart(ground, rows, own, boxes.size, reaches_two)
        count = np.where(apart, np.sum(own, axis=0), 0)
        favour = divide.favour_of(clusters, asked, ground.columns, favoured)
        sizes = clusters.sizes[asked]
        seen = rough(ground, own, apart, np.repeat(sizes, ground.columns)[rows.cell], reaches_two) if nested else count
        column = divide.best_cuts(ground, rows, apart, seen, sizes, boxes, favour)
        may_cut[asked[column < 0]] = False
        if (column >= 0).any():
            plan = divide.carry_out(ground, clusters, may_cut, divide.Cut(rows, column, apart, count))
            for name, codes in hands.items():
                moved = labels[name].copy()
                go_below(ground.forest, ground.children, codes, moved, *plan.ways)
                labels[name] = plan.place[moved]
            clusters, may_cut = close(ground, hands, labels, plan.clusters), plan.may_cut
            origin = origin[plan.source]
    return labels, clusters, origin


def reaches(counts: list[Longs], bound: int, two: bool) -> Bits:
    """Which joint counts reach a bound; between two parties both need half of it."""
    return np.asarray(np.min(counts, axis=0) >= -(-bound // 2) if two else np.sum(counts, axis=0) >= bound)


def rough(ground: Ground, own: list[Longs], apart: Bits, whole: Longs, two: bool) -> Longs:
    """About how many records the children that stand apart have."""
    level = np.where(apart, ground.k, 0)
    for step in divide.doublings(ground.k):
        level[(level == step // 2) & (whole >= step) & reaches(own, step, two)] = step
    return divide.about(level, whole)


def stands_apart(ground: Ground, rows: divide.Asked, own: list[Longs], cells: int, reaches_two: bool) -> Bits:
    """Which children become parts of their own: heavy ones, but for the one that a rest of fewer than k takes in."""
    heavy = reaches(own, ground.k, reaches_two)
    rest = [np.bincount(rows.cell, weights=np.where(heavy, 0, each), minlength=cells).astype(np.int64) for each in own]
    fine = reaches(rest, ground.k, reaches_two) | (np.sum(rest, axis=0) == 0)
    return divide.all_but_one(ground, rows, heavy, fine)


def turn(
    ground: Ground, hands: Hands, labels: Labels, clusters: Clusters, mover: str, units: Units, memory: Memory
) -> Clusters:
    """One party's turn with the closures of the others' records at hand."""
    rules = guarded.rules_for(ground, hands[mover].shape[1], len(clusters))
    asked = np.flatnonzero(clusters.sizes > ground.k)
    critical = find_critical(ground.forest, ground.children, hands[mover], labels[mover], len(clusters))
    answers = np.full((SLOTS, *clusters.boxes.shape), NOTHING, dtype=np.int32)
    own = {
        name: ground.local(ground.clamped_boxes(close_own(ground.forest, codes, labels[name], len(clusters)))[asked])
        for name, codes in hands.items()
    }
    for slot in range(SLOTS):
        left = np.where(critical.record[slot] >= 0, ground.clamped_boxes(critical.left[slot]), clusters.boxes)
        own[mover] = ground.local(left[asked])
        answers[slot, asked] = ground.flat(ancestor.ideal(ground.trees, own, ground.local(clusters.boxes[asked])))
    sizes, boxes = clusters.sizes.copy(), clusters.boxes.copy()
    memory.touched = sweep_guarded(
        ground.forest, hands[mover], labels[mover], sizes, boxes, critical.record, answers, rules, units,
        memory.fresh(clusters),
    )  # fmt: skip
    memory.left = Clusters(sizes, boxes)
    return memory.left


def pruned(ground: Ground, study: Study, hands: Hands) -> Ground:
    """The ground without what too few sites support."""
    sites = study.privacy.site_l or 0
    nodes = site.asked_nodes(ground, site.site_columns(study))
    counts = np.sum([site.supported(ground, codes)[nodes] for codes in hands.values()], axis=0)
    return site.pruned(ground, nodes, (counts == 0) | (counts >= sites), sites)


def raised_together(ground: Ground, study: Study, hands: Hands, clusters: Clusters) -> Clusters:
    """The clusters with site columns raised where the nodes together tell too much."""
    columns, boxes = site.site_columns(study), clusters.boxes.copy()
    own = [site.supported(ground, codes) for codes in hands.values()]
    for place in range(1, len(columns)):
        chosen, ways, steps = site.siblings(ground, boxes[:, columns[:place]], boxes[:, columns[place]])
        counts = np.sum([bits[chosen].all(axis=1) & bits[steps] for bits in own], axis=0)
        fine = np.asarray((counts == 0) | (counts >= (study.privacy.site_l or 0)))
        boxes[:, columns[place]] = site.raised(ground, boxes[:, columns[place]], ways, fine)
    return Clusters(clusters.sizes, boxes)


def diversified(
    ground: Ground, hands: Hands, labels: Labels, clusters: Clusters, watches: Mapping[str, diverse.Watch],
    moves: bool,
) -> tuple[Labels, Clusters]:  # fmt: skip
    """The clusters merged until all keep l, and after moves that keep it."""
    slack = joint_slack(labels, len(clusters), watches)
    bad: Bits = slack < 0
    while bad.any():
        pairs = diverse.pair_up(ground, clusters, bad)
        still = pairs.lacking & (slack[pairs.short][:, np.newaxis] + slack[pairs.near] < 0)
        soon = diverse.made_up(pairs, still)[:, : diverse.FIRST].any(axis=1)
        still[soon, diverse.FIRST :] = pairs.lacking[soon, diverse.FIRST :]  # was not asked
        clusters, place, bad = diverse.merge(ground, clusters, bad, pairs, still)
        labels = {name: place[label] for name, label in labels.items()}
        slack = joint_slack(labels, len(clusters), watches)
    if not moves:
        return labels, clusters
    levels = np.zeros(slack.shape, dtype=np.int64)
    for step in diverse.steps_of(next(iter(watches.values())).wanted):
        levels[slack >= step] = step
    units = {
        name: Units(watches[name].places, diverse.deal_units(levels, len(hands), place), watch.leaving, watch.joining)
        for place, (name, watch) in enumerate(sorted(watches.items()))
    }
    return moved(ground, hands, labels, clusters, units)


def joint_slack(labels: Labels, clusters: int, watches: Mapping[str, diverse.Watch]) -> Longs:
    """The slack of every cluster and value."""
    parts = [watch.slack(labels[name], clusters) for name, watch in watches.items()]
    return np.asarray(np.sum(parts, axis=0), dtype=np.int64)


def without_few(ground: Ground, labels: Labels, clusters: Clusters, fewest: int) -> tuple[Labels, Clusters]:
    """The clusters merged until no party sees some, but fewer than that many, records of others."""
    while True:
        seen = [
            repair.few_others(clusters.sizes, np.bincount(label, minlength=len(clusters)), fewest)
            for label in labels.values()
        ]
        if not np.any(seen):
            return labels, clusters
        repair.require_more_than_one(clusters, fewest)
        clusters, place = repair.merge_nearest(ground, clusters, np.flatnonzero(np.any(seen, axis=0)))
        labels = {name: place[label] for name, label in labels.items()}
