"""The paper's own turn: one search by ring ANDs for each removal that changes the mover's own closure.

Source    Tassa & Gudes, steps 5 to 18 and section 4.2, with the AND of Algorithm 2; kept to compare with on small
          tables: thousands of calls of 2m hops each, one after the other.
Sweeps    of all records, or with `alpha = "private"` (section 8.2.3) of a random part of a party's own, from where it
          stopped before, so that nobody can count them. The paper then stops once n records were examined in all
          without a move, which may be one party's records twice and another's not at all. Here sweeps end once every
          party has examined all of its own since anything changed: a bit of each, joined by an AND.
Opens     to everyone: which cluster the mover looks at, and its closure without that record; the ledger counts how
          often a closure is a single record of others.
Not       nobody may collude: a player's two neighbours in the ring read its bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from covey.anonymizers.kernels import box_cost, lowest_above
from covey.arrays import Ints, Longs
from covey.crypto.rng import Stream
from covey.errors import PeerError
from covey.protocols.as_printed.cluster_rows import rings
from covey.protocols.as_printed.cluster_rows.descent import NOTHING
from covey.protocols.as_printed.cluster_rows.exact import SWEEPS, hear_state, tell_state
from covey.protocols.as_printed.cluster_rows.kernels import above
from covey.protocols.as_printed.cluster_rows.party import SearchParty
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.as_printed.cluster_rows.state import OwnRecords
from covey.protocols.as_printed.cluster_rows.sweep import ENDLESS, best_cluster
from covey.protocols.shared.agree import agree
from covey.wire import Count, Message


class Removal(Message, tag="cluster.removal"):
    """The mover asks for a cluster's closure without one of its records, below these nodes; or it is done."""

    done: bool
    cluster: Count
    nodes: Annotated[bytes, Meta(max_length=4096)]
    """The node from which to search in each column, four bytes each; NOTHING where it is known to stay."""


