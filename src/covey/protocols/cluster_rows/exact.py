"""The paper's algorithm, label for label: random clusters, sweeps of exact moves, random halving, agglomeration.

Each turn takes one exchange instead of one SMC call per removal: within a turn nobody else moves, and the mover learns
the closure of the others' records in every cluster, which with its own records makes every removal exact. Where the
others have a single record in a cluster, that closure is the record, and so is that of a cluster of one record, which
everyone is shown: both are counted. A sweep is repeated while a record moved or a cluster was halved (the paper leaves
the second out), at most `SWEEPS` times.

The start is that of `covey.anonymizers.sequential`: random clusters of k/2 records or, if these are so wide that hardly
a move would gain, of half the size, and again; their sizes and closures are public, so everyone decides alike. Smaller
clusters show more; `start = "paper"` keeps to k/2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol as Interface

import numpy as np

from covey.anonymizers.clusters import clusters_of
from covey.anonymizers.constraints import limits_of
from covey.anonymizers.merging import agglomerate
from covey.anonymizers.sequential import first_number, too_wide
from covey.arrays import Ints, Longs
from covey.crypto.rng import Rng, Stream
from covey.protocols.cluster_rows import ancestor
from covey.protocols.cluster_rows.descent import NOTHING
from covey.protocols.cluster_rows.divide import Openings, close_jointly
from covey.protocols.cluster_rows.ground import Clusters, Ground
from covey.protocols.cluster_rows.sweep import sweep_exact
from covey.protocols.cluster_rows.turn import Held, State, hear, read_state, say, write_state
from covey.protocols.protocol import Pace
from covey.protocols.shared.agree import agree
from covey.secure import sum as secure_sum
from covey.wire import Channel, gather

SWEEPS = 12


@dataclass(frozen=True)
class Choices:
    """A party's random choices: its first labels, and which half of its records leaves each large cluster."""

    start: Callable[[int, int, int], Longs]
    """For its number of records, that of clusters, and which attempt it is, from 0."""
    part: Callable[[int, Longs, Longs, int], Longs]
    """For the sweep, its labels, the large clusters, and the number of clusters: its labels after the split."""


def drawn(rng: Rng) -> Choices:
    """Choices from the party's own randomness."""
    return Choices(
        start=lambda records, clusters, attempt: spread(
            records, clusters, rng.stream("start", attempt) if attempt else rng.stream("start")
        ),
        part=lambda sweep, label, large, clusters: halves(label, large, clusters, rng.stream("halves", sweep)),
    )


class Sweeps(Interface):
    """How a sweep goes, and when there is nothing more to do."""

    most: int

    async def turn(
        self, channel: Channel, ground: Ground, codes: Ints, label: Longs, state: Clusters, mover: str,
        openings: Openings,
    ) -> Clusters:  # fmt: skip
        """The clusters after the mover's turn; its own label array is changed in place."""
        ...

    async def ended(self, channel: Channel, records: int, changed: bool) -> bool:
        """Whether the sweep that ended was the last; it changed something or not."""
        ...


class Whole:
    """Sweeps over all records, one exchange per turn; the last is the first that changes nothing."""

    most = SWEEPS

    async def turn(
        self, channel: Channel, ground: Ground, codes: Ints, label: Longs, state: Clusters, mover: str,
        openings: Openings,
    ) -> Clusters:  # fmt: skip
        """The clusters after the mover's turn."""
        return await exact_turn(channel, ground, codes, label, state, mover, openings)

    async def ended(self, channel: Channel, records: int, changed: bool) -> bool:
        """Whether the sweep that ended was the last."""
        return not changed


async def search(
    channel: Channel,
    ground: Ground,
    codes: Ints,
    records: int,
    pace: Pace,
    openings: Openings,
    choices: Choices,
    sweeps: Sweeps,
    *,
    fitted: bool = True,
) -> tuple[Longs, Clusters]:
    """Each own record's cluster, and the clusters. If `fitted`, the first ones are halved while they are all alike."""
    pace.phase("division")
    label, state = await begin(channel.at("start"), ground, codes, records, openings, choices, fitted=fitted)
    pace.phase("moves", sweeps.most * len(channel.parties))
    for sweep in range(sweeps.most):
        before = state.digest()
        for place, mover in enumerate(channel.parties):
            with channel.at("sweep", sweep, "turn", place) as at:
                state = await sweeps.turn(at, ground, codes, label, state, mover, openings)
            pace.reach(sweep * len(channel.parties) + place + 1)
        moved = state.digest() != before
        label, state = compact(label, state)
        large = np.flatnonzero(2 * state.sizes > 3 * ground.k)
        if len(large):
            with channel.at("sweep", sweep, "split") as splitting:
                label = choices.part(sweep, label, large, len(state))
                label, state = await halve(splitting, ground, codes, label, state, large, openings)
        with channel.at("sweep", sweep, "end") as ending:
            if await sweeps.ended(ending, codes.shape[1], moved or len(large) > 0):
                break
    into, state = merge_small(ground, state)
    return compact(into[label], state)


async def begin(
    channel: Channel, ground: Ground, codes: Ints, records: int, openings: Openings, choices: Choices, *, fitted: bool
) -> tuple[Longs, Clusters]:
    """Random first labels, and the clusters that they make (steps 1 to 3)."""
    clusters = first_number(records, ground.k)
    for attempt in count():
        at = channel.at(attempt) if attempt else channel
        label = choices.start(codes.shape[1], clusters, attempt)
        state = await measure(at, ground, codes, label, clusters, openings)
        wide = too_wide(ground.forest, state.sizes, ground.costs(state.boxes))
        if not fitted or not wide or 4 * clusters > records:
            break
        clusters *= 2
    return compact(label, state)


