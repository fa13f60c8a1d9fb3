"""Tests on encrypted numbers: is it zero? Nothing else of a number is opened.

Source    the note's thermometer-OR. Each helper among the trustees multiplies a ciphertext by a random factor of its
          own and re-randomises it; the collector adds the helpers' up, so that the factor is a sum that nobody knows;
          then the sum is opened. Zero stays zero, and any other number becomes a random one.
Order     where even *which* of several numbers is zero must not be seen, the helpers do this one after the other, and
          each brings the numbers of a group into random order: then only how many of a group are zero is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from covey.crypto.elgamal import Ciphertexts, opened, rerandomise
from covey.crypto.group import Points, Scalars
from covey.crypto.threshold import Trustee
from covey.errors import PeerError
from covey.protocols.collect.keys import Opening
from covey.secure import committee, lists
from covey.secure.lists import Elements
from covey.wire import Channel, Message, gather

Bits = NDArray[np.bool_]
LARGEST = 1 << 24


class Task(Message, tag="collect.task"):
    """What the collector asks a helper for next; `sizes` are the groups that are to be brought into random order."""

    what: Literal["blind", "wait", "open", "done"]
    number: Annotated[int, Meta(ge=0, le=LARGEST)]
    sizes: Annotated[list[Annotated[int, Meta(ge=1, le=LARGEST)]], Meta(max_length=1 << 20)]


class Numbers(Elements, tag="collect.to-blind"):
    """Ciphertexts that are to be blinded: first halves, then second halves."""


class Blinded(Elements, tag="collect.blinded"):
    """The same, multiplied by random factors and re-randomised."""


class Tester:
    """The collector's way to its helpers; every task has a step of its own."""

    def __init__(self, channel: Channel, opening: Opening) -> None:
        self._channel, self._opening = channel, opening
        self._steps = count()

    async def open(self, ciphertexts: Ciphertexts) -> Points:
        """What the ciphertexts hold, as multiples of the generator."""
        channel, opening = self._channel.at(next(self._steps)), self._opening
        await self._tell(channel, Task("open", len(ciphertexts), []))
        theirs = await committee.unlock(channel.at("open"), opening.committee, opening.helpers, ciphertexts)
        return opened(ciphertexts, [theirs, opening.own.unlock(ciphertexts)])

    async def zeros(self, ciphertexts: Ciphertexts) -> Bits:
        """Which of them are zero."""
        if not len(ciphertexts):
            return np.zeros(0, dtype=bool)
        channel = self._channel.at(next(self._steps))
        parts = await gather(*(self._blind(channel, helper, ciphertexts, ()) for helper in self._opening.helpers))
        total = parts[0]
        for part in parts[1:]:
            total = total.plus(part)
        return (await self.open(total)).identities()

    async def zeros_in(self, ciphertexts: Ciphertexts, sizes: Sequence[int]) -> list[int]:
        """How many of each group (so many, one group after the other) are zero."""
        for helper in self._opening.helpers:
            channel = self._channel.at(next(self._steps))
            others = [other for other in self._opening.helpers if other != helper]
            await gather(*(channel.send(other, Task("wait", 0, [])) for other in others))
            ciphertexts = await self._blind(channel, helper, ciphertexts, sizes)
        marked = (await self.open(ciphertexts)).identities()
        ends = np.cumsum(sizes)
        return [int(marked[end - size : end].sum()) for end, size in zip(ends.tolist(), sizes, strict=True)]

    async def dismiss(self) -> None:
        """The helpers have nothing more to do."""
        await self._tell(self._channel.at(next(self._steps)), Task("done", 0, []))

    async def _tell(self, channel: Channel, task: Task) -> None:
        await gather(*(channel.send(helper, task) for helper in self._opening.helpers))

    async def _blind(
        self, channel: Channel, helper: str, ciphertexts: Ciphertexts, sizes: Sequence[int]
    ) -> Ciphertexts:
        await channel.send(helper, Task("blind", len(ciphertexts), list(sizes)))
        at = channel.at("blind")
        await lists.send(at, helper, Numbers, [ciphertexts.first, ciphertexts.second])
        first, second = await lists.receive(at, helper, Blinded, columns=2, due=len(ciphertexts))
        return Ciphertexts(first, second)


@dataclass(frozen=True)
class Helper:
    """A trustee's way through its tasks."""

    trustee: Trustee
    key: Points
    hub: str

    async def serve(self, channel: Channel, positions: int | None) -> None:
        """Does what the collector asks for until it says that this was all.

        So many positions are opened first, and once: whatever is opened later was blinded before.
        """
        for step in count():
            at = channel.at(step)
            task = await at.receive(self.hub, Task)
            if task.what == "done":
                return
            if step == 0 and positions is not None and (task.what != "open" or task.number != positions):
                raise PeerError(
                    party=self.hub, step=at.step, reason="it did not ask for every position once, and first"
                )
            if task.what == "open":
                await committee.serve(at.at("open"), self.trustee, self.hub, task.number)
            elif task.what == "blind":
                await self._blind(at.at("blind"), task)

    async def _blind(self, channel: Channel, task: Task) -> None:
        first, second = await lists.receive(channel, self.hub, Numbers, columns=2, due=task.number, distinct=False)
        if task.sizes and sum(task.sizes) != task.number:
            raise PeerError(party=self.hub, step=channel.step, reason="the groups are not the numbers to blind")
        made = blind(Ciphertexts(first, second), self.key, task.sizes, channel)
        await lists.send(channel, self.hub, Blinded, [made.first, made.second])


def blind(ciphertexts: Ciphertexts, key: Points, sizes: Sequence[int], channel: Channel) -> Ciphertexts:
    """Random multiples, re-randomised, and in random order within each group."""
    factors = Scalars.draw(channel.rng.stream("factors"), len(ciphertexts))
    if sizes:
        stream, start, order = channel.rng.stream("order"), 0, []
        for size in sizes:
            order.append(stream.permutation(size) + start)
            start += size
        ciphertexts = ciphertexts.take(np.concatenate(order))
    return rerandomise(ciphertexts.scaled(factors), key, channel.rng.stream("fresh"))
