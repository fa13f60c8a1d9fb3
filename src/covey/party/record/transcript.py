"""The transcript: headers, sizes and hashes of all messages, chained for each directed pair, and never a value.

The chain runs in an order that both ends know from the headers alone: by causal depth, then step, then number. So two
parties who exchanged the same messages have the same heads, however they arrived and however often the run was cut off.
Each message carries sixteen random bytes, so that nobody can find out what it said by trying hashes.
A step's first messages have an entry each. Later ones have one for every stretch up to a signature: its hash is the
head of all that the sender said there, see `covey.wire.frame`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from covey.crypto.rng import spell
from covey.wire import frame
from covey.wire.frame import Letter
from covey.wire.inbox import CONTROL_STEP

CLOSING_STEP = "covey-closing"
"""Below this step the parties compare and sign what was said before; it is not part of what they sign."""

Pair = tuple[str, str]
"""Sender and recipient."""
_NUMBERS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One message as both its ends know it, or a stretch of them."""

    sender: str
    recipient: str
    step: str
    tag: str
    number: int
    """The message's place at its step; of a stretch the last one's, as its depth."""
    depth: int
    size: int
    digest: bytes
    """The message's hash; of a stretch the head of the step."""
    signature: bytes = field(default=b"", compare=False)
    """The sender's, on `covey.wire.frame.statement` of the step's head; empty or zeros where it has none."""
    messages: int = 1

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
class Mark:
    """A state that a party kept, as it and its neighbours know it."""

    number: int
    attempt: int
    hashes: dict[str, bytes]
    """By neighbour, of what both have of the state; keyed with their common secret, so that it tells others nothing."""


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
    _stretches: dict[tuple[str, str, str], Entry] = field(default_factory=dict, repr=False)
    """The stretches that no signature has ended, by sender, recipient and step,"""
    _heads: dict[tuple[str, str, str], bytes] = field(default_factory=dict, repr=False)
    """and the heads of all steps."""

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
        address, number = (header.sender, header.recipient, header.step), header.number
        self._heads[address] = head = frame.follow(self._heads.get(address, frame.NO_HEAD), letter.digest)
        size, messages, digest = letter.size, 1, letter.digest
        if number >= frame.SIGNED:
            digest = head
            if (stretch := self._stretches.pop(address, None)) is not None:
                size, messages = size + stretch.size, messages + stretch.messages
        signature = letter.signature if frame.is_signed(number) else b""
        entry = Entry(*address, header.tag, number, header.depth, size, digest, signature, messages)
        if number < frame.SIGNED or signature:
            self.entries.setdefault(address[:2], []).append(entry)
        else:
            self._stretches[address] = entry

    def ordered(self, pair: Pair) -> list[Entry]:
        """The pair's messages in the chain's order."""
        unsigned = [entry for address, entry in self._stretches.items() if address[:2] == pair]
        return sorted([*self.entries.get(pair, ()), *unsigned], key=lambda line: line.order)

    def among(self, names: Collection[str], step: str) -> list[Entry]:
        """The messages of these parties to each other at a step or below it."""
        pairs = [pair for pair in self._pairs if {*pair} <= {*names}]
        return [line for pair in pairs for line in self.ordered(pair) if line.step.split("/")[0] == step]

    @property
    def everything(self) -> list[Entry]:
        """All messages."""
        return [line for pair in self._pairs for line in self.ordered(pair)]

    def restore(self, entries: Iterable[Entry]) -> None:
        """Takes up messages of an earlier attempt."""
        for entry in entries:
            self.entries.setdefault((entry.sender, entry.recipient), []).append(entry)

    def clear(self) -> None:
        """Forgets all messages."""
        for messages in (self.entries, self._stretches, self._heads):
            messages.clear()

    @property
    def _pairs(self) -> list[Pair]:
        return sorted({*self.entries, *(address[:2] for address in self._stretches)})

    def head(self, session: bytes, pair: Pair) -> Head:
        """The pair's messages in one hash."""
        lines = self.ordered(pair)
        last = [start(session, pair), *chain(session, pair, lines)][-1]
        return Head(sum(line.messages for line in lines), sum(line.size for line in lines), last)


def start(session: bytes, pair: Pair) -> bytes:
    """The head of a pair that has said nothing."""
    return hashlib.sha256(spell("covey chain/1", session, *pair)).digest()


def chain(session: bytes, pair: Pair, lines: Iterable[Entry]) -> Iterable[bytes]:
    """The chain's value after each message."""
    value = start(session, pair)
    for line in lines:
        stretch = () if line.messages == 1 else (line.messages,)
        content = spell(value, line.step, line.tag, line.number, line.depth, line.size, line.digest, *stretch)
        value = hashlib.sha256(content).digest()
        yield value
