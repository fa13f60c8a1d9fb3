"""Zero tests on encrypted numbers: nothing else of a number is opened.

Source    ours. Each helper among the trustees multiplies a ciphertext by a random factor of its own and
          re-randomises it. The collector adds the helpers' ciphertexts up, so that the factor is a sum that nobody
          knows; then the sum is opened. Zero stays zero, and any other number becomes a random one.
Order     where nobody may see *which* of several numbers are zero, the helpers do this one after the other, and each
          brings the numbers of a group into random order. Then only the number of zeros in a group is opened.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Annotated, Literal, TypeVar

import numpy as np
from msgspec import Meta

from covey.arrays import Bits
from covey.crypto.elgamal import Ciphertexts, opened, rerandomise
from covey.crypto.group import Points, Scalars
from covey.crypto.threshold_key import Trustee
from covey.errors import Unmet
from covey.protocols.as_printed.collect import committee
from covey.protocols.as_printed.collect.keys import OpeningSetup
from covey.protocols.protocol import EVERYONE, Attendance
from covey.protocols.shared import roll
from covey.secure import lists
from covey.secure.lists import Elements
from covey.wire import Channel, Message, gather

T = TypeVar("T")
LARGEST = 1 << 24


class Task(Message, tag="collect.task"):
    """The next task of a helper; `sizes` are the groups that are to be brought into random order."""

    what: Literal["blind", "open", "done"]
    number: Annotated[int, Meta(ge=0, le=LARGEST)]
    sizes: Annotated[list[Annotated[int, Meta(ge=1, le=LARGEST)]], Meta(max_length=1 << 20)]


class ToBlind(Elements, tag="collect.to-blind"):
    """Ciphertexts that are to be blinded: first halves, then second halves."""


class BlindedCiphertexts(Elements, tag="collect.blinded"):
    """Blinded ciphertexts: multiplied by random factors and re-randomised."""


class Tester:
    """The collector's way to its helpers; each of them has its tasks numbered by itself.

    A majority of the trustees is asked. The others are spares: one takes the place of each helper that leaves, and has
    the task anew; what the rest did stays of use. Blinding needs a majority as well, so that one of them is honest.
    """

    def __init__(self, channel: Channel, opening: OpeningSetup, attendance: Attendance = EVERYONE) -> None:
        self._channel, self._opening, self._attendance = channel, opening, attendance
        self._steps = {name: count() for name in opening.trustees}
        self._there = list(opening.trustees)

    async def open(self, ciphertexts: Ciphertexts) -> Points:
        """Opens ciphertexts, as multiples of the generator. Raises Unmet below a majority of trustees."""
        opening = self._opening

        async def ask(helper: str) -> Points:
            channel = await self._task(helper, Task("open", len(ciphertexts), []))
            place = opening.trustees[helper]
            return await committee.part_of(channel.at("open"), opening.committee, helper, place, ciphertexts)

        parts = await self._majority(ask)
        theirs = opening.committee.combine({opening.trustees[name]: part for name, part in parts.items()})
        return opened(ciphertexts, [theirs, opening.own.unlock(ciphertexts)])

    async def zeros(self, ciphertexts: Ciphertexts) -> Bits:
        """Marks the ciphertexts that are zero."""
        if not len(ciphertexts):
            return np.zeros(0, dtype=bool)
        first, *others = (await self._majority(lambda helper: self._blind(helper, ciphertexts, ()))).values()
        total = first
        for part in others:
            total = total.plus(part)
        return (await self.open(total)).identities()

    async def zeros_in(self, ciphertexts: Ciphertexts, sizes: Sequence[int]) -> list[int]:
        """The number of zeros in each group; `sizes` are those of the groups, one after the other."""
        done: set[str] = set()
        while len(done) < self._opening.committee.threshold:
            helper = self._next(done)
            blinded = await roll.call(
                self._attendance, [helper], partial(self._blind, ciphertexts=ciphertexts, sizes=sizes)
            )
            if helper in blinded:
                ciphertexts = blinded[helper]
                done.add(helper)
            else:
                self._there.remove(helper)
        marked = (await self.open(ciphertexts)).identities()
        ends = np.cumsum(sizes)
        return [int(marked[end - size : end].sum()) for end, size in zip(ends.tolist(), sizes, strict=True)]

    async def dismiss(self) -> None:
        """The trustees have nothing more to do."""
        await gather(*(self._task(name, Task("done", 0, [])) for name in self._there))

    async def _majority(self, work: Callable[[str], Awaitable[T]]) -> dict[str, T]:
        """The answers of a majority of the trustees; spares are asked for those who leave, until there are none."""
        found: dict[str, T] = {}
        while (lacking := self._opening.committee.threshold - len(found)) > 0:
            self._next(set(found))
            asked = [name for name in self._there if name not in found][:lacking]
            answers = await roll.call(self._attendance, asked, work)
            found |= answers
            self._there = [name for name in self._there if name in answers or name not in asked]
        return found

    def _next(self, done: set[str]) -> str:
        """The next trustee to ask. Raises Unmet where fewer than a majority are left."""
        if len(self._there) < self._opening.committee.threshold:
            needed, chosen = self._opening.committee.threshold, len(self._opening.trustees)
            raise Unmet(
                f"fewer than {needed} of {chosen} trustees are left, and nothing can be opened without them; "
                "nothing was released"
            )
        return next(name for name in self._there if name not in done)

    async def _task(self, helper: str, task: Task) -> Channel:
        channel = self._channel.at(next(self._steps[helper]))
        await channel.send(helper, task)
        return channel

    async def _blind(self, helper: str, ciphertexts: Ciphertexts, sizes: Sequence[int]) -> Ciphertexts:
        at = (await self._task(helper, Task("blind", len(ciphertexts), list(sizes)))).at("blind")
        await lists.send(at, helper, ToBlind, [ciphertexts.first, ciphertexts.second])
        first, second = await lists.receive(at, helper, BlindedCiphertexts, columns=2, due=len(ciphertexts))
        return Ciphertexts(first, second)


@dataclass(frozen=True)
class Helper:
    """A trustee's side of all tasks; a spare has none but the last, unless another trustee leaves."""

    trustee: Trustee
    key: Points
    hub: str

    async def serve(self, channel: Channel, positions: range | None) -> None:
        """Does what the collector asks for until it says that this was all.

        Whoever is asked from the beginning opens positions first, and once, those of all who answered together
        (`positions` are the numbers of them that there may be): whatever is opened later was blinded before. A spare
        may be asked at any time; it opens nothing without one of those.
        """
        for step in count():
            at = channel.at(step)
            task = await at.receive(self.hub, Task)
            if task.what == "done":
                return
            if step == 0 and positions is not None and (task.what != "open" or task.number not in positions):
                raise at.refusal(self.hub, "it did not ask for every position once, and first")
            if task.what == "open":
                await committee.serve(at.at("open"), self.trustee, self.hub, task.number)
            else:
                await self._blind(at.at("blind"), task)

    async def _blind(self, channel: Channel, task: Task) -> None:
        first, second = await lists.receive(channel, self.hub, ToBlind, columns=2, due=task.number, distinct=False)
        if task.sizes and sum(task.sizes) != task.number:
            raise channel.refusal(self.hub, "the groups are not the numbers to blind")
        made = blind(Ciphertexts(first, second), self.key, task.sizes, channel)
        await lists.send(channel, self.hub, BlindedCiphertexts, [made.first, made.second])


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
