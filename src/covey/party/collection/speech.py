"""What is said on a connection between collector and respondent: words, letters of the protocol, and heartbeats.

A frame is its length in 4 bytes, a byte for its kind, and its content. The length is checked before anything is read:
before a respondent is enrolled only small words are accepted, afterwards letters as the wire knows them. A frame that
has begun must be there within `FRAME_SECONDS`; whoever is silent for `SILENCE` has gone.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from covey.errors import CoveyError
from covey.wire import Bytes32, Bytes64, Name
from covey.wire.frame import MAX_FRAME

VERSION = 1
BEAT_SECONDS = 30.0
SILENCE = 100.0
FRAME_SECONDS = 120.0
SLOW_SECONDS = 60.0
"""How long a peer may take to read a piece of what it is sent before it is hung up on."""

SMALL, LARGE = 1 << 13, 1 << 20
"""Bytes of a word before enrolment, and after."""
PIECE = 1 << 16
_BEAT, _WORD, _LETTER = 0, 1, 2
_HEAD = 5

Text = Annotated[str, Meta(max_length=500)]
Digests = Annotated[list[Bytes32], Meta(max_length=30_000)]


class Word(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="word"):
    """One thing that is said."""


class Hello(Word, frozen=True, tag="hello"):
    """The collector speaks first; `handle` is empty for a caller without a certificate."""

    version: int
    software: Name
    study: Bytes32
    handle: Annotated[str, Meta(max_length=64)]
    nonce: Bytes32


class Enrol(Word, frozen=True, tag="enrol"):
    """A caller shows its invitation, and that it holds the key of this certificate."""

    secret: Annotated[bytes, Meta(min_length=16, max_length=16)]
    certificate: Annotated[bytes, Meta(min_length=1, max_length=4096)]
    study: Bytes32
    signature: Bytes64


class Enrolled(Word, frozen=True, tag="enrolled"):
    """From now on the caller is known by this handle, and by its certificate."""

    handle: Name


class Refused(Word, frozen=True, tag="refused"):
    """The collector does not go on with the caller; `final` if trying again is of no use."""

    why: Text
    final: bool


class Ready(Word, frozen=True, tag="ready"):
    """A respondent has its answers and its consent on its disk, and takes part."""

    study: Bytes32
    software: Name


class Waiting(Word, frozen=True, tag="waiting"):
    """It is noted; the collection has not begun."""

    ready: int
    quorum: int
    closes: int
    """The second since 1970; 0 if there is no closing time."""


class Begin(Word, frozen=True, tag="begin"):
    """This session is under way and the respondent is in it; the collector has these of its letters."""

    session: Bytes32
    attempt: int
    members: int
    have: Digests


class Have(Word, frozen=True, tag="have"):
    """The answer: the respondent has these of the collector's letters."""

    session: Bytes32
    have: Digests


class Ack(Word, frozen=True, tag="ack"):
    """These letters are on the sender's disk."""

    digests: Digests


class Over(Word, frozen=True, tag="over"):
    """There is nothing more to do for this respondent."""

    how: Literal["finished", "left", "ended"]
    why: Text


class Leave(Word, frozen=True, tag="leave"):
    """The respondent cannot or will not go on."""

    why: Text


Said = Hello | Enrol | Enrolled | Refused | Ready | Waiting | Begin | Have | Ack | Over | Leave
_DECODER = msgspec.msgpack.Decoder(Said)
_ENCODER = msgspec.msgpack.Encoder()
W = TypeVar("W", bound=Word)


class Garbled(CoveyError):
    """What came is not what is said here."""

    exit_code = 4


class Connection:
    """One TLS connection: words and letters, read one after the other and written by one task."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, large: asyncio.Semaphore | None = None
    ) -> None:
        """`large` is how many frames above a mebibyte may be read at once, on all connections that share it."""
        self._reader, self._writer = reader, writer
        self._large = large or asyncio.Semaphore(1)
        self._writing = asyncio.Lock()
        self.limit = SMALL
        """Bytes of the longest frame that is read."""

    def enlarge(self) -> None:
        """The peer is known: letters may come."""
        self.limit = MAX_FRAME

    async def read(self) -> Said | bytes:
        """The next word, or the next letter. Raises Garbled, EOFError, OSError or TimeoutError."""
        while True:
            async with asyncio.timeout(SILENCE):
                head = await self._reader.readexactly(_HEAD)
            length, kind = int.from_bytes(head[:4], "big"), head[4]
            if length > (self.limit if kind == _LETTER else min(self.limit, LARGE)):
                raise Garbled(f"a frame of {length:,} bytes, more than is allowed here")
            content = await self._content(length)
            if kind == _LETTER and self.limit > SMALL:
                return content
            if kind == _WORD:
                try:
                    word: Said = _DECODER.decode(content)
                except (msgspec.MsgspecError, ValueError, RecursionError):
                    raise Garbled("a word that is not spoken here") from None
                return word
            if kind != _BEAT or length:
                raise Garbled("a frame of an unknown kind")

    async def _content(self, length: int) -> bytes:
        if length <= LARGE:
            async with asyncio.timeout(FRAME_SECONDS):
                return await self._reader.readexactly(length)
        async with self._large, asyncio.timeout(FRAME_SECONDS):
            return await self._reader.readexactly(length)

    async def hear(self, kind: type[W]) -> W:
        """The next word, which must be of that kind. Raises Garbled if it is another."""
        word = await self.read()
        if not isinstance(word, kind):
            raise Garbled(f"{type(word).__name__.lower()} where {kind.__name__.lower()} was due")
        return word

    async def say(self, word: Word) -> None:
        """Writes a word."""
        await self._write(_WORD, _ENCODER.encode(word))

    async def give(self, *parts: bytes) -> None:
        """Writes a letter, given in parts; long ones in pieces, so that no copy of the whole waits to be read."""
        await self._write(_LETTER, *parts)

    def beat(self) -> None:
        """Gives a sign of life, unless something is being written: that is one."""
        if not self._writing.locked() and not self._writer.is_closing():
            self._writer.write(bytes(_HEAD))

    async def _write(self, kind: int, *parts: bytes) -> None:
        async with self._writing:
            self._writer.write(sum(map(len, parts)).to_bytes(4, "big") + bytes([kind]))
            for part in parts:
                view = memoryview(part)
                for start in range(0, len(view), PIECE):
                    self._writer.write(view[start : start + PIECE])
                    await self._drained()
            await self._drained()

    async def _drained(self) -> None:
        async with asyncio.timeout(SLOW_SECONDS):
            await self._writer.drain()

    def drop(self) -> None:
        """Hangs up at once."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Hangs up once all is written, or soon."""
        self._writer.close()
        try:
            async with asyncio.timeout(2):
                await self._writer.wait_closed()
        except (OSError, ssl.SSLError, TimeoutError):
            self.drop()
