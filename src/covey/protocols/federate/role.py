"""The roles: two providers, and the recipient who alone gets the release."""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs
from covey.errors import InputError, PeerError, Unmet
from covey.protocols.federate import finish, leaks, level, paper
from covey.protocols.federate import pair as pairs
from covey.protocols.federate.clear import INFEASIBLE, Group, divisible
from covey.protocols.federate.own import Own
from covey.protocols.federate.pair import CountingPair, Pair
from covey.protocols.federate.release import costs, result
from covey.protocols.federate.terms import Terms
from covey.protocols.protocol import Proposal, Result, Seat
from covey.wire import Channel, Vector

DIVISION_SECONDS = 86_400.0
"""How long the recipient waits for the providers as long as they give signs of life."""


async def provider(seat: Seat) -> Result:
    """A provider with users. Raises Unmet where not even everyone as one class keeps k and delta."""
    terms = Terms.of(seat.study)
    channel, peer = seat.channel.at("federate"), terms.other(seat.party)
    own = Own.of(terms, seat.records, seat.lasting)

    seat.pace.phase("membership")
    seat.book.learns(leaks.of_meeting(terms))
    pair = await pairs.meet(channel.at("meet"), own, peer)
    if terms.by_level:
        pair = await pairs.enrol(channel.at("enrol"), pair)

    seat.pace.phase("division")
    leaves = await divide(seat, channel.at("divide"), pair)
    if terms.sensitive and isinstance(pair, CountingPair):
        leaves = await finish.keep_exact_values(channel.at("exact"), pair, leaves)

    seat.pace.phase("release")
    await channel.at("ready").send(terms.recipient, finish.Ready(len(leaves)))
    await _approve(seat, terms)
    if isinstance(pair, CountingPair):
        await finish.send_release(channel.at("release"), pair, leaves, terms.recipient)
    else:
        await send_paper_release(channel.at("release"), pair, leaves)
    return Result()


async def divide(seat: Seat, channel: Channel, pair: Pair) -> list[Group]:
    """The final groups, in an order that both providers find."""
    everyone = Group("", np.arange(len(pair.terms.population)))
    at, depth = channel.at("root"), 0
    if isinstance(pair, CountingPair):
        feasible = await level.is_feasible(at, pair, everyone)
    else:
        feasible = await paper.is_feasible(at, pair, everyone)
    if not feasible:
        raise Unmet(INFEASIBLE)
    for leakage in leaks.before(pair.terms):
        seat.book.learns(leakage)
    leaves: list[Group] = []
    below = [everyone]
    while groups := divisible(pair.terms, below, leaves):
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
    terms = pair.terms
    order = await finish.agree_on_order(channel.at("order"), pair.is_first, pair.peer, len(leaves))
    shown = [leaves[place] for place in order.tolist()]
    counts = await paper.count_exactly(channel.at("count"), pair, shown)
    if not pair.is_first:
        told = Vector(counts.ravel().astype(np.uint64))
        await channel.at("numbers").send_all(terms.recipient, finish.Veils, told)
    await finish.send_boxes(channel.at("boxes"), pair.own, shown, terms.recipient)


async def recipient(seat: Seat) -> Result:
    """Whoever gets the release; holds nothing, and says nothing but that it approves."""
    terms = Terms.of(seat.study)
    channel = seat.channel.at("federate")
    seat.pace.phase("membership")
    seat.book.learns(leaks.of_meeting(terms))
    seat.pace.phase("division")
    for leakage in leaks.before(terms):
        seat.book.learns(leakage)
    classes = await _classes(channel.at("ready"), terms)

    seat.pace.phase("release")
    await _approve(seat, terms)
    at = channel.at("release")
    first, second = [await _boxes(at.at("boxes"), terms, provider, classes) for provider in (terms.first, terms.second)]
    return result(terms, first, second, await _numbers(at.at("numbers"), terms, classes))


async def _classes(channel: Channel, terms: Terms) -> int:
    """How many classes the providers announce. Raises PeerError where they differ."""
    classes = (await channel.receive(terms.first, finish.Ready, patience=DIVISION_SECONDS)).classes
    if (await channel.receive(terms.second, finish.Ready)).classes != classes or not classes:
        reason = f"it announces another number of classes than {terms.first!r}"
        raise PeerError(party=terms.second, step=channel.step, reason=reason)
    if classes > len(terms.population) // terms.k:
        raise PeerError(party=terms.first, step=channel.step, reason="more classes than k allows for the population")
    return classes


async def _approve(seat: Seat, terms: Terms) -> None:
    seat.book.learns(leaks.READY)
    opening = leaks.of_release(terms)
    await seat.approve(Proposal(opens=opening.by_role[leaks.role_of(terms, seat.party)]))
    seat.book.learns(opening)


async def _boxes(channel: Channel, terms: Terms, provider: str, classes: int) -> list[tuple[str, ...]]:
    columns = terms.columns(provider)
    boxes = await finish.receive_boxes(channel, provider, classes, len(columns))
    try:
        costs(columns, boxes)
    except InputError as error:
        raise PeerError(party=provider, step=channel.step, reason=str(error)) from None
    return boxes


async def _numbers(channel: Channel, terms: Terms, classes: int) -> Longs:
    if terms.by_level:
        return await finish.receive_numbers(channel, terms.first, terms.second, classes, terms.width)
    counts = await channel.receive_all(terms.second, finish.Veils, classes * terms.width)
    return counts.words.astype(np.int64).reshape(classes, terms.width)
