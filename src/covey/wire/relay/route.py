"""The way to a broker: straight or through this machine's HTTP proxy; plain, TLS, or a websocket, as its URL says.

A proxy is taken from HTTPS_PROXY, ALL_PROXY and NO_PROXY, as other programs do, and asked to CONNECT. Whatever is in
the way is named by the step at which it was met.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import socket
import ssl
import struct
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit

import numpy as np
from cryptography import x509

from covey.crypto.rng import fresh_seed
from covey.plain import plain
from covey.wire.contact import Address
from covey.wire.relay.site import SECURED, RelaySite
from covey.wire.trust import over_tls

READ_AHEAD = 1 << 20
_LARGEST_INFO = 1 << 16
_LARGEST_FRAME = 1 << 26
_HANDSHAKE_SECONDS = 10.0
_ACCEPT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_BINARY, _CLOSE, _PING, _PONG = 2, 8, 9, 10


class Blocked(Exception):
    """The broker was not reached: the step that failed, what was found there, and what to do."""

    def __init__(self, step: str, found: str, advice: str) -> None:
        super().__init__(f"{step}: {found}; {advice}")
        self.step, self.found, self.advice = step, found, advice


class Reader(Protocol):
    """The bytes that a broker sends."""

    async def readuntil(self, separator: bytes = b"\n") -> bytes:
        """The bytes up to and with the separator."""

    async def readexactly(self, n: int) -> bytes:
        """Exactly so many bytes."""


@dataclass
class Wire:
    """A way to a broker that is open, and what the broker says of itself."""

    reader: Reader
    writer: asyncio.StreamWriter
    frame: Callable[[bytes], bytes]
    """Wraps what is sent in the frames of the way, if it has any."""
    info: dict[str, object]
    below: asyncio.StreamWriter | None = None
    """The writer below TLS; a writer that nobody holds closes its connection."""

    def text(self, key: str) -> str:
        """One text of what the broker says of itself; empty if it says none."""
        value = self.info.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int:
        """One number of what the broker says of itself; 0 if it says none."""
        value = self.info.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _nobody(step: str, found: str) -> None:
    """Nobody is told."""


async def reach(site: RelaySite, passed: Callable[[str, str], None] = _nobody, *, trust: bool = True) -> Wire:
    """Opens the way up to the broker's first word; `passed` is told each step that worked. Raises Blocked.

    Without `trust` any certificate will do: only to see whose it is.
    """
    reader, writer = await _connect(site, passed)
    try:
        return replace(await _greeted(site, reader, writer, passed, trust), below=writer)
    except BaseException:
        writer.transport.abort()
        raise


async def presented(site: RelaySite) -> x509.Certificate | None:
    """The certificate that is shown in the broker's place, whosever it is; None if that cannot be seen."""
    try:
        wire = await reach(site, trust=False)
    except Blocked:
        return None
    shown = _certificate(wire.writer)
    wire.writer.transport.abort()
    return shown


async def told_time(site: RelaySite) -> datetime | None:
    """The time by the clock of whoever answers in the broker's place; None if it tells none.

    The door for websockets tells it, as every HTTP server does. It is not believed: it is only to be compared.
    """
    if site.parts.scheme not in ("ws", "wss"):
        return None
    try:
        reader, writer = await _connect(site, _nobody)
        below = writer
        try:
            if site.parts.scheme == "wss":
                reader, writer = await _secure(site, writer, _nobody, trust=False)
            lines = ["GET / HTTP/1.1", f"Host: {site.address}", "Connection: close"]
            _, fields = await _ask(lines, reader, writer, "websocket")
        finally:
            writer.transport.abort()
            below.transport.abort()
        told = parsedate_to_datetime(fields.get("date", ""))
    except (Blocked, ValueError):
        return None
    return told if told.tzinfo is not None else None


def _certificate(writer: asyncio.StreamWriter) -> x509.Certificate | None:
    """The certificate of the other side of a connection, if it has TLS."""
    secured = writer.get_extra_info("ssl_object")
    shown = None if secured is None else secured.getpeercert(binary_form=True)
    return None if shown is None else x509.load_der_x509_certificate(shown)


