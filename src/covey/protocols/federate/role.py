"""The roles: two providers or more, and the recipient who alone gets the release."""

from __future__ import annotations

from covey.protocols.federate import delivery, leakage, meeting, several
from covey.protocols.federate.division import divide, keep_exact_values
from covey.protocols.federate.meeting import CountingPair, Pair
from covey.protocols.federate.parameters import Parameters
from covey.protocols.federate.release import result
from covey.protocols.federate.several import ProviderShares
from covey.protocols.federate.users import OwnUsers
from covey.protocols.protocol import Proposal, Result, Seat
from covey.wire import Channel


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
    await _approve(seat, params)
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


async def _approve(seat: Seat, params: Parameters) -> None:
    seat.ledger.learns(leakage.READY)
    opening = leakage.of_release(params)
    await seat.approve(Proposal(opening))
    seat.ledger.learns(opening)
