"""An estimate of what a run costs, added up message by message as the run would send them.

Rounds are counted as the channel counts them: a message is one deeper than the deepest that its sender has read. Where
the data decide, the run is rehearsed in the clear on a table like the parties', of a size that takes seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ParamSpec

from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.protocols.protocol import Forecast
from covey.secure.declare import Cost, Lesson
from covey.study import Study
from covey.wire import FRAME_BYTES

P = ParamSpec("P")

SMALL_BYTES = FRAME_BYTES + 48
"""Bytes of a message with a number or two."""
LEAST_K = 2
"""The smallest k that a rehearsal with fewer records takes in place of the study's."""


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

    def forecast(self, seconds: float, lessons: Sequence[Lesson], mind: tuple[str, ...] = ()) -> Forecast:
        """The forecast of a run that costs so much, with so many seconds of computing, and teaches these lessons."""
        return Forecast(self.rounds, self.messages, self.bytes, seconds, lessons, mind)

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


@dataclass(frozen=True)
class Rehearsal:
    """The cost of what was rehearsed, and the number of classes that came of it."""

    cost: CostEstimate = field(default_factory=CostEstimate)
    classes: int = 1


def carry_on(study: Study, play: Callable[[Study, int], Rehearsal], records: int, most: int) -> Rehearsal:
    """The rehearsal of a run over so many records; of a large table it plays `most` of them, for a k as much smaller.

    How fast messages and bytes then grow with the table is taken from a second rehearsal, with half as many records;
    rounds grow by as much with each doubling.
    """
    if records <= most:
        return play(study, records)

    def smaller(number: int) -> Rehearsal:
        k = min(study.privacy.k, max(LEAST_K, -(-study.privacy.k * number // records)))
        return play(with_k(study, k), number)

    whole, half, times = smaller(most), smaller(most // 2), records / most
    cost, less = whole.cost, half.cost
    rounds = cost.rounds + int(max(0, cost.rounds - less.rounds) * math.log2(times))
    pairs = (cost.messages, less.messages), (cost.bytes, less.bytes), (whole.classes, half.classes)
    return _rehearsal(rounds, *(_grown(large, small, times) for large, small in pairs))


def rehearse_often(
    study: Study, play: Callable[[Study, int, Secret], Rehearsal], records: int, most: int, seed: Secret
) -> Rehearsal:
    """The same as `carry_on`, with the mean of a few rehearsals for each, every one with a seed of its own."""

    def often(smaller: Study, number: int) -> Rehearsal:
        turns = range(3 if 2 * number <= most else 2)  # two take long enough where as many are played as ever
        return _mean([play(smaller, number, derive(seed, "turn", turn)) for turn in turns])

    return carry_on(study, often, records, most)


def _mean(found: Sequence[Rehearsal]) -> Rehearsal:
    numbers = [(each.cost.rounds, each.cost.messages, each.cost.bytes, each.classes) for each in found]
    return _rehearsal(*(round(sum(own) / len(own)) for own in zip(*numbers, strict=True)))


def _rehearsal(rounds: int, messages: int, size: int, classes: int) -> Rehearsal:
    return Rehearsal(CostEstimate(rounds=rounds, messages=messages, bytes=size, floor=rounds), classes)


def with_k(study: Study, k: int) -> Study:
    """The study with another k."""
    return replace(study, privacy=replace(study.privacy, k=k))


def _grown(large: int, small: int, times: float) -> int:
    """A number as it is in so many times as large a table, from that of a table and of one half as large."""
    power = math.log2(max(large, 1) / max(small, 1))
    return int(large * times ** min(max(power, 0.0), 2.0))
