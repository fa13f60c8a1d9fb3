"""How a respondent's machine reaches the collector that its invitation pins: again and again, and nobody else."""

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
from covey.errors import AccessError, InputError, PeerError
from covey.party.collection import speech
from covey.party.collection.enrolment import statement
from covey.party.collection.invitation import Invitation
from covey.party.collection.speech import Connection
from covey.party.identity import keys as keyring
from covey.party.identity.keys import Keys
from covey.plain import plain
from covey.version import __version__
from covey.wire.trust import explain

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
GREETING_SECONDS = 20.0
REFUSALS, LAST_TRIES = 5, 6

T_ = TypeVar("T_")


class Later(Exception):
    """Not now; to be tried again."""


@dataclass
class Caller:
    """One respondent's way to the collector."""

    hub: str
    invitation: Invitation
    keys: Keys
    folder: Path
    """Where the keys lie."""
    say: Callable[[str], None]
    reached: bool = False
    """Set by whoever got through: after it, trying begins anew."""

    async def persist(self, attempt: Callable[[], Awaitable[T_]], enough: Callable[[], T_ | None] = lambda: None) -> T_:
        """Tries until it succeeds or fails for a reason that will not go away.

        Where the answer is known and only a last word is to be delivered (`enough`), it is not tried for ever.
        """
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
                        f"the collector at {self.invitation.address} does not accept us: {why}. Was the collection "
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

    async def connect(self, *, known: bool) -> tuple[Connection, speech.Hello]:
        """A connection to the collector that the invitation pins, and to nobody else."""
        where = self.invitation.address
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # what is presented is compared with the invitation, byte for byte
        if known:
            certificate, key = keyring.files(self.folder, self.keys.party)
            context.load_cert_chain(certificate, key)
        async with asyncio.timeout(GREETING_SECONDS):
            reader, writer = await asyncio.open_connection(
                where.host, where.port, ssl=context, server_hostname="", limit=1 << 16, ssl_shutdown_timeout=2.0
            )
            connection = Connection(reader, writer)
            try:
                writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                presented = writer.get_extra_info("ssl_object").getpeercert(binary_form=True) or b""
                if hashlib.sha256(presented).digest() != self.invitation.fingerprint:
                    raise AccessError(
                        f"somebody else than the collector answers at {where}: its certificate is not the one in the "
                        "invitation. Nothing was sent; ask the organiser"
                    )
                hello = await connection.hear(speech.Hello)
                self._check(hello)
            except BaseException:
                connection.drop()
                raise
        return connection, hello

    def _check(self, hello: speech.Hello) -> None:
        if hello.handle and hello.study != self.invitation.study:
            raise AccessError("the collector collects for another study than the invitation's; ask the organiser")
        if (hello.version, hello.software) != (speech.VERSION, __version__):
            theirs, ours = plain(hello.software), __version__
            raise InputError(f"the collector runs covey {theirs}, this is {ours}; install the same version")

    async def enrol(self) -> str:
        """Enrols the key with the invitation; the handle. Raises AccessError for what will not be granted."""
        connection, hello = await self.connect(known=False)
        try:
            own, secret = self.keys.certificate.der, self.invitation.secret
            content = statement(
                self.invitation.study.hex(), self.invitation.fingerprint.hex(), hello.nonce, secret, own
            )
            await connection.say(speech.Enrol(secret, own, self.invitation.study, self.keys.tls.sign(content)))
            async with asyncio.timeout(GREETING_SECONDS):
                answer = await connection.read()
        finally:
            await connection.close()
        if isinstance(answer, speech.Refused):
            if answer.final:
                raise AccessError(f"the collector refuses: {plain(answer.why)}")
            raise Later(plain(answer.why))
        if not isinstance(answer, speech.Enrolled):
            raise PeerError(party=self.hub, step="enrolment", reason="an answer that is none")
        if plain(answer.handle) != answer.handle:
            raise PeerError(party=self.hub, step="enrolment", reason="a handle with control characters")
        return answer.handle
