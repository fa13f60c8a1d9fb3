"""One party's run over any link: hands shaken, the role played, farewell said.

Nothing is released before the farewell: there the parties that get the release compare its hash, and everyone
says how much it sent, so that all summaries name the same totals. A party that stops tells its peers why.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from typing import Annotated, Literal

import pyarrow as pa
from msgspec import Meta

from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import Aborted, CoveyError, PeerError, Unmet
from covey.party.approval import Decide, describe
from covey.party.handshake import Agreement, shake_hands
from covey.party.keys import Keys
from covey.party.ledger import Ledger
from covey.party.log import Log
from covey.party.progress import Progress
from covey.party.roster import Roster
from covey.party.summary import Traffic
from covey.protocols import Figures, Proposal, Protocol, Result, Seat
from covey.secure import approval
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.table import Table
from covey.wire import Bytes32, Channel, Count, Link, Message, Nothing, Recorder, open_channel, plain_channel

PATIENCE = 3600.0


class Farewell(Message, tag="covey.farewell"):
    """The sender is done: what it sent, and the hash of the release where the recipient has it too."""

    messages: Count
    bytes: Count
    rounds: Annotated[int, Meta(ge=0, lt=1 << 32)]
    release: Bytes32 | None


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
    recorder: Recorder = field(default_factory=Nothing)


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


async def take_part(part: Part, link: Link) -> Finished:
    """Plays this party's role to its end. Raises what stopped it, after telling the peers that can be reached."""
    part.progress.phase("handshake")
    agreement = await shake_hands(link, part.study, part.roster, part.keys, part.seed, patience=part.patience)
    for sentence in agreement.warnings:
        part.log.note(sentence)
    part.ledger.met()
    part.log.note(f"the session {agreement.session.hex()} has begun")
    channel = await open_channel(
        link, agreement.rng, session=agreement.session, recorder=part.recorder, patience=part.patience
    )
    part.progress.channel = channel
    decisions: list[bool] = []
    try:
        return await _play(part, link, channel, agreement, decisions)
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


async def _play(part: Part, link: Link, channel: Channel, agreement: Agreement, decisions: list[bool]) -> Finished:
    begun = time.monotonic()
    result = await part.protocol.role(part.study, part.party)(_seat(part, channel, decisions))
    channel.finish()
    release, digest = _seal(part.study, result)
    seconds = time.monotonic() - begun
    part.progress.phase("farewell")
    traffic = await _say_farewell(part, link, channel, digest)
    return Finished(
        release=release,
        release_sha256=None if digest is None else digest.hex(),
        figures=result.figures,
        traffic=traffic,
        seconds=seconds,
        session=agreement.session,
        warnings=agreement.warnings,
    )


def _seat(part: Part, channel: Channel, decisions: list[bool]) -> Seat:
    study = part.study
    receives = part.protocol.receives

    async def approve(proposal: Proposal) -> None:
        part.ledger.learns(approval.LEAKAGE)
        shown = describe(study, proposal, part.ledger)

        async def decide() -> bool:
            decisions.append(await part.decide(shown))
            return decisions[-1]

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

    return Seat(study, part.party, part.table, channel, part.progress, part.ledger, approve)


def _seal(study: Study, result: Result) -> tuple[pa.Table | None, bytes | None]:
    """The release as it is written, and its hash."""
    if result.release is None:
        return None, None
    arranged = arrange(result.release, frozenset(column.name for column in study.quasi))
    return arranged, hashlib.sha256(canonical_csv(arranged)).digest()


async def _say_farewell(part: Part, link: Link, channel: Channel, digest: bytes | None) -> dict[str, Traffic]:
    """Everyone's traffic. Raises PeerError if a fellow holder has another release than we have."""
    own = _sent(channel)
    session = hashlib.sha256(b"farewell" + channel.session).digest()
    last = plain_channel(link, Rng(Secret(session)), session=session[:16], patience=part.patience).at("farewell")
    for peer in last.peers:
        shared = digest if part.protocol.receives(part.study, peer) else None
        await last.send(peer, Farewell(own.messages, own.bytes, own.rounds, shared))
    traffic = {part.party: own}
    for peer, theirs in (await last.collect(Farewell)).items():
        if digest is not None and part.protocol.receives(part.study, peer) and theirs.release != digest:
            raise PeerError(party=peer, step="farewell", reason="it computed another release than we did")
        traffic[peer] = Traffic(theirs.messages, theirs.bytes, theirs.rounds)
    return traffic


def _sent(channel: Channel) -> Traffic:
    tally = channel.tally
    messages = sum(count for (sender, _), count in tally.messages.items() if sender == channel.me)
    size = sum(count for (sender, _), count in tally.bytes.items() if sender == channel.me)
    return Traffic(messages, size, tally.rounds)


def _why(error: CoveyError, decisions: list[bool]) -> tuple[Literal["refused", "aborted", "failed"], bool]:
    """What the peers are told: a word, and whether the session can go on later."""
    if False in decisions:
        return "refused", False
    if isinstance(error, Aborted):
        return "aborted", error.resumable
    if isinstance(error, Unmet):
        return "aborted", False
    return "failed", False