def proxy_for(site: RelaySite) -> SplitResult | None:
    """The proxy that this machine's settings name for the broker. Raises Blocked for one that cannot be used."""
    host, proxies = site.address.host, urllib.request.getproxies()
    found = (proxies.get("https") if site.parts.scheme in SECURED else None) or proxies.get("all")
    if not found or site.address.is_local or urllib.request.proxy_bypass(f"{host}:{site.address.port}"):
        return None
    proxy = urlsplit(found if "://" in found else f"http://{found}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise Blocked("proxy", "HTTPS_PROXY or ALL_PROXY is no http:// URL", "write it like http://proxy:3128")
    return proxy


async def _connect(
    site: RelaySite, passed: Callable[[str, str], None]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the broker's port, straight or through the proxy of this machine."""
    proxy = proxy_for(site)
    if proxy is None:
        where, what = site.address, str(site.address)
        unnamed = "correct the name, or ask for a proxy to be set (HTTPS_PROXY) or the name to be served"
        advice = f"ask the network team to let connections out to {what}, and see that it is running"
    else:
        where, what = Address(proxy.hostname or "", proxy.port or 80), _shown(proxy)
        unnamed = advice = "ask the network team for the right proxy, and set HTTPS_PROXY to it"
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_HANDSHAKE_SECONDS):
            await loop.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError, TimeoutError):
        raise Blocked("DNS", f"there is no address for {where.host}", unnamed) from None
    passed("DNS", f"{where.host} has an address")
    try:
        async with asyncio.timeout(_HANDSHAKE_SECONDS):
            reader, writer = await asyncio.open_connection(where.host, where.port, limit=READ_AHEAD)
    except OSError as error:
        reason = "it does not answer" if isinstance(error, TimeoutError) else error.strerror or "refused"
        step = "connection" if proxy is None else "proxy"
        raise Blocked(step, f"{what} cannot be reached ({reason})", advice) from None
    passed("connection", f"{what} answers")
    if proxy is not None:
        try:
            await _through(site, proxy, reader, writer)
        except BaseException:
            writer.transport.abort()
            raise
        passed("proxy", f"{what} lets us through to {site.address}")
    return reader, writer


