"""An inbox sorts one peer's letters by step, and refuses those that are repeated, foreign or out of place.

Frames are taken from the link only while a role waits for one, so that a slow role slows its peers down
instead of filling memory. Letters for other steps that come first are kept, within a bound.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Literal

from covey.errors import Aborted, CoveyError, PeerError
from covey.wire import frame as frames
from covey.wire.frame import VERSION, Letter
from covey.wire.link import Link
from covey.wire.message import Message, Name, decode, tag_of

HELD_LETTERS = 4096
HELD_BYTES = 64 << 20

CONTROL_STEP = "!"


class Stopped(Message, tag="covey.stopped"):
    """The sender ends the session; the word says why, and nothing about data."""

    why: Literal["refused", "aborted", "interrupted", "failed"]
    resumable: bool
    party: Name | None = None
    """The party that is the cause, where it is another than the sender."""


class Inbox:
    """The letters of one peer that the role has not read yet."""

    def __init__(self, link: Link, peer: str, session: bytes) -> None:
        self._link, self._peer, self._session = link, peer, session
        self._held: dict[str, deque[Letter]] = {}
        self._letters = self._bytes = 0
        self._sequence = 0
        self._numbers: dict[str, int] = {}
        self._closed: set[str] = set()
        self._pulling = False
        self._sleepers: set[asyncio.Future[None]] = set()
        self._failure: CoveyError | None = None

    async def take(self, step: str) -> Letter:
        """The peer's next letter at that step, waiting for it if need be. Safe to cancel."""
        while True:
            if waiting := self._held.get(step):
                letter = waiting.popleft()
                if not waiting:
                    del self._held[step]
                self._letters -= 1
                self._bytes -= letter.size
                return letter
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            if self._pulling:
                await self._sleep()
            else:
                await self._pull()

    def close(self, step: str) -> None:
        """Nothing may come any more at that step or below it. Raises `PeerError` for what is still there."""
        self._closed.add(step)
        for other in self._held:
            if _within(other, step):
                raise self._refused(other, "it sent more than was due")

    def leftover(self) -> str | None:
        """A step at which a letter waits that nobody asked for, if there is one."""
        return next(iter(self._held), None)

    async def last_word(self) -> CoveyError:
        """The reason why the peer is gone, once its line is down: what it said when it stopped, if it did."""
        while self._failure is None:
            if self._pulling:
                await self._sleep()
            else:
                await self._pull()
        return self._failure

    async def _pull(self) -> None:
        self._pulling = True
        try:
            self._file(await self._link.receive(self._peer))
        except CoveyError as failure:
            self._failure = failure
        finally:
            self._pulling = False
            for sleeper in self._sleepers:
                if not sleeper.done():
                    sleeper.set_result(None)

    async def _sleep(self) -> None:
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.add(sleeper)
        try:
            await sleeper
        finally:
            self._sleepers.discard(sleeper)

    def _file(self, frame: bytes) -> None:
        try:
            sequence, raw = frames.split(frame)
            letter = frames.read(raw)
        except ValueError as error:
            raise self._refused("the frame", str(error)) from None
        header = letter.header
        self._check_origin(letter)
        if not (header.step + header.tag).isprintable():  # both go into sentences that people read
            raise self._refused("the frame", "a step or a type with control characters")
        if header.step == CONTROL_STEP:  # a peer may end whatever it has begun with us, at any time
            raise self._stopped(letter)
        if header.session != self._session:
            raise self._refused("the frame", "a foreign message: it belongs to another session")
        self._check_order(sequence, header.step)
        if self._is_closed(header.step):
            raise self._refused(header.step, "a late message: the step is over")
        expected = self._numbers.get(header.step, 0)
        if header.number != expected:
            what = "a repeated message" if header.number < expected else "a message out of place"
            raise self._refused(header.step, f"{what}: number {header.number}, expected {expected}")
        if self._letters >= HELD_LETTERS or self._bytes + letter.size > HELD_BYTES:
            raise self._refused(header.step, "too much that nobody asked for")
        self._numbers[header.step] = expected + 1
        self._letters += 1
        self._bytes += letter.size
        self._held.setdefault(header.step, deque()).append(letter)

    def _is_closed(self, step: str) -> bool:
        parts = step.split("/")
        return any("/".join(parts[:length]) in self._closed for length in range(1, len(parts) + 1))

    def _check_origin(self, letter: Letter) -> None:
        header = letter.header
        if header.version != VERSION:
            reason = f"it speaks version {header.version} of the wire, we speak {VERSION}"
            raise self._refused("the frame", f"{reason}: install the same version of covey everywhere")
        if header.sender != self._peer:
            raise self._refused("the frame", "it claims a name that is not its own")
        if header.recipient != self._link.me:
            raise self._refused("the frame", "a foreign message: it is addressed to another party")

    def _check_order(self, sequence: int, step: str) -> None:
        if sequence < self._sequence:
            raise self._refused(step or "the start", "a repeated frame")
        if sequence > self._sequence:
            lost = f"a message of party {self._peer!r} was lost on the way (before {step or 'the start'})"
            raise Aborted(f"{lost}; start again to go on", resumable=True)
        self._sequence += 1

    def _stopped(self, letter: Letter) -> CoveyError:
        if letter.header.tag != tag_of(Stopped):
            return self._refused("the frame", "an unknown control message")
        try:
            stopped = decode(Stopped, letter.payload)
        except ValueError as error:
            return self._refused("the frame", str(error))
        words = {
            "refused": "refused the release; nothing was released",
            "aborted": "stopped the run",
            "interrupted": "was interrupted",
            "failed": "failed and stopped the run; ask it for its message",
        }
        cause = stopped.party
        if cause == self._peer or cause not in (*self._link.peers, self._link.me):
            said = f"party {self._peer!r} {words[stopped.why]}"
            return Aborted(said, resumable=stopped.resumable, party=self._peer)
        because = "its connection to us" if cause == self._link.me else f"party {cause!r}"
        said = f"party {self._peer!r} stopped the run because of {because}"
        return Aborted(said, resumable=stopped.resumable, party=cause)

    def _refused(self, step: str, reason: str) -> PeerError:
        return PeerError(party=self._peer, step=step, reason=reason)


def _within(step: str, outer: str) -> bool:
    return step == outer or step.startswith(outer + "/")
