"""The collector's port: takes TLS connections from many callers, and holds strangers to the gate's limits."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from asyncio import sslproto
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from covey.errors import CoveyError, InputError
from covey.wire.contact import Address
from covey.wire.depth import first_cause
from covey.wire.relay import Exchange, RelayedParty
from covey.wire.relay.carrier import Carrier
from covey.wire.standing.connection import PIECE, Connection, Garbled
from covey.wire.standing.gate import Gate, Sparing, Stranger
from covey.wire.tls import accept_tls, open_port
from covey.wire.trust import explain, over_tls

GREETING_SECONDS = 10.0
READ_AHEAD = 1 << 16
LARGE_FRAMES = 16
"""Frames above a mebibyte that are read at the same time: a caller that drips one holds no more than its share."""
_SSL_BUFFER = 1 << 15
_FILES = 1 << 16


@dataclass
class Call:
    """A connection that was taken, and the certificate that its caller has shown, in DER."""

    connection: Connection
    certificate: bytes | None
    address: str
    gate: Gate
    stranger: Stranger

    def known(self) -> None:
        """Frees the stranger's place at the gate: the caller turned out to be known, or has gone."""
        self.gate.known(self.stranger)


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class _Caller:
    """A connection that can be taken or refused."""

    address: str
    open: Callable[[], Awaitable[Streams]]
    refuse: Callable[[], None]


class Port:
    """A port for TLS 1.3, or for callers on this machine without TLS."""

    def __init__(self, context: ssl.SSLContext | None, gate: Gate, log: Sparing) -> None:
        self._context = context
        self._gate, self._log = gate, log
        self._large = asyncio.Semaphore(LARGE_FRAMES)
        self._calls: set[asyncio.Task[None]] = set()

    def trust(self, certificate: bytes) -> None:
        """Accepts this certificate from now on."""
        if self._context is not None:
            self._context.load_verify_locations(cadata=certificate)

    @asynccontextmanager
    async def listening(self, where: Address, serve: Callable[[Call], Awaitable[None]]) -> AsyncIterator[Address]:
        """Serves calls while the block runs; gives the address it listens at. Raises InputError if it cannot listen."""
        with open_port(where, backlog=256) as server:
            loop = asyncio.get_running_loop()

            async def accept() -> _Caller:
                caller, (host, *_) = await loop.sock_accept(server)
                return _Caller(str(host), partial(self._on_socket, caller), caller.close)

            async with self._answering(accept, serve):
                yield Address(where.host, server.getsockname()[1])

    @asynccontextmanager
    async def relayed(
        self, me: RelayedParty, key: Path, note: Callable[[str], None], serve: Callable[[Call], Awaitable[None]]
    ) -> AsyncIterator[RelayedParty]:
        """Serves calls over a relay while the block runs. Raises AccessError if the broker refuses our key."""
        async with Exchange.of_host(me, key, note).open() as exchange:
            exchange.answer(True)

            async def accept() -> _Caller:
                guest, carrier = await exchange.called()
                return _Caller(f"the relay ({guest[:8]})", partial(self._on_carrier, carrier), carrier.abort)

            async with self._answering(accept, serve):
                yield me

    @asynccontextmanager
    async def _answering(
        self, accept: Callable[[], Awaitable[_Caller]], serve: Callable[[Call], Awaitable[None]]
    ) -> AsyncIterator[None]:
        sslproto.SSLProtocol.max_size = _SSL_BUFFER  # a buffer that each connection has, and touches: 256 kB else
        async with asyncio.TaskGroup() as group:
            answering = group.create_task(self._answer(accept, group, serve))
            try:
                yield
            finally:
                answering.cancel()
                for call in list(self._calls):
                    call.cancel()

    async def _answer(
        self,
        accept: Callable[[], Awaitable[_Caller]],
        group: asyncio.TaskGroup,
        serve: Callable[[Call], Awaitable[None]],
    ) -> None:
        while True:
            try:
                caller = await accept()
            except OSError as error:
                self._log("accept", f"no more connections can be taken ({error.strerror})")
                await asyncio.sleep(0.2)
                continue
            stranger = self._gate.admit(caller.address)
            if stranger is None:
                caller.refuse()
                self._log("refused", f"a caller from {caller.address} was refused: too many connections")
                continue
            task = group.create_task(self._take_call(caller, stranger, serve))
            stranger.drop = task.cancel
            await asyncio.sleep(0)  # it begins before it can be hung up on, and tidies up after itself
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)

    async def _take_call(self, caller: _Caller, stranger: Stranger, serve: Callable[[Call], Awaitable[None]]) -> None:
        call: Call | None = None
        address = caller.address
        try:
            call = self._call(*await caller.open(), address, stranger)
            await serve(call)
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
            self._gate.known(stranger)
            self._gate.gone()
            if call is not None:
                await call.connection.close()

    async def _on_carrier(self, carrier: Carrier) -> Streams:
        if self._context is None:
            raise InputError("a relay carries TLS only")
        return await over_tls(carrier, self._context, READ_AHEAD, seconds=GREETING_SECONDS, server_side=True)

    async def _on_socket(self, caller: socket.socket) -> Streams:
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return await accept_tls(caller, self._context, READ_AHEAD, ending=2.0)

    def _call(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str, stranger: Stranger
    ) -> Call:
        writer.transport.set_write_buffer_limits(high=PIECE)
        secured = writer.get_extra_info("ssl_object")
        presented = None if secured is None else secured.getpeercert(binary_form=True)
        return Call(Connection(reader, writer, self._large), presented, address, self._gate, stranger)


def tls_context(certificate: Path, key: Path, *, ask: bool = True) -> ssl.SSLContext:
    """TLS 1.3 with that certificate. A caller may have none; if it is asked and has one, it must be a trusted one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_OPTIONAL if ask else ssl.CERT_NONE
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"{certificate}, {key}: not a certificate with its key ({type(error).__name__})") from None
    return context


def allow_connections() -> None:
    """Lets this process have as many connections as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
