"""A network that misbehaves in a way that one number repeats: late, lost, repeated, out of order, cut.

What happens to a frame depends on the seed, the pair and the frame's place among that pair's frames, so
that a failing seed fails again. A link promises order and integrity; `loss`, `repeat` and `swap` break that
promise on purpose, and the channel has to notice. `delay` keeps it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from covey.crypto.rng import Rng, Stream
from covey.crypto.secret import Secret
from covey.wire.memory import MemoryNetwork


@dataclass(frozen=True)
class Weather:
    """How bad it is: seconds of delay at most, and how often in a thousand frames each thing happens."""

    delay: float = 0.0
    loss: int = 0
    repeat: int = 0
    swap: int = 0
    cut_at: int | None = None
    """The frame, counted over all pairs, with which its sender drops off the network."""


def seed_of(number: int) -> Secret:
    """The seed that a test's number stands for."""
    return Secret(number.to_bytes(32, "big"))


class FaultyNetwork(MemoryNetwork):
    """Lines with weather. With `beats` they carry heartbeats, as TLS does, until they lose a frame or hold one back."""

    def __init__(self, names: Iterable[str], weather: Weather, seed: int, *, beats: bool = False) -> None:
        super().__init__(names)
        self.weather = weather
        self._beats = beats
        self._lossy: set[tuple[str, str]] = set()
        self._rng = Rng(seed_of(seed))
        self._carried: Counter[tuple[str, str]] = Counter()
        self._due: dict[tuple[str, str], float] = {}
        self._kept: dict[tuple[str, str], bytes] = {}
        self._frames = 0
        self._heard: dict[tuple[str, str], float] = {}

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        """Takes a frame across, if the weather lets it."""
        pair = (sender, recipient)
        fate = self._rng.stream("fate", sender, recipient, self._carried[pair])
        self._carried[pair] += 1
        if self._frames == self.weather.cut_at:
            self.leave(sender, "dropped off the network")
        self._frames += 1
        for copy in self._fallen(pair, frame, fate):
            await self._travel(pair, copy, fate)

    async def take(self, sender: str, recipient: str) -> bytes:
        """The next frame on that line, which is also a sign of life."""
        frame = await super().take(sender, recipient)
        self._heard[sender, recipient] = asyncio.get_running_loop().time()
        return frame

    def heard(self, sender: str, recipient: str) -> float:
        """When the recipient last got a frame of that sender: on this network a party can fall silent."""
        if self._beats and (sender, recipient) not in self._lossy | set(self._kept):
            return super().heard(sender, recipient)
        return self._heard.get((sender, recipient), float("-inf"))

    def hang_up(self, sender: str, recipient: str, reason: str) -> None:
        """A line goes down once what is under way on it has arrived."""
        due = self._due.get((sender, recipient), 0.0)
        asyncio.get_running_loop().call_at(due, super().hang_up, sender, recipient, reason)

    def _fallen(self, pair: tuple[str, str], frame: bytes, fate: Stream) -> list[bytes]:
        """The frames that set out now in place of this one."""
        if fate.below(1000) < self.weather.loss:
            self._lossy.add(pair)
            return []
        if fate.below(1000) < self.weather.repeat:
            return [frame, frame]
        if pair in self._kept:
            return [frame, self._kept.pop(pair)]
        if fate.below(1000) < self.weather.swap:
            self._kept[pair] = frame
            return []
        return [frame]

    async def _travel(self, pair: tuple[str, str], frame: bytes, fate: Stream) -> None:
        if not self.weather.delay:
            await super().carry(*pair, frame)
            return
        loop = asyncio.get_running_loop()
        late = self.weather.delay * fate.below(1 << 20) / (1 << 20)
        due = max(self._due.get(pair, 0.0) + 1e-6, loop.time() + late)  # no two at once: timers do not keep order
        self._due[pair] = due
        loop.call_at(due, self.deliver, *pair, frame)
