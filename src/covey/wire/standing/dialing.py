"""A respondent's way to the collector whose certificate is pinned: tried again and again, and to nobody else."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from covey.crypto.rng import fresh_seed
from covey.errors import AccessError, InputError
from covey.plain import plain
from covey.version import ProtocolVersion, __version__
from covey.wire.contact import Address
from covey.wire.relay import Exchange, RelayedParty
from covey.wire.standing import words
from covey.wire.standing.connection import Connection
from covey.wire.trust import explain, over_tls

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
GREETING_SECONDS = 20.0
REFUSALS, LAST_TRIES = 5, 6

T = TypeVar("T")


class Later(Exception):
    """The collector cannot do it now; to be tried again."""


@dataclass
class Dialer:
    """One respondent's way to the collector."""

    address: Address | RelayedParty
    fingerprint: bytes
    """SHA-256 of the collector's certificate."""
    study: bytes
    own: tuple[Path, Path]
    """The files of the respondent's certificate and key."""
    say: Callable[[str], None]
    protocol: ProtocolVersion
    reached: bool = False
    """Set once a connection got through: after it, trying begins anew."""
    _exchange: Exchange | None = None

    async def persist(self, attempt: Callable[[], Awaitable[T]], enough: Callable[[], T | None] = lambda: None) -> T:
        """Tries until it succeeds or fails for a reason that will not go away.

        Where the answer is known and only a last word is to be delivered (`enough`), it is not tried for ever.
        """
        if not isinstance(self.address, RelayedParty) or self._exchange is not None:
            return await self._persist(attempt, enough)
        async with Exchange.of_guest(self.address, self.say).open() as exchange:
            self._exchange = exchange
            try:
                return await self._persist(attempt, enough)
            finally:
                self._exchange = None

    async def _persist(self, attempt: Callable[[], Awaitable[T]], enough: Callable[[], T | None]) -> T:
        pause, refused, tries = FIRST_PAUSE, 0, 0
        while True:
            tries += 1
            known = enough()
            if known is not None and tries > LAST_TRIES:
                return known
            try:
                return await attempt()
            except Later as later:
                why, pause = str(later), max(pause, 1.0)
            except ssl.SSLError as error:
                why, refused = explain(error), refused + 1
                if refused >= REFUSALS:
                    raise AccessError(
                        f"the collector at {self.address} does not accept us: {why}. Was the collection "
                        "begun anew? Ask the organiser for another invitation, and use another --folder"
                    ) from None
            except (OSError, EOFError, TimeoutError) as error:
                why = type(error).__name__ if not isinstance(error, OSError) else error.strerror or "cut off"
            if self.reached:  # it had worked: the line was cut
                self.reached, pause, refused, tries = False, FIRST_PAUSE, 0, 0
            if pause > 2:
                self.say(f"the collector cannot be reached ({why}); trying again")
            await asyncio.sleep(pause * (0.5 + fresh_seed().reveal()[0] / 256))
            pause = min(2 * pause, LONGEST_PAUSE)

    async def connect(self, *, known: bool) -> tuple[Connection, words.Hello]:
        """A connection to the holder of the pinned certificate, and its first word; `known` shows our own certificate.

        Raises AccessError if somebody else answers: nothing is sent to them.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # what is presented is compared with the pinned one, byte for byte
        if known:
            context.load_cert_chain(*self.own)
        async with asyncio.timeout(GREETING_SECONDS):
            reader, writer = await self._dial(context)
            connection = Connection(reader, writer)
            try:
                presented = writer.get_extra_info("ssl_object").getpeercert(binary_form=True) or b""
                if hashlib.sha256(presented).digest() != self.fingerprint:
                    raise AccessError(
                        f"somebody else than the collector answers at {self.address}: its certificate is not the one "
                        "in the invitation. Nothing was sent; ask the organiser"
                    )
                hello = await connection.hear(words.Hello)
                await self._check(connection, hello)
            except BaseException:
                connection.drop()
                raise
        return connection, hello

    async def _dial(self, context: ssl.SSLContext) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        where = self.address
        if isinstance(where, RelayedParty):
            if self._exchange is None:
                raise InputError("a collector at a relay is reached while a respondent persists")
            return await over_tls(self._exchange.call(where.name), context, 1 << 16, seconds=GREETING_SECONDS)
        reader, writer = await asyncio.open_connection(
            where.host, where.port, ssl=context, server_hostname="", limit=1 << 16, ssl_shutdown_timeout=2.0
        )
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return reader, writer

    async def _check(self, connection: Connection, hello: words.Hello) -> None:
        if hello.handle and hello.study != self.study:
            raise AccessError("the collector collects for another study than the invitation's; ask the organiser")
        if hello.handle and hello.protocol != self.protocol.number:
            why = self.protocol.apart(hello.protocol, "the collector", plain(hello.handle))
            await connection.say(words.Leave(why))  # so that the organiser reads it too
            raise AccessError(f"{why}. Nothing of your answers was sent")
        if (hello.version, hello.software) != (words.VERSION, __version__):
            theirs = plain(hello.software)
            raise InputError(f"the collector runs covey {theirs}, this is {__version__}; install the same version")
