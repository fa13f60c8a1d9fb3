"""Sequential clustering (Tassa & Gudes, section 2.4 and Algorithm 3 for one player; section 6.1 for l-diversity).

Random clusters of about k0 = k/2 records; sweeps that move each record to the cluster where the total cost falls most;
after each sweep clusters above k1 = 1.5k are split at random; at the end clusters below k are merged, closest first.

Where the paper is silent or does not end: ties go to the lowest cluster; a record leaves its cluster only for a strict
gain, except that a cluster of one is always dissolved; sweeps go on while a record moved or a cluster was split, twelve
times at most, because forced moves and splits can chase each other for ever. With l (or t), a move happens only if both
clusters keep it, a split deals each sensitive value evenly, and if the random clusters do not keep l their number is
halved until they do: l itself is never lowered.

All random choices come from one generator, in this order: the order of the records; the first labels; then, sweep
by sweep, the split of each large cluster, lowest cluster first. A sweep draws nothing.
"""

from __future__ import annotations

import numpy as np

from covey.anonymize.closure import closed
from covey.anonymize.clusters import Clusters, clusters_of, holds_diversity, regrouped
from covey.anonymize.constraints import Limits, flat_codes, limits_of, require_feasible
from covey.anonymize.kernels import Forest, forest
from covey.anonymize.merging import agglomerate
from covey.anonymize.pace import Cancel, Progress, never, report, silent
from covey.anonymize.problem import Ints, Longs, Partition, Problem
from covey.anonymize.sweeping import sweep

__all__ = ["cluster", "first_labels", "halves", "sequential"]

SWEEPS = 12
STEP = 2_000  # records between two reports


def sequential(
    problem: Problem,
    *,
    seed: int = 0,
    budget: int | None = None,
    threads: int = 1,
    progress: Progress = silent,
    cancel: Cancel = never,
) -> Partition:
    """A partition by sequential clustering. One thread is used: a sweep is a chain of decisions.

    A budget counts comparisons of a record with a cluster; it buys whole sweeps, one at the least, twelve at the most.
    Raises Unmet if even the whole table breaks a constraint.
    """
    require_feasible(problem)
    random = np.random.default_rng(seed)
    item = random.permutation(np.repeat(np.arange(problem.items), problem.counts))
    limits, places = limits_of(problem), flat_codes(problem)[item]
    codes = np.ascontiguousarray(problem.codes[:, item])
    each = problem.records * max(1, 2 * problem.records // problem.k)
    sweeps = SWEEPS if budget is None else min(max(budget // each, 1), SWEEPS)
    label, sweeps = cluster(forest(problem), limits, codes, places, random, sweeps, progress=progress, cancel=cancel)
    _, group = np.unique(label, return_inverse=True)
    classes = int(group.max()) + 1
    pairs, count = np.unique(item * classes + group, return_counts=True)
    return closed(problem, pairs // classes, pairs % classes, count.astype(np.int64), sweeps=sweeps)


def cluster(
    trees: Forest,
    limits: Limits,
    codes: Ints,
    places: Longs,
    random: np.random.Generator,
    most: int = SWEEPS,
    *,
    progress: Progress = silent,
    cancel: Cancel = never,
) -> tuple[Longs, int]:
    """Each record's cluster, and how many sweeps it took, `most` at the most. `codes` is columns x records."""
    label = first_labels(limits, places, codes.shape[1], random)
    state = clusters_of(trees, limits, codes, places, label)
    for number in range(most):
        moved = 0
        for start in range(0, codes.shape[1], STEP):
            moved += sweep(state, trees, limits, start, min(start + STEP, codes.shape[1]))
            report("moving records", (number + start / codes.shape[1]) / most, progress, cancel)
        state, splits = split_large(state, trees, limits, random)
        if not moved and not splits:
            break
    agglomerate(state, trees, limits.k)
    return state.label, number + 1


def first_labels(limits: Limits, places: Longs, records: int, random: np.random.Generator) -> Longs:
    """Random labels 0 … t-1, each given to floor or ceil of n/t records, and to as even a part of each sensitive value.

    t is n over k/2. Where the clusters then break l or t, it is halved until they do not.
    """
    number = max(1, 2 * records // limits.k)
    while True:
        label = _dealt(places, records, number, random)
        if number == 1 or not places.shape[1] or holds_diversity(limits, places, label, number):
            return label
        number //= 2


def _dealt(places: Longs, records: int, number: int, random: np.random.Generator) -> Longs:
    """Deals the records in random order to the clusters in turn, value by value of the first sensitive column.

    Each value goes on where the one before it stopped, so that the sizes stay even too.
    """
    order = random.permutation(records)
    if places.shape[1]:
        order = order[np.argsort(places[order, 0], kind="stable")]
    label = np.empty(records, dtype=np.int64)
    label[order] = np.arange(records) % number
    return label


def split_large(state: Clusters, trees: Forest, limits: Limits, random: np.random.Generator) -> tuple[Clusters, int]:
    """Splits every cluster above 1.5k in random halves, lowest first; one whose halves break l or t stays whole."""
    large = np.flatnonzero(2 * state.size > 3 * limits.k)
    if not len(large):
        return state, 0
    new, splits = len(state.size), 0
    order = np.argsort(state.label, kind="stable")
    starts = np.searchsorted(state.label[order], np.append(large, large + 1)).reshape(2, -1)
    for start, stop in starts.T:
        leaving = halves(order[start:stop], state.places, random)
        if may_part(limits, state.places, order[start:stop], leaving):
            state.label[leaving] = new + splits
            splits += 1
    return (regrouped(state, trees, limits) if splits else state), splits


def halves(members: Longs, places: Longs, random: np.random.Generator) -> Longs:
    """A random half of a cluster's records (ascending), the smaller if they are odd; of each sensitive value too."""
    shuffled = members[random.permutation(len(members))]
    if places.shape[1]:
        shuffled = shuffled[np.argsort(places[shuffled, 0], kind="stable")]
    return np.sort(shuffled[1::2])


def may_part(limits: Limits, places: Longs, members: Longs, leaving: Longs) -> bool:
    """Whether both parts of a cluster keep l and t if these of its members leave it together."""
    part = np.isin(members, leaving).astype(np.int64)
    return not places.shape[1] or holds_diversity(limits, places[members], part, 2)
