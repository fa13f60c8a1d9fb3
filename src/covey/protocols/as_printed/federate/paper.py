"""The paper's own calls, one after the other: for comparison, on small tables.

Source    Takenouchi, Kawamura & Ohsuga, figures 2 and 3, on `cardinality` (new keys for each call: with a reused
          key the same id would look the same in two calls) and, for k, on the threshold test of `window`.
Not       `cardinality` tells both sides a number where the paper tells one, and how long the other's list is: how many
          users it has in all, in groups, in halves even of refused cuts, in classes by exact value. The ledger says so.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import PeerError
from covey.protocols.as_printed.federate import cardinality, comparison, score, window
from covey.protocols.as_printed.federate.cutting import (
    Candidates,
    Halves,
    accept_halves,
    choose_dividers,
    to_vector,
    to_words,
)
from covey.protocols.as_printed.federate.groups import Group, exceeds
from covey.protocols.as_printed.federate.meeting import Pair
from covey.protocols.as_printed.federate.score import CandidateCuts
from covey.wire import Channel


async def is_feasible(channel: Channel, pair: Pair, everyone: Group) -> bool:
    """True if the whole population as one group keeps k and delta; both learn how many users they share."""
    members, own = everyone.members, pair.users
    if await too_few(channel.at("k"), pair, pair.is_first, own.member[members]):
        return False
    common = await common_of(channel.at("common"), pair, own.holding(members))
    good = not exceeds(pair.params, common, len(own.holding(members)))
    at = channel.at("agree")
    await comparison.tell(at, pair.peer, np.array([good]))
    return good and bool((await comparison.opened(at, pair.peer, np.zeros(1, dtype=bool)))[0])


async def divide_group(channel: Channel, pair: Pair, group: Group) -> tuple[Group, Group] | None:
    """The group's halves, the lower first, or None where it stays as it is."""
    longest, column = pair.users.spread(group.members)
    mine = await choose_dividers(channel.at("range"), pair, [longest])
    if mine[0]:
        upper = await lead(channel, pair, group, column if longest else None)
    else:
        upper = await follow(channel, pair, group)
    return None if upper is None else group.halves(upper)


async def lead(channel: Channel, pair: Pair, group: Group, column: int | None) -> Bits | None:
    """Divides the group: asks about every candidate, takes the best, and tests it."""
    params, own, members = pair.params, pair.users, group.members
    empty = np.zeros(0, dtype=np.int64)
    values = empty if column is None else own.codes(column, members, group.path)
    cuts = CandidateCuts(empty, empty, len(members)) if column is None else score.candidates(params, values)
    order = channel.rng.stream("order").permutation(len(cuts))
    await channel.at("candidates").send(
        pair.peer, Candidates(to_vector(np.array([len(cuts)])), to_vector(cuts.upper[order]))
    )
    if column is None:
        return None
    theirs = np.zeros(len(cuts), dtype=np.int64)
    for turn, place in enumerate(order.tolist()):
        upper = members[values >= cuts.codes[place]]
        theirs[place] = await common_of(channel.at("above", turn), pair, upper)
    size, have = len(members), await common_of(channel.at("users"), pair, members)
    scores = score.of_divider(params, own, column, members, values, cuts)
    scores = scores + score.of_other(params, size, cuts.upper, size - have, cuts.upper - theirs)
    best = int(np.argmax(scores))
    upper = values >= cuts.codes[best]
    users = {"1": int(theirs[best]), "0": have - int(theirs[best])}
    if not await asks_kept(channel.at("verify"), pair, members, upper, users):
        return None
    await channel.at("halves").send(pair.peer, Halves(to_words(upper)))
    return np.asarray(upper)


async def asks_kept(channel: Channel, pair: Pair, members: Longs, upper: Bits, users: dict[str, int]) -> bool:
    """Tests both halves, k first; the other provider has so many users in each."""
    own, good = pair.users, True
    for side, half in (("1", upper), ("0", ~upper)):
        mine = np.asarray(half & own.member[members])
        if await too_few(channel.at("k", side), pair, True, mine):
            return False
        common = await common_of(channel.at("common", side), pair, members[mine])
        good &= not any(exceeds(pair.params, common, have) for have in (int(mine.sum()), users[side]))
    await comparison.tell(channel.at("verdict"), pair.peer, np.array([good]))
    return good


async def follow(channel: Channel, pair: Pair, group: Group) -> Bits | None:
    """The other side of `lead`."""
    at = channel.at("candidates")
    message = await at.receive(pair.peer, Candidates)
    size, own = len(group.members), pair.users
    count = int(message.counts.words[0]) if len(message.counts) == 1 else size
    above = message.above.words
    if not 0 <= count < size or len(above) != count or ((above < 1) | (above >= size)).any():
        raise PeerError(party=pair.peer, step=at.step, reason="not as many cuts as a group can have")
    if not count:
        return None
    mine = own.holding(group.members)
    for turn in range(count):
        await common_of(channel.at("above", turn), pair, mine)
    await common_of(channel.at("users"), pair, mine)
    verify, has = channel.at("verify"), own.member[group.members]
    for side in ("1", "0"):
        if await too_few(verify.at("k", side), pair, False, has):
            return None
        await common_of(verify.at("common", side), pair, mine)
    if not (await comparison.opened(verify.at("verdict"), pair.peer, np.zeros(1, dtype=bool)))[0]:
        return None
    at = channel.at("halves")
    return accept_halves(at, pair.peer, await at.receive(pair.peer, Halves), [size])[0]


async def too_few(channel: Channel, pair: Pair, asks: bool, mine: Bits) -> bool:
    """True if both have fewer than k of the group's members in common."""
    if asks:
        return await window.ask_below(channel, pair.peer, pair.their_bits, mine, pair.params.k)
    return await window.answer_below(channel, pair.peer, pair.reading, mine, pair.params.k)


async def common_of(channel: Channel, pair: Pair, mine: Longs) -> int:
    """The number of people who are in this set and in the one that the other provider gives."""
    ids = pair.params.population
    return await cardinality.count_common(channel.among(pair.me, pair.peer), [ids[member] for member in mine.tolist()])


async def count_exactly(channel: Channel, pair: Pair, leaves: list[Group]) -> Longs:
    """Common users of each group and exact value; both providers learn them."""
    width = pair.params.width
    counts = np.zeros((len(leaves), width), dtype=np.int64)
    for place, group in enumerate(leaves):
        mine = pair.users.holding(group.members)
        values = pair.users.exact[pair.users.row[mine]]
        for value in range(width):
            ids = mine if pair.is_first else mine[values == value]
            counts[place, value] = await common_of(channel.at(place, value), pair, ids)
    return counts
