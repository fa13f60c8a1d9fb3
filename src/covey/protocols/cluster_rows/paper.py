"""The paper's own turn: one search by ring ANDs for each removal that changes the mover's own closure.

Source    Tassa & Gudes, steps 5 to 18 and section 4.2, with the AND of Algorithm 2; kept to compare with on small
          tables: thousands of calls of 2m hops each, one after the other.
Sweeps    randomised (section 8.2.3): in each, a party examines a random part of its records, from where it stopped
          before, so that nobody can count them. The paper then stops once n records were examined in all without a
          move, which may be one party's records twice and another's not at all. Here sweeps end once every party has
          examined all of its own since anything changed: a bit of each, joined by an AND. With parts of 100% the
          labels are those of `exact`.
Opens     to everyone: which cluster the mover looks at, and its closure without that record; the ledger counts how
          often a closure is a single record of others.
Not       nobody may collude: a player's two neighbours in the ring read its bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from covey.anonymizers.kernels import lowest_above
from covey.arrays import Ints, Longs
from covey.crypto.rng import Stream
from covey.errors import PeerError
from covey.protocols.cluster_rows import rings
from covey.protocols.cluster_rows.descent import NOTHING
from covey.protocols.cluster_rows.divide import Openings
from covey.protocols.cluster_rows.exact import hear_state
from covey.protocols.cluster_rows.ground import Clusters, Ground
from covey.protocols.cluster_rows.kernels import above
from covey.protocols.cluster_rows.sweep import ENDLESS, NO_UNITS, Rules, best_cluster, box_price
from covey.protocols.cluster_rows.turn import Held, hear, read_state, say, write_state
from covey.protocols.shared.agree import agree
from covey.wire import Channel, Count, Message

SWEEPS = 24
"""Twice as many as `exact` has: a sweep may examine half of the records."""


class Removal(Message, tag="cluster.removal"):
    """The mover asks for a cluster's closure without one of its records, below these nodes; or it is done."""

    done: bool
    cluster: Count
    nodes: Annotated[bytes, Meta(max_length=4096)]
    """The node from which to search in each column, four bytes each; NOTHING where it is known to stay."""


