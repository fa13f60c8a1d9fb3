"""The paper's algorithm, label for label: random clusters, sweeps of exact moves, random halving, agglomeration.

Each turn takes one exchange instead of one SMC call per removal: within a turn nobody else moves, and the mover learns
the closure of the others' records in every cluster, which with its own records makes every removal exact. Where the
others have a single record in a cluster, that closure is the record, and so is that of a cluster of one record, which
everyone is shown: both are counted. A sweep is repeated while a record moved or a cluster was halved (the paper leaves
the second out), at most `SWEEPS` times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol as Interface

import numpy as np

from covey.anonymizers.clusters import agglomerate, clusters_of
from covey.anonymizers.sequential import K0, K1, first_number
from covey.arrays import Bits, Longs
from covey.crypto.rng import Rng, Stream
from covey.protocols.as_printed.cluster_rows.descent import NOTHING
from covey.protocols.as_printed.cluster_rows.party import SearchParty
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.as_printed.cluster_rows.state import OwnRecords, read_state, write_state
from covey.protocols.as_printed.cluster_rows.sweep import sweep_exact

SWEEPS = 12


@dataclass(frozen=True)
class RandomChoices:
    """A party's random choices: its first labels, and which half of its records leaves each large cluster."""

    start: Callable[[int, int], Longs]
    """For its number of records and that of clusters."""
    split: Callable[[int, Longs, Longs, int], Longs]
    """For the sweep, its labels, the large clusters, and the number of clusters: its labels after the split."""

    @classmethod
    def drawn(cls, rng: Rng) -> RandomChoices:
        """Choices from the party's own randomness."""
        return cls(
            start=lambda records, clusters: spread(records, clusters, rng.stream("start")),
            split=lambda sweep, label, large, clusters: halves(label, large, clusters, rng.stream("halves", sweep)),
        )


@dataclass(frozen=True)
class ClusterSizes:
    """The sizes of first clusters and of the largest ones, as parts of k."""

    k0: float = K0
    k1: float = K1


USUAL = ClusterSizes()


class Sweeps(Interface):
    """The turns of a sweep, and the rule that ends the sweeps."""

    most: int

    async def turn(self, party: SearchParty, label: Longs, state: PublicClusters, mover: str) -> PublicClusters:
        """The clusters after the mover's turn; its own label array is changed in place."""

    async def ended(self, party: SearchParty, changed: bool) -> bool:
        """Tells whether the sweep that ended was the last; it changed something or not."""


class FullSweeps:
    """Sweeps over all records, one exchange per turn; the last is the first that changes nothing."""

    most = SWEEPS

    async def turn(self, party: SearchParty, label: Longs, state: PublicClusters, mover: str) -> PublicClusters:
        """The clusters after the mover's turn (steps 4 to 19)."""
        problem, joint = party.problem, party.joint
        alive = np.flatnonzero(state.sizes > 0)
        held = OwnRecords.of(problem, party.codes, label, len(state))
        foreign, own = state.sizes - held.counts, held.boxes[alive]
        if joint.me == mover:
            own = np.full((len(alive), problem.columns), NOTHING, dtype=np.int32)
            party.disclosed.exact += int((foreign[alive] == 1).sum())
        party.disclosed.closures += len(alive)
        bounds = problem.local(state.boxes[alive])
        digest = state.digest()
        found = await joint.ancestors_for(mover, "rest", problem.trees, problem.local(own), bounds, digest)
        if found is None:
            return await hear_state(party, held, state, mover)
        others = np.full(state.boxes.shape, NOTHING, dtype=np.int32)
        others[alive] = problem.flat(found)
        others[foreign == 0] = NOTHING  # of a column with one possible leaf the answer cannot tell
        sizes, boxes = state.sizes.copy(), state.boxes.copy()
        sweep_exact(problem.forest, problem.shown, party.codes, label, sizes, boxes, others, problem.monotone)
        return await tell_state(party, label, state, PublicClusters(sizes, boxes))

    async def ended(self, party: SearchParty, changed: bool) -> bool:
        """The first sweep that changes nothing is the last."""
        return not changed


async def tell_state(party: SearchParty, label: Longs, before: PublicClusters, after: PublicClusters) -> PublicClusters:
    """Tells everyone the clusters after the own turn, and returns them as the others read them."""
    joint, problem = party.joint, party.problem
    message = await joint.tell(joint.me, write_state(problem, after), problem, len(before))
    own = OwnRecords.of(problem, party.codes, label, len(before))
    return read_state(message, problem, before, own, joint.me, f"{joint.step}/state")


async def hear_state(party: SearchParty, own: OwnRecords, before: PublicClusters, mover: str) -> PublicClusters:
    """The clusters that the mover tells; those that changed are shown, whatever their size."""
    joint, problem = party.joint, party.problem
    message = await joint.tell(mover, None, problem, len(before))
    after = read_state(message, problem, before, own, mover, f"{joint.step}/state")
    changed = (after.sizes != before.sizes) | (after.boxes != before.boxes).any(axis=1)
    party.disclosed.show_clusters(after.sizes[changed], own.counts[changed])
    return after


