"""The collector's end of everyone's line: callers enrol, respondents stay, and a line outlives its connections.

TLS has established who a caller is: the holder of an enrolled certificate, or nobody. A caller without a certificate
can do nothing but show an invitation. A respondent has one connection; a new one takes the old one's place. A wrong
message costs its sender the connection, and the third one in a session its place; it is logged, sparingly, by handle.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from covey.crypto.rng import fresh_seed
from covey.errors import CoveyError
from covey.plain import plain
from covey.version import ProtocolVersion, __version__
from covey.wire.contact import Address
from covey.wire.depth import beside
from covey.wire.relay import RelayedParty
from covey.wire.standing import port as ports
from covey.wire.standing import words
from covey.wire.standing.carrying import TrusteeRoom
from covey.wire.standing.connection import BEAT_SECONDS, Connection, Garbled
from covey.wire.standing.gate import Gate, Sparing
from covey.wire.standing.line import LetterStore, Shelf, StandingLine, StandingLink
from covey.wire.standing.words import Over

OFFENCES = 3


class EnrolmentRefused(CoveyError):
    """An enrolment that is refused, with the reason that the caller is told."""

    final = True

    def __init__(self, why: str, *, guess: bool = False, code: str = "refused") -> None:
        super().__init__(why)
        self.code = code
        """A word for it, for callers that say it in another language."""
        self.guess = guess
        """True if it may have been a try at another's invitation."""


class Admission(Protocol):
    """The collector's decisions on who may take part; what it decides is on the disk when a call returns."""

    def certificates(self) -> Iterable[bytes]:
        """The certificates of everyone who is enrolled, in DER."""

    def handle_of(self, certificate: bytes) -> str | None:
        """The handle of an enrolled certificate."""

    def enrol(self, asked: words.Enrol, nonce: bytes, *, closed: bool) -> tuple[str, bool]:
        """The handle for a caller's certificate, and whether it is new. Raises EnrolmentRefused."""

    def ready(self, handle: str) -> None:
        """Notes that a respondent has its answers and takes part."""

    def deliver(self, handle: str, content: bytes) -> words.Delivered:
        """Keeps a respondent's sealed answer, and gives the receipt. Raises EnrolmentRefused."""

    def serve(self, handle: str, key: bytes, signature: bytes) -> None:
        """Keeps a trustee's key for letters. Raises EnrolmentRefused."""

    def keys(self) -> list[words.SignedKey]:
        """The keys of the trustees who have come so far."""

    def waiting(self) -> words.Waiting:
        """The word to a respondent before the collection begins."""

    def excluded(self, members: Iterable[str]) -> Mapping[str, str]:
        """Everyone who is enrolled and not among these members, and why."""


@dataclass(frozen=True)
class Sitting:
    """A session that is under way, and the lines of its members."""

    digest: bytes
    attempt: int
    journal: LetterStore
    lines: dict[str, StandingLine]


@dataclass
class Guest:
    """A respondent's connection."""

    handle: str
    connection: Connection
    news: asyncio.Event = field(default_factory=asyncio.Event)
    begun: bytes = b""
    """The session that both sides speak of on this connection."""
    answered: asyncio.Event = field(default_factory=asyncio.Event)


