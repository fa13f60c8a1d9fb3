"""Before any role runs, the parties establish that they mean the same study, and agree on a session.

    hello     the versions of Covey, of the wire and of the protocol, the study's and the roster's hashes, each part of
              them, the role, a commitment to a seed
    nonce     revealed by everyone once all commitments are in
    confirm   the session that follows from all of it, signed
    standing  instead of nonce and confirm, where a run that keeps states goes on: the states that the sender has, and
              fresh randomness for the next attempt
    have      instead of nonce and confirm, where every party offers to go on with the same session that was cut off:
              the hashes of what the sender has read, so that nothing is sent twice

Who a peer is, the link has established by its certificate; what it says of itself is compared with the roster and
never believed. A party's randomness is keyed with its seed and everyone's nonces: nobody can choose a seed to fit.
The nonce follows from the seed, so that it is committed to as well.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated

from msgspec import Meta, structs

from covey.crypto.rng import Rng, derive, fresh_seed, spell
from covey.crypto.secret import Secret
from covey.errors import Aborted, AccessError, PeerError
from covey.party.identity.keys import Keys
from covey.party.identity.roster import Roster
from covey.party.record.run_record import Agreement
from covey.party.session.agreement import PART_BYTES, agreement_parts, differences
from covey.party.session.journal import NO_JOURNAL, Journal, NoJournal
from covey.party.session.journal_records import Begun
from covey.party.session.states import ATTEMPTS, Place, StateJournal, agreed_state
from covey.plain import plain
from covey.protocols import of_study, spoken
from covey.protocols.protocol import LAST
from covey.study import Study
from covey.version import ProtocolVersion, __version__
from covey.wire import Bytes32, Bytes64, Channel, Link, Message, Name, gather, plain_channel
from covey.wire.frame import VERSION

CLOCKS_APART = 300
_SHOWN = 6
_HAVE_BYTES = 32 << 15
_UNRECORDED = 65_536
"""Messages of ours that a peer may have read although their hashes were lost here, with the machine."""

Part = Annotated[str, Meta(max_length=512)]
PartHash = Annotated[bytes, Meta(min_length=PART_BYTES, max_length=PART_BYTES)]


class SessionHello(Message, tag="handshake.hello", forbid_unknown_fields=False):
    """The agreement as the sender has it, and the sender's commitment; a later version may say more."""

    software: Name
    wire: int
    party: Name
    role: Annotated[str, Meta(max_length=64)]
    study_hash: Bytes32
    roster_hash: Bytes32
    terms: Annotated[dict[Part, PartHash], Meta(max_length=20_000)]
    clock: int
    commitment: Bytes32
    resume: Bytes32 | None
    """The session that the sender could go on with."""
    protocol_version: Annotated[int, Meta(ge=1, lt=1 << 32)] = 1
    has_state: bool = False
    """True if the sender's session has reached a state, or was bound to other inputs."""


class Nonce(Message, tag="handshake.nonce"):
    """The sender's share of the session's randomness."""

    nonce: Bytes32


class Confirm(Message, tag="handshake.confirm"):
    """The session as the sender computed it, signed with its key."""

    session: Bytes32
    signature: Bytes64


class Standing(Message, tag="handshake.standing"):
    """The states that the sender has, the attempts that it knows of, and its share of the next one's randomness."""

    attempts: Annotated[int, Meta(ge=1, lt=1 << 32)]
    states: Annotated[list[Place], Meta(max_length=2)]
    nonce: Bytes32


class ReadHashes(Message, tag="handshake.have"):
    """Hashes of the recipient's messages that the sender has read, one after the other."""

    digests: Annotated[bytes, Meta(max_length=_HAVE_BYTES)]
    more: bool


async def shake_hands(
    link: Link,
    study: Study,
    roster: Roster,
    keys: Keys,
    seed: Secret,
    *,
    patience: float,
    journal: Journal | NoJournal = NO_JOURNAL,
    clock: Callable[[], float] = time.time,
) -> Agreement:
    """Agrees with every peer or raises: AccessError that names what differs, PeerError for a broken handshake.

    A session that the journal has is gone on with if every party offers that; else a new one begins, with this seed.
    """
    me = link.me
    channel = plain_channel(link, Rng(derive(seed, "handshake")), patience=patience)
    past = journal.begun
    states = journal if isinstance(journal, StateJournal) else None
    resume = None if past is None or (states is not None and states.changed) else past.session
    own = hello(study, roster, me, commit(seed), int(clock()), resume)
    if states is not None and (states.places or states.changed):
        own = structs.replace(own, has_state=True)

    opening = channel.at("hello")
    await opening.broadcast(own)  # all is said before anything is judged, so that both sides learn what differs
    hellos = await opening.collect(SessionHello)
    for peer, theirs in hellos.items():
        compare(peer, own, theirs, study)
    warnings = [warning for peer, theirs in hellos.items() if (warning := _clocks(peer, own.clock, theirs.clock))]

    if states is not None:
        if _goes_on(me, states, hellos) and past is not None:
            return await _stand(channel.at("standing"), study, states, past, tuple(warnings))
    elif past is not None:
        others = sorted(peer for peer, theirs in hellos.items() if theirs.resume != past.session)
        if not others:
            known = await _compare_journals(channel.at("have"), journal)
            return past.agreement(tuple(warnings), known)
        if journal.complete:
            raise Aborted(
                f"this run is finished here, and party {', '.join(map(repr, others))} cannot go on with it; "
                "begin anew in another folder",
                resumable=False,
            )
        warnings.append(
            f"the session {past.session[:16].hex()} is given up, because party {', '.join(map(repr, others))} "
            "cannot go on with it; a new one begins with a new seed"
        )
    commitments = {peer: theirs.commitment for peer, theirs in hellos.items()} | {me: own.commitment}
    return await _agree(channel, study, roster, keys, seed, commitments, tuple(warnings))


