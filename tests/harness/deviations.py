"""Three computing parties in one process without a network, one of whom deviates: in what it sends, or in what it does.

A run is repeated from the same seeds, so that whatever an honest party is shown can be held against an honest run's.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from tests.unit.mpc.boxes import PARTIES, seeds_of

from covey.arrays import Words
from covey.crypto.rng import Rng
from covey.errors import Aborted, CoveyError, PeerError
from covey.mpc import Checked, Shared
from covey.mpc.checked import OPENED, Exposed, Product
from covey.mpc.rounds import NOTHING, Answer, Parcel

KINDS = {
    ("share", ""): "input",
    ("_same", "share"): "comparison of an input",
    ("_pass", "unshuffle"): "way back",
    ("_pass", "shuffle"): "shuffle",
    ("reshare", "batch"): "triples",
    ("reshare", "_tagged"): "tags",
    ("coin", ""): "token",
    ("_reveal", ""): "opening to one",
    ("exactly", "batch"): "product of a check",
    ("exactly", "coin"): "coin",
    ("exactly", "_verified"): "difference of a shuffle",
    ("exactly", "_reveal"): "opening",
    ("exactly", "_and_opened"): "opened comparison",
}
"""What a message is about, by the function that asks for it and one that waits for it."""


class Message(NamedTuple):
    """A part of what the deviating party sends: in which round, to whom, about what, and which words of the message."""

    round: int
    peer: str
    kind: str
    first: int
    size: int


@dataclass(frozen=True, kw_only=True)
class Labelled(Parcel):
    """A parcel that says what it is about."""

    kind: str


@dataclass(frozen=True, kw_only=True)
class LabelledOpening(Exposed):
    """An opening that says what it is about."""

    kind: str


def callers(above: int = 2) -> list[str]:
    """Returns the names of the functions that wait for the calling one, the nearest first, without repetitions."""
    frame, names = sys._getframe(above), list[str]()
    while frame is not None and len(names) < 12:
        if frame.f_code.co_name != sys._getframe(above - 1).f_code.co_name:
            names.append(frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return names


def _kind() -> str:
    """Returns what the box is about to send, by the functions that are running."""
    caller, names = sys._getframe(1).f_code.co_name, callers(3)
    if caller == "exactly":
        names = [name for name in dict.fromkeys(names) if name != caller]
        return "keys of a shuffle" if names[:2] == ["coin", "_verified"] else KINDS[caller, names[0]]
    return next(kind for (inner, outer), kind in KINDS.items() if inner == names[0] and (not outer or outer in names))


class _Round:
    """What a party has for a round, on its way to whoever plays all three."""

    def __init__(self, messages: Mapping[str, Words], due: Mapping[str, int]) -> None:
        self.messages, self.due = messages, due

    def __await__(self) -> Generator[_Round, Mapping[str, Words], Mapping[str, Words]]:
        return (yield self)


@dataclass
class Line:
    """A party's lines to the other two: `meddle` may change what it sends in a round, by peer."""

    box: Traced
    meddle: Callable[[int, dict[str, Words]], None] | None = None
    keeps: Message | None = None
    """A message that is not sent."""
    sent: list[Message] = field(default_factory=list)
    contents: list[Words] = field(default_factory=list)
    """The words of each message that was sent, as it was meant."""

    async def carry(self, parcels: Sequence[Parcel], digest: Words) -> list[Answer]:
        """Returns what the others have for each parcel."""
        peers = self.box.peers
        messages = {peer: [digest] for peer in peers}
        due = dict.fromkeys(peers, digest.size)
        for parcel in parcels:
            for peer, words in parcel.sent.items():
                self._note(parcel, peer, sum(part.size for part in messages[peer]), words.ravel())
                messages[peer].append(words.ravel())
            for peer, size in parcel.due.items():
                due[peer] += size
        whole = {peer: np.concatenate(parts) for peer, parts in messages.items()}
        if self.meddle is not None:
            self.meddle(self.box.rounds, whole)
        if self.keeps is not None and self.box.rounds == self.keeps.round:
            del whole[self.keeps.peer]
        heard = await _Round(whole, due)
        for peer in peers:
            if not np.array_equal(heard[peer][: digest.size], digest):
                raise PeerError(party=peer, step="box", reason="its public decisions differ")
        starts, answers = dict.fromkeys(peers, digest.size), list[Answer]()
        for parcel in parcels:
            answer = {}
            for peer, size in parcel.due.items():
                answer[peer] = heard[peer][starts[peer] : starts[peer] + size]
                starts[peer] += size
            answers.append(answer)
        return answers

    def _note(self, parcel: Parcel, peer: str, first: int, words: Words) -> None:
        parts = self.box.opening
        if isinstance(parcel, Labelled):
            parts = [(parcel.kind, words.size)]
        elif peer == self.box.peers[1]:
            parts = [("hash of what is opened", words.size)]
        start = 0
        for kind, size in parts:
            self.sent.append(Message(self.box.rounds, peer, kind, first + start, size))
            self.contents.append(words[start : start + size])
            start += size