async def _through(
    site: RelaySite, proxy: SplitResult, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Asks the proxy for a tunnel to the broker."""
    lines = [f"CONNECT {site.address} HTTP/1.1", f"Host: {site.address}"]
    if proxy.username is not None:
        user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(user).decode()}")
    status, _ = await _ask(lines, reader, writer, "proxy")
    if status == 407:
        raise Blocked("proxy", f"{_shown(proxy)} wants a user", "write HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT")
    if status != 200:
        advice = f"ask the network team to let it CONNECT to {site.address}; port 443 with wss:// is usual"
        raise Blocked("proxy", f"{_shown(proxy)} refuses the way to {site.address} (status {status})", advice)


async def _ask(
    lines: list[str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter, step: str
) -> tuple[int, dict[str, str]]:
    """Sends an HTTP request; the answer's status and fields."""
    writer.write("\r\n".join([*lines, "", ""]).encode())
    try:
        async with asyncio.timeout(_HANDSHAKE_SECONDS):
            head, *fields = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head.split(" ")[1])
    except (OSError, EOFError, asyncio.LimitOverrunError, TimeoutError, IndexError, ValueError):
        raise Blocked(step, "it gives no HTTP answer", "see that the address is right") from None
    pairs = (field.partition(":") for field in fields)
    return status, {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _greeted(
    site: RelaySite,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    passed: Callable[[str, str], None],
    trust: bool,
) -> Wire:
    """TLS and websocket as far as the URL asks for them, and the broker's first word."""
    scheme = site.parts.scheme
    if scheme == "wss":
        reader, writer = await _secure(site, writer, passed, trust)
    if scheme in ("ws", "wss"):
        await _upgrade(site, reader, writer)
        passed("websocket", f"{site.address} speaks websocket")
        frames = Frames(reader, writer)
        return Wire(frames, writer, frame, await _info(frames))
    info = await _info(reader)
    if info.get("tls_required") is True or (scheme == "tls" and info.get("tls_available") is True):
        reader, writer = await _secure(site, writer, passed, trust)
    elif scheme == "tls":
        raise Blocked("TLS", "the broker offers no TLS", "give it a certificate, or write nats:// in the study")
    return Wire(reader, writer, bytes, info)


async def _secure(
    site: RelaySite, writer: asyncio.StreamWriter, passed: Callable[[str, str], None], trust: bool
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """TLS to the broker, with its pinned certificate or one that this machine trusts."""
    context = ssl.create_default_context() if site.certificate is None else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if site.certificate is not None or not trust:
        context.check_hostname = False
    if not trust:
        context.verify_mode = ssl.CERT_NONE
    elif site.certificate is not None:
        context.load_verify_locations(cadata=site.certificate)
    try:
        streams = await over_tls(
            writer.transport, context, READ_AHEAD, seconds=_HANDSHAKE_SECONDS, host=site.address.host
        )
    except ssl.SSLCertVerificationError as error:
        raise Blocked("TLS", *_distrusted(site, error)) from None
    except (ssl.SSLError, OSError, EOFError, TimeoutError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        advice = "a firewall may cut what it does not know: try wss:// on port 443, and ask the network team"
        raise Blocked("TLS", f"the handshake with {site.address} is broken off ({reason})", advice) from None
    shown = _certificate(streams[1])
    issued = "" if shown is None else f", issued by {plain(shown.issuer.rfc4514_string())}"
    whose = "the certificate of the study" if site.certificate is not None else "one that this machine trusts"
    passed("TLS", f"{site.address} has {whose}{issued}")
    return streams


def _distrusted(site: RelaySite, error: ssl.SSLCertVerificationError) -> tuple[str, str]:
    """The reason why a certificate was not accepted, and what to do."""
    if error.verify_code in (_EXPIRED, _NOT_YET):
        when = "has expired" if error.verify_code == _EXPIRED else "is not valid yet"
        return f"the certificate of {site.address} {when}", "set this machine's clock, or renew the certificate"
    if error.verify_code == _OTHER_HOST:
        return f"the certificate is not for {site.address.host}", "correct the URL in the study"
    whose = "the one in the study" if site.certificate is not None else "one that this machine trusts"
    advice = "a proxy may open TLS on the way: ask the network team to let this address pass unopened"
    return f"the certificate of {site.address} is not {whose}", advice


_EXPIRED, _NOT_YET, _OTHER_HOST = 10, 9, 62


async def _upgrade(site: RelaySite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Turns an HTTP connection into a websocket."""
    key = base64.b64encode(fresh_seed().reveal()[:16])
    lines = [
        f"GET {site.parts.path or '/'} HTTP/1.1", f"Host: {site.address}", "Upgrade: websocket", "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key.decode()}", "Sec-WebSocket-Version: 13",
    ]  # fmt: skip
    status, fields = await _ask(lines, reader, writer, "websocket")
    due = base64.b64encode(hashlib.sha1(key + _ACCEPT, usedforsecurity=False).digest()).decode()
    if status != 101 or fields.get("sec-websocket-accept") != due:
        advice = "see that the path is right, and that nothing in between removes the upgrade"
        raise Blocked("websocket", f"{site.address} answers, but not as a websocket (status {status})", advice)


async def _info(reader: Reader) -> dict[str, object]:
    """The broker's first word."""
    try:
        async with asyncio.timeout(_HANDSHAKE_SECONDS):
            line = await reader.readuntil(b"\r\n")
        if not line.startswith(b"INFO ") or len(line) > _LARGEST_INFO:
            raise ValueError
        info = json.loads(line[5:])
    except (OSError, EOFError, asyncio.LimitOverrunError, TimeoutError, ValueError, RecursionError):
        raise Blocked("broker", "what answers is no NATS server", "see that host and port are right") from None
    return info if isinstance(info, dict) else {}


class Frames:
    """The bytes inside a websocket's frames; a frame is read when it is asked for."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._held = bytearray()

    async def readuntil(self, separator: bytes = b"\n") -> bytes:
        while (end := self._held.find(separator)) < 0:
            if len(self._held) > _LARGEST_INFO:
                raise asyncio.LimitOverrunError("a line is too long", len(self._held))
            await self._more()
        return self._cut(end + len(separator))

    async def readexactly(self, n: int) -> bytes:
        while len(self._held) < n:
            await self._more()
        return self._cut(n)

    def _cut(self, count: int) -> bytes:
        found = bytes(memoryview(self._held)[:count])
        del self._held[:count]
        return found

    async def _more(self) -> None:
        """Reads one frame. Raises EOFError where the other side closes, ValueError for what is no frame."""
        kind, length = await self._reader.readexactly(2)
        if length == 126:
            (length,) = struct.unpack(">H", await self._reader.readexactly(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", await self._reader.readexactly(8))
        elif length > 127:
            raise ValueError("a server's frame is masked")
        if length > _LARGEST_FRAME or kind & 0x70:
            raise ValueError("a frame is too long, or compressed")
        content = await self._reader.readexactly(length)
        code = kind & 0x0F
        if code == _CLOSE:
            raise EOFError
        if code == _PING:
            self._writer.write(frame(content, _PONG))
        elif code != _PONG:
            self._held += content


def frame(content: bytes, code: int = _BINARY) -> bytes:
    """A websocket's frame around what a client sends: masked, as the standard demands."""
    size = len(content)
    if size < 126:
        length = bytes([0x80 | size])
    else:
        length = struct.pack(">BH", 0xFE, size) if size < 1 << 16 else struct.pack(">BQ", 0xFF, size)
    mask = fresh_seed().reveal()[:4]
    plain = np.frombuffer(content, np.uint8)
    masked = plain ^ np.frombuffer((mask * (size // 4 + 1))[:size], np.uint8)
    return b"".join((bytes([0x80 | code]), length, mask, masked.tobytes()))


def _shown(proxy: SplitResult) -> str:
    return f"the proxy {proxy.hostname}:{proxy.port or 80}"
