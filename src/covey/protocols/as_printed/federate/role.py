"""The roles: two providers or more, and the recipient who alone gets the release."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from covey.errors import Unmet
from covey.protocols.as_printed.federate import delivery, leakage, meeting, paper, several, thresholds
from covey.protocols.as_printed.federate.cutting import choose_dividers, follow, lead
from covey.protocols.as_printed.federate.groups import INFEASIBLE, Group, divisible, joined
from covey.protocols.as_printed.federate.meeting import CountingPair, Pair
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.release import result
from covey.protocols.as_printed.federate.several import ProviderShares
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.protocols.protocol import Proposal, Recognition, Result, Seat
from covey.protocols.shared.columns import recognition
from covey.wire import Channel, gather

Halves = tuple[Group, Group] | None
"""The halves of a group, the lower first, or None where it stays as it is."""


async def provider(seat: Seat) -> Result:
    """A provider with users. Raises Unmet where not even everyone as one class keeps k and delta."""
    params = Parameters.of(seat.study)
    channel = seat.channel.at("federate").among(*params.providers)
    own = OwnUsers.of(params, seat.records, seat.lasting)

    seat.progress.phase("membership")
    seat.ledger.learns(leakage.of_meeting(params))
    held = await _enrol(channel, own)

    seat.progress.phase("division")
    leaves = await divide(seat, channel.at("divide"), held)
    if params.sensitive and isinstance(held, CountingPair | ProviderShares):
        leaves = await keep_exact_values(channel.at("exact"), held, leaves)
    ready = await several.settle(channel.at("settle"), held, leaves) if isinstance(held, ProviderShares) else held

    seat.progress.phase("release")
    everyone = seat.channel.at("federate")
    await everyone.at("ready").send(params.recipient, delivery.ClassCount(len(leaves)))
    await _approve(seat, params, recognised(own, leaves))
    await delivery.send_release(everyone.at("release"), ready, leaves)
    return Result()


async def _enrol(channel: Channel, own: OwnUsers) -> Pair | ProviderShares:
    """Exchanges membership bits with the other providers: shares of them, or encrypted ones between two."""
    params = own.params
    if params.several:
        return await several.enrol(channel.at("enrol"), own)
    pair = await meeting.meet(channel.at("meet"), own, params.other(channel.me))
    return await meeting.enrol(channel.at("enrol"), pair) if params.by_level else pair


async def recipient(seat: Seat) -> Result:
    """The party that gets the release; it holds nothing, and says nothing but that it approves."""
    params = Parameters.of(seat.study)
    channel = seat.channel.at("federate")
    seat.progress.phase("membership")
    seat.ledger.learns(leakage.of_meeting(params))
    seat.progress.phase("division")
    for learned in leakage.before(params):
        seat.ledger.learns(learned)
    classes = await delivery.receive_classes(channel.at("ready"), params)

    seat.progress.phase("release")
    await _approve(seat, params)
    at = channel.at("release")
    boxes = [await delivery.receive_boxes(at.at("boxes"), params, name, classes) for name in params.providers]
    return result(params, boxes, await delivery.receive_numbers(at.at("numbers"), params, classes))


async def _approve(seat: Seat, params: Parameters, found: Recognition | None = None) -> None:
    seat.ledger.learns(leakage.READY)
    await seat.propose(Proposal(leakage.of_release(params), recognition=found))


def recognised(own: OwnUsers, leaves: Sequence[Group]) -> Recognition | None:
    """The users whom a provider could find: it knows each one's class, but not who is common.

    So all of its users count, but for those whom delta keeps out of the release.
    """
    users = [own.row[own.holding(group.members)] for group in leaves]
    rows, label = np.concatenate(users), np.repeat(np.arange(len(users)), [len(each) for each in users])
    if own.params.sensitive:
        alike = label * own.params.width + own.exact[rows]
        _, number, counts = np.unique(alike, return_inverse=True, return_counts=True)
        kept = counts[number] >= (1 if own.params.delta is None else math.ceil(1 / own.params.delta))
        rows, label = rows[kept], label[kept]
    return recognition.count(own.params.study, [label], own.table.select(rows).carried)


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
