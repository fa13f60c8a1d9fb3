"""The clusters as a mover tells them after its turn: the messages, and the checks of those who hear them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covey.arrays import Ints, Longs
from covey.errors import PeerError
from covey.protocols.as_printed.cluster_rows.descent import NOTHING
from covey.protocols.as_printed.cluster_rows.kernels import close_own
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.secure.declare import Cost, Traffic
from covey.wire import FRAME_BYTES, Channel, Message, Vector

STATE_BYTES = 1 << 20
"""The size of one message of clusters, about: more of them travel in several."""
MESSAGE_BYTES = FRAME_BYTES + 40


class State(Message, tag="cluster.state"):
    """Clusters after the sender's turn: sizes, and the nodes of their boxes, four bytes each."""

    sizes: Vector
    nodes: bytes


class OwnRecords(NamedTuple):
    """A party's own records in each cluster: how many there are, and the box that closes them, NOTHING for none."""

    counts: Longs
    boxes: Ints

    @classmethod
    def of(cls, problem: ClusterProblem, codes: Ints, label: Longs, clusters: int) -> OwnRecords:
        """The own records with these labels."""
        boxes = problem.clamped(close_own(problem.forest, codes, label, clusters))
        return cls(np.bincount(label, minlength=clusters).astype(np.int64), boxes)

    def within(self, problem: ClusterProblem, clusters: PublicClusters) -> bool:
        """The clusters have at least these records, and boxes above them."""
        here, trees = self.boxes != NOTHING, problem.forest
        mine, theirs = self.boxes[here], clusters.boxes[here]
        closed = (trees.first[theirs] <= trees.first[mine]) & (trees.last[mine] <= trees.last[theirs])
        return bool(closed.all()) and bool((self.counts <= clusters.sizes).all())


def _messages(columns: int, clusters: int) -> int:
    return -(-max(1, clusters) // _clusters_per_message(columns))


def _traffic(n: int, columns: int, clusters: int) -> Traffic:
    messages = _messages(columns, clusters)
    return Traffic(1, (n - 1) * messages, (n - 1) * (messages * MESSAGE_BYTES + clusters * (8 + 4 * columns)))


COST = Cost(_traffic)
"""The cost of telling everyone so many clusters."""


def write_state(problem: ClusterProblem, clusters: PublicClusters) -> State:
    """The clusters as a message."""
    nodes = np.where(clusters.sizes[:, np.newaxis] > 0, problem.local(clusters.boxes), 0)
    return State(Vector(clusters.sizes.astype(np.uint64)), nodes.astype("<i4").tobytes())


def _clusters_per_message(columns: int) -> int:
    return max(1, STATE_BYTES // (8 + 4 * columns))


async def say(channel: Channel, problem: ClusterProblem, state: State) -> None:
    """Tells everyone the clusters, in as many messages as they need."""
    many, wide = _clusters_per_message(problem.columns), 4 * problem.columns
    for first in range(0, max(1, len(state.sizes)), many):
        sizes = Vector(state.sizes.words[first : first + many])
        await channel.broadcast(State(sizes, state.nodes[wide * first : wide * (first + many)]))


async def hear(channel: Channel, mover: str, problem: ClusterProblem, clusters: int) -> State:
    """The mover's clusters, put together again; `read_state` checks how many they are."""
    parts = [part async for part in channel.receive_stream(mover, State, _messages(problem.columns, clusters))]
    return State(Vector(np.concatenate([part.sizes.words for part in parts])), b"".join(part.nodes for part in parts))


def read_state(
    state: State,
    problem: ClusterProblem,
    before: PublicClusters,
    own: OwnRecords,
    mover: str,
    step: str,
) -> PublicClusters:
    """The clusters that the mover tells. Raises PeerError for what no turn could have left.

    No cluster may lose records of this party's `own`.
    """

    def lie(reason: str) -> PeerError:
        return PeerError(party=mover, step=step, reason=reason)

    sizes = state.sizes.words.astype(np.int64)
    nodes = np.frombuffer(state.nodes, dtype="<i4").astype(np.int32)
    if len(sizes) != len(before) or len(nodes) != len(before) * problem.columns:
        raise lie(f"{len(sizes)} clusters of {len(nodes)} nodes, expected {len(before)} of {problem.columns} each")
    if sizes.min(initial=0) < 0 or int(sizes.sum()) != int(before.sizes.sum()):
        raise lie("its clusters have another number of records in all")
    nodes = nodes.reshape(len(before), problem.columns)
    if (nodes < 0).any() or (nodes >= [tree.nodes for tree in problem.trees]).any():
        raise lie("a node is none of its hierarchy's")
    after = PublicClusters(sizes, problem.flat(nodes))
    if not own.within(problem, after):
        raise lie("its clusters leave out records of this party")
    shown = after.boxes[sizes > 0]
    if not np.array_equal(problem.clamped(shown), shown):
        raise lie("a node is one that site_l does not let anyone show")
    return after
