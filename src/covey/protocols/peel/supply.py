"""Supply of threshold tests, prepared beside the visits that use them, and never many more than will soon be used.

What is ordered, and when, depends only on what is public, so that all parties prepare the same batches. Lanes work on
several batches at once: a batch takes several exchanges, and a visit should not wait for them. Whatever the number of
tests of a run, at most `STOCK` of them and a batch per lane are in memory. Tests against other bounds than k, which
diversity and insiders need now and then, have small stocks of their own, made by the same lanes.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Generator
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.crypto.factorial import shape
from covey.crypto.field import Field
from covey.errors import InputError
from covey.secure import absolute, threshold_test
from covey.secure import sum as secure_sum
from covey.secure.absolute import Signs
from covey.secure.threshold_test import Prepared
from covey.wire import Channel, depth

LANES = 4
BATCH = 1 << 16
SMALLEST = 256
STOCK = 1 << 20
"""Tests that are prepared ahead at most; a visit that needs more at once takes them in turn."""
SPARE = 128
"""Tests against another bound that are kept ready once it was used."""
PRODUCTS = 1 << 19
"""Shared products of a batch at most: tests against a large bound have many each."""


class JointNumbers(ABC):
    """All that the visits learn of joint numbers; a rehearsal answers from the numbers themselves instead."""

    @abstractmethod
    def foresee(self, tests: int) -> None:
        """That many tests will be needed soon; the number is public."""

    @abstractmethod
    async def reaches(self, channel: Channel, mine: Words) -> Bits:
        """The places at which the parties' numbers add up to the bound or more."""

    @abstractmethod
    def prepared(self, use: str, bound: int, width: int, field: Field | None = None) -> Awaitable[Prepared]:
        """Tests against another bound; they are ordered at once, in the order of the calls, which must be public."""

    async def open_products(
        self, channel: Channel, prepared: Prepared, mine: Words | Longs, *, together: int = 1
    ) -> Words:
        """A number for each test, or for `together` in a row: 0 where all sums are below the bound, else random."""
        return await threshold_test.open_products(channel, prepared, mine, together=together)

    async def signs(self, channel: Channel, width: int) -> Signs:
        """Random signs that nobody knows, for `absolutes`."""
        return await absolute.draw(channel, width)

    async def absolutes(self, channel: Channel, signs: Signs, prepared: Prepared, mine: Longs) -> Longs:
        """This party's summands of the absolute values of joint odd numbers."""
        return await absolute.absolutes(channel, signs, prepared, mine)

    async def none_negative(self, channel: Channel, mine: Longs) -> Bits:
        """The rows of joint numbers of which none is negative; between two parties."""
        raise InputError("rows of numbers are compared between two parties")

    async def total(self, channel: Channel, mine: Words) -> Words:
        """The sums of all parties' numbers, which everyone learns."""
        return await secure_sum.total(channel, mine)

    async def work(self) -> None:
        """One lane of what goes on beside the visits; nothing, where nothing is prepared."""
        return

    def close(self) -> None:
        """Nothing more will be tested."""
        return


_Batch = asyncio.Future[tuple[Prepared, int]]
"""Prepared tests, and how deep the messages were that had been read for them."""


@dataclass(frozen=True)
class _Order:
    supply: Supply
    number: int
    width: int
    read: int
    batch: _Batch


@dataclass(frozen=True)
class _Ordered:
    """Tests that were ordered, to be waited for; nothing is lost if nobody does."""

    supply: Supply
    width: int

    def __await__(self) -> Generator[object, None, Prepared]:
        return self.supply.take(self.width).__await__()


class Supply(JointNumbers):
    """Prepared tests against one bound, in the order in which they are taken."""

    def __init__(self, channel: Channel, bound: int, field: Field | None = None) -> None:
        self.channel = channel
        self.bound, self.field = bound, field
        self.made = 0
        """Tests that were ordered so far."""
        self._batches_made = 0
        self._taken = 0
        self._foreseen = 0
        self._batch = max(SMALLEST, min(BATCH, PRODUCTS // (2 + shape(bound).products)))
        self._orders: asyncio.Queue[_Order | None] = asyncio.Queue()
        self._others: dict[tuple[str, int], Supply] = {}
        self._batches: list[_Batch] = []
        self._front: list[Prepared] = []

    def foresee(self, tests: int) -> None:
        self._foreseen = self._taken + tests
        self._refill()

    async def reaches(self, channel: Channel, mine: Words) -> Bits:
        return np.asarray(await self.open_products(channel, await self.take(len(mine)), mine) != 0)

    async def take(self, width: int) -> Prepared:
        """The next tests, which are waited for if need be."""
        self._taken += width
        self._refill()
        parts, due = [], width
        while due > 0:
            if not self._front:
                prepared, read = await self._batches.pop(0)
                depth.consume(read)
                self._front.append(prepared)
            front = self._front.pop()
            first, rest = front.split(due)
            parts.append(first)
            due -= len(first)
            if len(rest):
                self._front.append(rest)
        return Prepared.join(parts)

    def prepared(self, use: str, bound: int, width: int, field: Field | None = None) -> Awaitable[Prepared]:
        """Tests against another bound, from a stock for each use of each bound."""
        if (use, bound) not in self._others:
            other = type(self)(self.channel.at(use, bound), bound, field)
            other._orders = self._orders
            self._others[use, bound] = other
        stock = self._others[use, bound]
        stock.foresee(width + SPARE)
        return _Ordered(stock, width)

    async def work(self) -> None:
        """One lane: prepares what is ordered until the supply is closed."""
        while (order := await self._orders.get()) is not None:
            depth.restart()  # a batch depends on its order, not on what its lane prepared before
            depth.consume(order.read)
            with order.supply.channel.at(order.number) as at:
                prepared = await self.prepare(at, order.supply.bound, order.width, order.supply.field)
            order.batch.set_result((prepared, depth.current()))

    async def prepare(self, channel: Channel, bound: int, width: int, field: Field | None) -> Prepared:
        """That many tests against the bound."""
        return await threshold_test.prepare(channel, bound, width, field)

    def close(self) -> None:
        """Nothing more will be taken; what is ordered is still made, because peers make it too."""
        for _ in range(LANES):
            self._orders.put_nowait(None)

    def _refill(self) -> None:
        """Orders what is foreseen once half of it is lacking: a few large batches cost less than many small ones."""
        soon = max(0, min(self._foreseen - self._taken, STOCK))
        if 2 * (self.made - self._taken) < soon or self.made < self._taken:
            self._order(self._taken + soon)

    def _order(self, until: int) -> None:
        while self.made < until:
            width = min(self._batch, max(SMALLEST, until - self.made))
            batch: _Batch = asyncio.get_running_loop().create_future()
            self._orders.put_nowait(_Order(self, self._batches_made, width, depth.current(), batch))
            self._batches.append(batch)
            self._batches_made += 1
            self.made += width
