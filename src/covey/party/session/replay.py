"""A role played again without any peer: its journal holds everything that the role needs.

With it a party ends a run whose last messages it had read when it was cut off, and shows later that what it sent is
what the protocol prescribes for the data and the seed that it committed to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from covey.errors import Aborted, CoveyError, InputError, PeerError
from covey.party.record.run_record import Closed, Finished, RunRecord
from covey.party.record.transcript import Transcript
from covey.party.session.journal import Journal, NoJournal
from covey.party.session.journal_records import Begun
from covey.party.session.last_state import closed, restored
from covey.party.session.playing import Participant, checking, lasting_secret, play, play_and_close
from covey.party.session.respondents import refusals
from covey.party.session.states import StateJournal
from covey.protocols import Figures, Proposal, Result, Seat
from covey.wire import Channel, ResumedLink, Session, Tally
from covey.wire.link import StandingLines
from covey.wire.standing import StandingLine, StandingLink


class _Alone(StandingLines):
    """A link to absent peers: what is sent to them is lost, and they send nothing."""

    def __init__(self, me: str, peers: tuple[str, ...]) -> None:
        self.me, self.peers = me, peers

    async def send(self, peer: str, frame: bytes) -> None:
        """Loses the frame."""

    async def receive(self, peer: str) -> bytes:
        """Raises Aborted: the journal has nothing more."""
        raise Aborted(f"the journal has nothing more from party {peer!r}", resumable=True)


class _Retold(NoJournal):
    """The decisions of a journal, without holding the role to what it had said."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(decisions=journal.decisions)


class _Excused:
    """The attendance of a replayed collection: the journal knows who left."""

    crowd = 1 << 30

    def excuse(self, error: PeerError) -> None:
        """Does nothing."""


async def finish_alone(participant: Participant) -> Finished:
    """Ends a run whose journal is complete. Raises Aborted if it is not."""
    if isinstance(participant.journal, StateJournal):
        return await _from_last_state(participant, participant.journal)
    return await _again(participant, participant.journal)


async def _from_last_state(participant: Participant, journal: StateJournal) -> Finished:
    record, agreement = participant.record, _begun(journal).agreement()
    record.agreement = agreement
    participant.ledger.met()
    result = restored(journal, record, Tally()) or Result()

    async def play() -> Result:
        return result

    async def close(release: bytes | None, figures: Figures | None) -> Closed:
        return closed(journal, agreement, record.transcript)

    return await play_and_close(agreement, record, participant.progress, play, checking(participant), close)


async def play_again(participant: Participant, journal: Journal) -> Transcript:
    """The messages of the role when it is played again with what the journal holds, as far as it gets."""
    record = RunRecord()
    try:
        if participant.study.partition == "respondents":
            await _collect_again(participant, journal, record.transcript)
        else:
            await _again(replace(participant, journal=_Retold(journal), record=record), journal)
    except CoveyError:
        return record.transcript  # a role that is led astray by its own deviation may end early; the messages tell
    return record.transcript


async def _again(participant: Participant, journal: Journal | NoJournal) -> Finished:
    agreement = _begun(journal).agreement()
    peers = tuple(sorted(name for name in agreement.nonces if name != participant.party))
    letters: dict[str, Iterator[bytes]] = {peer: journal.letters(peer) for peer in peers}
    return await play(participant, ResumedLink(_Alone(participant.party, peers), letters, {}), agreement)


async def _collect_again(participant: Participant, journal: Journal, transcript: Transcript) -> None:
    """Plays a collector's role again: everyone's letters, and who left after which of them, are in the journal."""
    agreement = _begun(journal).agreement()
    lines = {name: StandingLine(name, journal, agreement.session) for name in sorted({*journal.senders, *journal.gone})}
    for name, line in lines.items():
        line.leave(journal.gone.get(name, "said no more"))
    channel = Channel(Session(StandingLink(participant.party, lines), agreement.session, agreement.rng, transcript))

    async def approve(proposal: Proposal) -> None:
        await refusals(channel, attendance)

    attendance, lasting = _Excused(), lasting_secret(participant.keys, participant.protocol)
    seat = Seat(
        participant.study, None, channel, participant.progress, participant.ledger, approve, lasting, attendance
    )
    await participant.protocol.play(seat)


def _begun(journal: Journal | NoJournal) -> Begun:
    if journal.begun is None:
        raise InputError("the journal holds no session")
    return journal.begun
