"""A connection to a NATS broker: subjects heard, messages published, and the connection made anew whenever it is lost.

This is the small part of the NATS client protocol that a carrier needs. It trusts the broker with nothing: lines and
messages are bounded before they are read. A party proves to the broker that it holds the key of its certificate, by
signing a nonce. The broker chooses the nonce, so only one of the letters that brokers use is signed: nothing that TLS
or a certificate signs looks like that.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from covey.crypto.rng import fresh_seed
from covey.errors import AccessError, InputError
from covey.plain import plain
from covey.version import __version__
from covey.wire.depth import beside
from covey.wire.relay.route import Blocked, Wire, reach
from covey.wire.relay.site import RelaySite, user_key

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
PING_SECONDS, SILENCE = 5.0, 15.0
"""Seconds between our questions whether the broker is there, and seconds of silence after which it is not."""
REFUSALS = 5
"""Times that a broker refuses our key before we believe it: one that begins may not have read its configuration."""
_WRITE_AHEAD = 1 << 20
_LARGEST_LINE = 1 << 12
_LARGEST_MESSAGE = 8 << 20
_ANSWER_SECONDS = 10.0
_NONCE = re.compile(r"[A-Za-z0-9_-]{1,64}")

Hearer = Callable[[str, bytes], None]


@dataclass(frozen=True)
class Signer:
    """The key by which a broker knows a client."""

    key: Ed25519PrivateKey

    @classmethod
    def of_file(cls, path: Path) -> Signer:
        """The key in a PEM file. Raises InputError if there is none."""
        try:
            key = load_pem_private_key(path.read_bytes(), password=None)
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"{path}: is no private key ({type(error).__name__})") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise InputError(f"{path}: is no ed25519 key; make keys with `covey keys new`")
        return cls(key)

    @classmethod
    def of_guest(cls, site: RelaySite) -> Signer:
        """The key of callers without a name of their own."""
        return cls(Ed25519PrivateKey.from_private_bytes(site.guest_seed))

    @classmethod
    def of_page(cls, site: RelaySite) -> Signer:
        """The key of pages in browsers."""
        return cls(Ed25519PrivateKey.from_private_bytes(site.page_seed))

    @property
    def public(self) -> str:
        """The public key in the broker's spelling."""
        return user_key(self.key.public_key().public_bytes_raw())

    def sign(self, nonce: str) -> str:
        """The signature of a broker's nonce. Raises Blocked for one that a broker would not choose."""
        if _NONCE.fullmatch(nonce) is None:
            raise Blocked("access", "the broker wants an odd text signed", "ask who runs it what it is")
        return base64.urlsafe_b64encode(self.key.sign(nonce.encode())).decode().rstrip("=")


