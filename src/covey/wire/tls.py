"""Parties meet over TLS: the one whose name sorts later dials, both sides insist on the roster's certificates.

Whoever is early waits; a caller tries again until the time is up; a stranger is turned away without a word
about the study, and the wait for the right one goes on. Nothing of a role runs before all have met all: each says whom
it waits for, and who is here is not taken for late because it waits for another.
A connection is a socket, or a way over the relay where one of the two has no address; TLS is the same on both.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path

from covey.errors import Aborted, AccessError, InputError
from covey.wire.connection import (
    HASTE_SECONDS,
    HEARTBEAT_SECONDS,
    LINGER_SECONDS,
    READ_AHEAD,
    Awaited,
    PeerConnection,
)
from covey.wire.contact import Address, Contact, by_fingerprint, dials, meet_at_relay
from covey.wire.depth import first_cause
from covey.wire.greet import GREETING_SECONDS, HungUp, answer, call, turn_away, welcome
from covey.wire.relay import Exchange, RelaySite
from covey.wire.trust import contexts, explain, over_tls

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
_CALLERS = 32
_HANG_UPS = 3
"""A peer that restarts may hang up on us once; one that does not want us does it every time."""


class TlsLink:
    """One party's lines to all its peers."""

    def __init__(self, me: str, lines: Mapping[str, PeerConnection]) -> None:
        self.me = me
        self.peers = tuple(sorted(lines))
        self._lines = lines

    async def send(self, peer: str, frame: bytes) -> None:
        """Writes a frame to that peer."""
        await self._lines[peer].send(frame)

    async def receive(self, peer: str) -> bytes:
        """That peer's next frame."""
        return await self._lines[peer].receive()

    def heard(self, peer: str) -> float:
        """The time at which anything came from that peer, a heartbeat included."""
        return self._lines[peer].heard

    async def close(self, linger: float = LINGER_SECONDS) -> None:
        """Says good-bye to all, and waits at most that long until they have read what was sent."""
        async with asyncio.TaskGroup() as group:
            for line in self._lines.values():
                group.create_task(line.close(linger))


