"""One party's run over any link: hands shaken, the role played, the run signed by all.

Nothing is released before the closing: there the parties find that they saw the same run, and those that get the
release that they computed the same. A party that stops tells its peers why.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.errors import Aborted, CoveyError, Unmet
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.party.record.ledger import Ledger
from covey.party.record.log import Log
from covey.party.record.summary import Traffic
from covey.party.record.transcript import Transcript
from covey.party.session.approval import Decide, describe
from covey.party.session.binding import bind
from covey.party.session.closing import Closed, Closing
from covey.party.session.handshake import Agreement, shake_hands
from covey.party.session.journal import Journal, NoJournal
from covey.party.session.progress import Progress, Spent
from covey.protocols import Figures, Proposal, Protocol, Result, Seat
from covey.secure import approval
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import Table
from covey.wire import Channel, Link, ReplayLink, Several, open_channel

PATIENCE = 3600.0


@dataclass
class Record:
    """What has happened so far, for whoever writes it down, however the run ends."""

    agreement: Agreement | None = None
    transcript: Transcript = field(default_factory=Transcript)
    closed: Closed | None = None


@dataclass(frozen=True)
class Part:
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
    record: Record = field(default_factory=Record)


@dataclass(frozen=True)
class Finished:
    """How a run ended that reached its end."""

    release: pa.Table | None
    release_sha256: str | None
    figures: Figures | None
    traffic: dict[str, Traffic]
    seconds: float
    session: bytes
    warnings: tuple[str, ...]
    record: Record
    phases: tuple[Spent, ...]


async def take_part(part: Part, link: Link) -> Finished:
    """Plays this party's role to its end. Raises what stopped it, after telling the peers that can be reached.

    A session that the journal has goes on where it was cut off, if every party can.
    """
    part.progress.phase("handshake")
    agreement = await shake_hands(
        link, part.study, part.roster, part.keys, part.seed, patience=part.patience, journal=part.journal
    )
    for sentence in agreement.warnings:
        part.log.note(sentence)
    name = agreement.session.hex()
    if agreement.resumed:
        part.log.note(f"the session {name} goes on; {part.journal.messages} messages had been read before")
        link = ReplayLink(link, {peer: part.journal.letters(peer) for peer in link.peers}, agreement.known)
    else:
        binding = bind(part.study, part.party, part.table, part.keys)
        part.journal.begin(agreement.begun(binding, part.journal.source))
        part.log.note(f"the session {name} has begun")
    return await play(part, link, agreement)


async def play(part: Part, link: Link, agreement: Agreement) -> Finished:
    """The session itself, once it has been agreed on."""
    part.record.agreement = agreement
    part.ledger.met()
    channel = await open_channel(
        link,
        agreement.rng,
        session=agreement.session,
        recorder=Several(part.journal, part.record.transcript),
        patience=part.patience,
    )
    part.progress.channel = channel
    decisions: list[bool] = []
    try:
        return await _play(part, channel, agreement, decisions)
    except asyncio.CancelledError:
        await channel.stop("interrupted", resumable=True)
        raise
    except CoveyError as error:
        why, resumable = _why(error, decisions)
        await channel.stop(why, resumable=resumable)
        raise
    except Exception:
        await channel.stop("failed", resumable=False)
        raise


async def _play(part: Part, channel: Channel, agreement: Agreement, decisions: list[bool]) -> Finished:
    begun = time.monotonic()
    result = await part.protocol.role(part.study, part.party)(_seat(part, channel, decisions))
    channel.finish()
    release, digest = sealed(part.study, result)
    seconds = time.monotonic() - begun
    part.progress.phase("farewell")
    transcript = part.record.transcript
    closing = Closing(part.study, part.protocol, part.keys, part.roster, transcript, digest, result.figures)
    closed = part.record.closed = await closing.close(channel)
    channel.finish()
    part.journal.finish()
    return Finished(
        release=release,
        release_sha256=None if digest is None else digest.hex(),
        figures=result.figures,
        traffic=closed.traffic,
        seconds=seconds,
        session=agreement.session,
        warnings=agreement.warnings,
        record=part.record,
        phases=tuple(part.progress.spent.values()),
    )


def _seat(part: Part, channel: Channel, decisions: list[bool]) -> Seat:
    study = part.study
    receives = part.protocol.receives

    async def approve(proposal: Proposal) -> None:
        part.ledger.learns(approval.LEAKAGE)
        if not receives(study, part.party):
            proposal = Proposal(proposal.opens)  # whoever gets no release sees no figures of it
        shown = describe(study, proposal, part.ledger)

        async def decide() -> bool:
            if len(decisions) < len(part.journal.decisions):
                answer = part.journal.decisions[len(decisions)]  # asked and answered before the interruption
            else:
                answer = await part.decide(shown)
                part.journal.decide(answer)
            decisions.append(answer)
            return answer

        fellows = [peer for peer in channel.peers if receives(study, peer) and receives(study, part.party)]
        await approval.vote(
            channel.at("approval"),
            study_hash=study.study_hash,
            shown=proposal.digest,
            decide=decide,
            sign=part.keys.sign,
            verify=lambda peer, signature, content: part.roster.certificates[peer].verifies(signature, content),
            fellows=fellows,
        )
        part.log.note("every party approved the release")

    lasting = derive(part.keys.dummy, "lasting", part.protocol.name)
    return Seat(study, part.party, part.table, channel, part.progress, part.ledger, approve, lasting)


def sealed(study: Study, result: Result) -> tuple[pa.Table | None, bytes | None]:
    """The release as it is written, and its hash."""
    if result.release is None:
        return None, None
    arranged = arrange(result.release, frozenset(column.name for column in study.quasi))
    return arranged, hashlib.sha256(canonical_csv(arranged)).digest()


def _why(error: CoveyError, decisions: list[bool]) -> tuple[Literal["refused", "aborted", "failed"], bool]:
    """What the peers are told: a word, and whether the session can go on later."""
    if False in decisions:
        return "refused", False
    if isinstance(error, Aborted):
        return "aborted", error.resumable
    if isinstance(error, Unmet):
        return "aborted", False
    return "failed", False
