"""Probes: before the day of a run, a party looks whether its peers can be reached and are who the roster says.

A probe is a call that ends before the caller gives its name: TLS, both certificates, the other's name. A party that
waits in a run takes it for a line that broke, and goes on waiting. One that is examined at the same time answers
probes at its port, and adds the time of its clock.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from covey.errors import AccessError, InputError
from covey.wire.contact import Address, Contact, by_fingerprint
from covey.wire.greet import GREETING_SECONDS, introduce, read_name
from covey.wire.relay import Exchange
from covey.wire.tls import accept_tls, open_port
from covey.wire.trust import contexts, explain, identify, over_tls

_CLOCK_SECONDS = 2.0
_PAUSE = 1.0
_RELAYED_SECONDS = 2.0
_COMPARE = "compare fingerprints by telephone: covey keys show"


@dataclass(frozen=True)
class Probed:
    """The outcome of a probe: reached or not, in words, and the seconds that the peer's clock is ahead if it told."""

    reached: bool
    found: str
    advice: str = ""
    ahead: float | None = None


class Prober:
    """One party's means to probe its peers and to answer their probes."""

    def __init__(
        self,
        me: str,
        contacts: Mapping[str, Contact],
        certificate: Path,
        key: Path,
        exchange: Exchange | None = None,
    ) -> None:
        """`exchange` is the way over the relay, for those who are met there."""
        self._me, self._exchange = me, exchange
        self._peers = {name: contact for name, contact in contacts.items() if name != me}
        self._known = by_fingerprint(self._peers.values())
        self._dialing, self._answering = contexts(certificate, key, self._peers.values())

    async def probe(self, peer: Contact, where: Address | None, wait: float) -> Probed:
        """Calls a peer until it answers or the time is up; what is wrong for good ends the wait.

        Without an address it is called over the relay.
        """
        deadline = time.monotonic() + wait
        while True:
            probed, final = await self._call(peer, where)
            if probed.reached or final or time.monotonic() >= deadline:
                return probed
            await asyncio.sleep(_PAUSE)

    async def _dial(self, peer: Contact, where: Address | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if where is not None:
            return await asyncio.open_connection(where.host, where.port, ssl=self._dialing, server_hostname="")
        if self._exchange is None:
            raise InputError(f"party {peer.name!r} has no address in the study")
        return await over_tls(self._exchange.call(peer.name), self._dialing, 1 << 16, seconds=GREETING_SECONDS)

    async def _call(self, peer: Contact, where: Address | None) -> tuple[Probed, bool]:
        advice = f"party {peer.name!r} is to run covey doctor --wait at the same time"
        try:
            async with asyncio.timeout(_RELAYED_SECONDS if where is None else GREETING_SECONDS):
                reader, writer = await self._dial(peer, where)
        except ssl.SSLError as error:
            return Probed(False, f"{where or 'it'} answers, but {explain(error)}", _COMPARE), True
        except (TimeoutError, ConnectionResetError) as error:
            if where is None:
                return Probed(False, "it is not at the relay now", advice), False
            if isinstance(error, ConnectionResetError):
                return Probed(False, f"{where} hangs up", "look at the network and the address"), False
            return Probed(False, f"{where} does not answer", "ask for the port to be opened, on both sides"), False
        except socket.gaierror:
            return Probed(False, f"{where}: there is no such host", "correct the address in the study"), True
        except ConnectionRefusedError:
            return Probed(False, f"{where} can be reached, but nobody listens there now", advice), False
        except OSError as error:
            reason = error.strerror or type(error).__name__
            return Probed(False, f"{where} cannot be reached ({reason})", "look at the network and the address"), False
        try:
            return await self._look(peer, reader, writer)
        finally:
            writer.close()

    async def _look(
        self, peer: Contact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[Probed, bool]:
        try:
            name = identify(writer.get_extra_info("ssl_object"), self._known)
            if name != peer.name:
                return Probed(False, f"party {name!r} answers there", "correct the addresses in the study"), True
            async with asyncio.timeout(GREETING_SECONDS):
                await read_name(reader)
        except AccessError as error:
            return Probed(False, str(error), _COMPARE), True
        except (OSError, EOFError, TimeoutError):
            advice = "see that its study has our certificate, and that both clocks are right"
            return Probed(False, "it answers with its certificate, but does not accept ours", advice), True
        ahead = None
        try:
            async with asyncio.timeout(_CLOCK_SECONDS):
                ahead = int.from_bytes(await reader.readexactly(8), "big") / 1000 - time.time()
        except (OSError, EOFError, TimeoutError):
            ahead = None  # a run does not tell its time before the handshake
        return Probed(True, "it answers, with the certificate of the study, and accepts ours", ahead=ahead), False

    async def answer_relayed(self, exchange: Exchange, came: Callable[[str], None]) -> None:
        """Answers probes over the relay until it is cancelled."""
        exchange.answer(True)
        async with asyncio.TaskGroup() as group:
            while True:
                _, carrier = await exchange.called()
                opening = partial(
                    over_tls, carrier, self._answering, 1 << 16, seconds=GREETING_SECONDS, server_side=True
                )
                group.create_task(self._take(opening, came))

    async def answer(self, where: Address, came: Callable[[str], None]) -> None:
        """Answers probes at this address until it is cancelled. Raises InputError if the port cannot be opened."""
        with open_port(where) as server:
            loop = asyncio.get_running_loop()
            async with asyncio.TaskGroup() as group:
                while True:
                    connection, _ = await loop.sock_accept(server)
                    group.create_task(self._take(partial(accept_tls, connection, self._answering), came))

    async def _take(
        self,
        accept: Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]],
        came: Callable[[str], None],
    ) -> None:
        try:
            reader, writer = await accept()
            try:
                name = identify(writer.get_extra_info("ssl_object"), self._known)
                introduce(writer, self._me)
                writer.write(int(1000 * time.time()).to_bytes(8, "big"))
                await writer.drain()
                came(name)
                async with asyncio.timeout(GREETING_SECONDS):
                    await reader.read(1)
            finally:
                writer.close()
        except (OSError, EOFError, TimeoutError, AccessError):
            return
