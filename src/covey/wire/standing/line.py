"""A standing line: letters between two that outlive the connections that carry them.

What comes is written into the journal, and acknowledged once it is on the disk; the role reads it from there. What is
said is kept until it is acknowledged, and given again to the next connection. Letters are known by their hashes: one
that comes twice is taken once; another one at the same place (the same step, the same number) is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from covey.errors import Left, PeerError
from covey.wire import frame as frames
from covey.wire.frame import Letter
from covey.wire.link import StandingLines
from covey.wire.standing.connection import Connection, Garbled
from covey.wire.standing.words import Ack

MOST_LETTERS, MOST_BYTES = 30_000, 1 << 30
"""That one respondent may send in a session; far more than the protocol needs."""
_SHARED = 1 << 16
_ACKED_AT_ONCE = 10_000


class LetterStore(Protocol):
    """The letters that have come, kept where a crash does not lose them."""

    async def received(self, letter: Letter) -> None:
        """Keeps a letter. Raises PeerError if another one came at its place before."""

    def letter(self, sender: str, place: int) -> bytes | None:
        """That peer's letter with that number, from 0; None if it has not come yet."""

    def digests(self, sender: str) -> list[bytes]:
        """The hashes of that peer's letters."""

    def sync(self) -> None:
        """Returns once everything that was kept is on the disk."""

    def lose(self, peer: str, why: str) -> None:
        """Notes that a peer has left for good; on the disk when this returns."""

    @property
    def gone(self) -> dict[str, str]:
        """The peers that have left, and why."""


class Shelf:
    """Long contents that many letters have in common, such as the index: each is kept once."""

    def __init__(self) -> None:
        self._held: dict[bytes, tuple[bytes, int]] = {}

    def put(self, content: bytes) -> bytes:
        """The one copy of that content."""
        key = hashlib.sha256(content).digest()
        kept, users = self._held.get(key, (content, 0))
        self._held[key] = (kept, users + 1)
        return kept

    def release(self, content: bytes) -> None:
        """One fewer letter has it."""
        key = hashlib.sha256(content).digest()
        kept, users = self._held.pop(key, (content, 1))
        if users > 1:
            self._held[key] = (kept, users - 1)

    @property
    def bytes(self) -> int:
        """The number of bytes that are kept."""
        return sum(len(content) for content, _ in self._held.values())


@dataclass
class StandingLine:
    """One party's end of a standing line, in one session."""

    peer: str
    journal: LetterStore
    session: bytes
    """As letters carry it."""
    shelf: Shelf = field(default_factory=Shelf)
    heard: Callable[[], None] = lambda: None
    """Told of every letter that is new."""
    on_record: bool = True
    """True if a letter's hash is on the disk before the letter leaves: even after a power cut we know that it was said.

    A respondent must: it answers once. A collector need not: it says the same again from what it has read.
    """

    def __post_init__(self) -> None:
        self._out: dict[bytes, tuple[bytes, bytes]] = {}
        self._claimed: frozenset[bytes] = frozenset()
        self._have = set(self.journal.digests(self.peer))
        self._size = 0
        self._read = 0
        self._arrived, self._wake = asyncio.Event(), asyncio.Event()
        self._unacknowledged: list[bytes] = []
        self._end: Left | None = None

    @property
    def settled(self) -> bool:
        """True if the peer has everything that was said, and has been told of everything that came."""
        return not self._out and not self._unacknowledged

    @property
    def have(self) -> list[bytes]:
        """The hashes of the letters that are here."""
        return self.journal.digests(self.peer)

    async def send(self, frame: bytes) -> None:
        """Says it once the peer can be reached; a peer that has left, or has it, is not told."""
        _, letter = frames.split(frame)
        digest = frames.digest(letter)
        if self._end is not None or digest in self._claimed or digest in self._out:
            return
        payload = frames.read(letter).payload
        head = bytes(letter[: len(letter) - len(payload)])
        body = bytes(payload)
        self._out[digest] = (head, self.shelf.put(body) if len(body) >= _SHARED else body)
        self._wake.set()

    async def receive(self) -> bytes:
        """The next letter, as a frame. Raises Left after the last one of a peer that has left."""
        while (letter := self.journal.letter(self.peer, self._read)) is None:
            if self._end is not None:
                raise self._end.with_traceback(None)
            self._arrived.clear()
            await self._arrived.wait()
        self._read += 1
        return frames.place(self._read - 1, letter)

    async def take(self, content: bytes) -> None:
        """A letter has come; it is acknowledged with the next `Ack`, once it is on the disk.

        Raises Garbled for what is no letter of this line, or not the one that stands at its place already.
        """
        try:
            letter = frames.read(content)
        except ValueError as error:
            raise Garbled(str(error)) from None
        if letter.header.sender != self.peer or letter.header.session != self.session:
            raise Garbled("a letter under another's name, or of another session")
        if self._end is not None:
            raise Garbled("a letter after it had left")
        if letter.digest not in self._have:
            self._size += letter.size
            if len(self._have) >= MOST_LETTERS or self._size > MOST_BYTES:
                raise Garbled("more letters than any respondent has to say")
            try:
                await self.journal.received(letter)
            except PeerError:
                raise Garbled("a second, different letter where one had come before") from None
            self._have.add(letter.digest)
            self.heard()
        self._unacknowledged.append(letter.digest)
        self._arrived.set()
        self._wake.set()

    def claims(self, digests: Iterable[bytes]) -> None:
        """The peer says that it has these, whether we have said them again yet or not."""
        self._claimed = frozenset(digests)
        self.acknowledged(self._claimed)

    def acknowledged(self, digests: Iterable[bytes]) -> None:
        """The peer has these."""
        for digest in digests:
            _, body = self._out.pop(digest, (b"", b""))
            if len(body) >= _SHARED:
                self.shelf.release(body)

    def leave(self, why: str) -> None:
        """The peer has left for good: what it sent can be read, nothing more comes, and nothing is sent."""
        self._end = Left(self.peer, why)
        self.acknowledged(list(self._out))
        self._unacknowledged.clear()
        self._arrived.set()
        self._wake.set()

    def nudge(self) -> None:
        """Lets whoever carries look whether to go on."""
        self._wake.set()

    async def carry(self, connection: Connection, over: Callable[[], bool]) -> None:
        """Writes what is to be said to this connection until that is over, which a `nudge` lets it notice."""
        given: set[bytes] = set()
        while not over():
            self._wake.clear()
            due = [each for each in self._out if each not in given]
            if self._unacknowledged or (due and self.on_record):
                self.journal.sync()
            if self._unacknowledged:
                digests, self._unacknowledged = self._unacknowledged, []
                for first in range(0, len(digests), _ACKED_AT_ONCE):
                    await connection.say(Ack(digests[first : first + _ACKED_AT_ONCE]))
            for digest in due:
                parts = self._out.get(digest)
                if parts is not None:
                    given.add(digest)
                    await connection.give(*parts)
                if self._unacknowledged or over():
                    self._wake.set()
                    break
            await self._wake.wait()


class StandingLink(StandingLines):
    """A link, as channels want it, over standing lines."""

    def __init__(self, me: str, lines: dict[str, StandingLine]) -> None:
        self.me, self.peers = me, tuple(sorted(lines))
        self._lines = lines

    async def send(self, peer: str, frame: bytes) -> None:
        """Says it when the peer can be reached."""
        await self._lines[peer].send(frame)

    async def receive(self, peer: str) -> bytes:
        """That peer's next frame."""
        return await self._lines[peer].receive()
