"""An estimate of what a run costs, added up message by message as the run would send them.

Rounds are counted as the channel counts them: a message is one deeper than the deepest that its sender has read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ParamSpec

from covey.protocols.protocol import Forecast
from covey.secure.declare import Cost, Leakage
from covey.study import Study
from covey.wire import FRAME_BYTES

P = ParamSpec("P")

SMALL_BYTES = FRAME_BYTES + 48
"""Bytes of a message with a number or two."""


@dataclass
class CostEstimate:
    """Messages, bytes and rounds so far, and each party's depth: the longest chain of messages behind what it read."""

    depth: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    messages: int = 0
    bytes: int = 0
    floor: int = 0
    """The depth that every party has at least."""

    def send(self, sender: str, to: str, messages: int, size: int) -> None:
        """One party sends so many messages, of `size` bytes in all, and the other waits for them."""
        self.count(messages, size)
        self._read(to, self._depth(sender) + 1)

    def exchange(self, parties: Iterable[str], messages: int, size: int) -> None:
        """Every party sends to every other at the same time; `messages` and `size` are of all of it together."""
        names = tuple(parties)
        said = {name: self._depth(name) + 1 for name in names}
        for name in names:
            for other in names:
                if other != name:
                    self._read(name, said[other])
        self.count(messages, size)

    def broadcast_each(self, parties: Sequence[str], size: int, messages: int = 1) -> None:
        """Every party sends to every other at the same time, each so many messages of `size` bytes in all."""
        pairs = len(parties) * (len(parties) - 1)
        self.exchange(parties, pairs * messages, pairs * size)

    def then(self, cost: Cost[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """Adds a block of all parties that begins when everything before it is over."""
        block = cost.of(*args, **kwargs)
        self.count(block.messages, block.bytes)
        self.rounds += block.rounds
        self.floor = self.rounds

    def count(self, messages: int, size: int) -> None:
        """Adds messages for which nobody waits."""
        self.messages += messages
        self.bytes += size

    def forecast(self, seconds: float, learns: Mapping[str, tuple[str, ...]], mind: tuple[str, ...] = ()) -> Forecast:
        """The forecast of a run that costs so much, with so many seconds of computing."""
        return Forecast(self.rounds, self.messages, self.bytes, seconds, learns, mind)

    def beside(self) -> CostEstimate:
        """An estimate of something that goes on beside; `join` adds it."""
        return CostEstimate(dict(self.depth), self.rounds, floor=self.floor)

    def join(self, parts: Iterable[CostEstimate]) -> None:
        """Adds what went on beside."""
        for part in parts:
            self.count(part.messages, part.bytes)
            self.rounds, self.floor = max(self.rounds, part.rounds), max(self.floor, part.floor)
            for name, depth in part.depth.items():
                self._read(name, depth)

    def _depth(self, name: str) -> int:
        return max(self.depth.get(name, 0), self.floor)

    def _read(self, name: str, depth: int) -> None:
        self.depth[name] = max(self._depth(name), depth)
        self.rounds = max(self.rounds, depth)


def learned_by_role(
    study: Study,
    role_name: Callable[[Study, str], str],
    lessons: Sequence[tuple[Leakage, Mapping[str, object]]],
) -> dict[str, tuple[str, ...]]:
    """The sentences that each party's role will have learned of these lessons."""
    roles = {party.name: role_name(study, party.name) for party in study.parties}
    return {
        name: tuple(line for part, numbers in lessons for line in part.sentences(role, **numbers))
        for name, role in roles.items()
    }
