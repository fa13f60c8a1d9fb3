"""Secure least common ancestor: for many clusters and columns at once, the lowest nodes above all parties' nodes.

Source    Tassa & Gudes, section 4.2, without the depth-first search: one AND over all nodes strictly below the public
          closure. That reveals the same (their proposition 8.3: every node's answer follows from the ancestor).
          Two parties match their ancestors depth by depth.
Roles     every party alike, two or more; the receivers are everyone or one named party.
Security  that of the AND, `covey.secure.conjunction` or, in a search, tests prepared ahead (`range_tests`):
          semi-honest, up to (m - 1) // 2 of m colluders. A party without a record in a cluster says that every node is
          common, so that among three or more nobody sees who has none.
Not       an ancestor that is a leaf, or the closure of few records, says much about them: what may be opened is the
          caller's to decide. With two parties each learns where the other has no records, and the receiver then gets
          the other's own closure: with two there is nothing else to answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import InputError
from covey.hierarchy import Hierarchy
from covey.protocols.as_printed.cluster_rows.descent import NOTHING, ColumnLayout, Nodes, Ranks, check
from covey.secure import conjunction, match
from covey.secure.declare import Cost, Leakage, Traffic
from covey.wire import FRAME_BYTES, Channel, Chunk, chunks

MESSAGE_BYTES = FRAME_BYTES + 30

NODE_BYTES = 4

Conjoin = Callable[[Bits, str | None], Awaitable[Bits | None]]
"""A secure AND among three or more of everyone's bits, for the named receiver or for everyone."""

LEAKAGE = Leakage(
    everyone=("that the ancestors of {cells} cells were computed",),
    roles={"receiver": ("the lowest node above all {parties} parties' records in each of {cells} cells",)},
)
LEAKAGE_OF_TWO = Leakage(
    everyone=(
        "that the ancestors of {cells} cells were computed",
        "in which of {cells} cells the other party has no record",
    ),
    roles={
        "receiver": (
            "the lowest node above both parties' records in each of {cells} cells, and the other party's own node "
            "where the receiver has no record",
        )
    },
)


def leakage(parties: int) -> Leakage:
    """The leakage of a run among that many."""
    return LEAKAGE_OF_TWO if parties == 2 else LEAKAGE


