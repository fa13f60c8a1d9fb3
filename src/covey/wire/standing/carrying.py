"""Trustees meet at the collector: it carries the frames among them, sealed, and speaks with each itself.

A trustee has one connection, to the collector, and needs no open port. A frame says by a number whom it is for, or whom
it is from. A connection serves one meeting: when one of them is cut, all are, and all meet again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.errors import Aborted, PeerError
from covey.wire.link import FrameQueue, StandingLines
from covey.wire.standing.connection import BEAT_SECONDS, Connection, Garbled
from covey.wire.standing.words import Done, Meet, Over, Said, SignedKey

_NONCE = 12
_CUT = (OSError, EOFError, TimeoutError, ssl.SSLError, Garbled)


class TrusteeRoom:
    """The trustees' connections at the collector."""

    def __init__(self, me: str, trustees: Sequence[str]) -> None:
        self.me, self.trustees = me, tuple(sorted(trustees))
        self.done: set[str] = set()
        """The trustees that need nobody any more."""
        self.changed = asyncio.Event()
        self._parties = tuple(sorted((me, *self.trustees)))
        self._here: dict[str, Connection] = {}
        self._meeting: _Meeting | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """The trustees that are not connected."""
        return tuple(name for name in self.trustees if name not in self._here)

    @property
    def meeting(self) -> bool:
        """True if the trustees have met, and none of them was cut off."""
        return self._meeting is not None

    def enter(self, name: str, connection: Connection) -> None:
        """A trustee is here."""
        self._here[name] = connection
        self.changed.set()

    def leave(self, name: str, connection: Connection) -> None:
        """A trustee has gone: who met with it has to meet again, unless it is done."""
        if self._here.get(name) is connection:
            del self._here[name]
            if self._meeting is not None and name in self._meeting.lines and name not in self.done:
                self.break_up(name)
        self.changed.set()

    async def take(self, name: str, frame: bytes) -> None:
        """Carries a trustee's frame. Raises Garbled for one that is for nobody."""
        to = self._parties[frame[0]] if frame and frame[0] < len(self._parties) else name
        if self._meeting is None or to == name:
            raise Garbled("a frame that is for nobody here")
        if to == self.me:
            await self._meeting.frames[name].put(frame[1:])
        elif to in self._here:
            with contextlib.suppress(*_CUT):  # whoever reads that connection notices too
                await self._here[to].give(bytes([self._parties.index(name)]), frame[1:])

    @asynccontextmanager
    async def met(
        self, keys: Callable[[], Sequence[SignedKey]], absent: Callable[[tuple[str, ...]], None]
    ) -> AsyncIterator[_Meeting]:
        """Waits for all trustees, who are told each other's keys, and gives the link to them.

        `absent` is told every second who is missing, and may end the wait.
        """
        self.break_up()
        while self.missing:
            absent(self.missing)
            self.changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self.changed.wait()
        meeting = self._meeting = _Meeting(self.me, dict(self._here), self._parties)
        try:
            for name, connection in meeting.lines.items():
                try:
                    await connection.say(Meet(list(keys())))
                except _CUT:
                    self.break_up(name)
            yield meeting
        except BaseException:
            self.break_up()
            raise

    def break_up(self, name: str | None = None) -> None:
        """Ends the meeting, because of that trustee if one is named; all have to come again."""
        meeting, self._meeting = self._meeting, None
        if meeting is None:
            return
        for trustee, connection in meeting.lines.items():
            meeting.frames[trustee].end(_cut(name or trustee))
            if self._here.get(trustee) is connection:
                del self._here[trustee]
            connection.drop()


class _Meeting(StandingLines):
    """The collector's link to the trustees."""

    def __init__(self, me: str, lines: Mapping[str, Connection], parties: Sequence[str]) -> None:
        self.me, self.peers, self.lines = me, tuple(sorted(lines)), lines
        self.frames = {name: FrameQueue() for name in lines}
        self._mark = bytes([parties.index(me)])

    async def send(self, peer: str, frame: bytes) -> None:
        """Writes a frame to a trustee."""
        try:
            await self.lines[peer].give(self._mark, frame)
        except _CUT:
            raise _cut(peer) from None

    async def receive(self, peer: str) -> bytes:
        """Returns that trustee's next frame to us."""
        return await self.frames[peer].get()


class CarriedLink(StandingLines):
    """A trustee's link to the collector, and by way of it to the other trustees, for whom frames are sealed."""

    def __init__(self, me: str, hub: str, secrets: Mapping[str, Secret], connection: Connection) -> None:
        """`secrets` has what this trustee has in common with each other one."""
        self.me, self.peers = me, tuple(sorted((hub, *secrets)))
        self.ended: asyncio.Future[Over | None] = asyncio.get_running_loop().create_future()
        """The collector's last word, or None where the connection was cut."""
        self._hub, self._secrets, self._connection = hub, secrets, connection
        self._parties = tuple(sorted((me, *self.peers)))
        self._frames = {name: FrameQueue() for name in self.peers}

    async def send(self, peer: str, frame: bytes) -> None:
        """Writes a frame; for another trustee it is sealed."""
        body = frame if peer == self._hub else self._sealed(peer, frame)
        try:
            await self._connection.give(bytes([self._parties.index(peer)]), body)
        except _CUT:
            raise _cut(self._hub) from None

    async def receive(self, peer: str) -> bytes:
        """Returns the next frame of that peer. Raises PeerError for one that was altered on the way."""
        frame = await self._frames[peer].get()
        return frame if peer == self._hub else self._opened(peer, frame)

    async def done(self) -> None:
        """Tells the collector that this trustee needs nobody any more."""
        with contextlib.suppress(*_CUT):
            await self._connection.say(Done())

    async def listen(self) -> None:
        """Reads until the connection is cut, or the collector says that it is over."""
        over: Over | None = None
        try:
            while over is None:
                over = await self._take(await self._connection.read())
        except _CUT:
            pass
        finally:
            for queue in self._frames.values():
                queue.end(_cut(self._hub))
            if not self.ended.done():
                self.ended.set_result(over)

    async def beat(self) -> None:
        """Gives signs of life."""
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            self._connection.beat()

    async def _take(self, said: Said | bytes) -> Over | None:
        if isinstance(said, Over):
            return said
        if isinstance(said, bytes):
            sender = self._parties[said[0]] if said and said[0] < len(self._parties) else self.me
            if sender == self.me:
                raise Garbled("a frame from nobody")
            await self._frames[sender].put(said[1:])
        return None

    def _sealed(self, peer: str, frame: bytes) -> bytes:
        """Returns a frame under a nonce that follows from its content, so that no two have one."""
        key = derive(self._secrets[peer], "frames", self.me, peer)
        nonce = hmac.digest(derive(key, "nonce").reveal(), frame, hashlib.sha256)[:_NONCE]
        return nonce + AESGCM(key.reveal()).encrypt(nonce, frame, None)

    def _opened(self, peer: str, sealed: bytes) -> bytes:
        key = derive(self._secrets[peer], "frames", peer, self.me)
        try:
            return AESGCM(key.reveal()).decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
        except (InvalidTag, ValueError):
            raise PeerError(party=self._hub, step="the line", reason=f"it altered a frame of {peer}") from None


def _cut(name: str) -> Aborted:
    return Aborted(f"the connection to party {name!r} was cut; start again to go on", resumable=True, party=name)