async def _agree(
    channel: Channel,
    study: Study,
    roster: Roster,
    keys: Keys,
    seed: Secret,
    commitments: dict[str, bytes],
    warnings: tuple[str, ...],
) -> Agreement:
    """A new session: its nonces, its name, and everyone's signature on it."""
    nonce = derive(seed, "nonce").reveal()
    nonces = {peer: said.nonce for peer, said in (await channel.at("nonce").exchange(Nonce(nonce))).items()}
    nonces[channel.me] = nonce
    digest = session_digest(study.study_hash, commitments, nonces)
    confirmed = await _confirm(channel.at("confirm"), digest, roster, keys)
    return Agreement(digest, seed, commitments, nonces, confirmed, warnings)


def _goes_on(name: str, journal: StateJournal, hellos: Mapping[str, SessionHello]) -> bool:
    """Returns True if all go on with one session, False if a new one begins: none has a state, so nothing was opened.

    Raises Aborted where not all can go on with one that has reached a state: a second session is a second release.
    """
    anew = "nothing begins anew by itself: begin anew, all of you, in another folder with --out"
    if journal.changed:
        reason = f"{journal.changed} changed here since the session began, and the other parties were told so"
        raise Aborted(f"{reason}; {anew}, or restore what has changed and run the same command", resumable=False)
    session = None if journal.begun is None else journal.begun.session
    apart = sorted(peer for peer, hello in hellos.items() if hello.resume != session)
    if apart and (journal.places or any(hello.has_state for hello in hellos.values())):
        parties = ", ".join(map(repr, apart if session is not None else (name,)))
        raise Aborted(
            f"party {parties} cannot go on with the session that was cut off: its data changed since, or its folder is "
            f"another one; {anew}",
            resumable=False,
        )
    return session is not None and not apart


async def _stand(
    channel: Channel, study: Study, journal: StateJournal, past: Begun, warnings: tuple[str, ...]
) -> Agreement:
    """The next attempt of a session. Raises Aborted where none is possible."""
    standing = Standing(journal.attempts, journal.places, fresh_seed().reveal())
    standings = {**await channel.exchange(standing), channel.me: standing}
    computing, attempt = of_study(study).computing, 1 + max(standing.attempts for standing in standings.values())
    states = {name: standing.states for name, standing in standings.items()}
    agreed = agreed_state(states, () if computing is None else computing(study))
    if attempt > ATTEMPTS and (agreed is None or agreed.number < LAST):  # to sign again what was done draws nothing
        raise Aborted(
            f"the session was cut off {ATTEMPTS} times, and goes on no more; begin anew, all of you, in another folder "
            "with --out",
            resumable=False,
        )
    journal.attempt(attempt, agreed)
    nonce = hashlib.sha256(spell(*(standings[name].nonce for name in sorted(standings)))).digest()
    return replace(past.agreement(warnings), attempt=attempt, nonce=nonce)


async def _compare_journals(channel: Channel, journal: Journal | NoJournal) -> dict[str, frozenset[bytes]]:
    """The hashes of our messages that each peer has read."""

    async def tell() -> frozenset[bytes]:
        for peer in channel.peers:
            mine = b"".join(journal.digests(peer))
            parts = [mine[start : start + _HAVE_BYTES] for start in range(0, max(1, len(mine)), _HAVE_BYTES)]
            await channel.stream(peer, [ReadHashes(part, part is not parts[-1]) for part in parts])
        return frozenset()

    async def hear(peer: str) -> frozenset[bytes]:
        found: set[bytes] = set()
        left = 2 * journal.told(peer) + _UNRECORDED  # it cannot have read more than this party has said
        while True:
            have = await channel.receive(peer, ReadHashes)
            if len(have.digests) % 32 or (have.more and not have.digests):
                raise PeerError(party=peer, step="handshake", reason="its list of messages is malformed")
            left -= len(have.digests) // 32
            if left < 0:
                reason = (
                    f"it says that it has read more messages of ours than we sent ({journal.told(peer):,} are in our "
                    f"journal, and at most {_UNRECORDED:,} more are believed); begin anew in another folder"
                )
                raise PeerError(party=peer, step="handshake", reason=reason)
            found.update(have.digests[start : start + 32] for start in range(0, len(have.digests), 32))
            if not have.more:
                return frozenset(found)

    _, *known = await gather(tell(), *(hear(peer) for peer in channel.peers))
    return dict(zip(channel.peers, known, strict=True))


