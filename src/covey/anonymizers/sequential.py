"""Sequential clustering (Tassa & Gudes, section 2.4 and Algorithm 3 for one player; section 6.1 for l-diversity).

Random clusters of about k0 = k/2 records; sweeps that move each record to the cluster where the total cost falls most;
after each sweep clusters above k1 = 1.5k are split at random; at the end clusters below k are merged, closest first.

Start. Among random records of many kinds even a few share nothing: if all first clusters are closed at (nearly) every
root, no record gains by leaving one or joining another, and the paper's algorithm ends where it began, with one class.
So (`fitted`, the default) first clusters of half the size are drawn, again and again, while their loss is above 98% of
the most that can be lost. The paper's k0 is a parameter; this finds one that works. `small` begins with clusters of six
at the most, which loses less still and takes several times as long; `paper` is k/2, come what may.

Where the paper is silent or does not end: ties go to the lowest cluster; a record leaves its cluster only for a strict
gain, except that a cluster of one is always dissolved; sweeps go on while a record moved or a cluster was split, twelve
times at most, because forced moves and splits can chase each other for ever. With l (or t), a move happens only if both
clusters keep it, a split deals each sensitive value evenly, and if the random clusters do not keep l their number is
halved until they do: l itself is never lowered.

`k0` and `k1` are parts of k: the size of first clusters, and that above which clusters are split. With `starts` the
search begins anew that many times, from other random clusters, and the least total cost wins. The `objective` is the
study's measure, or another one, such as the non-uniform entropy.

All random choices come from one generator, in this order: the order of the records; the first labels (anew for each
halving); then, sweep by sweep, the split of each large cluster, lowest cluster first. A sweep draws nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from covey.anonymizers.clusters import Clusters, agglomerate, clusters_of, holds_diversity, regrouped
from covey.anonymizers.constraints import Limits, flat_codes, limits_of, require_feasible
from covey.anonymizers.kernels import Forest, forest
from covey.anonymizers.problem import Cancel, Partition, Problem, Progress, closed, never, report, silent
from covey.anonymizers.sweeping import sweep
from covey.arrays import Ints, Longs
from covey.measures import integer_costs

__all__ = ["Start", "cluster", "first_labels", "first_number", "halves", "sequential", "too_wide"]

Start = Literal["fitted", "small", "paper"]

STUDY = "study"
K0, K1 = 0.5, 1.5
SWEEPS = 12
SMALL = 6  # records of a first cluster, where it is to be small
WIDEST = 0.98  # of all that can be lost: first clusters that lose more are halved
STEP = 2_000  # records between two reports


def sequential(
    problem: Problem,
    *,
    seed: int = 0,
    budget: int | None = None,
    threads: int = 1,
    progress: Progress = silent,
    cancel: Cancel = never,
    start: Start = "fitted",
    objective: str = STUDY,
    k0: float = K0,
    k1: float = K1,
    starts: int = 1,
) -> Partition:
    """A partition by sequential clustering. One thread is used: a sweep is a chain of decisions.

    A budget counts comparisons of a record with a cluster; it buys whole sweeps, one at the least, twelve at the most.
    Raises Unmet if even the whole table breaks a constraint.
    """
    require_feasible(problem)
    target = problem if objective == STUDY else _with_objective(problem, objective)
    tries = []
    for number in range(starts):
        random = np.random.default_rng([seed, number] if number else seed)
        tries.append(_begun(target, random, budget, progress, cancel, start, k0, k1))
    best = min(tries, key=lambda partition: partition.loss(target))
    return replace(best, notes={**best.notes, "starts": starts}) if starts > 1 else best


def _with_objective(problem: Problem, objective: str) -> Problem:
    """The same problem with another measure's costs; columns count alike."""
    leaves = [
        np.bincount(codes, weights=problem.counts, minlength=tree.codes).astype(np.int64)
        for codes, tree in zip(problem.codes, problem.trees, strict=True)
    ]
    costs, scale = integer_costs(problem.trees, objective, leaves)
    return replace(problem, costs=costs, scale=scale)