def _traffic(n: int, places: int, cells: int, one: bool = False) -> Traffic:
    if n > 2:
        return conjunction.COST.of(n, places, one)
    told = 2 + (1 if one else 2) * chunks.messages(cells, NODE_BYTES)  # besides the messages of the match
    own = 2 * -(-cells // 8) + (4 if one else 8) * cells + told * MESSAGE_BYTES
    matched = match.COST.of(places, True)
    return Traffic(2 if one else 3, matched.messages + told, matched.bytes + own)


COST = Cost(_traffic)
"""The cost for `cells` clusters times columns with `places` in all (see `places`); `one` is for a single receiver."""


class Present(Chunk[bytes], tag="ancestor.present"):
    """The cells in which the sender has a record, eight to a byte. Between two parties only."""

    cells: bytes


class NodesOfCells(Chunk[bytes]):
    """Nodes of some cells, in order, four bytes each."""

    nodes: bytes


class UnsharedNodes(NodesOfCells, tag="ancestor.alone"):
    """The sender's nodes in the cells where the recipient has no record; NOTHING elsewhere."""


class FoundAncestors(NodesOfCells, tag="ancestor.answer"):
    """The ancestors that the sender found."""


async def common(
    channel: Channel,
    trees: Sequence[Hierarchy],
    mine: Nodes,
    *,
    below: Nodes | None = None,
    receiver: str | None = None,
    conjoin: Conjoin | None = None,
) -> Nodes | None:
    """The lowest node above all parties' nodes, in each cluster (row) and column; None for a party that is no receiver.

    `mine` has this party's own closures, NOTHING where it has no record. `below` has the public closures within which
    to look, the roots if it is not given; where it is NOTHING (an empty cluster), nothing is asked and the answer is
    NOTHING. It is NOTHING too where nobody has a record, unless only one leaf is possible there. Three parties or more
    take `conjoin`, where it is given, instead of `secure.conjunction`, of which `COST` tells.
    """
    if receiver is not None and receiver not in channel.parties:
        raise InputError(f"the receiver {receiver!r} is no party of this session")
    bounds = roots(trees, len(mine)) if below is None else below
    ranks = [Ranks(tree) for tree in trees]
    check(ranks, mine, bounds)
    if len(channel.parties) == 2:
        return await _common_of_two(channel, ranks, mine, bounds, receiver)
    layouts = [ColumnLayout.of_nodes(walk, bounds[:, column]) for column, walk in enumerate(ranks)]
    bits = _joined([layout.bits(mine[:, column]) for column, layout in enumerate(layouts)])
    if conjoin is None:
        found = await conjunction.conjoin(channel, bits, receiver=receiver)
    else:
        found = await conjoin(bits, receiver)
    if found is None:
        return None
    return _table([layout.answer(part) for layout, part in zip(layouts, _parts(found, layouts), strict=True)])


async def _common_of_two(
    channel: Channel, ranks: Sequence[Ranks], mine: Nodes, bounds: Nodes, receiver: str | None
) -> Nodes | None:
    """Both say where they have records; ancestors are matched; who has none in a cell is told the other's node."""
    (peer,) = channel.peers
    asker = channel.parties[0] if receiver is None else receiver
    layouts = [ColumnLayout.of_depths(walk, bounds[:, column]) for column, walk in enumerate(ranks)]
    texts = [text for column, layout in enumerate(layouts) for text in layout.texts(mine[:, column])]
    here = (mine != NOTHING) & (bounds != NOTHING)
    await channel.at("present").send_bits(peer, Present, here)
    equal = await match.matches(channel.at("match"), texts, receiver=asker)
    there = (await channel.at("present").receive_bits(peer, Present, mine.size)).reshape(mine.shape)
    if equal is None:
        told = np.where(here & ~there, mine, NOTHING)
        await channel.at("alone").send_all(peer, UnsharedNodes, told.astype("<i4").tobytes())
        if receiver is not None:
            return None
        return await _hear(channel.at("answer"), peer, FoundAncestors, ranks, bounds)
    theirs = await _hear(channel.at("alone"), peer, UnsharedNodes, ranks, bounds)
    pairs = zip(layouts, mine.T, _parts(equal, layouts), strict=True)
    both = _table([layout.deepest(own, part) for layout, own, part in pairs])
    neither = _table([layout.nobody() for layout in layouts])
    found = np.where(here & there, both, np.where(here, mine, np.where(there, theirs, neither))).astype(np.int32)
    if receiver is None:
        await channel.at("answer").send_all(peer, FoundAncestors, found.astype("<i4").tobytes())
    return found


def roots(trees: Sequence[Hierarchy], clusters: int) -> Nodes:
    """The widest bounds: every column's root in every cluster."""
    return np.tile(np.array([tree.root for tree in trees], dtype=np.int32), (clusters, 1))


def places(trees: Sequence[Hierarchy], bounds: Nodes, parties: int) -> int:
    """The number of places that are compared: a node each or, between two parties, a depth each."""
    lay = ColumnLayout.of_depths if parties == 2 else ColumnLayout.of_nodes
    return sum(len(lay(Ranks(tree), bounds[:, column]).cell) for column, tree in enumerate(trees))


def ideal(trees: Sequence[Hierarchy], inputs: Mapping[str, Nodes], below: Nodes | None = None) -> Nodes:
    """The trusted party's answer, cell by cell."""
    clusters = len(next(iter(inputs.values())))
    bounds = roots(trees, clusters) if below is None else below
    answer = np.full((clusters, len(trees)), NOTHING, dtype=np.int32)
    for column, tree in enumerate(trees):
        for cluster in range(clusters):
            bound = int(bounds[cluster, column])
            nodes = [int(own[cluster, column]) for own in inputs.values() if own[cluster, column] != NOTHING]
            if bound == NOTHING:
                continue
            if nodes:
                found = nodes[0]
                for node in nodes[1:]:
                    found = int(tree.common_ancestor(np.array([found]), np.array([node]))[0])
                answer[cluster, column] = found
            elif tree.first[bound] == tree.last[bound]:
                answer[cluster, column] = tree.first[bound]
    return answer


def _joined(parts: Sequence[Bits]) -> Bits:
    return np.concatenate([*parts, np.zeros(0, dtype=bool)])


def _parts(bits: Bits, layouts: Sequence[ColumnLayout]) -> list[Bits]:
    """The columns' parts of one long vector."""
    ends = np.cumsum([len(layout.cell) for layout in layouts])
    return np.split(bits, ends[:-1])


def _table(columns: Sequence[Longs]) -> Nodes:
    return np.stack(columns, axis=1).astype(np.int32)


async def _hear(at: Channel, peer: str, kind: type[NodesOfCells], ranks: Sequence[Ranks], bounds: Nodes) -> Nodes:
    """The peer's nodes in all cells. Raises PeerError for what are none below the bounds."""
    packed = await at.receive_all(peer, kind, NODE_BYTES * bounds.size)
    nodes = np.frombuffer(packed, dtype="<i4").astype(np.int32).reshape(bounds.shape)
    try:
        check(ranks, nodes, bounds)
    except InputError as error:
        raise at.refusal(peer, str(error)) from None
    return nodes