def hello(
    study: Study, roster: Roster, me: str, commitment: bytes, clock: int, resume: bytes | None = None
) -> SessionHello:
    """The first message of this party."""
    return SessionHello(
        software=__version__,
        wire=VERSION,
        party=me,
        role=study.party(me).role or "",
        study_hash=bytes.fromhex(study.study_hash),
        roster_hash=bytes.fromhex(roster.roster_hash),
        terms=agreement_parts(study, roster),
        clock=clock,
        commitment=commitment,
        resume=resume,
        protocol_version=spoken(study).number,
    )


def commit(seed: Secret) -> bytes:
    """The commitment to a seed; thirty-two random bytes cannot be guessed from their hash."""
    return hashlib.sha256(spell("covey commitment/1", seed.reveal())).digest()


def session_digest(study_hash: str, commitments: dict[str, bytes], nonces: dict[str, bytes]) -> bytes:
    """The name of the session: a hash of everything that everyone said, in the order of names."""
    said = [part for name in sorted(nonces) for part in (name, commitments[name], nonces[name])]
    return hashlib.sha256(spell("covey session/1", study_hash, *said)).digest()


def compare(peer: str, ours: SessionHello, theirs: SessionHello, study: Study) -> None:
    """Raises AccessError that says in what the peer differs from us."""
    if theirs.party != peer:
        raise AccessError(f"party {peer!r} was refused: it gives another name than its certificate's")
    same = all(ours.terms[part] == theirs.terms.get(part) for part in ("protocol", "partition"))
    if same and theirs.protocol_version != ours.protocol_version:  # before the study: defaults are part of its hash
        own = ProtocolVersion(study.protocol or "", ours.protocol_version)
        raise AccessError(own.apart(theirs.protocol_version, f"party {peer!r}", f"party {ours.party!r}"))
    if (theirs.software, theirs.wire) != (ours.software, ours.wire):
        raise AccessError(
            f"party {peer!r} runs covey {plain(theirs.software)} (wire {theirs.wire}), we run {ours.software} "
            f"(wire {ours.wire}); install the same version everywhere"
        )
    if theirs.role != (study.party(peer).role or "") and theirs.study_hash == ours.study_hash:
        raise AccessError(f"party {peer!r} was refused: it comes in another role than the study gives it")
    different = differences(ours.terms, theirs.terms)
    if different or (theirs.study_hash, theirs.roster_hash) != (ours.study_hash, ours.roster_hash):
        raise AccessError(_difference(peer, ours, theirs, different))


def _difference(peer: str, ours: SessionHello, theirs: SessionHello, different: list[str]) -> str:
    what = "study" if theirs.study_hash != ours.study_hash else "roster or order of columns"
    shown = ", ".join(map(plain, different[:_SHOWN])) or "something that this version cannot name"
    more = f" and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
    return f"party {peer!r} has another {what}; it differs in {shown}{more}: all must have the same study file"


def _clocks(peer: str, ours: int, theirs: int) -> str | None:
    apart = theirs - ours
    if abs(apart) <= CLOCKS_APART:
        return None
    side = "ahead of" if apart > 0 else "behind"
    minutes = round(abs(apart) / 60)
    return f"the clock of party {peer!r} is {minutes:,} minutes {side} ours; the run goes on, but set the wrong one"


async def _confirm(channel: Channel, session: bytes, roster: Roster, keys: Keys) -> dict[str, bytes]:
    """Everyone has heard the same from everyone, and holds the key that its certificate names; the signatures."""
    signature = keys.sign(statement(session, roster.roster_hash, channel.me))
    confirmed = {channel.me: signature}
    for peer, theirs in (await channel.exchange(Confirm(session, signature))).items():
        if theirs.session != session:
            raise PeerError(party=peer, step="handshake", reason="it computed another session from what was said")
        if not roster.certificates[peer].verifies(theirs.signature, statement(session, roster.roster_hash, peer)):
            raise PeerError(party=peer, step="handshake", reason="it does not hold the signing key of its certificate")
        confirmed[peer] = theirs.signature
    return confirmed


def statement(session: bytes, roster_hash: str, party: str) -> bytes:
    """The bytes that a party signs to confirm a session."""
    return spell("covey handshake/1", session, roster_hash, party)
