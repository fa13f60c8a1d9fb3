"""The roles: two providers, and the recipient who alone gets the release."""

from __future__ import annotations

from covey.protocols.federate import delivery, leakage, meeting
from covey.protocols.federate.division import divide
from covey.protocols.federate.meeting import CountingPair
from covey.protocols.federate.parameters import Parameters
from covey.protocols.federate.release import result
from covey.protocols.federate.thresholds import keep_exact_values
from covey.protocols.federate.users import OwnUsers
from covey.protocols.protocol import Proposal, Result, Seat


async def provider(seat: Seat) -> Result:
    """A provider with users. Raises Unmet where not even everyone as one class keeps k and delta."""
    params = Parameters.of(seat.study)
    channel, peer = seat.channel.at("federate"), params.other(seat.party)
    own = OwnUsers.of(params, seat.records, seat.lasting)

    seat.progress.phase("membership")
    seat.ledger.learns(leakage.of_meeting(params))
    pair = await meeting.meet(channel.at("meet"), own, peer)
    if params.by_level:
        pair = await meeting.enrol(channel.at("enrol"), pair)

    seat.progress.phase("division")
    leaves = await divide(seat, channel.at("divide"), pair)
    if params.sensitive and isinstance(pair, CountingPair):
        leaves = await keep_exact_values(channel.at("exact"), pair, leaves)

    seat.progress.phase("release")
    await channel.at("ready").send(params.recipient, delivery.ClassCount(len(leaves)))
    await _approve(seat, params)
    if isinstance(pair, CountingPair):
        await delivery.send_release(channel.at("release"), pair, leaves, params.recipient)
    else:
        await delivery.send_paper_release(channel.at("release"), pair, leaves)
    return Result()


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
    first = await delivery.receive_boxes(at.at("boxes"), params, params.first, classes)
    second = await delivery.receive_boxes(at.at("boxes"), params, params.second, classes)
    return result(params, first, second, await delivery.receive_numbers(at.at("numbers"), params, classes))


async def _approve(seat: Seat, params: Parameters) -> None:
    seat.ledger.learns(leakage.READY)
    opening = leakage.of_release(params)
    await seat.approve(Proposal(opening))
    seat.ledger.learns(opening)
