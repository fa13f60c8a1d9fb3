"""The division of the population: level by level, until no group may be cut any more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.errors import Unmet
from covey.protocols.federate import leakage, paper, several, thresholds
from covey.protocols.federate.cutting import choose_dividers, follow, lead
from covey.protocols.federate.groups import INFEASIBLE, Group, divisible, joined
from covey.protocols.federate.meeting import CountingPair, Pair
from covey.protocols.federate.several import ProviderShares
from covey.protocols.protocol import Seat
from covey.wire import Channel, gather

Halves = tuple[Group, Group] | None
"""The halves of a group, the lower first, or None where it stays as it is."""


async def divide(seat: Seat, channel: Channel, held: Pair | ProviderShares) -> list[Group]:
    """The final groups, in an order that all providers find."""
    params = held.params
    everyone = Group("", np.arange(len(params.population)))
    if not await _is_feasible(channel.at("root"), held, everyone):
        raise Unmet(INFEASIBLE)
    for learned in leakage.before(params):
        seat.ledger.learns(learned)
    leaves: list[Group] = []
    below, depth = [everyone], 0
    while groups := divisible(params, below, leaves):
        cut = await _cut(channel.at(depth), held, groups)
        leaves += [group for group, halves in zip(groups, cut, strict=True) if halves is None]
        below = [half for halves in cut if halves is not None for half in halves]
        depth += 1
        seat.progress.reach(depth)
    return sorted(leaves, key=lambda group: group.path)


async def keep_exact_values(channel: Channel, held: CountingPair | ProviderShares, leaves: list[Group]) -> list[Group]:
    """Joins groups again until delta holds for each exact value in them; all providers learn which were joined."""
    turn = 0
    while True:
        at = channel.at(turn)
        if isinstance(held, ProviderShares):
            kept = await several.keep_exactly(at, held, leaves)
        else:
            kept = await thresholds.keep_exactly(at, held, leaves)
        failing = [group for group, good in zip(leaves, kept.tolist(), strict=True) if not good]
        if not failing:
            return leaves
        leaves = joined(leaves, failing)
        turn += 1


async def _is_feasible(channel: Channel, held: Pair | ProviderShares, everyone: Group) -> bool:
    if isinstance(held, ProviderShares):
        return await several.is_feasible(channel, held, everyone)
    if isinstance(held, CountingPair):
        return await thresholds.is_feasible(channel, held, everyone)
    return await paper.is_feasible(channel, held, everyone)


async def _cut(channel: Channel, held: Pair | ProviderShares, groups: Sequence[Group]) -> list[Halves]:
    if isinstance(held, ProviderShares):
        return await several.divide_level(channel, held, groups)
    if isinstance(held, CountingPair):
        return await divide_level(channel, held, groups)
    return [await paper.divide_group(channel.at(place), held, group) for place, group in enumerate(groups)]


async def divide_level(channel: Channel, pair: CountingPair, groups: Sequence[Group]) -> list[Halves]:
    """For each group its halves, or None: every group is cut by one of two providers, and followed by the other."""
    spreads = [pair.users.spread(group.members) for group in groups]
    mine = await choose_dividers(channel.at("range"), pair, [longest for longest, _ in spreads])
    led, followed = np.flatnonzero(mine).tolist(), np.flatnonzero(~mine).tolist()
    asked, answered = await gather(
        lead(channel.at("cut", pair.me), pair, led, groups, spreads),
        follow(channel.at("cut", pair.peer), pair, [groups[place] for place in followed]),
    )
    upper = dict(zip([*led, *followed], [*asked, *answered], strict=True))
    return [None if (above := upper[place]) is None else group.halves(above) for place, group in enumerate(groups)]
