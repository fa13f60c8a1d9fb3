"""A level of groups at once: who divides each, and into which halves.

Every step of all groups that one provider divides travels in one message, and what the two divide goes on side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Bits
from covey.protocols.federate import comparison
from covey.protocols.federate.follow import answer_tests, follow
from covey.protocols.federate.groups import Group
from covey.protocols.federate.lead import ask_tests, lead, tests
from covey.protocols.federate.pair import CountingPair, Pair
from covey.protocols.federate.said import RANGE_BITS, tests_of, width_of
from covey.wire import Channel, gather


async def is_feasible(channel: Channel, pair: CountingPair, everyone: Group) -> bool:
    """Whether the whole population as one group keeps k and delta; the first provider asks, and both learn it."""
    together = tests_of(pair.params)
    widths = [width_of(pair.params, len(everyone.members))] * together
    if pair.is_first:
        numbers = [tests(pair, everyone.members, pair.theirs.total())]
        return bool((await ask_tests(channel, pair, numbers, widths, together))[0])
    return bool((await answer_tests(channel, pair, widths, together))[0])


async def divide_level(
    channel: Channel, pair: CountingPair, groups: Sequence[Group]
) -> list[tuple[Group, Group] | None]:
    """For each group its halves, the lower first, or None where it stays as it is."""
    spreads = [pair.users.spread(group.members) for group in groups]
    mine = await choose_dividers(channel.at("range"), pair, [longest for longest, _ in spreads])
    led, followed = np.flatnonzero(mine).tolist(), np.flatnonzero(~mine).tolist()
    asked, answered = await gather(
        lead(channel.at("cut", pair.me), pair, led, groups, spreads),
        follow(channel.at("cut", pair.peer), pair, [groups[place] for place in followed]),
    )
    return join(groups, led, asked, followed, answered)


def join(
    groups: Sequence[Group], led: list[int], asked: list[Bits | None], followed: list[int], answered: list[Bits | None]
) -> list[tuple[Group, Group] | None]:
    """Both sides' answers in the groups' order."""
    upper: dict[int, Bits | None] = {**dict(zip(led, asked, strict=True)), **dict(zip(followed, answered, strict=True))}
    return [None if (found := upper[place]) is None else group.halves(found) for place, group in enumerate(groups)]


async def choose_dividers(channel: Channel, pair: Pair, ranges: Sequence[int]) -> Bits:
    """Which groups this provider divides: those where its range is longer, or equal if it is the first."""
    widths = np.full(len(ranges), RANGE_BITS, dtype=np.int64)
    if pair.is_first:
        shares = await comparison.answer_less(channel, pair.peer, pair.reading, ranges, widths)
    else:
        shares = await comparison.ask_less(channel, pair.peer, pair.their_bits, ranges, widths)
    at = channel.at("open")
    await comparison.tell(at, pair.peer, shares)
    shorter = await comparison.opened(at, pair.peer, shares)
    return ~shorter if pair.is_first else shorter