async def search(
    party: SearchParty, records: int, choices: RandomChoices, sweeps: Sweeps, wanted: ClusterSizes = USUAL
) -> tuple[Longs, PublicClusters]:
    """Each own record's cluster, and the clusters."""
    parties = party.joint.parties
    party.progress.phase("division")
    label, state = await begin(party.at("start"), records, choices, wanted)
    party.progress.phase("moves", sweeps.most * len(parties))
    for sweep in range(sweeps.most):
        before = state.digest()
        for place, mover in enumerate(parties):
            with party.within("sweep", sweep, "turn", place) as at:
                state = await sweeps.turn(at, label, state, mover)
            party.progress.reach(sweep * len(parties) + place + 1)
        moved = state.digest() != before
        label, state = compact(label, state)
        large = np.flatnonzero(state.sizes > wanted.k1 * party.problem.k)
        if len(large):
            with party.within("sweep", sweep, "split") as at:
                label = choices.split(sweep, label, large, len(state))
                label, state = await halve(at, label, state, large)
        with party.within("sweep", sweep, "end") as at:
            if await sweeps.ended(at, moved or len(large) > 0):
                break
    into, state = merge_small(party.problem, state)
    return compact(into[label], state)


async def begin(
    party: SearchParty, records: int, choices: RandomChoices, wanted: ClusterSizes
) -> tuple[Longs, PublicClusters]:
    """Random first labels, and the clusters that they make (steps 1 to 3)."""
    clusters = first_number(records, party.problem.k, wanted.k0)
    label = choices.start(party.rows, clusters)
    return compact(label, await measure(party, label, clusters))


def merge_small(problem: ClusterProblem, state: PublicClusters) -> tuple[Longs, PublicClusters]:
    """Merges clusters of fewer than k (steps 26 to 30): each one's new number, and the clusters.

    Sizes and boxes are public, so everyone finds the same by itself.
    """
    first = problem.forest.first[state.boxes].T
    alone = clusters_of(  # one record each, in place of those that stay with their owners
        problem.forest,
        problem.limits,
        np.ascontiguousarray(first, dtype=np.int32),
        np.zeros((len(state), 0), dtype=np.int64),
        np.arange(len(state)),
    )
    work = alone._replace(size=state.sizes.copy(), box=state.boxes.copy(), cost=problem.costs(state.boxes))
    agglomerate(work, problem.forest, problem.k)
    return work.label, PublicClusters(work.size, work.box)


def spread(records: int, clusters: int, stream: Stream) -> Longs:
    """Random labels, each as often as the others or once more, from a random label on (step 2)."""
    label = np.empty(records, dtype=np.int64)
    label[stream.permutation(records)] = (np.arange(records) + stream.below(clusters)) % clusters
    return label


async def measure(party: SearchParty, label: Longs, clusters: int) -> PublicClusters:
    """Sizes and closures of all clusters, for everyone (step 3)."""
    sizes = await party.joint.at("sizes").total(np.bincount(label, minlength=clusters))
    state = PublicClusters(sizes, party.problem.flat(np.tile(party.problem.roots, (clusters, 1))))
    return await close_jointly(party.at("close"), label, state, sizes > 0)


async def close_jointly(party: SearchParty, label: Longs, clusters: PublicClusters, which: Bits) -> PublicClusters:
    """The clusters with the marked ones' boxes closed anew, for everyone; no box grows."""
    problem, marked = party.problem, np.flatnonzero(which)
    sizes, own = clusters.sizes[marked], OwnRecords.of(problem, party.codes, label, len(clusters))
    party.disclosed.closures += len(marked)
    party.disclosed.show_clusters(sizes, own.counts[marked])
    bounds = problem.local(clusters.boxes[marked])
    boxes = clusters.boxes.copy()
    found = await party.joint.ancestors(problem.trees, problem.local(own.boxes[marked]), bounds)
    boxes[marked] = problem.flat(found)
    return PublicClusters(clusters.sizes, boxes)


async def halve(party: SearchParty, label: Longs, state: PublicClusters, large: Longs) -> tuple[Longs, PublicClusters]:
    """Sizes and closures after each party moved half of its records in each large cluster (steps 21 to 24)."""
    own = np.bincount(label, minlength=len(state) + len(large))[len(state) :]
    moved = await party.joint.at("sizes").total(own)
    sizes = np.concatenate([state.sizes, moved])
    sizes[large] -= moved
    wide = PublicClusters(sizes, np.concatenate([state.boxes, state.boxes[large]]))
    changed = np.zeros(len(wide), dtype=bool)
    changed[large] = changed[len(state) :] = True
    return compact(label, await close_jointly(party.at("close"), label, wide, changed & (sizes > 0)))


def halves(label: Longs, large: Longs, clusters: int, stream: Stream) -> Longs:
    """Labels after a random half of each large cluster's own records went to a new cluster."""
    order = stream.permutation(len(label))
    coin = stream.words_below(2, len(large)).astype(np.int64)
    label = label.copy()
    for number, cluster in enumerate(large.tolist()):
        members = order[label[order] == cluster]
        label[members[: (len(members) + int(coin[number])) // 2]] = clusters + number
    return label


def compact(label: Longs, state: PublicClusters) -> tuple[Longs, PublicClusters]:
    """The clusters without the empty ones, in their order."""
    alive = state.sizes > 0
    number = np.cumsum(alive) - 1
    return number[label], PublicClusters(state.sizes[alive], state.boxes[alive])