class RingSweeps:
    """One party's sweeps: where it stopped, and how much it has examined since anything changed."""

    def __init__(self, lowest: int = 100, highest: int = 100) -> None:
        """Each sweep examines between these percentages of the own records."""
        self.lowest, self.highest = lowest, highest
        self.most = SWEEPS if highest == 100 else 2 * SWEEPS  # a sweep may examine half of the records
        self._next = 0
        self._quiet = 0

    async def turn(self, party: SearchParty, label: Longs, state: PublicClusters, mover: str) -> PublicClusters:
        """The clusters after the mover's turn; its own label array is changed in place."""
        await agree(party.channel.at("agree"), state.digest())
        if party.joint.me != mover:
            await _answer_all(party, label, state, mover)
            return await hear_state(party, OwnRecords.of(party.problem, party.codes, label, len(state)), state, mover)
        examined = self._examined(party.rows, party.joint.rng.stream("part"))
        return await tell_state(party, label, state, await _move_all(party, label, state, examined))

    async def ended(self, party: SearchParty, changed: bool) -> bool:
        """Tells whether everyone has examined all of its records since anything changed."""
        self._quiet = 0 if changed else self._quiet
        return bool((await rings.conjoin(party.channel, np.array([self._quiet >= party.rows]))).all())

    def _examined(self, records: int, stream: Stream) -> list[int]:
        percent = self.lowest + stream.below(self.highest - self.lowest + 1)
        number = -(-records * percent // 100)
        first, self._next = self._next, (self._next + number) % max(records, 1)
        self._quiet += number
        return [(first + place) % records for place in range(number)]


async def _move_all(party: SearchParty, label: Longs, state: PublicClusters, examined: Sequence[int]) -> PublicClusters:
    """The mover's loop over its records."""
    channel, problem, codes, forest = party.channel, party.problem, party.codes, party.problem.forest
    sizes, boxes = state.sizes.copy(), state.boxes.copy()
    price = np.where(sizes > 0, problem.costs(boxes), 0)
    asked = 0
    for record in examined:
        own = int(label[record])
        alone, limit, shrunk = sizes[own] == 1, ENDLESS, boxes[own].copy()
        if not alone:
            before, rest = _own_closures(problem, codes, label, record)
            changed = before != rest
            if changed.any():
                if (label == own).sum() == 1 and sizes[own] == 2:
                    party.disclosed.exact += len(channel.parties) - 1  # everyone sees it but whose it is
                start = np.where(changed, boxes[own], NOTHING).astype(np.int32)
                ask = Removal(False, own, problem.local(start[np.newaxis])[0].astype("<i4").tobytes())
                await channel.at("ask", asked).broadcast(ask)
                found = await _search(party.at("call", asked), start, rest)
                shrunk = np.where(changed, found, boxes[own]).astype(np.int32)
                asked += 1
            limit = int(sizes[own] * price[own] - (sizes[own] - 1) * box_cost(forest, shrunk))
        target = best_cluster(forest, codes, record, own, sizes, boxes, price, limit, problem.monotone)
        if target < 0:
            continue
        label[record] = target
        sizes[own] -= 1
        sizes[target] += 1
        if not alone:
            boxes[own] = shrunk
        price[own] = 0 if alone else box_cost(forest, shrunk)
        for column in range(problem.columns):
            boxes[target, column] = above(forest, int(boxes[target, column]), int(codes[column, record]))
        price[target] = box_cost(forest, boxes[target])
    await channel.at("ask", asked).broadcast(Removal(True, 0, b""))
    return PublicClusters(sizes, boxes)


def _own_closures(problem: ClusterProblem, codes: Ints, label: Longs, record: int) -> tuple[Ints, Ints]:
    """The closure of the own records in the record's cluster, with it and without; NOTHING if none is left."""
    members = np.flatnonzero(label == label[record])
    return _close(problem, codes[:, members]), _close(problem, codes[:, members[members != record]])


def _close(problem: ClusterProblem, codes: Ints) -> Ints:
    if not codes.shape[1]:
        return np.full(problem.columns, NOTHING, dtype=np.int32)
    ends = zip(codes.min(axis=1).tolist(), codes.max(axis=1).tolist(), strict=True)
    nodes = [lowest_above(problem.forest, column, low, high) for column, (low, high) in enumerate(ends)]
    return problem.clamped(np.array(nodes, dtype=np.int32))


async def _answer_all(party: SearchParty, label: Longs, state: PublicClusters, mover: str) -> None:
    """Takes part in another party's searches until it is done."""
    problem, asked = party.problem, 0
    while True:
        at = party.channel.at("ask", asked)
        ask = await at.receive(mover, Removal)
        if ask.done:
            return
        start = np.frombuffer(ask.nodes[: 4 * problem.columns], dtype="<i4").astype(np.int32)
        limits = np.array([tree.nodes for tree in problem.trees])
        if len(ask.nodes) != 4 * problem.columns or ask.cluster >= len(state) or not _are_nodes(start, limits):
            raise PeerError(party=mover, step=at.step, reason="it asks for a cluster or a node that does not exist")
        own = _close(problem, party.codes[:, label == ask.cluster])
        await _search(party.at("call", asked), problem.flat(start[np.newaxis])[0], own)
        asked += 1


def _are_nodes(start: Ints, limits: Longs) -> bool:
    return bool(((start >= NOTHING) & (start < limits)).all())


async def _search(party: SearchParty, start: Ints, own: Ints) -> Ints:
    """The lowest common node below each start, level by level, all columns in one AND each time."""
    forest, children = party.problem.forest, party.problem.children
    found, depth = start.copy(), 0
    open_columns = [column for column in range(len(start)) if start[column] != NOTHING]
    while True:
        below = {
            column: children.nodes[children.starts[found[column]] : children.starts[found[column] + 1]]
            for column in open_columns
        }
        nodes = np.concatenate([*below.values(), np.zeros(0, dtype=np.int32)]).astype(np.int64)
        if not len(nodes):
            return found
        mine = np.repeat([own[column] for column in below], [len(each) for each in below.values()])
        inside = (forest.first[nodes] <= forest.first[mine]) & (forest.last[mine] <= forest.last[nodes])
        common = await rings.conjoin(party.channel.at(depth), (mine == NOTHING) | inside)
        party.disclosed.calls += 1
        depth += 1
        here = dict(zip(below, np.split(common, np.cumsum([len(each) for each in below.values()])[:-1]), strict=True))
        open_columns = [column for column in open_columns if here[column].sum() == 1]
        for column in open_columns:
            found[column] = below[column][here[column]][0]
