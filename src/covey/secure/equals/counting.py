"""Tags of shared numbers, groups of equal ones, and what is opened of large groups."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Words
from covey.crypto.group import Points, Scalars, generator_times
from covey.crypto.scalar_field import FQ, numbers
from covey.errors import Aborted
from covey.secure.equals.shuffling import Shuffler
from covey.secure.equals.supply import TripleSupply
from covey.secure.equals.trustees import Trustees
from covey.wire import Channel, Chunk, while_sending

Groups = list[list[int]]
"""The places of equal numbers, group by group."""
Admits = Callable[[Channel, "Counter", Words, Groups], Awaitable[Groups]]
"""Of large groups of shuffled rows (rows x columns, shares), those of which something may be opened."""


class Powers(Chunk[Points], tag="equals.powers"):
    """The sender's shares of random numbers, in the exponent."""

    values: Points


@dataclass(frozen=True)
class GroupSizes:
    """The sizes of all groups, largest first; those of the groups of which something was opened, and what."""

    sizes: tuple[int, ...]
    large: list[int]
    opened: list[list[int]]


@dataclass
class Counter:
    """A trustee's part in counting equals."""

    trustees: Trustees
    supply: TripleSupply
    shuffler: Shuffler
    batch: int = 1000
    """Products that are made at once, at least, where the stock does not suffice."""

    async def count(
        self, channel: Channel, rows: Words, least: int, *, admits: Admits | None = None, members: int | None = None
    ) -> GroupSizes:
        """Counts equal numbers in the first column, and opens the second one of groups of `least` rows or more.

        With `members`, of so many rows of each such group. No trustee gives a share for a smaller group, or for one
        that `admits` leaves out: the decision follows from the tags, which each computes.
        """
        await self.require(channel.at("stock"), len(rows) + 1)
        mixed = await self.shuffler.shuffle(channel.at("shuffle"), self.trustees, rows)
        groups = await self.groups(channel.at("tags"), np.ascontiguousarray(mixed[:, 0]))
        large = [group for group in groups if len(group) >= least]
        if admits is not None and large:
            large = await admits(channel.at("admit"), self, mixed, large)
        places = [place for group in large for place in group[:members]]
        shown = iter((await self.trustees.open(channel.at("open"), mixed[places, 1])).tolist() if places else [])
        sizes = sorted(map(len, groups), reverse=True)
        return GroupSizes(tuple(sizes), [*map(len, large)], [[next(shown) for _ in group[:members]] for group in large])

    async def groups(self, channel: Channel, shares: Words, among: Sequence[Sequence[int]] | None = None) -> Groups:
        """The groups of equal numbers; `among` are sets of places, each with a secret of its own."""
        own = [range(len(shares))] if among is None else among
        places = [place for part in own for place in part]
        secrets = [self.supply.secret()[0] for _ in own]
        secret = numbers(secrets[number] for number, part in enumerate(own) for _ in part)
        tags = await self.tags(channel, FQ.add(shares[places], secret))
        found: dict[tuple[int, bytes], list[int]] = {}
        numbered = [number for number, part in enumerate(own) for _ in part]
        for place, number, tag in zip(places, numbered, tags, strict=True):
            found.setdefault((number, tag), []).append(place)
        return list(found.values())

    async def tags(self, channel: Channel, shares: Words) -> list[bytes]:
        """For each shared number x the point (1 / x) G, spelled."""
        if not len(shares):
            return []
        trustees, made = self.trustees, self.supply.take(len(shares))
        masked = await trustees.open(channel.at("masked"), FQ.subtract(shares, made.second))
        blinded = FQ.add(FQ.multiply(made.first, masked), made.product)
        own = await asyncio.to_thread(lambda: generator_times(Scalars.of(made.first.tolist())))

        shown = {trustees.places[trustees.me]: own}

        async def show() -> None:
            theirs = await channel.at("powers").exchange_all(Powers, own)
            shown.update({trustees.places[name]: points for name, points in theirs.items()})

        opened = await while_sending(show(), trustees.open(channel.at("blinded"), blinded))
        if not all(opened.tolist()):
            raise Aborted("a number that must be random is zero; run the collection again", resumable=False)
        return await asyncio.to_thread(self._unblinded, channel, shown, opened)

    def _unblinded(self, channel: Channel, powers: dict[int, Points], blinded: Words) -> list[bytes]:
        total, scale = self.trustees.open_power(channel, powers)
        factors = FQ.inverse(FQ.scale(blinded, FQ.elements([scale])[0]))
        return list(total.times(Scalars.of(factors.tolist())))

    async def require(self, channel: Channel, count: int) -> None:
        """Makes products where there are too few in stock for so many numbers."""
        if len(self.supply) < count:
            await self.supply.make(channel, self.trustees, max(count, self.batch))


def ideal(rows: Sequence[tuple[int, int]], least: int) -> GroupSizes:
    """Returns a trusted party's answer about rows of a number and of what is opened of large groups."""
    groups: dict[int, list[int]] = {}
    for number, shown in rows:
        groups.setdefault(number, []).append(shown)
    sizes = sorted((len(group) for group in groups.values()), reverse=True)
    large = sorted(sorted(group) for group in groups.values() if len(group) >= least)
    return GroupSizes(tuple(sizes), [*map(len, large)], large)
