"""A turn: one party asks what its clusters would be without some of its records, moves records, and says the state.

Guarded   only what a removal would leave is opened, to the party whose turn it is, in messages
          of fixed shape: two slots for each cluster and column, filled up with questions whose answer is known.
          Clusters from which no record may go are not asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.errors import PeerError
from covey.protocols.cluster_rows import ancestor
from covey.protocols.cluster_rows.descent import NOTHING
from covey.protocols.cluster_rows.divide import Openings
from covey.protocols.cluster_rows.ground import Clusters, Ground
from covey.protocols.cluster_rows.kernels import close_own
from covey.protocols.cluster_rows.sweep import SLOTS, Critical, Rules, Units, find_critical, sweep_guarded
from covey.protocols.shared.agree import agree
from covey.wire import Channel, Message, Vector, gather


@dataclass
class Memory:
    """What a party remembers from its last turn: the clusters as it left them, and which ones it had touched."""

    left: Clusters | None = None
    touched: Bits = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def fresh(self, clusters: Clusters) -> Bits:
        """Which clusters have changed since the own records were last examined."""
        if self.left is None:
            return np.ones(len(clusters), dtype=bool)
        same = (clusters.sizes == self.left.sizes) & (clusters.boxes == self.left.boxes).all(axis=1)
        return np.asarray(self.touched | ~same)


class Held(NamedTuple):
    """A party's own records in each cluster: how many there are, and the box that closes them, NOTHING for none."""

    counts: Longs
    boxes: Ints

    @classmethod
    def of(cls, ground: Ground, codes: Ints, label: Longs, clusters: int) -> Held:
        """The own records with these labels."""
        boxes = ground.clamped_boxes(close_own(ground.forest, codes, label, clusters))
        return cls(np.bincount(label, minlength=clusters).astype(np.int64), boxes)

    def within(self, ground: Ground, clusters: Clusters) -> bool:
        """Whether the clusters have at least these records, and boxes above them."""
        here, trees = self.boxes != NOTHING, ground.forest
        mine, theirs = self.boxes[here], clusters.boxes[here]
        closed = (trees.first[theirs] <= trees.first[mine]) & (trees.last[mine] <= trees.last[theirs])
        return bool(closed.all()) and bool((self.counts <= clusters.sizes).all())


STATE_BYTES = 1 << 20
"""Of one message of clusters, about: more of them travel in several."""


class State(Message, tag="cluster.state"):
    """Clusters after the sender's turn: sizes, and the nodes of their boxes, four bytes each."""

    sizes: Vector
    nodes: bytes


async def guarded_turn(
    channel: Channel, ground: Ground, codes: Ints, label: Longs, clusters: Clusters, mover: str, rules: Rules,
    units: Units, memory: Memory, openings: Openings,
) -> Clusters:  # fmt: skip
    """The clusters after the mover's turn; its own label array is changed in place.

    A removal is asked about only where more records are left than the rules keep. The mover spends its units.
    """
    asked = np.flatnonzero(clusters.sizes > rules.keep)
    bounds = np.concatenate([ground.local(clusters.boxes[asked])] * SLOTS)
    if channel.me == mover:
        critical = find_critical(ground.forest, ground.children, codes, label, len(clusters))
        mine = questions(ground, critical, asked, clusters)
    else:
        held = Held.of(ground, codes, label, len(clusters))
        mine = np.concatenate([ground.local(held.boxes[asked])] * SLOTS)
    openings.closures += len(bounds)
    openings.saw(clusters.sizes[asked] - 1)
    query = ancestor.common(channel.at("remove"), ground.trees, mine, below=bounds, receiver=mover)
    found, _ = await gather(query, agree(channel.at("agree"), clusters.digest()))
    state = channel.at("state")
    if channel.me != mover:
        said = await hear(state, mover, ground, len(clusters))
        return read_state(said, ground, clusters, held, mover, state.step, rules)
    answers = np.full((SLOTS, *clusters.boxes.shape), NOTHING, dtype=np.int32)
    if found is not None:
        answers[:, asked] = ground.flat(found).reshape(SLOTS, len(asked), ground.columns)
    sizes, boxes = clusters.sizes.copy(), clusters.boxes.copy()
    memory.touched = sweep_guarded(
        ground.forest, codes, label, sizes, boxes, critical.record, answers, rules, units, memory.fresh(clusters)
    )
    moved = memory.left = Clusters(sizes, boxes)
    await say(state, ground, write_state(ground, moved))
    return moved