class Traced(Checked):
    """A box that notes what it sends and what it is shown."""

    def __init__(self, place: int, number: int = 0) -> None:
        seeds = seeds_of(number)
        channel: Any = SimpleNamespace(me=PARTIES[place], step="box")
        super().__init__(channel, PARTIES, (seeds[place], seeds[(place + 1) % 3]))
        self.peers = (self._previous, self._next)
        self.line = Line(self)
        self._lines = self.line  # type: ignore[assignment]
        self.shown: list[bytes] = []
        self.opening: list[tuple[str, int]] = []
        self.coins: list[int] = []
        """Words of keys and coins, which all come from chance."""

    async def _swap(self, sent: Mapping[str, Words], due: Mapping[str, int]) -> Answer:
        (answer,) = await self._steps.exchange([Labelled(sent, due, kind=_kind())])
        return answer

    async def coin(self, secret: Words) -> tuple[Words, Rng]:
        """Opens keys and a coin."""
        keys, rng = await super().coin(secret)
        self.coins += [*keys.tolist(), int(rng.stream("noted").words(1)[0])]
        return keys, rng

    async def exactly(self, shares: Words) -> Words:
        """Returns shared words for everybody."""
        if not shares.size:
            return await super().exactly(shares)
        (answer,) = await self._steps.exchange([LabelledOpening(shares=shares, kind=_kind())])
        return answer[OPENED]

    async def _round(self, parcels: Sequence[Parcel]) -> list[Answer]:
        self.opening = []
        for parcel in parcels:
            if isinstance(parcel, Product):
                planes = parcel.y.shape[1] * parcel.y.shape[2] + parcel.units
                self.opening.append(("factors of an AND", planes))
            elif isinstance(parcel, LabelledOpening):
                self.opening.append((parcel.kind, parcel.shares[0].size))
        return await super()._round(parcels)

    async def _reveal(self, value: Shared, to: int | None = None) -> Words | None:
        words = await super()._reveal(value, to)
        self.shown.append(b"" if words is None else words.tobytes())
        return words

    async def _precedes(self, a: Shared, b: Shared) -> Words:
        words = await super()._precedes(a, b)
        self.shown.append(words.tobytes())
        return words


@dataclass(frozen=True)
class Outcome:
    """How one party's run ended, and what it was shown until then."""

    error: CoveyError | None
    shown: list[bytes]


Role = Callable[[Traced], Awaitable[None]]


def play(role: Role, boxes: Sequence[Traced]) -> list[Outcome]:
    """Plays three boxes, each as far as the messages that it is sent allow."""
    works = {place: _run(role, box) for place, box in enumerate(boxes)}
    errors: dict[int, CoveyError] = {}
    lines: dict[tuple[str, str], deque[Words]] = {(a, b): deque() for a in PARTIES for b in PARTIES}
    waiting: dict[int, _Round | None] = dict.fromkeys(works)
    moving = True
    while moving:
        moving = False
        for place, work in tuple(works.items()):
            asked = waiting[place]
            if asked is not None and not all(lines[peer, PARTIES[place]] for peer, size in asked.due.items() if size):
                continue
            moving = True
            try:
                heard = None if asked is None else _heard(PARTIES[place], asked, lines)
                waiting[place] = request = work.send(heard)
            except StopIteration:
                del works[place]
            except CoveyError as error:
                errors[place] = error
                del works[place]
            else:
                for peer, words in request.messages.items():
                    if words.size:
                        lines[PARTIES[place], peer].append(words)
    for place, work in works.items():
        work.close()
        errors[place] = Aborted("another party has ended", resumable=False)
    return [Outcome(errors.get(place), box.shown) for place, box in enumerate(boxes)]


def _heard(party: str, asked: _Round, lines: Mapping[tuple[str, str], deque[Words]]) -> dict[str, Words]:
    heard = {peer: lines[peer, party].popleft() if size else NOTHING for peer, size in asked.due.items()}
    for peer, words in heard.items():
        if words.size != asked.due[peer]:
            raise PeerError(party=peer, step="box", reason="another number of words than is due")
    return heard


def _run(role: Role, box: Traced) -> Generator[_Round, Mapping[str, Words] | None, None]:
    return role(box).__await__()


def flipped(message: Message, bit: int) -> Callable[[int, dict[str, Words]], None]:
    """Returns a meddler that flips one bit of a message."""

    def meddle(number: int, messages: dict[str, Words]) -> None:
        if number == message.round:
            word, place = divmod(bit % (64 * message.size), 64)
            changed = messages[message.peer].copy()
            changed[message.first + word] ^= np.uint64(1) << np.uint64(place)
            messages[message.peer] = changed

    return meddle


def repeated(earlier: Message, message: Message) -> Callable[[int, dict[str, Words]], None]:
    """Returns a meddler that sends what it sent before in place of a message."""
    kept: list[Words] = []

    def meddle(number: int, messages: dict[str, Words]) -> None:
        if number == earlier.round and not kept:
            kept.append(messages[earlier.peer][earlier.first : earlier.first + earlier.size])
        if number == message.round and kept:
            changed = messages[message.peer].copy()
            changed[message.first : message.first + message.size] = np.resize(kept[0], message.size)
            messages[message.peer] = changed

    return meddle