def merge_small(ground: Ground, state: Clusters) -> tuple[Longs, Clusters]:
    """Steps 26 to 30, where each cluster goes: sizes and boxes are public, so everyone finds the same by itself."""
    first = ground.forest.first[state.boxes].T
    alone = clusters_of(  # one record each, in place of those that stay with their owners
        ground.forest,
        limits_of(ground.problem),
        np.ascontiguousarray(first, dtype=np.int32),
        np.zeros((len(state), 0), dtype=np.int64),
        np.arange(len(state)),
    )
    work = alone._replace(size=state.sizes.copy(), box=state.boxes.copy(), cost=ground.costs(state.boxes))
    agglomerate(work, ground.forest, ground.k)
    return work.label, Clusters(work.size, work.box)


def spread(records: int, clusters: int, stream: Stream) -> Longs:
    """Random labels, each as often as the others or once more, from a random label on (step 2)."""
    label = np.empty(records, dtype=np.int64)
    label[stream.permutation(records)] = (np.arange(records) + stream.below(clusters)) % clusters
    return label


async def measure(
    channel: Channel, ground: Ground, codes: Ints, label: Longs, clusters: int, openings: Openings
) -> Clusters:
    """Sizes and closures of all clusters, for everyone (step 3)."""
    own = np.bincount(label, minlength=clusters).astype(np.uint64)
    sizes = (await secure_sum.total(channel.at("sizes"), own)).astype(np.int64)
    roots = np.tile([tree.root for tree in ground.trees], (clusters, 1)).astype(np.int32)
    state = Clusters(sizes, ground.flat(roots))
    return await close_jointly(channel.at("close"), ground, codes, label, state, sizes > 0, openings)


async def exact_turn(
    channel: Channel, ground: Ground, codes: Ints, label: Longs, state: Clusters, mover: str, openings: Openings
) -> Clusters:
    """The clusters after the mover's turn (steps 4 to 19); its own label array is changed in place."""
    alive = np.flatnonzero(state.sizes > 0)
    held = Held.of(ground, codes, label, len(state))
    foreign, own = state.sizes - held.counts, held.boxes[alive]
    if channel.me == mover:
        own = np.full((len(alive), ground.columns), NOTHING, dtype=np.int32)
        openings.exact += int((foreign[alive] == 1).sum())
    openings.closures += len(alive)
    bounds = ground.local(state.boxes[alive])
    query = ancestor.common(channel.at("rest"), ground.trees, ground.local(own), below=bounds, receiver=mover)
    found, _ = await gather(query, agree(channel.at("agree"), state.digest()))
    said = channel.at("state")
    if channel.me != mover:
        return hear_state(await hear(said, mover, ground, len(state)), ground, state, held, mover, said.step, openings)
    others = np.full(state.boxes.shape, NOTHING, dtype=np.int32)
    if found is not None:
        others[alive] = ground.flat(found)
    others[foreign == 0] = NOTHING  # of a column with one possible leaf the answer cannot tell
    sizes, boxes = state.sizes.copy(), state.boxes.copy()
    sweep_exact(ground.forest, ground.shown, codes, label, sizes, boxes, others, ground.monotone)
    message = write_state(ground, Clusters(sizes, boxes))
    await say(said, ground, message)
    return read_state(message, ground, state, Held.of(ground, codes, label, len(state)), mover, said.step)


def hear_state(
    message: State, ground: Ground, before: Clusters, held: Held, mover: str, step: str, openings: Openings
) -> Clusters:
    """The clusters that the mover says; those that changed are shown, whatever their size."""
    after = read_state(message, ground, before, held, mover, step)
    changed = (after.sizes != before.sizes) | (after.boxes != before.boxes).any(axis=1)
    openings.showed(after.sizes[changed], held.counts[changed])
    return after


async def halve(
    channel: Channel, ground: Ground, codes: Ints, label: Longs, state: Clusters, large: Longs, openings: Openings
) -> tuple[Longs, Clusters]:
    """Sizes and closures after each party moved half of its records in each large cluster (steps 21 to 24)."""
    own = np.bincount(label, minlength=len(state) + len(large)).astype(np.uint64)[len(state) :]
    moved = (await secure_sum.total(channel.at("sizes"), own)).astype(np.int64)
    sizes = np.concatenate([state.sizes, moved])
    sizes[large] -= moved
    wide = Clusters(sizes, np.concatenate([state.boxes, state.boxes[large]]))
    changed = np.zeros(len(wide), dtype=bool)
    changed[large] = changed[len(state) :] = True
    return compact(
        label, await close_jointly(channel.at("close"), ground, codes, label, wide, changed & (sizes > 0), openings)
    )


def halves(label: Longs, large: Longs, clusters: int, stream: Stream) -> Longs:
    """Labels after a random half of each large cluster's own records went to a new cluster."""
    order = stream.permutation(len(label))
    coin = stream.words_below(2, len(large)).astype(np.int64)
    label = label.copy()
    for number, cluster in enumerate(large.tolist()):
        members = order[label[order] == cluster]
        label[members[: (len(members) + int(coin[number])) // 2]] = clusters + number
    return label


def compact(label: Longs, state: Clusters) -> tuple[Longs, Clusters]:
    """The clusters without the empty ones, in their order."""
    alive = state.sizes > 0
    number = np.cumsum(alive) - 1
    return number[label], Clusters(state.sizes[alive], state.boxes[alive])
