"""A port for browsers: one request on each connection, of a bounded size, answered and hung up on.

It speaks the part of HTTP/1.1 that a page needs to be fetched and to hand something in, and no more. Callers are held
to the gate's limits; one that has shown an enrolled key may send more, and more slowly.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

from covey.files import as_json
from covey.wire.contact import Address
from covey.wire.standing import port as ports
from covey.wire.standing.connection import FRAME_SECONDS, SMALL, Garbled
from covey.wire.standing.gate import STRANGERS, STRANGERS_PER_ADDRESS, Gate, Sparing

LARGEST = 1 << 19
"""Bytes of a known caller's request."""
_METHODS = ("GET", "HEAD", "OPTIONS", "POST")
_ALWAYS = {
    "Access-Control-Allow-Origin": "*",  # the same page works from a trustee's server, and from a disk
    "Cache-Control": "no-store",
    "Connection": "close",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class WebAnswer:
    """An answer to a request."""

    content: bytes = b""
    status: HTTPStatus = HTTPStatus.OK
    kind: str = "application/json; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(content: object, status: HTTPStatus = HTTPStatus.OK) -> WebAnswer:
        """An answer in JSON."""
        return WebAnswer(as_json(content), status)

    def spell(self, *, whole: bool) -> bytes:
        """The bytes of the answer, with its content or without."""
        headers = {
            **_ALWAYS,
            "Content-Type": self.kind,
            "Content-Length": str(len(self.content)),
            **self.headers,
        }
        head = f"HTTP/1.1 {self.status} {self.status.phrase}\r\n"
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{head}{lines}\r\n".encode("latin-1") + (self.content if whole else b"")


class WebRefused(Garbled):
    """A request that is not answered as it wishes."""

    def __init__(self, why: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(why)
        self.status = status

    @property
    def answer(self) -> WebAnswer:
        """The answer that says so."""
        return WebAnswer.of({"code": "refused", "why": str(self)}, self.status)


@dataclass(frozen=True)
class WebRequest:
    """A request of which the head has been read."""

    method: str
    path: str
    headers: Mapping[str, str]
    address: str
    """The address that the caller is counted by."""
    gate: Gate
    length: int
    """Bytes of the content; -1 if they cannot be told."""
    read: Callable[[bool], Awaitable[bytes]]
    """Reads the content, of a caller that is known or of one that is not."""

    async def body(self, *, known: bool = False) -> bytes:
        """The content; a caller that is `known` leaves the gate. Raises WebRefused if it is too long."""
        if not 0 <= self.length <= (LARGEST if known else SMALL):
            raise WebRefused("a request of another length than is allowed here", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return await self.read(known)


class WebPort:
    """A port for browsers, with TLS; or without, for a proxy on this machine that tells whom it speaks for."""

    def __init__(
        self,
        context: ssl.SSLContext | None,
        log: Sparing,
        answer: Callable[[WebRequest], Awaitable[WebAnswer]],
    ) -> None:
        self._proxied = context is None
        self._gate = Gate(per_address=STRANGERS if self._proxied else STRANGERS_PER_ADDRESS)
        self._port, self._answer = ports.Port(context, self._gate, log), answer

    @asynccontextmanager
    async def listening(self, where: Address) -> AsyncIterator[Address]:
        """Answers while the block runs; gives the address it listens at. Raises InputError if it cannot listen."""
        async with self._port.listening(where, self._serve) as address:
            yield address

    async def _serve(self, call: ports.Call) -> None:
        method = "GET"
        try:
            async with asyncio.timeout(ports.GREETING_SECONDS):
                request = await self._head(call)
            method = request.method
            answer = await self._answer(request)
        except WebRefused as refusal:
            answer = refusal.answer
        await call.connection.pour(answer.spell(whole=method != "HEAD"))
        await call.connection.close()

    async def _head(self, call: ports.Call) -> WebRequest:
        try:
            raw = await call.connection.reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raw = b""
        if not 0 < len(raw) <= SMALL:
            raise WebRefused("the head is too long", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        first, *lines = raw.decode("latin-1").split("\r\n")[:-2]
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1.") or words[0] not in _METHODS:
            raise WebRefused("no request that is answered here", HTTPStatus.NOT_IMPLEMENTED)
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip() or name.lower() in headers:
                raise WebRefused("a header that is none, or that stands there twice")
            headers[name.lower()] = value.strip()
        forwarded = headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        address = forwarded if self._proxied and forwarded else call.address
        given = headers.get("content-length", "0")
        length = int(given) if given.isdecimal() and len(given) < 10 and "transfer-encoding" not in headers else -1

        async def read(known: bool) -> bytes:
            if known:
                call.known()
            async with asyncio.timeout(FRAME_SECONDS if known else ports.GREETING_SECONDS):
                return await call.connection.reader.readexactly(length)

        return WebRequest(words[0], words[1].partition("?")[0], headers, address, self._gate, length, read)
