"""One party's session over any link: handshake, the role, approval, and the closing that all parties sign.

Nothing is released before the closing: there the parties find that they saw the same run, and those that get the
release that they computed the same. A party that stops tells its peers why.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import pyarrow as pa

from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.errors import Aborted, CoveyError, PeerError, Unmet
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.party.record.ledger import Ledger
from covey.party.record.log import SILENCE, Log
from covey.party.record.run_record import Agreement, Closed, Finished, RunRecord
from covey.party.released import counted, is_counted, lessons, require_nobody_alone
from covey.party.session.approval import ApprovalQuestion, Decide, approve_always
from covey.party.session.binding import bind
from covey.party.session.closing import Closing
from covey.party.session.handshake import shake_hands
from covey.party.session.journal import Journal, NoJournal
from covey.party.session.journal_records import Begun
from covey.party.session.last_state import attempts_of, end, last_state, restored, told
from covey.party.session.progress import Listener, Progress
from covey.party.session.states import StateJournal
from covey.protocols import Figures, Proposal, Protocol, Result, Seat
from covey.protocols.protocol import NO_STATES, Letters, Recognition, States
from covey.protocols.shared.columns import recognition
from covey.secure import approval, row_counts
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, Link, ResumedLink, Several, open_channel

PATIENCE = 3600.0
Approve = Callable[[Proposal], Awaitable[None]]


@dataclass(frozen=True)
class Participant:
    """All that one party brings to a run."""

    study: Study
    protocol: Protocol
    party: str
    table: Table | None
    keys: Keys
    roster: Roster
    seed: Secret
    decide: Decide = approve_always
    listener: Listener = lambda snapshot: None
    log: Log = SILENCE
    patience: float = PATIENCE
    journal: Journal | NoJournal = field(default_factory=NoJournal)
    record: RunRecord = field(default_factory=RunRecord)
    letters: Letters | None = None
    """Respondents' letters, in a collection by trustees."""
    writes_any: bool = False
    """True in a simulation: a release that singles people out is written too, and the summary says so."""

    @cached_property
    def progress(self) -> Progress:
        """The progress of the party, of which the listener is told."""
        return Progress(self.party, self.protocol.phases, self.listener)

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of the party, empty at first."""
        return Ledger(self.study, self.protocol, self.party)


def lasting_secret(keys: Keys, protocol: Protocol) -> Secret:
    """The secret of a party that is the same in every run of a protocol with the same keys."""
    return derive(keys.dummy, "lasting", protocol.name)


async def take_part(participant: Participant, link: Link) -> Finished:
    """Plays this party's role to its end. Raises what stopped it, after telling the peers that can be reached.

    A session that the journal has goes on where it was cut off, if every party can.
    """
    journal, study = participant.journal, participant.study
    participant.progress.phase("handshake")
    agreement = await shake_hands(
        link, study, participant.roster, participant.keys, participant.seed,
        patience=participant.patience, journal=journal,
    )  # fmt: skip
    for sentence in agreement.warnings:
        participant.log.note(sentence)
    name = agreement.session.hex()
    if isinstance(journal, StateJournal) and agreement.resumed:
        participant.log.note(f"the session {name} goes on; {told(journal, agreement)}")
        participant.ledger.again(attempts_of(journal, agreement))
    elif agreement.resumed:
        participant.log.note(f"the session {name} goes on; {journal.messages} messages had been read before")
        link = ResumedLink(link, {peer: journal.letters(peer) for peer in link.peers}, agreement.known)
    else:
        binding = bind(study, participant.party, participant.table, participant.keys)
        journal.begin(Begun.of(agreement, binding, journal.source))
        participant.log.note(f"the session {name} has begun")
    return await play(participant, link, agreement)


async def play(participant: Participant, link: Link, agreement: Agreement) -> Finished:
    """Plays the session that was agreed on."""
    participant.record.agreement = agreement
    participant.ledger.met()
    certificates = participant.roster.certificates
    channel = await open_channel(
        link,
        agreement.rng,
        session=agreement.session,
        recorder=Several(participant.journal, participant.record.transcript),
        patience=participant.patience,
        sign=participant.keys.sign,
        verify=lambda peer, signature, content: certificates[peer].verifies(signature, content),
        attempt=agreement.attempt_id,
    )
    participant.progress.channel = channel
    decisions: list[bool] = []
    try:
        return await _play(participant, channel, agreement, decisions)
    except asyncio.CancelledError:
        await channel.stop("interrupted", resumable=True)
        raise
    except CoveyError as error:
        why, resumable = _why(error, decisions)
        cause = error.party if isinstance(error, Aborted | PeerError) else None
        await channel.stop(why, resumable=resumable, party=cause)
        raise
    except Exception:
        await channel.stop("failed", resumable=False)
        raise


async def _play(participant: Participant, channel: Channel, agreement: Agreement, decisions: list[bool]) -> Finished:
    study, protocol, record = participant.study, participant.protocol, participant.record
    keys, roster = participant.keys, participant.roster
    journal = participant.journal if isinstance(participant.journal, StateJournal) else None
    ended = None if journal is None else restored(journal, record, channel.tally)

    async def play() -> Result:
        if ended is not None:
            return ended
        if study.states_rows:
            await _state_rows(participant, channel)
        seat = Seat(
            study, participant.table, channel, participant.progress, participant.ledger,
            _approval(participant, channel, decisions), lasting_secret(keys, protocol),
            letters=participant.letters, states=_states(participant, channel, agreement),
        )  # fmt: skip
        result = await protocol.play(seat)
        channel.finish()
        if journal is not None:
            journal.write(last_state(agreement, record, result))
        for leakage, _ in lessons(protocol):
            participant.ledger.learns(leakage)
        return result

    async def close(release: bytes | None, figures: Figures | None) -> Closed:
        closing = Closing(study, protocol, keys, roster, record.transcript, release, figures, record.stated)
        closed = await closing.close(channel)
        channel.finish()
        if journal is not None:
            end(journal, closed)
        participant.journal.finish()
        return closed

    return await play_and_close(agreement, record, participant.progress, play, checking(participant), close)


def checking(participant: Participant) -> Callable[[pa.Table, Figures], Figures]:
    """A check that raises Unmet for a release that may not be written, and adds what is counted in it."""
    study, is_judged = participant.study, is_counted(participant.protocol)

    def check(release: pa.Table, figures: Figures) -> Figures:
        return counted(study, release, figures, writes_any=participant.writes_any) if is_judged else figures

    return check


async def play_and_close(
    agreement: Agreement,
    record: RunRecord,
    progress: Progress,
    play: Callable[[], Awaitable[Result]],
    check: Callable[[pa.Table, Figures], Figures],
    close: Callable[[bytes | None, Figures | None], Awaitable[Closed]],
) -> Finished:
    """Plays a role to its end, and closes the session with the hash of the release, if there is one, and its figures.

    `check` raises Unmet for a release that may not be written. The seconds are those of the role.
    """
    begun = time.monotonic()
    result = await play()
    release = None if result.release is None else arrange(result.release)
    digest = None if release is None else hashlib.sha256(canonical_csv(release)).digest()
    seconds = time.monotonic() - begun
    figures = result.figures
    if release is not None and figures is not None:
        figures = check(release, figures)
    progress.phase("farewell")
    record.closed = await close(digest, figures)
    return Finished(
        release=release,
        release_sha256=None if digest is None else digest.hex(),
        figures=figures,
        traffic=record.closed.traffic,
        seconds=seconds,
        session=agreement.session,
        warnings=agreement.warnings,
        record=record,
        phases=tuple(progress.spent.values()),
        classes=None if result.classes is None else canonical_csv(arrange(result.classes)),
        computed=result.computed,
    )


def _states(participant: Participant, channel: Channel, agreement: Agreement) -> States:
    """The keeper of the role's states, or none where the role keeps no states."""
    computing, journal = participant.protocol.computing, participant.journal
    if computing is None or not isinstance(journal, StateJournal):
        return NO_STATES
    names, neighbours = computing(participant.study), dict[str, Secret]()
    if channel.me in names:
        number, secrets = names.index(channel.me), channel.at("states").among(*names).pairwise_seeds()
        neighbours = {names[beside % 3]: secrets[names[beside % 3]] for beside in (number - 1, number + 1)}
    return journal.role_states(agreement, participant.record, names, neighbours)


