"""The collector's port: callers enrol, respondents stay, and each has a standing line, whatever becomes of connections.

Who a caller is, TLS has established: a certificate that was enrolled, or none. A caller without one can do nothing but
show an invitation. A respondent has one connection; a new one takes the old one's place. What is wrong costs the one
who sends it its connection, three times in a session its place; it is logged, sparingly, and by handle.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from asyncio import sslproto
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from covey.crypto.rng import fresh_seed
from covey.errors import CoveyError, InputError
from covey.party.collection import speech
from covey.party.collection.enrolment import Desk, Turned
from covey.party.collection.gate import Gate, Sparing
from covey.party.collection.invitation import Invitations
from covey.party.collection.register import Ready, Register, moment
from covey.party.collection.speech import Connection, Garbled, Over
from covey.party.collection.standing import Shelf, Standing, StandingLink
from covey.party.session.journal import Journal
from covey.version import __version__
from covey.wire.contact import Address, fingerprint
from covey.wire.depth import first_cause
from covey.wire.tls import open_port
from covey.wire.trust import explain

GREETING_SECONDS = 10.0
OFFENCES = 3
READ_AHEAD = 1 << 16
LARGE_FRAMES = 16
"""Frames above a mebibyte that are read at the same time: whoever drips one holds no more than its share."""
_SSL_BUFFER = 1 << 15


@dataclass(frozen=True)
class Seats:
    """A session that is under way, and the lines of those who are in it."""

    digest: bytes
    attempt: int
    journal: Journal
    lines: dict[str, Standing]


@dataclass
class Guest:
    """A respondent's connection."""

    handle: str
    connection: Connection
    news: asyncio.Event = field(default_factory=asyncio.Event)
    begun: bytes = b""
    """The session that both sides speak of on this connection."""
    answered: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Hub:
    """The collector's end of everyone's line."""

    me: str
    study_hash: str
    certificate: Path
    key: Path
    register: Register
    invitations: Invitations
    note: Callable[[str], None]
    gate: Gate = field(default_factory=Gate)
    clock: Callable[[], float] = time.time
    quorum: int = 0
    closes: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever somebody came, went, or is ready."""
    last_letter: dict[str, float] = field(default_factory=dict)
    """When each respondent's last letter came, on the event loop's clock."""

    def __post_init__(self) -> None:
        self._guests: dict[str, Guest] = {}
        self._seats: Seats | None = None
        self._over: dict[str, Over] = {}
        self._end: Over | None = None
        self._shelf = Shelf()
        self._large = asyncio.Semaphore(LARGE_FRAMES)
        self._offences: Counter[str] = Counter()
        self._log = Sparing(self.note)
        self._context = _context(self.certificate, self.key)
        own = fingerprint(_der(self.certificate))
        self._desk = Desk(self.study_hash, own, self.register, self.invitations, self.clock, self._welcome)
        for each in self.register.certificates():
            self._trust(each)

    # -- what the collection asks for

    @property
    def present(self) -> list[str]:
        """Who has a connection right now, sorted."""
        return sorted(self._guests)

    @property
    def gone(self) -> dict[str, str]:
        """Who has left in the session that is under way, and why."""
        return {} if self._seats is None else self._seats.journal.gone

    @property
    def shelf(self) -> Shelf:
        """What many letters have in common."""
        return self._shelf

    def seat(self, session: bytes, attempt: int, members: Iterable[str], journal: Journal) -> StandingLink:
        """A session begins, or goes on, among these; the link to them."""
        loop = asyncio.get_running_loop()

        def heard(handle: str) -> Callable[[], None]:
            return lambda: self.last_letter.__setitem__(handle, loop.time())

        lines = {
            name: Standing(name, journal, session[:16], self._shelf, heard(name), on_record=False) for name in members
        }
        before, self._seats = self._seats, Seats(session, attempt, journal, lines)
        self._offences.clear()
        for line in () if before is None else before.lines.values():
            line.leave("has been asked to begin anew")
        for name, why in journal.gone.items():
            lines[name].leave(why)
            self._over[name] = _left(why)
        for handle in self.register.held.enrolled:
            if handle not in lines and handle not in self._over:
                why = self.register.held.left.get(handle, "was not ready when the collection began")
                self._over[handle] = _left(why)
        self._tell_all()
        return StandingLink(self.me, lines)

    def expel(self, handle: str, why: str) -> None:
        """That respondent has left for good; on the disk when this returns."""
        seats = self._seats
        if seats is None or handle not in seats.lines or handle in seats.journal.gone:
            return
        seats.journal.lose(handle, why)
        seats.lines[handle].leave(why)
        self._over[handle] = _left(why)
        self.note(f"{handle} {why}, and is left out")
        if handle in self._guests:
            self._tell(self._guests[handle])
        self.changed.set()

    def end(self, over: Over) -> None:
        """The collection is over: everyone who is here, and who comes, is told so."""
        self._end = over
        self._tell_all()

    async def emptied(self, seconds: float) -> None:
        """Returns once everyone has been told and has gone, or after so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._guests:
                    self.changed.clear()
                    await self.changed.wait()

    # -- the port

    @asynccontextmanager
    async def listening(self, where: Address) -> AsyncIterator[Address]:
        """Takes calls while the block runs; the address that it listens at. Raises InputError if it cannot."""
        server = open_port(where, backlog=256)
        sslproto.SSLProtocol.max_size = _SSL_BUFFER  # a buffer that each connection has, and touches: 256 kB else
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._answer(server, group)), group.create_task(self._beat())]
                try:
                    yield Address(where.host, server.getsockname()[1])
                finally:
                    for task in tasks:
                        task.cancel()
                    for guest in list(self._guests.values()):
                        guest.connection.drop()
                    for stranger in list(self._callers):
                        stranger.cancel()
        finally:
            server.close()

    _callers: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    async def _answer(self, server: socket.socket, group: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                caller, where = await loop.sock_accept(server)
            except OSError as error:
                self._log("accept", f"no more connections can be taken ({error.strerror})")
                await asyncio.sleep(0.2)
                continue
            address = str(where[0])
            refused = self.gate.admit(address)
            if refused is not None:
                caller.close()
                self._log("refused", f"a caller from {address} was refused: {refused}")
                continue
            task = group.create_task(self._take_call(caller, address))
            self._callers.add(task)
            task.add_done_callback(self._callers.discard)

    async def _take_call(self, caller: socket.socket, address: str) -> None:
        connection: Connection | None = None
        stranger = True
        try:
            connection, handle = await self._handshake(caller)
            if handle is None:
                async with asyncio.timeout(GREETING_SECONDS):
                    await self._enrol(connection, address)
            else:
                self.gate.known(address)
                stranger = False
                await self._stay(handle, connection)
        except ssl.SSLError as error:
            self._log("tls", f"a caller from {address} was refused: {explain(error)}")
        except Garbled as error:
            self._log("garbled", f"a caller from {address} was refused: {error}")
        except (OSError, EOFError, TimeoutError):
            pass
        except CoveyError:
            raise  # the disk is full, or the folder damaged: nothing can be taken in
        except Exception as error:  # an error of ours must not let one caller end it for all
            cause = first_cause(error) if isinstance(error, BaseExceptionGroup) else error
            if isinstance(cause, CoveyError):
                raise cause from None
            self._log("error", f"a connection ended by an error of ours ({type(cause).__name__}); please report it")
        finally:
            if stranger:
                self.gate.known(address)
            self.gate.gone()
            if connection is not None:
                await connection.close()

    async def _handshake(self, caller: socket.socket) -> tuple[Connection, str | None]:
        """TLS; the handle that the caller's certificate stands for, or none for a caller without one."""
        loop = asyncio.get_running_loop()
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = asyncio.StreamReader(limit=READ_AHEAD)
        transport, protocol = await loop.connect_accepted_socket(
            lambda: asyncio.StreamReaderProtocol(reader),
            caller,
            ssl=self._context,
            ssl_handshake_timeout=GREETING_SECONDS,
            ssl_shutdown_timeout=2.0,
        )
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        writer.transport.set_write_buffer_limits(high=speech.PIECE)
        connection = Connection(reader, writer, self._large)
        presented = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if presented is None:
            return connection, None
        handle = self.register.held.by_certificate.get(fingerprint(presented))
        if handle is None:
            connection.drop()
            raise Garbled("its certificate is not enrolled")
        return connection, handle

    # -- enrolment

    async def _enrol(self, connection: Connection, address: str) -> None:
        nonce = fresh_seed().reveal()
        await connection.say(self._hello("", nonce))
        asked = await connection.hear(speech.Enrol)
        try:
            handle = self._desk.enrol(asked, nonce, closed=self._end is not None)
        except Turned as refusal:
            if refusal.guess:
                self.gate.wrong_guess(address)
            self._log("enrolment", f"an enrolment from {address} was refused: {refusal}")
            await connection.say(speech.Refused(str(refusal), refusal.final))
            return
        await connection.say(speech.Enrolled(handle))

    def _welcome(self, handle: str, certificate: bytes) -> None:
        """A respondent is new: its certificate is known from now on."""
        self._trust(certificate)
        self._log("enrolled", f"{handle} enrolled")
        self.changed.set()

    # -- respondents

    async def _stay(self, handle: str, connection: Connection) -> None:
        before = self._guests.get(handle)
        if before is not None:
            before.connection.drop()
        guest = self._guests[handle] = Guest(handle, connection)
        self.changed.set()
        try:
            async with asyncio.timeout(GREETING_SECONDS):
                await connection.say(self._hello(handle, bytes(32)))
                self._ready(handle, await connection.hear(speech.Ready))
            connection.enlarge()
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

    def _ready(self, handle: str, said: speech.Ready) -> None:
        if said.study.hex() != self.study_hash or said.software != __version__:
            raise Garbled("it has another study, or another version of covey")
        held = self.register.held
        if handle not in held.ready and held.started is None and held.ended is None:
            self.register.add(Ready(handle, moment()))
            self.changed.set()

    async def _speak(self, guest: Guest) -> None:
        """Tells a respondent how things stand, and carries its letters, until there is nothing more to say."""
        connection, handle = guest.connection, guest.handle
        while True:
            guest.news.clear()
            seats = self._seats
            over = self._over.get(handle) or self._end
            if over is not None:
                await connection.say(over)
                await connection.close()
                return
            if seats is None or handle not in seats.lines:
                held = self.register.held
                await connection.say(speech.Waiting(len(held.ready), self.quorum, self.closes))
                await guest.news.wait()
                continue
            line = seats.lines[handle]
            guest.begun, guest.answered = seats.digest, asyncio.Event()
            await connection.say(speech.Begin(seats.digest, seats.attempt, len(seats.lines), line.have))
            await guest.answered.wait()
            await line.carry(connection, guest.news.is_set)

    async def _listen(self, guest: Guest) -> None:
        """Takes what a respondent sends. Raises Garbled for what is not due, whatever it says of the phase."""
        while True:
            said = await guest.connection.read()
            seats = self._seats
            current = seats is not None and seats.digest == guest.begun and guest.handle in seats.lines
            line = seats.lines[guest.handle] if seats is not None and current else None
            if isinstance(said, bytes):
                if line is not None and guest.answered.is_set():
                    await line.take(said)
                elif not guest.begun:
                    raise Garbled("a letter before the collection has begun")
            elif isinstance(said, speech.Have):
                if said.session != guest.begun or guest.answered.is_set():
                    raise Garbled("it speaks of a session that is not under way")
                if line is not None:
                    line.claims(said.have)
                guest.answered.set()
            elif isinstance(said, speech.Ack):
                if line is not None:
                    line.acknowledged(said.digests)
            elif isinstance(said, speech.Leave):
                self.expel(guest.handle, "broke off")
            else:
                raise Garbled(f"{type(said).__name__.lower()} is not for a respondent to say here")

    def _offend(self, handle: str, why: str) -> None:
        self._offences[handle] += 1
        self._log("offence", f"{handle} was hung up on: {why}")
        if self._offences[handle] >= OFFENCES:
            self.expel(handle, "broke the protocol")

    # -- small things

    def _hello(self, handle: str, nonce: bytes) -> speech.Hello:
        """The first word; a stranger hears nothing of the study."""
        study = bytes.fromhex(self.study_hash) if handle else bytes(32)
        return speech.Hello(speech.VERSION, __version__, study, handle, nonce)

    def _tell_all(self) -> None:
        for guest in self._guests.values():
            self._tell(guest)

    def _tell(self, guest: Guest) -> None:
        guest.news.set()
        guest.answered.set()
        if self._seats is not None and guest.handle in self._seats.lines:
            self._seats.lines[guest.handle].nudge()

    def _trust(self, certificate: bytes) -> None:
        self._context.load_verify_locations(cadata=certificate)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(speech.BEAT_SECONDS)
            for guest in self._guests.values():
                guest.connection.beat()


def _left(why: str) -> Over:
    return Over("left", f"you are left out: this respondent {why}")


def _context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.3; a caller may have no certificate, and if it has one it must be enrolled."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_OPTIONAL
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"{certificate}, {key}: not a certificate with its key ({type(error).__name__})") from None
    return context


def _der(certificate: Path) -> bytes:
    return x509.load_pem_x509_certificate(certificate.read_bytes()).public_bytes(Encoding.DER)