def _begun(
    problem: Problem,
    random: np.random.Generator,
    budget: int | None,
    progress: Progress,
    cancel: Cancel,
    start: Start,
    k0: float,
    k1: float,
) -> Partition:
    """One search from random clusters."""
    item = random.permutation(np.repeat(np.arange(problem.items), problem.counts))
    limits, bins = limits_of(problem), flat_codes(problem)[item]
    codes = np.ascontiguousarray(problem.codes[:, item])
    comparisons = problem.records * max(1, 2 * problem.records // problem.k)
    sweeps = SWEEPS if budget is None else min(max(budget // comparisons, 1), SWEEPS)
    label, sweeps = cluster(
        forest(problem), limits, codes, bins, random, sweeps,
        progress=progress, cancel=cancel, start=start, k0=k0, k1=k1,
    )  # fmt: skip
    _, group = np.unique(label, return_inverse=True)
    classes = int(group.max()) + 1
    pairs, count = np.unique(item * classes + group, return_counts=True)
    return closed(problem, pairs // classes, pairs % classes, count.astype(np.int64), sweeps=sweeps, start=start)


def cluster(
    trees: Forest,
    limits: Limits,
    codes: Ints,
    bins: Longs,
    random: np.random.Generator,
    limit: int = SWEEPS,
    *,
    progress: Progress = silent,
    cancel: Cancel = never,
    start: Start = "fitted",
    k0: float = K0,
    k1: float = K1,
) -> tuple[Longs, int]:
    """Each record's cluster, and how many sweeps it took, `limit` at the most. `codes` is columns x records."""
    state = first_clusters(trees, limits, codes, bins, random, start, k0)
    for number in range(limit):
        moves = 0
        for first in range(0, codes.shape[1], STEP):
            moves += sweep(state, trees, limits, first, min(first + STEP, codes.shape[1]))
            report("moving records", (number + first / codes.shape[1]) / limit, progress, cancel)
        state, splits = split_large(state, trees, limits, random, k1)
        if not moves and not splits:
            break
    agglomerate(state, trees, limits.k)
    return state.label, number + 1


def first_clusters(
    trees: Forest, limits: Limits, codes: Ints, bins: Longs, random: np.random.Generator, start: Start, k0: float = K0
) -> Clusters:
    """The random clusters that the sweeps begin with, fewer where l or t need it."""
    records = codes.shape[1]
    number = first_number(records, limits.k, k0)
    if start == "small":
        number = max(number, records // SMALL, 1)
    while True:
        state = clusters_of(trees, limits, codes, bins, first_labels(limits, bins, records, random, number))
        halved = len(state.size) < number
        if start != "fitted" or halved or not too_wide(trees, state.size, state.cost) or 4 * number > records:
            return state
        number *= 2


def first_number(records: int, k: int, k0: float = K0) -> int:
    """The number of clusters that the paper begins with: n over k0 times k."""
    return max(1, int(records / (k0 * k)))


def too_wide(trees: Forest, sizes: Longs, costs: Longs) -> bool:
    """True if the clusters lose nearly everything, so that hardly a move would gain."""
    maximum = int(trees.cost[trees.roots].sum()) * int(sizes.sum())
    return float((sizes * costs).sum()) > WIDEST * maximum


def first_labels(
    limits: Limits, bins: Longs, records: int, random: np.random.Generator, number: int | None = None
) -> Longs:
    """Random labels 0 … t-1, in equal numbers, and evenly over each sensitive value.

    t is `number`, or n over k/2. Where the clusters then break l or t, it is halved until they do not.
    """
    number = first_number(records, limits.k) if number is None else number
    while True:
        label = _dealt(bins, records, number, random)
        if number == 1 or not bins.shape[1] or holds_diversity(limits, bins, label, number):
            return label
        number //= 2


def _dealt(bins: Longs, records: int, number: int, random: np.random.Generator) -> Longs:
    """Deals the records in random order to the clusters, value by value of the first sensitive column.

    Each value goes on where the one before it stopped, so that the sizes stay even too.
    """
    order = random.permutation(records)
    if bins.shape[1]:
        order = order[np.argsort(bins[order, 0], kind="stable")]
    label = np.empty(records, dtype=np.int64)
    label[order] = np.arange(records) % number
    return label


def split_large(
    state: Clusters, trees: Forest, limits: Limits, random: np.random.Generator, k1: float = K1
) -> tuple[Clusters, int]:
    """Splits every cluster above k1 k in random halves, lowest first. One whose halves break l or t stays whole."""
    large = np.flatnonzero(state.size > k1 * limits.k)
    if not len(large):
        return state, 0
    clusters, splits = len(state.size), 0
    order = np.argsort(state.label, kind="stable")
    starts = np.searchsorted(state.label[order], np.append(large, large + 1)).reshape(2, -1)
    for start, stop in starts.T:
        leaving = halves(order[start:stop], state.bins, random)
        if may_part(limits, state.bins, order[start:stop], leaving):
            state.label[leaving] = clusters + splits
            splits += 1
    return (regrouped(state, trees, limits) if splits else state), splits


def halves(members: Longs, bins: Longs, random: np.random.Generator) -> Longs:
    """A random half of a cluster's records (ascending), the smaller if they are odd. Of each sensitive value too."""
    shuffled = members[random.permutation(len(members))]
    if bins.shape[1]:
        shuffled = shuffled[np.argsort(bins[shuffled, 0], kind="stable")]
    return np.sort(shuffled[1::2])


def may_part(limits: Limits, bins: Longs, members: Longs, leaving: Longs) -> bool:
    """True if both parts of a cluster keep l and t when these members leave."""
    part = np.isin(members, leaving).astype(np.int64)
    return not bins.shape[1] or holds_diversity(limits, bins[members], part, 2)