class Hub:
    """The collector's end of everyone's line."""

    def __init__(
        self,
        me: str,
        study: bytes,
        protocol: ProtocolVersion,
        certificate: Path,
        key: Path,
        admission: Admission,
        note: Callable[[str], None],
        trustees: Iterable[str] = (),
    ) -> None:
        self.room = TrusteeRoom(me, tuple(trustees))
        self.changed = asyncio.Event()
        """Set whenever somebody came, went, or is ready."""
        self.last_letter: dict[str, float] = {}
        """The time of each respondent's last letter, on the event loop's clock."""
        self.shelf = Shelf()
        self._me, self._study, self._admission, self._note = me, study, admission, note
        self._protocol = protocol
        self._guests: dict[str, Guest] = {}
        self._sitting: Sitting | None = None
        self._over: dict[str, Over] = {}
        self._end: Over | None = None
        self._offences: Counter[str] = Counter()
        self._gate, self._log, self._key = Gate(), Sparing(note), key
        self._port = ports.Port(ports.tls_context(certificate, key), self._gate, self._log)
        for each in admission.certificates():
            self._port.trust(each)

    # -- for the collection

    @property
    def present(self) -> list[str]:
        """The respondents that have a connection right now, sorted."""
        return sorted(self._guests)

    @property
    def gone(self) -> dict[str, str]:
        """The respondents that have left the session that is under way, and why."""
        return {} if self._sitting is None else self._sitting.journal.gone

    def seat(self, session: bytes, attempt: int, members: Iterable[str], journal: LetterStore) -> StandingLink:
        """Begins a session among these members, or goes on with it; returns the link to them."""
        loop = asyncio.get_running_loop()

        def heard(handle: str) -> Callable[[], None]:
            return lambda: self.last_letter.__setitem__(handle, loop.time())

        lines = {
            name: StandingLine(name, journal, session[:16], self.shelf, heard(name), on_record=False)
            for name in members
        }
        before, self._sitting = self._sitting, Sitting(session, attempt, journal, lines)
        self._offences.clear()
        for line in () if before is None else before.lines.values():
            line.leave("has been asked to begin anew")
        for name, why in journal.gone.items():
            lines[name].leave(why)
            self._over[name] = _left(why)
        for handle, why in self._admission.excluded(lines).items():
            self._over.setdefault(handle, _left(why))
        self._tell_all()
        return StandingLink(self._me, lines)

    def expel(self, handle: str, why: str) -> None:
        """Takes a respondent out of the session for good; on the disk when this returns."""
        sitting = self._sitting
        if sitting is None or handle not in sitting.lines or handle in sitting.journal.gone:
            return
        sitting.journal.lose(handle, why)
        sitting.lines[handle].leave(why)
        self._over[handle] = _left(why)
        self._note(f"{handle} {why}, and is left out")
        if handle in self._guests:
            self._tell(self._guests[handle])
        self.changed.set()

    def end(self, over: Over) -> None:
        """Ends the collection: all who are here, and all who come, are told so."""
        self._end = over
        self._tell_all()

    async def emptied(self, seconds: float) -> None:
        """Returns once everyone has been told and has gone, or after so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._guests:
                    self.changed.clear()
                    await self.changed.wait()

    @asynccontextmanager
    async def listening(self, where: Address | RelayedParty) -> AsyncIterator[Address | RelayedParty]:
        """Takes calls while the block runs; gives where it listens. Raises InputError or AccessError if it cannot."""
        if isinstance(where, RelayedParty):
            listening: AbstractAsyncContextManager[Address | RelayedParty] = self._port.relayed(
                where, self._key, self._note, self._serve
            )
        else:
            listening = self._port.listening(where, self._serve)
        async with beside(self._beat()), listening as place:
            try:
                yield place
            finally:
                for guest in list(self._guests.values()):
                    guest.connection.drop()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            for guest in self._guests.values():
                guest.connection.beat()

    # -- one call

    async def _serve(self, call: ports.Call) -> None:
        if call.certificate is None:
            async with asyncio.timeout(ports.GREETING_SECONDS):
                await self._enrol(call)
            return
        handle = self._admission.handle_of(call.certificate)
        if handle is None:
            call.connection.drop()
            raise Garbled("its certificate is not enrolled")
        call.known()
        await self._stay(handle, call.connection)

    async def _enrol(self, call: ports.Call) -> None:
        nonce = fresh_seed().reveal()
        await call.connection.say(self._hello("", nonce))
        asked = await call.connection.hear(words.Enrol)
        try:
            handle, new = self._admission.enrol(asked, nonce, closed=self._end is not None)
        except EnrolmentRefused as refusal:
            if refusal.guess and self._gate.guesses(call.address):
                raise Garbled("too many wrong invitations from one address") from None
            if refusal.guess:
                self._gate.wrong_guess(call.address)
            self._log("enrolment", f"an enrolment from {call.address} was refused: {refusal}")
            await call.connection.say(words.Refused(str(refusal), refusal.final))
            return
        if new:
            self._port.trust(asked.certificate)
            self._log("enrolled", f"{handle} enrolled")
            self.changed.set()
        await call.connection.say(words.Enrolled(handle))

    async def _stay(self, handle: str, connection: Connection) -> None:
        before = self._guests.get(handle)
        if before is not None:
            before.connection.drop()
        guest = self._guests[handle] = Guest(handle, connection)
        self.changed.set()
        try:
            async with asyncio.timeout(ports.GREETING_SECONDS):
                await connection.say(self._hello(handle, bytes(32)))
                connection.enlarge()
                said = await connection.read()
                if isinstance(said, words.Deliver):
                    await self._deliver(guest, said)
                    return
                if isinstance(said, words.Leave):
                    self._log("version", f"{handle} left at the greeting: {plain(said.why)}")
                    return
                if not isinstance(said, words.Ready | words.Serve):
                    raise Garbled(f"{type(said).__name__.lower()} where ready was due")
            if isinstance(said, words.Serve):
                await self._attend(guest, said)
                return
            self._ready(handle, said)
            async with asyncio.TaskGroup() as group:
                listener = group.create_task(self._listen(guest))
                await self._speak(guest)
                listener.cancel()
        except* Garbled as errors:
            self._offend(handle, str(errors.exceptions[0]))
        except* (OSError, EOFError, TimeoutError, ssl.SSLError):
            pass
        finally:
            if self._guests.get(handle) is guest:
                del self._guests[handle]
            self.changed.set()

    def _hello(self, handle: str, nonce: bytes) -> words.Hello:
        """The first word; a stranger hears nothing of the study."""
        study, protocol = (self._study, self._protocol.number) if handle else (bytes(32), 1)
        keys = self._admission.keys() if handle else []
        return words.Hello(words.VERSION, __version__, study, handle, nonce, protocol, keys)

    def _differs(self, handle: str, said: words.Ready | words.Serve | words.Deliver) -> str:
        """The sentence on a respondent that is of another study or version, or nothing."""
        if said.protocol != self._protocol.number:
            return self._protocol.apart(said.protocol, handle, "the collector")
        same = said.study == self._study and said.software == __version__
        return "" if same else "it has another study, or another version of covey"

    def _ready(self, handle: str, said: words.Ready) -> None:
        if why := self._differs(handle, said):
            raise Garbled(why)
        self._admission.ready(handle)
        self.changed.set()

    async def _deliver(self, guest: Guest, said: words.Deliver) -> None:
        """Takes a respondent's answer and gives the receipt; the respondent is not needed again."""
        try:
            if why := self._differs(guest.handle, said):
                raise EnrolmentRefused(why)
            receipt = self._admission.deliver(guest.handle, said.content)
        except EnrolmentRefused as refusal:
            self._log("delivery", f"an answer of {guest.handle} was refused: {refusal}")
            await guest.connection.say(words.Refused(str(refusal), refusal.final))
        else:
            await guest.connection.say(receipt)
        self.changed.set()
        await guest.connection.close()

    async def _attend(self, guest: Guest, said: words.Serve) -> None:
        """Lets a trustee stay until the collection is over, and carries its frames."""
        name, connection = guest.handle, guest.connection
        if name not in self.room.trustees:
            raise Garbled("a respondent that would be a trustee")
        try:
            if why := self._differs(name, said):
                raise EnrolmentRefused(why)
            self._admission.serve(name, said.key, said.signature)
        except EnrolmentRefused as refusal:
            self._note(f"trustee {name!r} was refused: {refusal}")
            await connection.say(words.Refused(str(refusal), refusal.final))
            return
        self.room.enter(name, connection)
        try:
            async with asyncio.TaskGroup() as group:
                listener = group.create_task(self._carry(name, connection))
                while self._end is None:
                    guest.news.clear()
                    await guest.news.wait()
                await connection.say(self._end)
                listener.cancel()
        finally:
            self.room.leave(name, connection)

    async def _carry(self, name: str, connection: Connection) -> None:
        """Takes what a trustee sends, until it is cut off."""
        while True:
            said = await connection.read()
            if isinstance(said, bytes):
                await self.room.take(name, said)
            elif isinstance(said, words.Done):
                self.room.done.add(name)
                self.room.changed.set()
            else:
                raise Garbled(f"{type(said).__name__.lower()} is not for a trustee to say here")

    async def _speak(self, guest: Guest) -> None:
        """Tells a respondent how things stand, and carries its letters, until there is nothing more to say."""
        connection, handle = guest.connection, guest.handle
        while True:
            guest.news.clear()
            sitting = self._sitting
            over = self._over.get(handle) or self._end
            if over is not None:
                await connection.say(over)
                await connection.close()
                return
            if sitting is None or handle not in sitting.lines:
                await connection.say(self._admission.waiting())
                await guest.news.wait()
                continue
            line = sitting.lines[handle]
            guest.begun, guest.answered = sitting.digest, asyncio.Event()
            await connection.say(words.Begin(sitting.digest, sitting.attempt, len(sitting.lines), line.have))
            await guest.answered.wait()
            await line.carry(connection, guest.news.is_set)

    async def _listen(self, guest: Guest) -> None:
        """Takes what a respondent sends. Raises Garbled for what is not due, whatever it says of the phase."""
        while True:
            said = await guest.connection.read()
            sitting = self._sitting
            current = sitting is not None and sitting.digest == guest.begun
            line = sitting.lines.get(guest.handle) if sitting is not None and current else None
            if isinstance(said, bytes):
                if line is not None and guest.answered.is_set():
                    await line.take(said)
                elif not guest.begun:
                    raise Garbled("a letter before the collection has begun")
            elif isinstance(said, words.Have):
                if said.session != guest.begun or guest.answered.is_set():
                    raise Garbled("it speaks of a session that is not under way")
                if line is not None:
                    line.claims(said.have)
                guest.answered.set()
            elif isinstance(said, words.Ack):
                if line is not None:
                    line.acknowledged(said.digests)
            elif isinstance(said, words.Leave):
                self.expel(guest.handle, "broke off")
            else:
                raise Garbled(f"{type(said).__name__.lower()} is not for a respondent to say here")

    def _offend(self, handle: str, why: str) -> None:
        self._offences[handle] += 1
        self._log("offence", f"{handle} was hung up on: {why}")
        if self._offences[handle] >= OFFENCES:
            self.expel(handle, "broke the protocol")

    def _tell_all(self) -> None:
        for guest in self._guests.values():
            self._tell(guest)

    def _tell(self, guest: Guest) -> None:
        guest.news.set()
        guest.answered.set()
        if self._sitting is not None and guest.handle in self._sitting.lines:
            self._sitting.lines[guest.handle].nudge()


def _left(why: str) -> Over:
    return Over("left", f"you are left out: this respondent {why}")
