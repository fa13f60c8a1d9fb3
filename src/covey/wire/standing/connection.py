"""A connection between collector and respondent: words, letters of the protocol, and heartbeats.

A frame is its length in 4 bytes, a byte for its kind, and its content. The length is checked before anything is read:
before a respondent is known only small words are accepted, afterwards letters as the wire knows them. A frame that has
begun must be there within `FRAME_SECONDS`; a peer that is silent for `SILENCE` has gone.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TypeVar

import msgspec

from covey.errors import CoveyError
from covey.wire.frame import MAX_FRAME
from covey.wire.standing.words import Said, Word

BEAT_SECONDS = 30.0
SILENCE = 100.0
FRAME_SECONDS = 120.0
SLOW_SECONDS = 60.0
"""Seconds that a peer has to read a piece of what it is sent before it is hung up on."""

SMALL, LARGE = 1 << 13, 1 << 20
"""Bytes of a word before enrolment, and after."""
PIECE = 1 << 16
SEALING = 64
"""Bytes that a frame has more where it is carried: a mark, a nonce, a tag."""
_BEAT, _WORD, _LETTER = 0, 1, 2
_HEAD = 5

_DECODER = msgspec.msgpack.Decoder(Said)
_ENCODER = msgspec.msgpack.Encoder()
W = TypeVar("W", bound=Word)


class Garbled(CoveyError):
    """A peer sent something that is not said here."""

    exit_code = 4


class Connection:
    """One TLS connection: words and letters, read one after the other and written by one task."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, large: asyncio.Semaphore | None = None
    ) -> None:
        """`large` is how many frames above a mebibyte may be read at once, on all connections that share it."""
        self.reader, self._writer = reader, writer
        self._large = large or asyncio.Semaphore(1)
        self._writing = asyncio.Lock()
        self.limit = SMALL
        """Bytes of the longest frame that is read."""

    def enlarge(self) -> None:
        """The peer is known: letters may come."""
        self.limit = MAX_FRAME + SEALING

    async def read(self) -> Said | bytes:
        """The next word, or the next letter. Raises Garbled, EOFError, OSError or TimeoutError."""
        while True:
            async with asyncio.timeout(SILENCE):
                head = await self.reader.readexactly(_HEAD)
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
                return await self.reader.readexactly(length)
        async with self._large, asyncio.timeout(FRAME_SECONDS):
            return await self.reader.readexactly(length)

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
        await self.pour(sum(map(len, parts)).to_bytes(4, "big") + bytes([kind]), *parts)

    async def pour(self, *parts: bytes) -> None:
        """Writes bytes as they are, in pieces."""
        if self._writer.is_closing():
            raise ConnectionResetError("hung up")
        async with self._writing:
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