async def _state_rows(participant: Participant, channel: Channel) -> None:
    """Every party with rows states how many it brings; the ledger says so."""
    study, rows = participant.study, 0 if participant.table is None else participant.table.records
    holders = tuple(party.name for party in study.holders)
    participant.ledger.learns(row_counts.LEAKAGE)
    stated = await row_counts.state(channel.at(row_counts.STEP), holders, rows)
    participant.record.stated = stated
    participant.ledger.learns(row_counts.STATED, stated=row_counts.spelled(stated))


async def _recognised(participant: Participant, channel: Channel, proposal: Proposal) -> dict[str, Recognition]:
    """The people whom each owner of exact columns finds. Raises Unmet where the study does not allow it."""
    study = participant.study
    if not recognition.owners(study):
        return {}
    participant.ledger.learns(recognition.LEAKAGE, **recognition.asked(study))
    found = await recognition.exchange(channel.at(recognition.STEP), study, proposal.recognition)
    participant.ledger.learns(recognition.COUNTED, found=recognition.spelled(study, found))
    recognition.require_allowed(study, found, participant.party)
    return found


def _approval(participant: Participant, channel: Channel, decisions: list[bool]) -> Approve:
    """The vote of all parties on the release, in which this one asks its person, or repeats the person's answer."""
    study, me = participant.study, participant.party
    receives, journal = participant.protocol.receives, participant.journal

    async def approve(proposal: Proposal) -> None:
        stated = participant.record.stated
        if proposal.figures is not None:
            row_counts.require_sum(stated, proposal.figures.rows + proposal.figures.withheld)
        if not participant.writes_any:
            require_nobody_alone(proposal)
        found = await _recognised(participant, channel, proposal)
        question = ApprovalQuestion.of(study, proposal, participant.ledger, stated, found)
        participant.ledger.learns(approval.LEAKAGE)

        async def decide() -> bool:
            if isinstance(journal, StateJournal) and question.digest in journal.answers:
                answer = journal.answers[question.digest]
            elif len(decisions) < len(journal.decisions) and not isinstance(journal, StateJournal):
                answer = journal.decisions[len(decisions)]  # asked and answered before the interruption
            else:
                answer = await participant.decide(question)
                journal.decide(answer, question.digest)
            decisions.append(answer)
            return answer

        certificates = participant.roster.certificates
        await approval.vote(
            channel.at("approval"),
            study_hash=study.study_hash,
            shown=question.digest,
            decide=decide,
            sign=participant.keys.sign,
            verify=lambda peer, signature, content: certificates[peer].verifies(signature, content),
            fellows=[
                peer
                for peer in channel.peers
                if proposal.known_to_all or (receives(study, peer) and receives(study, me))
            ],
        )
        participant.log.note("every party approved the release")

    return approve


def _why(error: CoveyError, decisions: list[bool]) -> tuple[Literal["refused", "aborted", "failed"], bool]:
    """The word that the peers are told, and whether the session can go on later."""
    if False in decisions:
        return "refused", False
    if isinstance(error, Aborted):
        return "aborted", error.resumable
    if isinstance(error, Unmet):
        return "aborted", False
    return "failed", False