@dataclass
class Meeting:
    """One party's meeting with all peers of the roster `contacts`, which has `me` too.

    Raises InputError if the roster or the key is at fault, AccessError for a certificate that is out of date.
    """

    me: str
    contacts: Mapping[str, Contact]
    _: KW_ONLY
    certificate: Path
    key: Path
    listen: Address | None = None
    """The place to listen at, if that is not the address in the roster."""
    relay: RelaySite | None = None
    """The place where parties without an address are met."""
    notice: Callable[[str], None] = lambda sentence: None
    """Told who came and who was turned away."""
    awaited: Callable[[tuple[str, ...]], None] = lambda names: None
    """Told who is not here yet, at first and whenever that changes."""
    awaiting: Awaited = lambda: ()
    """Says whom this party waits for, once all have met: each heartbeat passes it on."""
    told: Callable[[str, tuple[str, ...]], None] = lambda peer, names: None
    """Told the same of the peers."""
    heartbeat: float = HEARTBEAT_SECONDS

    def __post_init__(self) -> None:
        if self.me not in self.contacts:
            raise InputError(f"party {self.me!r} is not in the roster")
        own = self._own = self.contacts[self.me]
        self._peers = {name: contact for name, contact in self.contacts.items() if name != self.me}
        self._known = by_fingerprint(self._peers.values())
        for contact in self.contacts.values():
            contact.check_dates()
        self._far = [name for name, peer in self._peers.items() if self.relay is not None and meet_at_relay(own, peer)]
        self._called = [peer for peer in self._peers.values() if dials(own, peer, relay=bool(self._far))]
        self._callers = [name for name, peer in self._peers.items() if peer not in self._called]
        self._bind = self.listen or own.address
        self._dialing, self._answering = contexts(self.certificate, self.key, self._peers.values())
        self._exchange: Exchange | None = None
        self._tasks = asyncio.TaskGroup()
        self._lines: dict[str, PeerConnection] = {}
        self._left: dict[str, frozenset[str]] = {}
        """Peers that were here and left, and whom they waited for then."""
        self._keepers: list[asyncio.Task[None]] = []
        self._refusals: list[str] = []
        self._hung_up: Counter[str] = Counter()
        self._all_here = asyncio.Event()

    @asynccontextmanager
    async def held(self, wait: float) -> AsyncIterator[TlsLink]:
        """Meets all peers within `wait` seconds, and gives the link to them.

        Raises `AccessError` for strangers and from a relay that refuses us, `Aborted` when somebody does not come in
        time, `InputError` if the port is at fault.
        """
        try:
            async with AsyncExitStack() as stack:
                if self.relay is not None and self._far:
                    exchange = Exchange.of_party(self.me, self._far, self.relay, self.key, self.notice)
                    self._exchange = await stack.enter_async_context(exchange.open())
                await stack.enter_async_context(self._tasks)
                try:
                    yield await self.hold(wait)
                except BaseException:
                    await self.leave(HASTE_SECONDS)
                    raise
                await self.leave(LINGER_SECONDS)
        except BaseExceptionGroup as failures:
            raise first_cause(failures) from None

    async def hold(self, wait: float) -> TlsLink:
        """Returns once every peer has a line."""
        self.awaited(self._absent)
        server = self._open_port() if not all(map(self._is_far, self._callers)) else None
        try:
            async with asyncio.timeout(wait):
                async with asyncio.TaskGroup() as group:
                    efforts = [group.create_task(self._keep_calling(peer)) for peer in self._called]
                    if server:
                        efforts.append(group.create_task(self._answer(server)))
                    if self._exchange is not None:
                        efforts.append(group.create_task(self._answer_relayed(self._exchange)))
                    if self._peers:
                        await self._all_here.wait()
                    for effort in efforts:
                        effort.cancel()
        except TimeoutError:
            raise self._missing(wait) from None
        except BaseExceptionGroup as failures:
            raise first_cause(failures) from None
        finally:
            if server:
                server.close()
        return TlsLink(self.me, self._lines)

    async def leave(self, linger: float) -> None:
        """Closes every line and ends what keeps it alive."""
        await TlsLink(self.me, self._lines).close(linger)
        for task in self._keepers:
            task.cancel()

    def _is_far(self, peer: str) -> bool:
        """True if that peer is met at the relay."""
        return peer in self._far

    @property
    def _absent(self) -> tuple[str, ...]:
        return tuple(sorted(name for name in self._peers if name not in self._lines or self._lines[name].is_over))

    @property
    def _met(self) -> bool:
        """True if all are here, and say that all are there."""
        return not self._absent and all(line.awaits == () for line in self._lines.values())

    @property
    def _awaited_in_truth(self) -> tuple[str, ...]:
        """The parties that nobody has to wait for another to wait for: those who left for their sake do not count."""
        names, absent = set[str](), frozenset(self._absent)
        for name in absent:
            names |= (self._left.get(name, frozenset()) & absent) or {name}
        for line in self._lines.values():
            names |= self._known_names(line) if not line.is_over else set()
        return tuple(sorted(names))

    def _known_names(self, line: PeerConnection) -> frozenset[str]:
        """The peers of ours that a peer says it waits for."""
        return frozenset(name for name in line.awaits or () if name in self._peers)

    def _missing(self, wait: float) -> Aborted | AccessError:
        absent = self._awaited_in_truth
        who = ", ".join(f"{name!r}" for name in absent)
        late = f"{'party' if len(absent) == 1 else 'parties'} {who} did not come within {wait:g} s"
        if not self._absent:
            late = f"all parties are here, but {who or 'some of them'} did not meet each other within {wait:g} s"
        elif gone := sorted(set(self._left) - set(absent)):
            late += f" ({', '.join(map(repr, gone))} waited too, and left)"
        if self._refusals:
            return AccessError(f"{late}; {self._refusals[-1]}")
        where = "relay" if all(map(self._is_far, absent)) else "address"
        runs = "it is" if len(absent) == 1 else "they are"
        return Aborted(f"{late}: see that {runs} running, and that the study has the right {where}", resumable=True)

    def _enter(self, line: PeerConnection) -> None:
        self._lines[line.peer] = line
        self._left.pop(line.peer, None)
        line.told = lambda: self._look(line)
        for work in (self._read(line), line.beat(self.heartbeat, self._waits_for)):
            self._keepers.append(self._tasks.create_task(work))
        absent = self._absent
        self.notice(f"party {line.peer!r} is here ({len(self._peers) - len(absent)} of {len(self._peers)})")
        for each in self._lines.values():
            each.tell(absent)
        self._look(line)

    async def _read(self, line: PeerConnection) -> None:
        await line.listen()
        if not self._all_here.is_set() and self._lines.get(line.peer) is line:
            self._left[line.peer] = self._known_names(line)
            self._look(line)

    def _waits_for(self) -> tuple[str, ...]:
        """The parties that this one waits for: those who have not come, and in the run those who have to speak."""
        return self.awaiting() if self._all_here.is_set() else self._absent

    def _look(self, line: PeerConnection) -> None:
        """Finds who is still missing, after somebody came, left, or said whom it waits for."""
        if self._all_here.is_set():
            self.told(line.peer, tuple(sorted(self._known_names(line))))
        elif self._met:
            self.awaited(())
            self._all_here.set()
        else:
            self.awaited(self._awaited_in_truth)

    async def _keep_calling(self, peer: Contact) -> None:
        """Calls until the peer answers; calls again if it goes away before all have met."""
        pause = FIRST_PAUSE
        while True:
            line = await self._call(peer)
            if line is None:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                self._enter(line)
                await line.wait_over()
                pause = FIRST_PAUSE

    async def _call(self, peer: Contact) -> PeerConnection | None:
        """One attempt; none if nobody who could be the peer answers."""
        where = "the relay" if self._is_far(peer.name) else peer.address
        try:
            async with asyncio.timeout(2 * GREETING_SECONDS):
                reader, writer = await self._dial(peer)
                with _dropped_on_failure(writer):
                    await call(reader, writer, self.me, peer.name, self._known)
                    return PeerConnection(peer.name, reader, writer)
        except ssl.SSLError as error:
            refused = f"party {peer.name!r} at {where} was not accepted, or did not accept us"
            raise AccessError(f"{refused}: {explain(error)}") from None
        except HungUp:
            self._hung_up[peer.name] += 1
            if self._hung_up[peer.name] < _HANG_UPS:
                return None
            raise AccessError(
                f"party {peer.name!r} at {where} does not accept us: see that its roster has our certificate "
                f"({self._own.fingerprint[:16]}…), and that both clocks are right"
            ) from None
        except (OSError, EOFError, TimeoutError):
            return None

    async def _dial(self, peer: Contact) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A TLS connection to a peer, or to whoever answers in its place."""
        if self._exchange is not None and self._is_far(peer.name):
            carrier = self._exchange.call(peer.name)
            return await over_tls(carrier, self._dialing, READ_AHEAD, seconds=2 * GREETING_SECONDS)
        if peer.address is None:
            raise InputError(f"party {peer.name!r} has no address in the study")
        return await asyncio.open_connection(
            peer.address.host, peer.address.port, ssl=self._dialing, server_hostname="", limit=READ_AHEAD
        )

    def _open_port(self) -> socket.socket:
        where = self._bind
        if where is None:
            raise InputError(f"party {self.me!r} has no address to listen on")
        return open_port(where)

    async def _answer(self, server: socket.socket) -> None:
        """Takes calls, some at a time; a stranger's call ends without touching the others."""
        loop = asyncio.get_running_loop()
        free = asyncio.Semaphore(_CALLERS)
        async with asyncio.TaskGroup() as group:
            while True:
                await free.acquire()
                connection, _ = await loop.sock_accept(server)
                group.create_task(self._take_call(partial(accept_tls, connection, self._answering), free))

    async def _answer_relayed(self, exchange: Exchange) -> None:
        """Takes calls over the relay."""
        free = asyncio.Semaphore(_CALLERS)
        exchange.answer(True)
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    await free.acquire()
                    _, carrier = await exchange.called()
                    accept = partial(
                        over_tls, carrier, self._answering, READ_AHEAD, seconds=GREETING_SECONDS, server_side=True
                    )
                    group.create_task(self._take_call(accept, free))
        finally:
            exchange.answer(False)

    async def _take_call(
        self,
        accept: Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]],
        free: asyncio.Semaphore,
    ) -> None:
        try:
            reader, writer = await accept()
            with _dropped_on_failure(writer):
                name = await answer(reader, writer, self.me, self._known)
                present = self._lines.get(name)
                if name not in self._callers or (present is not None and not present.is_over):
                    turn_away(writer)
                    await writer.drain()
                    raise AccessError(f"a second connection of party {name!r} was refused")
                welcome(writer)
                self._enter(PeerConnection(name, reader, writer))
        except ssl.SSLError as error:
            self._refuse(f"a peer was refused: {explain(error)}")
        except AccessError as error:
            self._refuse(str(error))
        except (OSError, EOFError, TimeoutError):
            return
        finally:
            free.release()

    def _refuse(self, sentence: str) -> None:
        self._refusals = [*self._refusals[-99:], sentence]
        self.notice(sentence)


async def accept_tls(
    connection: socket.socket,
    context: ssl.SSLContext | None,
    limit: int = READ_AHEAD,
    ending: float | None = None,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """TLS, if there is a context, on a socket that was accepted, as streams; it ends within that many seconds."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit)
    transport, protocol = await loop.connect_accepted_socket(
        lambda: asyncio.StreamReaderProtocol(reader),
        connection,
        ssl=context,
        ssl_handshake_timeout=None if context is None else GREETING_SECONDS,
        ssl_shutdown_timeout=None if context is None else ending,
    )
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


@contextmanager
def _dropped_on_failure(writer: asyncio.StreamWriter) -> Iterator[None]:
    try:
        yield
    except BaseException:
        writer.close()
        raise


def open_port(where: Address, backlog: int | None = None) -> socket.socket:
    """A socket that listens there. Raises InputError if it cannot."""
    try:
        family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
        server = socket.create_server((where.host, where.port), family=family, backlog=backlog)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        if error.errno is not None and error.errno > 0:  # names that are not found have others
            reason = os.strerror(error.errno)  # without the address, which is said already
        raise InputError(
            f"cannot listen on {where} ({reason}): end what uses the port, or choose another with --listen"
        ) from None
    server.setblocking(False)
    return server
