"""The transcript: every message's header, size and hash, chained for each directed pair, and never a value.

The chain runs in an order that both ends know from the headers alone: by causal depth, then step, then number. So two
parties who exchanged the same messages have the same heads, however they arrived and however often the run was cut off.
Each message carries sixteen random bytes, so that nobody can find out what it said by trying hashes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from covey.crypto.rng import spell
from covey.wire.frame import Letter
from covey.wire.inbox import CONTROL_STEP

CLOSING_STEP = "covey-closing"
"""Below this step the parties compare and sign what was said before; it is not part of what they sign."""

Pair = tuple[str, str]
"""Sender and recipient."""
_NUMBERS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One message as both its ends know it."""

    sender: str
    recipient: str
    step: str
    tag: str
    number: int
    depth: int
    size: int
    digest: bytes
    signature: bytes = field(default=b"", compare=False)
    """The sender's, on `covey.wire.frame.statement(digest)`; empty or zeros where it has none."""

    @property
    def order(self) -> tuple[int, tuple[tuple[bool, int, str], ...], int]:
        """The message's place among those of its pair; in a step's name, numbers count as numbers."""
        parts = (part for part in _NUMBERS.split(self.step) if part)
        step = tuple((part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)
        return self.depth, step, self.number

    @property
    def shape(self) -> tuple[str, str, str, str, int, int, int]:
        """All but the hash: what may depend on nothing but what is declared to leak."""
        return self.sender, self.recipient, self.step, self.tag, self.number, self.depth, self.size


@dataclass(frozen=True)
class Head:
    """All messages of a directed pair, in one hash."""

    messages: int
    size: int
    digest: bytes

    def statement(self, session: bytes, study_hash: str, pair: Pair) -> bytes:
        """The bytes that the sender signs."""
        return spell("covey transcript/1", session, study_hash, *pair, self.messages, self.size, self.digest)


@dataclass
class Transcript:
    """The messages that one party sent and read in a session; a recorder."""

    entries: dict[Pair, list[Entry]] = field(default_factory=dict)

    async def sent(self, letter: Letter) -> None:
        """Notes it."""
        self._note(letter)

    async def received(self, letter: Letter) -> None:
        """Notes it."""
        self._note(letter)

    def _note(self, letter: Letter) -> None:
        header = letter.header
        if header.step == CONTROL_STEP or header.step.startswith(CLOSING_STEP):
            return
        self.entries.setdefault((header.sender, header.recipient), []).append(
            Entry(
                header.sender,
                header.recipient,
                header.step,
                header.tag,
                header.number,
                header.depth,
                letter.size,
                letter.digest,
                letter.signature,
            )
        )

    def ordered(self, pair: Pair) -> list[Entry]:
        """The pair's messages in the chain's order."""
        return sorted(self.entries.get(pair, ()), key=lambda line: line.order)

    def head(self, session: bytes, pair: Pair) -> Head:
        """The pair's messages in one hash."""
        lines = self.ordered(pair)
        last = [start(session, pair), *chain(session, pair, lines)][-1]
        return Head(len(lines), sum(line.size for line in lines), last)


def start(session: bytes, pair: Pair) -> bytes:
    """The head of a pair that has said nothing."""
    return hashlib.sha256(spell("covey chain/1", session, *pair)).digest()


def chain(session: bytes, pair: Pair, lines: Iterable[Entry]) -> Iterable[bytes]:
    """The chain's value after each message."""
    value = start(session, pair)
    for line in lines:
        content = spell(value, line.step, line.tag, line.number, line.depth, line.size, line.digest)
        value = hashlib.sha256(content).digest()
        yield value