def questions(ground: Ground, critical: Critical, asked: Longs, clusters: Clusters) -> Ints:
    """The mover's nodes in each slot: what is left of its own without a critical record; else the box itself.

    A question whose own node is the box itself is answered with the box: it teaches nothing.
    """
    left = np.where(critical.record >= 0, ground.clamped_boxes(critical.left), clusters.boxes)[:, asked]
    return ground.local(left.reshape(-1, ground.columns))


def write_state(ground: Ground, clusters: Clusters) -> State:
    """The clusters as a message."""
    nodes = np.where(clusters.sizes[:, np.newaxis] > 0, ground.local(clusters.boxes), 0)
    return State(Vector(clusters.sizes.astype(np.uint64)), nodes.astype("<i4").tobytes())


def _clusters_per_message(ground: Ground) -> int:
    return max(1, STATE_BYTES // (8 + 4 * ground.columns))


async def say(channel: Channel, ground: Ground, state: State) -> None:
    """Tells everyone the clusters, in as many messages as they need."""
    many, wide = _clusters_per_message(ground), 4 * ground.columns
    for first in range(0, max(1, len(state.sizes)), many):
        sizes = Vector(state.sizes.words[first : first + many])
        await channel.broadcast(State(sizes, state.nodes[wide * first : wide * (first + many)]))


async def hear(channel: Channel, mover: str, ground: Ground, clusters: int) -> State:
    """The mover's clusters, put together again; whether they are as many as they should be is looked at later."""
    messages = -(-max(1, clusters) // _clusters_per_message(ground))
    parts = [part async for part in channel.receive_stream(mover, State, messages)]
    return State(Vector(np.concatenate([part.sizes.words for part in parts])), b"".join(part.nodes for part in parts))


def read_state(
    state: State, ground: Ground, before: Clusters, held: Held, mover: str, step: str, rules: Rules | None = None
) -> Clusters:
    """The clusters that the mover says. Raises PeerError for what no turn could have left; `held` are one's own."""
    sizes = state.sizes.words.astype(np.int64)
    nodes = np.frombuffer(state.nodes, dtype="<i4").astype(np.int32)
    if len(sizes) != len(before) or len(nodes) != len(before) * ground.columns:
        reason = f"{len(sizes)} clusters of {len(nodes)} nodes, expected {len(before)} of {ground.columns} each"
        raise PeerError(party=mover, step=step, reason=reason)
    if sizes.min(initial=0) < 0 or int(sizes.sum()) != int(before.sizes.sum()):
        raise PeerError(party=mover, step=step, reason="its clusters have another number of records in all")
    if rules is not None and (sizes < np.minimum(before.sizes, rules.keep)).any():
        raise PeerError(party=mover, step=step, reason=f"it left a cluster with fewer than {rules.keep} records")
    nodes = nodes.reshape(len(before), ground.columns)
    if (nodes < 0).any() or (nodes >= [tree.nodes for tree in ground.trees]).any():
        raise PeerError(party=mover, step=step, reason="a node is none of its hierarchy's")
    after = Clusters(sizes, ground.flat(nodes))
    if not held.within(ground, after):
        raise PeerError(party=mover, step=step, reason="its clusters leave out records of this party")
    shown = after.boxes[sizes > 0]
    if not np.array_equal(ground.clamped_boxes(shown), shown):
        raise PeerError(party=mover, step=step, reason="a node is one that site_l does not let anyone show")
    return after
