"""A collector's role played again, with what its journal holds: what everyone said, and who left after what."""

from __future__ import annotations

from covey.crypto.rng import derive
from covey.errors import CoveyError, InputError, PeerError
from covey.party.collection.standing import Standing, StandingLink
from covey.party.record.transcript import Transcript
from covey.party.session.handshake import Agreement
from covey.party.session.journal import Journal
from covey.party.session.session import Part
from covey.party.simulate.respondents import refusals
from covey.protocols import Proposal, Seat
from covey.wire import Channel, Session


class Excused:
    """Whoever breaks the protocol was left out, as the journal knows."""

    crowd = 1 << 30

    def excuse(self, error: PeerError) -> None:
        """Nothing is to be done."""


async def collect_again(part: Part, journal: Journal) -> Transcript:
    """What the collector sends when its role is played again, as far as the journal goes."""
    begun = journal.begun
    if begun is None:
        raise InputError(f"{journal.path}: holds no session")
    agreement, transcript = Agreement.of(begun), Transcript()
    names = sorted({*journal.senders, *journal.gone})
    lines = {name: Standing(name, journal, agreement.session) for name in names}
    for name, line in lines.items():
        line.leave(journal.gone.get(name, "said no more"))
    attendance = Excused()
    channel = Channel(Session(StandingLink(part.party, lines), agreement.session, agreement.rng, transcript))

    async def approve(proposal: Proposal) -> None:
        await refusals(channel, attendance)

    lasting = derive(part.keys.dummy, "lasting", part.protocol.name)
    seat = Seat(part.study, part.party, None, channel, part.progress, part.ledger, approve, lasting, attendance)
    try:
        await part.protocol.role(part.study, part.party)(seat)
    except CoveyError:
        return transcript  # a role that is led astray by its own deviation may end early; the messages tell
    return transcript
