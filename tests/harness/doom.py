"""A party that dies at a chosen moment, as a process does that is killed: nothing runs after, nothing is tidied up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from covey.wire import Link
from covey.wire.frame import read, split

Moment = Literal["before send", "after send", "mid-journal"]


class Killed(BaseException):
    """The party is dead. It is no `Exception`: no role and no runtime may catch it."""


@dataclass
class Doom:
    """When a party dies: at its n-th message or record. Without a moment it lives, and counts."""

    victim: str
    moment: Moment | None = None
    at: int = -1
    dead: bool = False
    tags: list[str] = field(default_factory=list)
    """The types of all messages that the victim was about to send."""
    writes: int = 0
    """How many writes to its journal the victim was about to make."""

    def die(self) -> None:
        """From here on everything that the victim tries fails in the same way."""
        self.dead = True
        raise Killed(f"party {self.victim!r} was killed")

    def breathe(self) -> None:
        """Raises Killed if the victim is dead."""
        if self.dead:
            raise Killed(f"party {self.victim!r} was killed")

    def sending(self, tag: str, on_death: Callable[[], None]) -> Callable[[], None]:
        """A message is about to leave; what is returned is to be called when it has left."""
        self.breathe()
        index = len(self.tags)
        self.tags.append(tag)
        if self.moment == "before send" and self.at == index:
            on_death()
            self.die()

        def sent() -> None:
            if self.moment == "after send" and self.at == index:
                on_death()
                self.die()

        return sent

    def writing(self) -> bool:
        """A record is about to be written; whether the victim dies in the midst of it."""
        self.breathe()
        index = self.writes
        self.writes += 1
        return self.moment == "mid-journal" and self.at == index


class DoomedLink:
    """The victim's end of its lines, which fall silent when it dies."""

    def __init__(self, link: Link, doom: Doom, on_death: Callable[[], None]) -> None:
        self.me, self.peers = link.me, link.peers
        self._link, self._doom, self._on_death = link, doom, on_death

    async def send(self, peer: str, frame: bytes) -> None:
        """Sends, unless death comes before or after."""
        sent = self._doom.sending(read(split(frame)[1]).header.tag, self._on_death)
        await self._link.send(peer, frame)
        sent()

    async def receive(self, peer: str) -> bytes:
        """Receives while the victim lives."""
        self._doom.breathe()
        frame = await self._link.receive(peer)
        self._doom.breathe()
        return frame

    def heard(self, peer: str) -> float:
        """When the peer last gave a sign of life."""
        return self._link.heard(peer)

    async def close(self) -> None:
        """A dead party says no good-bye; its lines went down when it died."""
        if not self._doom.dead:
            await self._link.close()
