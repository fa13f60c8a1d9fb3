"""The roles: two providers, and the recipient who alone gets the release."""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs
from covey.errors import InputError, PeerError, Unmet
from covey.protocols.federate import finish, leakage, level, paper
from covey.protocols.federate import pair as pairs
from covey.protocols.federate.groups import INFEASIBLE, Group, divisible
from covey.protocols.federate.pair import CountingPair, Pair
from covey.protocols.federate.parameters import Parameters
from covey.protocols.federate.release import costs, result
from covey.protocols.federate.users import OwnUsers
from covey.protocols.protocol import Proposal, Result, Seat
from covey.wire import Channel, Vector

DIVISION_SECONDS = 86_400.0
"""How long the recipient waits for the providers as long as they give signs of life."""


async def provider(seat: Seat) -> Result:
    """A provider with users. Raises Unmet where not even everyone as one class keeps k and delta."""
    params = Parameters.of(seat.study)
    channel, peer = seat.channel.at("federate"), params.other(seat.party)
    own = OwnUsers.of(params, seat.records, seat.lasting)

    seat.pace.phase("membership")
    seat.book.learns(leakage.of_meeting(params))
    pair = await pairs.meet(channel.at("meet"), own, peer)
    if params.by_level:
        pair = await pairs.enrol(channel.at("enrol"), pair)

    seat.pace.phase("division")
    leaves = await divide(seat, channel.at("divide"), pair)
    if params.sensitive and isinstance(pair, CountingPair):
        leaves = await finish.keep_exact_values(channel.at("exact"), pair, leaves)

    seat.pace.phase("release")
    await channel.at("ready").send(params.recipient, finish.Ready(len(leaves)))
    await _approve(seat, params)
    if isinstance(pair, CountingPair):
        await finish.send_release(channel.at("release"), pair, leaves, params.recipient)
    else:
        await send_paper_release(channel.at("release"), pair, leaves)
    return Result()


async def divide(seat: Seat, channel: Channel, pair: Pair) -> list[Group]:
    """The final groups, in an order that both providers find."""
    everyone = Group("", np.arange(len(pair.params.population)))
    at, depth = channel.at("root"), 0
    if isinstance(pair, CountingPair):
        feasible = await level.is_feasible(at, pair, everyone)
    else:
        feasible = await paper.is_feasible(at, pair, everyone)
    if not feasible:
        raise Unmet(INFEASIBLE)
    for learned in leakage.before(pair.params):
        seat.book.learns(learned)
    leaves: list[Group] = []
    below = [everyone]
    while groups := divisible(pair.params, below, leaves):
        if isinstance(pair, CountingPair):
            cut = await level.divide_level(channel.at(depth), pair, groups)
        else:
            cut = [await paper.divide_group(channel.at(depth, place), pair, g) for place, g in enumerate(groups)]
        leaves += [group for group, halves in zip(groups, cut, strict=True) if halves is None]
        below = [half for halves in cut if halves is not None for half in halves]
        depth += 1
        seat.pace.reach(depth)
    return sorted(leaves, key=lambda group: group.path)


async def send_paper_release(channel: Channel, pair: Pair, leaves: list[Group]) -> None:
    """The paper's way: the provider with exact values learns the numbers and sends them."""
    params = pair.params
    order = await finish.agree_on_order(channel.at("order"), pair.is_first, pair.peer, len(leaves))
    shown = [leaves[place] for place in order.tolist()]
    counts = await paper.count_exactly(channel.at("count"), pair, shown)
    if not pair.is_first:
        told = Vector(counts.ravel().astype(np.uint64))
        await channel.at("numbers").send_all(params.recipient, finish.Veils, told)
    await finish.send_boxes(channel.at("boxes"), pair.users, shown, params.recipient)


async def recipient(seat: Seat) -> Result:
    """Whoever gets the release; holds nothing, and says nothing but that it approves."""
    params = Parameters.of(seat.study)
    channel = seat.channel.at("federate")
    seat.pace.phase("membership")
    seat.book.learns(leakage.of_meeting(params))
    seat.pace.phase("division")
    for learned in leakage.before(params):
        seat.book.learns(learned)
    classes = await _classes(channel.at("ready"), params)

    seat.pace.phase("release")
    await _approve(seat, params)
    at = channel.at("release")
    first, second = [
        await _boxes(at.at("boxes"), params, provider, classes) for provider in (params.first, params.second)
    ]
    return result(params, first, second, await _numbers(at.at("numbers"), params, classes))


async def _classes(channel: Channel, params: Parameters) -> int:
    """How many classes the providers announce. Raises PeerError where they differ."""
    classes = (await channel.receive(params.first, finish.Ready, patience=DIVISION_SECONDS)).classes
    if (await channel.receive(params.second, finish.Ready)).classes != classes or not classes:
        reason = f"it announces another number of classes than {params.first!r}"
        raise PeerError(party=params.second, step=channel.step, reason=reason)
    if classes > len(params.population) // params.k:
        raise PeerError(party=params.first, step=channel.step, reason="more classes than k allows for the population")
    return classes


async def _approve(seat: Seat, params: Parameters) -> None:
    seat.book.learns(leakage.READY)
    opening = leakage.of_release(params)
    await seat.approve(Proposal(opens=opening.by_role[leakage.role_of(params, seat.party)]))
    seat.book.learns(opening)


async def _boxes(channel: Channel, params: Parameters, provider: str, classes: int) -> list[tuple[str, ...]]:
    columns = params.columns(provider)
    boxes = await finish.receive_boxes(channel, provider, classes, len(columns))
    try:
        costs(columns, boxes)
    except InputError as error:
        raise PeerError(party=provider, step=channel.step, reason=str(error)) from None
    return boxes


async def _numbers(channel: Channel, params: Parameters, classes: int) -> Longs:
    if params.by_level:
        return await finish.receive_numbers(channel, params.first, params.second, classes, params.width)
    counts = await channel.receive_all(params.second, finish.Veils, classes * params.width)
    return counts.words.astype(np.int64).reshape(classes, params.width)