class Broker:
    """One client's connection to the broker, which comes and goes."""

    def __init__(self, site: RelaySite, signer: Signer, notice: Callable[[str], None]) -> None:
        self.flow: Callable[[bool], None] = lambda anew: None
        """Told when messages are taken again: after a connection was made anew, or after the line was full."""
        self._site, self._signer, self._notice = site, signer, notice
        self._hearers: dict[str, tuple[str, Hearer]] = {}
        self._wire: Wire | None = None
        self._full = asyncio.Event()
        self._limit = 0

    def hear(self, subject: str, hearer: Hearer) -> None:
        """Calls the hearer with the subject and the content of whatever comes there, from now on."""
        number = str(len(self._hearers) + 1)
        self._hearers[number] = (subject, hearer)
        if self._wire is not None:
            self._write(f"SUB {subject} {number}\r\n".encode())

    def most(self) -> int:
        """The longest message that the broker takes; 0 while there is no connection."""
        return self._limit if self._wire is not None else 0

    def send(self, subject: str, head: bytes, content: bytes | memoryview) -> bool:
        """Hands a message to the broker; False if there is no connection, or no room on it."""
        if self._wire is None or self._full.is_set():
            return False
        first = f"PUB {subject} {len(head) + len(content)}\r\n".encode()
        self._write(b"".join((first, head, content, b"\r\n")))
        return True

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Keeps a connection while the block runs. Raises AccessError if the broker does not accept our key."""
        async with beside(self._keep()):
            yield

    async def visit(self, passed: Callable[[str, str], None]) -> Wire:
        """One connection up to the broker's welcome; `passed` is told each step that worked. Raises Blocked."""
        wire = await reach(self._site, passed)
        try:
            await self._introduce(wire)
        except BaseException:
            wire.writer.transport.abort()
            raise
        return wire

    async def _keep(self) -> None:
        pause, refused, told = FIRST_PAUSE, 0, False
        while True:
            try:
                wire = await self.visit(lambda step, found: None)
            except Blocked as blocked:
                refused = refused + 1 if blocked.step == "access" else 0
                if refused >= REFUSALS:
                    raise AccessError(f"the relay {self._site.url}: {blocked.found}; {blocked.advice}") from None
                if not told and pause > LONGEST_PAUSE / 4:
                    told = True
                    self._notice(f"the relay {self._site.url} cannot be used ({blocked.found}); trying again")
                await asyncio.sleep(pause * (0.5 + fresh_seed().reveal()[0] / 256))
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            if told:
                self._notice(f"the relay {self._site.url} can be used again")
            pause, refused, told = FIRST_PAUSE, 0, False
            try:
                await self._live(wire)
            except _LOST:
                pass
            finally:
                self._wire = None
                wire.writer.transport.abort()
            await asyncio.sleep(pause)

    async def _introduce(self, wire: Wire) -> None:
        """Says who we are, and waits for the broker's welcome."""
        words: dict[str, object] = {
            "verbose": False, "pedantic": False, "lang": "python", "name": "", "version": __version__, "protocol": 1,
            "echo": False, "headers": False, "tls_required": False,
        }  # fmt: skip
        if nonce := wire.text("nonce"):
            words |= {"nkey": self._signer.public, "sig": self._signer.sign(nonce)}
        wire.writer.write(wire.frame(f"CONNECT {json.dumps(words)}\r\nPING\r\n".encode()))
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                while not (line := await wire.reader.readuntil(b"\r\n")).startswith(b"PONG"):
                    if line.startswith(b"-ERR") and b"uthoriz" in line:
                        raise Blocked("access", f"the broker refuses our key {self._signer.public}", _UNKNOWN)
                    if line.startswith(b"-ERR"):  # too many connections, or too slow for it
                        said = plain(line[4:_LARGEST_LINE].decode("latin-1").strip(" '\r\n"))
                        raise Blocked("broker", f"it says {said!r}", "look at the broker's log, and at its limits")
        except (*_LOST, TimeoutError):
            raise Blocked("broker", "it hangs up", "look at the broker's log") from None

    async def _live(self, wire: Wire) -> None:
        """Hears and sends until the connection is lost.

        A group of tasks would not do: one that fails while we are cancelled forgets that we are, and we would go on.
        """
        wire.writer.transport.set_write_buffer_limits(high=_WRITE_AHEAD)
        self._full.clear()
        self._limit = min(wire.number("max_payload") or _LARGEST_LINE, _LARGEST_MESSAGE)
        self._wire = wire
        for number, (subject, _) in self._hearers.items():
            self._write(f"SUB {subject} {number}\r\n".encode())
        self.flow(True)
        tasks = [asyncio.ensure_future(work) for work in (self._empty(wire), self._ask(wire), self._read(wire))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()

    async def _read(self, wire: Wire) -> None:
        while True:
            async with asyncio.timeout(SILENCE):
                line = await wire.reader.readuntil(b"\r\n")
            if line.startswith(b"MSG "):
                await self._message(wire, line)
            elif line.startswith(b"PING"):
                self._write(b"PONG\r\n")
            elif line.startswith(b"-ERR") and b"ermissions" not in line:
                raise ConnectionResetError("the broker reports an error")

    async def _message(self, wire: Wire, line: bytes) -> None:
        words = line[: _LARGEST_LINE + 1].decode("latin-1").split()
        if len(line) > _LARGEST_LINE or len(words) not in (4, 5) or not words[-1].isdecimal():
            raise ConnectionResetError("the broker speaks another language")
        size = int(words[-1])
        if size > _LARGEST_MESSAGE:
            raise ConnectionResetError("a message is too long")
        async with asyncio.timeout(SILENCE):
            content = await wire.reader.readexactly(size + 2)
        if words[2] in self._hearers:
            self._hearers[words[2]][1](words[1], content[:-2])

    async def _empty(self, wire: Wire) -> None:
        """Waits, when the line is full, until it has room."""
        while True:
            await self._full.wait()
            await wire.writer.drain()
            self._full.clear()
            self.flow(False)

    async def _ask(self, wire: Wire) -> None:
        """Asks now and then whether the broker is there; its answers keep the silence short."""
        while True:
            await asyncio.sleep(PING_SECONDS)
            self._write(b"PING\r\n")

    def _write(self, content: bytes) -> None:
        wire = self._wire
        if wire is not None and not wire.writer.is_closing():
            wire.writer.write(wire.frame(content))
            if wire.writer.transport.get_write_buffer_size() > _WRITE_AHEAD:
                self._full.set()


_LOST = (OSError, EOFError, ssl.SSLError, ValueError, asyncio.LimitOverrunError, TimeoutError)
_UNKNOWN = "its configuration is to be made from this study: covey relay config"