class Parts:
    """One party's randomised sweeps: where it stopped, and how much it has examined since anything changed."""

    most = SWEEPS

    def __init__(self, lowest: int = 50, highest: int = 150) -> None:
        """Each sweep examines between these percentages of the own records."""
        self.lowest, self.highest = lowest, highest
        self._next = 0
        self._quiet = 0

    async def turn(
        self, channel: Channel, ground: Ground, codes: Ints, label: Longs, state: Clusters, mover: str,
        openings: Openings,
    ) -> Clusters:  # fmt: skip
        """The clusters after the mover's turn; its own label array is changed in place."""
        await agree(channel.at("agree"), state.digest())
        said = channel.at("state")
        if channel.me != mover:
            await _answer_all(channel, ground, codes, label, state, mover, openings)
            held, message = Held.of(ground, codes, label, len(state)), await hear(said, mover, ground, len(state))
            return hear_state(message, ground, state, held, mover, said.step, openings)
        examined = self._examined(codes.shape[1], channel.rng.stream("part"))
        message = write_state(ground, await _move_all(channel, ground, codes, label, state, openings, examined))
        await say(said, ground, message)
        return read_state(message, ground, state, Held.of(ground, codes, label, len(state)), mover, said.step)

    async def ended(self, channel: Channel, records: int, changed: bool) -> bool:
        """Whether everyone has examined all of its records since anything changed."""
        self._quiet = 0 if changed else self._quiet
        return bool((await rings.conjoin(channel, np.array([self._quiet >= records]))).all())

    def _examined(self, records: int, stream: Stream) -> list[int]:
        percent = self.lowest + stream.below(self.highest - self.lowest + 1)
        number = -(-records * percent // 100)
        first, self._next = self._next, (self._next + number) % max(records, 1)
        self._quiet += number
        return [(first + place) % records for place in range(number)]


async def _move_all(
    channel: Channel, ground: Ground, codes: Ints, label: Longs, state: Clusters, openings: Openings,
    examined: Sequence[int],
) -> Clusters:  # fmt: skip
    """The mover's loop over its records."""
    forest = ground.forest
    sizes, boxes = state.sizes.copy(), state.boxes.copy()
    price = np.where(sizes > 0, ground.costs(boxes), 0)
    rules = Rules(0, len(sizes), ground.monotone)
    asked = 0
    for record in examined:
        own = int(label[record])
        alone, limit, shrunk = sizes[own] == 1, ENDLESS, boxes[own].copy()
        if not alone:
            before, rest = _own_closures(ground, codes, label, record)
            changed = before != rest
            if changed.any():
                if (label == own).sum() == 1 and sizes[own] == 2:
                    openings.exact += len(channel.parties) - 1  # everyone sees it but whose it is
                start = np.where(changed, boxes[own], NOTHING).astype(np.int32)
                ask = Removal(False, own, ground.local(start[np.newaxis])[0].astype("<i4").tobytes())
                await channel.at("ask", asked).broadcast(ask)
                found = await _search(channel.at("call", asked), ground, start, rest, openings)
                shrunk = np.where(changed, found, boxes[own]).astype(np.int32)
                asked += 1
            limit = int(sizes[own] * price[own] - (sizes[own] - 1) * box_price(forest, shrunk))
        target, _ = best_cluster(forest, codes, record, own, sizes, boxes, price, limit, rules, NO_UNITS)
        if target < 0:
            continue
        label[record] = target
        sizes[own] -= 1
        sizes[target] += 1
        if not alone:
            boxes[own] = shrunk
        price[own] = 0 if alone else box_price(forest, shrunk)
        for column in range(ground.columns):
            boxes[target, column] = above(forest, int(boxes[target, column]), int(codes[column, record]))
        price[target] = box_price(forest, boxes[target])
    await channel.at("ask", asked).broadcast(Removal(True, 0, b""))
    return Clusters(sizes, boxes)


def _own_closures(ground: Ground, codes: Ints, label: Longs, record: int) -> tuple[Ints, Ints]:
    """The closure of the own records in the record's cluster, with it and without; NOTHING if none is left."""
    members = np.flatnonzero(label == label[record])
    return _close(ground, codes[:, members]), _close(ground, codes[:, members[members != record]])


def _close(ground: Ground, codes: Ints) -> Ints:
    if not codes.shape[1]:
        return np.full(ground.columns, NOTHING, dtype=np.int32)
    ends = zip(codes.min(axis=1).tolist(), codes.max(axis=1).tolist(), strict=True)
    nodes = [lowest_above(ground.forest, column, low, high) for column, (low, high) in enumerate(ends)]
    return ground.clamped_boxes(np.array(nodes, dtype=np.int32))


async def _answer_all(
    channel: Channel, ground: Ground, codes: Ints, label: Longs, state: Clusters, mover: str, openings: Openings
) -> None:
    """Everyone else: takes part in the mover's searches until it is done."""
    asked = 0
    while True:
        at = channel.at("ask", asked)
        ask = await at.receive(mover, Removal)
        if ask.done:
            return
        start = np.frombuffer(ask.nodes[: 4 * ground.columns], dtype="<i4").astype(np.int32)
        limits = np.array([tree.nodes for tree in ground.trees])
        if len(ask.nodes) != 4 * ground.columns or ask.cluster >= len(state) or not _are_nodes(start, limits):
            raise PeerError(party=mover, step=at.step, reason="it asks for a cluster or a node that does not exist")
        own = _close(ground, codes[:, label == ask.cluster])
        await _search(channel.at("call", asked), ground, ground.flat(start[np.newaxis])[0], own, openings)
        asked += 1


def _are_nodes(start: Ints, limits: Longs) -> bool:
    return bool(((start >= NOTHING) & (start < limits)).all())


async def _search(channel: Channel, ground: Ground, start: Ints, own: Ints, openings: Openings) -> Ints:
    """The lowest common node below each start, level by level, all columns in one AND each time."""
    forest, children = ground.forest, ground.children
    found, depth = start.copy(), 0
    open_columns = [column for column in range(ground.columns) if start[column] != NOTHING]
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
        common = await rings.conjoin(channel.at(depth), (mine == NOTHING) | inside)
        openings.calls += 1
        depth += 1
        here = dict(zip(below, np.split(common, np.cumsum([len(each) for each in below.values()])[:-1]), strict=True))
        open_columns = [column for column in open_columns if here[column].sum() == 1]
        for column in open_columns:
            found[column] = below[column][here[column]][0]
