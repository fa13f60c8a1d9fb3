"""Recorders write down what passes through a channel: a transcript, a journal, or a test's notebook.

A recorder is told of each message at the two moments that matter: before it leaves, and before the role
sees it. A journal that is on disk when `received` returns has therefore seen everything on which a later
message could depend. The header carries no secret; the letter does, and belongs in encrypted journals only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from covey.wire.frame import Letter


class Recorder(Protocol):
    """Writes down what is sent and what is read. Raising from either stops the run before it goes further."""

    async def sent(self, letter: Letter) -> None:
        """Called before the letter leaves; also for one that a resumed role says again."""

    async def received(self, letter: Letter) -> None:
        """Called before the role sees the letter, whose `raw` bytes a resumed role is fed again."""


class Nothing:
    """Writes nothing down."""

    async def sent(self, letter: Letter) -> None:
        """Forgets it."""

    async def received(self, letter: Letter) -> None:
        """Forgets it."""


class Several:
    """Several recorders, told one after the other: the first that raises keeps the rest from being told."""

    def __init__(self, *recorders: Recorder) -> None:
        self._recorders = recorders

    async def sent(self, letter: Letter) -> None:
        """Tells each."""
        for recorder in self._recorders:
            await recorder.sent(letter)

    async def received(self, letter: Letter) -> None:
        """Tells each."""
        for recorder in self._recorders:
            await recorder.received(letter)


@dataclass
class Tally:
    """Messages, bytes and rounds so far, as this party saw them; directed pairs are (sender, recipient)."""

    messages: Counter[tuple[str, str]] = field(default_factory=Counter)
    bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    rounds: int = 0

    def add(self, pair: tuple[str, str], messages: int, size: int, depth: int) -> None:
        """Adds messages of an earlier attempt."""
        self.messages[pair] += messages
        self.bytes[pair] += size
        self.rounds = max(self.rounds, depth)

    def count(self, letter: Letter) -> None:
        """Adds one letter, sent or read."""
        header = letter.header
        pair = (header.sender, header.recipient)
        self.messages[pair] += 1
        self.bytes[pair] += letter.size
        self.rounds = max(self.rounds, header.depth)
