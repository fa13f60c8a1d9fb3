"""The division of the population: level by level, until no group may be cut any more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.errors import Unmet
from covey.protocols.federate import leakage, paper
from covey.protocols.federate.cutting import choose_dividers, follow, lead
from covey.protocols.federate.groups import INFEASIBLE, Group, divisible
from covey.protocols.federate.meeting import CountingPair, Pair
from covey.protocols.federate.thresholds import is_feasible
from covey.protocols.protocol import Seat
from covey.wire import Channel, gather


async def divide(seat: Seat, channel: Channel, pair: Pair) -> list[Group]:
    """The final groups, in an order that both providers find."""
    everyone = Group("", np.arange(len(pair.params.population)))
    at, depth = channel.at("root"), 0
    if isinstance(pair, CountingPair):
        feasible = await is_feasible(at, pair, everyone)
    else:
        feasible = await paper.is_feasible(at, pair, everyone)
    if not feasible:
        raise Unmet(INFEASIBLE)
    for learned in leakage.before(pair.params):
        seat.ledger.learns(learned)
    leaves: list[Group] = []
    below = [everyone]
    while groups := divisible(pair.params, below, leaves):
        if isinstance(pair, CountingPair):
            cut = await divide_level(channel.at(depth), pair, groups)
        else:
            cut = [await paper.divide_group(channel.at(depth, place), pair, g) for place, g in enumerate(groups)]
        leaves += [group for group, halves in zip(groups, cut, strict=True) if halves is None]
        below = [half for halves in cut if halves is not None for half in halves]
        depth += 1
        seat.progress.reach(depth)
    return sorted(leaves, key=lambda group: group.path)


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
    upper = dict(zip([*led, *followed], [*asked, *answered], strict=True))
    return [None if (above := upper[place]) is None else group.halves(above) for place, group in enumerate(groups)]
