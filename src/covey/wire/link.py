"""A link carries frames between this party and its peers: in order, unaltered, or not at all.

Carriers differ in how (memory, TLS, a relay), never in what they promise. A link knows nothing of
messages, steps or sessions; the channel checks those.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from covey.errors import CoveyError

QUEUE_BYTES = 32 << 20
"""Bytes that a peer can have sent before anyone asks for them; then its sending waits."""


class Link(Protocol):
    """One party's end of its lines to all peers."""

    @property
    def me(self) -> str:
        """This party's name."""

    @property
    def peers(self) -> tuple[str, ...]:
        """The other parties' names, sorted."""

    async def send(self, peer: str, frame: bytes) -> None:
        """Hands the frame over, waiting while the peer reads more slowly than we write.

        Raises `Aborted` when the line is down.
        """

    async def receive(self, peer: str) -> bytes:
        """The next frame of that peer. May be cancelled without losing a frame.

        Raises `Aborted` when the line is down, `PeerError` for what is no frame.
        """

    def heard(self, peer: str) -> float:
        """The time of the peer's last sign of life, on the event loop's clock."""

    async def close(self) -> None:
        """Says good-bye on every line, after all that was sent."""


class StandingLines:
    """The part of a link over lines that others watch, and that stay when it is closed."""

    def heard(self, peer: str) -> float:
        """Now: whoever watches the lines says if a peer is gone."""
        return asyncio.get_running_loop().time()

    async def close(self) -> None:
        """Does nothing: the lines stay."""


class FrameQueue:
    """Frames in order, bounded in bytes: whoever fills it faster than it is emptied has to wait."""

    def __init__(self, limit: int = QUEUE_BYTES) -> None:
        self._limit = limit
        self._frames: deque[bytes] = deque()
        self._held = 0
        self._end: CoveyError | None = None
        self._filled = asyncio.Event()
        self._room = asyncio.Event()

    async def put(self, frame: bytes) -> None:
        """Adds a frame once there is room. Raises the queue's end if it has one."""
        while self._held >= self._limit and self._end is None:
            self._room.clear()
            await self._room.wait()
        if self._end is not None:
            raise self._end.with_traceback(None)
        self.push(frame)

    def push(self, frame: bytes) -> None:
        """Adds a frame at once, room or not."""
        self._frames.append(frame)
        self._held += len(frame)
        self._filled.set()

    async def get(self) -> bytes:
        """The next frame; after the last one, the queue's end is raised."""
        while not self._frames:
            if self._end is not None:
                raise self._end.with_traceback(None)
            self._filled.clear()
            await self._filled.wait()
        frame = self._frames.popleft()
        self._held -= len(frame)
        self._room.set()
        return frame

    def end(self, reason: CoveyError) -> None:
        """Nothing comes after what is in the queue; the first reason given stays."""
        self._end = self._end or reason
        self._filled.set()
        self._room.set()
