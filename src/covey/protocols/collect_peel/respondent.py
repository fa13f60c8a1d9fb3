"""A respondent's role: one message with its sealed answer, and a receipt; one that is drawn as a trustee stays."""

from __future__ import annotations

from covey.crypto.letter import LetterKey
from covey.errors import InputError, PeerError
from covey.protocols.collect_peel import leakage, letters
from covey.protocols.collect_peel.layout import RecordLayout
from covey.protocols.collect_peel.letters import Receipt
from covey.protocols.collect_peel.messages import Asked, TrusteeKey
from covey.protocols.collect_peel.parameters import Parameters, hub_of
from covey.protocols.collect_peel.trustee import Serving, checked
from covey.protocols.protocol import Proposal, Result, Seat


async def respondent(seat: Seat) -> Result:
    """Sends the sealed answer and waits for the receipt; a drawn trustee then serves as one."""
    parameters, hub, channel = Parameters.of(seat.study), hub_of(seat.study), seat.channel
    if seat.records.rows != 1:
        raise InputError(f"a respondent answers one row; {seat.party!r} has {seat.records.rows}")
    record = RecordLayout.of(seat.study).spell(seat.records)
    seat.progress.phase("answers")
    own = LetterKey.draw(channel.rng.stream("letter key"))
    if not parameters.trustees:
        await channel.at("enrol").send(hub, TrusteeKey(own.public))
    keys = checked(seat, hub, await channel.at("asked").receive(hub, Asked))
    answer = letters.write(seat.study.study_hash, channel.me, record, keys, channel.rng)
    at = channel.at("answer")
    await at.send(hub, answer)
    if (await at.receive(hub, Receipt)).line != letters.line(channel.me, answer):
        raise PeerError(party=hub, step="answer", reason="its receipt is not for what we sent")
    seat.ledger.learns(leakage.BOARD, respondents="all")
    if channel.me in keys:
        await Serving(seat, hub, own, keys).serve()
    else:
        await seat.approve(Proposal(leakage.ROWS))
    return Result()
