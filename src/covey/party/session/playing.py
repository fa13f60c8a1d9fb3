"""One party's session over any link: handshake, the role, approval, and the closing that all parties sign.

Nothing is released before the closing: there the parties find that they saw the same run, and those that get the
release that they computed the same. A party that stops tells its peers why.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from covey.crypto.letter import LetterKey, public_of_signing
from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.errors import Aborted, CoveyError, PeerError, Unmet
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.party.record.ledger import Ledger
from covey.party.record.log import SILENCE, Log
from covey.party.record.run_record import Agreement, Finished, RunRecord
from covey.party.session.approval import ApprovalQuestion, Decide, approve_always
from covey.party.session.binding import bind
from covey.party.session.closing import Closing
from covey.party.session.handshake import shake_hands
from covey.party.session.journal import NO_JOURNAL, Journal, NoJournal
from covey.party.session.journal_records import Begun
from covey.party.session.progress import Listener, Progress
from covey.protocols import Proposal, Protocol, Result, Seat, of_study
from covey.protocols.protocol import EVERYONE, Attendance, LedgerWriter, LetterKeys, RoleProgress
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
    decide: Decide
    progress: Progress
    ledger: Ledger
    log: Log
    patience: float = PATIENCE
    journal: Journal | NoJournal = field(default_factory=NoJournal)
    record: RunRecord = field(default_factory=RunRecord)

    @staticmethod
    def of(
        study: Study,
        party: str,
        table: Table | None,
        keys: Keys,
        roster: Roster,
        seed: Secret,
        *,
        decide: Decide = approve_always,
        listener: Listener = lambda snapshot: None,
        log: Log = SILENCE,
        patience: float = PATIENCE,
        journal: Journal | NoJournal = NO_JOURNAL,
    ) -> Participant:
        """A party of the study that has learned nothing yet; without more, one of a simulation."""
        protocol = of_study(study)
        progress, ledger = Progress(party, protocol.phases, listener), Ledger(study, protocol, party)
        return Participant(
            study, protocol, party, table, keys, roster, seed, decide, progress, ledger, log, patience, journal
        )


async def play_role(
    protocol: Protocol,
    study: Study,
    channel: Channel,
    *,
    table: Table | None,
    lasting: Secret,
    progress: RoleProgress,
    ledger: LedgerWriter,
    approve: Approve,
    attendance: Attendance = EVERYONE,
    letters: LetterKeys | None = None,
    delivered: Mapping[str, bytes] | None = None,
) -> Result:
    """Gives the role of the channel's party its seat, and plays it to its end."""
    seat = Seat(
        study, channel.me, table, channel, progress, ledger, approve, lasting, attendance, letters, delivered
    )  # fmt: skip
    return await protocol.role(study, channel.me)(seat)


def letter_keys(keys: Keys | None, roster: Roster) -> LetterKeys:
    """A party's key for letters, if it has keys, and those of everyone in the roster."""
    known = {name: public_of_signing(each.signing_key) for name, each in roster.certificates.items()}
    return LetterKeys(None if keys is None else LetterKey.of_signing(keys.signing), known)


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
    if agreement.resumed:
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
    begun = time.monotonic()
    if study.states_rows:
        await _state_rows(participant, channel)
    result = await play_role(
        protocol,
        study,
        channel,
        table=participant.table,
        lasting=lasting_secret(participant.keys, protocol),
        progress=participant.progress,
        ledger=participant.ledger,
        approve=_approval(participant, channel, decisions),
        letters=letter_keys(participant.keys, participant.roster),
    )
    channel.finish()
    release, digest = sealed(study, result)
    seconds = time.monotonic() - begun
    participant.progress.phase("farewell")
    closing = Closing(
        study, protocol, participant.keys, participant.roster, record.transcript, digest, result.figures, record.stated
    )
    record.closed = await closing.close(channel)
    channel.finish()
    participant.journal.finish()
    return Finished(
        release=release,
        release_sha256=None if digest is None else digest.hex(),
        figures=result.figures,
        traffic=record.closed.traffic,
        seconds=seconds,
        session=agreement.session,
        warnings=agreement.warnings,
        record=record,
        phases=tuple(participant.progress.spent.values()),
    )


async def _state_rows(participant: Participant, channel: Channel) -> None:
    """Every party with rows states how many it brings; the ledger says so."""
    study, rows = participant.study, 0 if participant.table is None else participant.table.records
    holders = tuple(party.name for party in study.holders)
    participant.ledger.learns(row_counts.LEAKAGE)
    stated = await row_counts.state(channel.at(row_counts.STEP), holders, rows)
    participant.record.stated = stated
    participant.ledger.learns(row_counts.STATED, stated=row_counts.spelled(stated))


def _approval(participant: Participant, channel: Channel, decisions: list[bool]) -> Approve:
    """The vote of all parties on the release, in which this one asks its person, or repeats the person's answer."""
    study, me = participant.study, participant.party
    receives, journal = participant.protocol.receives, participant.journal

    async def approve(proposal: Proposal) -> None:
        stated = participant.record.stated
        if proposal.figures is not None:
            row_counts.require_sum(stated, proposal.figures.rows + proposal.figures.withheld)
        question = ApprovalQuestion.of(study, proposal, participant.ledger, stated)
        participant.ledger.learns(approval.LEAKAGE)

        async def decide() -> bool:
            if len(decisions) < len(journal.decisions):
                answer = journal.decisions[len(decisions)]  # asked and answered before the interruption
            else:
                answer = await participant.decide(question)
                journal.decide(answer)
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
            fellows=[peer for peer in channel.peers if receives(study, peer) and receives(study, me)],
        )
        participant.log.note("every party approved the release")

    return approve


def sealed(study: Study, result: Result) -> tuple[pa.Table | None, bytes | None]:
    """The release as it is written, and its hash."""
    if result.release is None:
        return None, None
    arranged = arrange(result.release)
    return arranged, hashlib.sha256(canonical_csv(arranged)).digest()


def _why(error: CoveyError, decisions: list[bool]) -> tuple[Literal["refused", "aborted", "failed"], bool]:
    """The word that the peers are told, and whether the session can go on later."""
    if False in decisions:
        return "refused", False
    if isinstance(error, Aborted):
        return "aborted", error.resumable
    if isinstance(error, Unmet):
        return "aborted", False
    return "failed", False
