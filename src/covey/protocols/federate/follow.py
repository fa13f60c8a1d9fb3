"""The provider that does not divide a group: it adds its part to the cuts' scores and reads what comparisons leave.

Of each candidate, in random order, it is told how many members lie above it, and it reads how many of these are its own
users; of the chosen cut it learns whether it is good, and then who is on which side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto import packing
from covey.errors import PeerError
from covey.protocols.federate import comparison, largest, score
from covey.protocols.federate.groups import Group
from covey.protocols.federate.pair import CountingPair
from covey.protocols.federate.said import (
    SCORE_BITS,
    Above,
    Candidates,
    Halves,
    Scores,
    read_halves,
    read_numbers,
    room_for,
    tests_of,
    width_of,
)
from covey.secure import ciphers
from covey.wire import Channel


async def follow(channel: Channel, pair: CountingPair, groups: Sequence[Group]) -> list[Bits | None]:
    """The other side of `lead`; for each group who is in its upper half, or None where it stays as it is."""
    if not groups:
        return []
    counts = await add_scores(channel.at("choose"), pair, groups)
    cut = [place for place, count in enumerate(counts) if count]
    widths = [width_of(pair.params, len(groups[p].members)) for p in cut for _ in range(2 * tests_of(pair.params))]
    kept = await answer_tests(channel.at("verify"), pair, widths, 2 * tests_of(pair.params))
    divided = [place for place, good in zip(cut, kept.tolist(), strict=True) if good]
    if not divided:
        return [None] * len(groups)
    at = channel.at("halves")
    message = await at.receive(pair.peer, Halves)
    upper = read_halves(message, [len(groups[place].members) for place in divided])
    if upper is None:
        raise PeerError(party=pair.peer, step=at.step, reason="its halves are not those of the groups, or are empty")
    found = dict(zip(divided, upper, strict=True))
    return [found.get(place) for place in range(len(groups))]


async def add_scores(channel: Channel, pair: CountingPair, groups: Sequence[Group]) -> list[int]:
    """Tells the divider this provider's part of each cut's score, encrypted; returns how many cuts each group has."""
    at = channel.at("candidates")
    message = await at.receive(pair.peer, Candidates)
    counts, above = accept_candidates(pair, at, message, groups)
    if not len(above):
        return counts
    sizes = [len(group.members) for group in groups]
    room = room_for(sizes)
    slots = packing.slots(pair.secret.public, room)
    packed = await ciphers.receive(at, pair.peer, Above, pair.secret.public, -(-len(above) // slots))
    users = np.array(read_numbers(at, pair.peer, pair.secret, packed, room, len(above)), dtype=np.int64)
    parts, first = [], 0
    for group, count in zip(groups, counts, strict=True):
        here, upper = users[first : first + count], above[first : first + count]
        have = len(pair.users.holding(group.members))
        if (here > upper).any() or (here > have).any() or (have - here > len(group.members) - upper).any():
            raise PeerError(party=pair.peer, step=at.step, reason="more users than there can be above a cut")
        dummies = len(group.members) - have
        parts.append(score.of_other(pair.params, len(group.members), upper, dummies, upper - here))
        first += count
    mine = pair.secret.encrypt(np.concatenate(parts).tolist(), channel.rng.stream("scores"))
    await ciphers.send(channel.at("scores"), pair.peer, Scores, mine)
    several = [count for count in counts if count]
    await largest.answer(channel.at("largest"), pair.peer, pair.secret, pair.reading, several, SCORE_BITS)
    return counts


def accept_candidates(
    pair: CountingPair, channel: Channel, message: Candidates, groups: Sequence[Group]
) -> tuple[list[int], Longs]:
    """The candidates of each group. Raises PeerError for numbers that cannot be."""
    counts = message.counts.words.astype(np.int64)
    above = message.above.words.astype(np.int64)
    sizes = np.array([len(group.members) for group in groups])
    most = np.minimum(sizes - 1, 1 if pair.params.alpha == 1 else pair.params.candidates or sizes)
    if len(counts) != len(groups) or (counts < 0).any() or (counts > most).any():
        raise PeerError(party=pair.peer, step=channel.step, reason="not as many cuts as a group can have")
    due = 0 if pair.params.alpha == 1 else int(counts.sum())
    if len(above) != due or (above < 1).any() or (above >= np.repeat(sizes, counts)[:due]).any():
        raise PeerError(party=pair.peer, step=channel.step, reason="a cut with more members above it than there are")
    return counts.tolist(), above


async def answer_tests(channel: Channel, pair: CountingPair, widths: Sequence[int], together: int) -> Bits:
    """The other side of `ask_tests`."""
    lengths = np.array(widths, dtype=np.int64)
    shares = await comparison.answer_signs(channel.at("signs"), pair.peer, pair.secret, pair.reading, lengths)
    return await comparison.answer_verdicts(channel.at("verdict"), pair.peer, pair.reading, shares, together)
