"""A line is one TLS connection to one peer: frames with their length in front, heartbeats, and a good-bye.

The length is checked before anything is read. Four values that no frame has are signs: a heartbeat (so that
a peer who computes for long is not taken for dead), a good-bye, its acknowledgement (so that closing loses nothing
that was sent before), and the names of the parties that the sender waits for itself (so that nobody is taken for
late who only waits for another).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable

from covey.errors import Aborted, CoveyError, PeerError
from covey.wire.frame import LENGTH_BYTES, MAX_FRAME
from covey.wire.link import FrameQueue

HEARTBEAT_SECONDS = 5.0
LINGER_SECONDS = 30.0
HASTE_SECONDS = 2.0
READ_AHEAD = 2 << 20
_WRITE_AHEAD = 1 << 20

_BEAT, _BYE, _BYE_HEARD, _AWAITS = 0, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_NAMES_BYTES = 1 << 16

Awaited = Callable[[], tuple[str, ...]]
"""The parties that this one waits for right now."""


class PeerConnection:
    """Frames to and from one peer whose identity is established."""

    def __init__(self, peer: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.peer = peer
        self.heard = asyncio.get_running_loop().time()
        self._reader, self._writer = reader, writer
        self._frames = FrameQueue()
        self.awaits: tuple[str, ...] | None = None
        """The parties that the peer waits for, as it said last; None before it has said anything."""
        self.told: Callable[[], None] = lambda: None
        """Called whenever the peer has said whom it waits for."""
        self._over = asyncio.Event()
        self._bye_heard = asyncio.Event()
        writer.transport.set_write_buffer_limits(high=_WRITE_AHEAD)
        _tune(writer.get_extra_info("socket"))

    @property
    def is_over(self) -> bool:
        """True if the peer has left or the connection is down."""
        return self._over.is_set()

    async def wait_over(self) -> None:
        """Returns once the peer has left or the connection is down."""
        await self._over.wait()

    async def send(self, frame: bytes) -> None:
        """Writes a frame, waiting while the peer reads more slowly than we write."""
        if self._over.is_set():
            raise self._gone()
        try:
            self._writer.write(len(frame).to_bytes(LENGTH_BYTES, "big") + frame)  # one record, one packet
            await self._writer.drain()
        except (OSError, ssl.SSLError):
            raise self._gone() from None

    async def receive(self) -> bytes:
        """The peer's next frame."""
        return await self._frames.get()

    async def listen(self) -> None:
        """Reads until the connection ends; never raises: the queue's end tells the reader why."""
        try:
            while True:
                length = await self._read_number()
                self.heard = asyncio.get_running_loop().time()
                if length <= MAX_FRAME and length != _BEAT:
                    await self._frames.put(await self._reader.readexactly(length))
                elif length == _BYE:
                    left = f"party {self.peer!r} has left the session"
                    self._frames.end(Aborted(left, resumable=True, party=self.peer))
                    self._sign(_BYE_HEARD)
                elif length == _BYE_HEARD:
                    self._bye_heard.set()
                elif length == _AWAITS and (size := await self._read_number()) <= _NAMES_BYTES:
                    names = (await self._reader.readexactly(size)).decode(errors="replace")
                    self.awaits = tuple(names.split("\n")) if names else ()
                    self.told()
                elif length != _BEAT:
                    reason = f"a frame of {length} bytes, at most {MAX_FRAME} are allowed"
                    self._frames.end(PeerError(party=self.peer, step="the frame", reason=reason))
                    return
        except (OSError, ssl.SSLError, EOFError):
            self._frames.end(self._gone())
        except CoveyError as error:
            self._frames.end(error)
        finally:
            self._frames.end(self._gone())
            self._over.set()
            self._bye_heard.set()
            self._writer.close()

    async def _read_number(self) -> int:
        return int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")

    def tell(self, awaited: tuple[str, ...]) -> None:
        """Says whom this party waits for."""
        if not self._over.is_set():
            names = "\n".join(awaited).encode()[:_NAMES_BYTES]
            self._sign(_AWAITS, len(names).to_bytes(LENGTH_BYTES, "big") + names)

    async def beat(self, every: float = HEARTBEAT_SECONDS, awaited: Awaited = lambda: ()) -> None:
        """Gives a sign of life now and then, until the line is over, and says whom this party waits for."""
        said: tuple[str, ...] = ()
        while not self._over.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(every):
                    await self._over.wait()
                    return
            self._sign(_BEAT)
            if (now := awaited()) != said:
                self.tell(now)
                said = now

    async def close(self, linger: float = LINGER_SECONDS) -> None:
        """Says good-bye, waits until the peer has read all that came before, and hangs up."""
        with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
            async with asyncio.timeout(linger):
                if not self._over.is_set():
                    self._sign(_BYE)
                    await self._writer.drain()
                    await self._bye_heard.wait()
        self._writer.close()
        with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
            async with asyncio.timeout(1):
                await self._writer.wait_closed()

    def _sign(self, sign: int, more: bytes = b"") -> None:
        if not self._writer.is_closing():
            self._writer.write(sign.to_bytes(LENGTH_BYTES, "big") + more)

    def _gone(self) -> Aborted:
        cut = f"the connection to party {self.peer!r} was cut; start again to go on"
        return Aborted(cut, resumable=True, party=self.peer)


def _tune(connection: socket.socket | None) -> None:
    """Small frames leave at once; the kernels notice a machine that vanished, even while a process is busy."""
    if connection is None:
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
