"""Ranges: everyone learns whether a joint count lies in a forbidden range, and not the count.

Source    ours, beside `covey.secure.threshold`: any range, also of sums and multiples of counts. Shamir's shares of the
          product of (count - j) over the forbidden numbers j, times a random factor, are opened: 0 if the count is one
          of them, uniform if it is not. The product is taken in a tree, one exchange per level.
Roles     every party alike, three or more by shares.
Security  semi-honest, up to (m - 1) // 2 of m colluders. A wrong answer has a chance of 2^-61.
Two       parties cannot share: there a count is said to reach k if both have half of it. Some that reach it are
          missed, which costs a little loss; nothing but those answers is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from covey.crypto import sharing
from covey.crypto.dealing import Dealing
from covey.crypto.field import F61, Elements, Words
from covey.crypto.rng import Rng
from covey.secure import conjunction
from covey.secure.declare import Cost
from covey.wire import FRAME_BYTES, Channel, Message, gather

Bits = NDArray[np.bool_]
Longs = NDArray[np.int64]

ELEMENTS = 1 << 19
"""Numbers per message: four mebibytes."""

MESSAGE_BYTES = FRAME_BYTES + 34


class Dealt(Message, tag="range.dealt"):
    """Shares of the sender's numbers that the recipient cannot derive: uniform to it."""

    shares: Elements


class Opened(Message, tag="range.opened"):
    """The sender's part of the products, under masks that add up to nothing."""

    parts: Elements


@dataclass(frozen=True)
class Counts:
    """Numbers of all parties together, of which each party knows its own part and, among three, a share."""

    mine: Longs = field(repr=False)
    shares: Words | None = field(repr=False)

    def grouped(self, group: Longs, groups: int) -> Counts:
        """The totals of these groups: adding needs no message. Group -1 takes no part."""
        own = np.zeros(groups, dtype=np.int64)
        placed = np.flatnonzero(group >= 0)
        np.add.at(own, group[placed], self.mine[placed])
        if self.shares is None:
            return Counts(own, None)
        total = np.zeros(groups, dtype=np.uint64)
        order = placed[np.argsort(group[placed], kind="stable")]
        sorted_groups = group[order]
        rank = np.arange(len(order)) - np.searchsorted(sorted_groups, sorted_groups)
        for step in range(int(rank.max(initial=-1)) + 1):
            now = rank == step
            total[sorted_groups[now]] = F61.add(total[sorted_groups[now]], self.shares[order[now]])
        return Counts(own, total)

    def difference(self, public: Longs, factor: int, here: Longs) -> Counts:
        """Public numbers less `factor` times the counts at these places. Among three or more only."""
        shares = np.zeros(0, dtype=np.uint64) if self.shares is None else self.shares[here]
        scaled = F61.scale(shares, F61.elements([factor])[0])
        return Counts(np.zeros(len(here), dtype=np.int64), F61.subtract(public.astype(np.uint64), scaled))

    def __len__(self) -> int:
        return len(self.mine)


class Table:
    """One party's place at the table for the tests of one step."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.two = len(channel.parties) == 2
        self._seeds = {} if self.two else channel.pairwise_seeds()
        self._places = sharing.places(channel.parties)
        self._calls = 0

    async def count(self, mine: Longs) -> Counts:
        """Joint counts from everyone's own."""
        if self.two:
            return Counts(mine, None)
        dealt = await self._deal(mine.astype(np.uint64))
        total = np.zeros(len(mine), dtype=np.uint64)
        for share in dealt.values():
            total = F61.add(total, share)
        return Counts(mine, total)

    async def reaches(self, counts: Counts, k: int) -> Bits:
        """Which counts are k or more."""
        if counts.shares is None:
            answer = await conjunction.conjoin(self._next(), counts.mine >= -(-k // 2))
            return np.zeros(0, dtype=bool) if answer is None else answer
        return ~await self.among(counts, range(k))

    async def none_or_many(self, counts: Counts, k: int) -> Bits:
        """Which counts are 0, or k or more: the two are not told apart."""
        if counts.shares is None:
            both = np.concatenate([counts.mine == 0, counts.mine >= -(-k // 2)])
            answer = await conjunction.conjoin(self._next(), both)
            return np.zeros(0, dtype=bool) if answer is None else answer[: len(counts)] | answer[len(counts) :]
        return ~await self.among(counts, range(1, k))

    async def among(self, counts: Counts, forbidden: Sequence[int]) -> Bits:
        """Which shared numbers are one of the forbidden ones."""
        if counts.shares is None or not len(forbidden):
            return np.zeros(len(counts), dtype=bool)
        width = max(1, 2 * ELEMENTS // len(forbidden))
        parts = [counts.shares[start : start + width] for start in range(0, len(counts), width)]
        answers = [await self._vanishes(part, forbidden) for part in parts]
        return np.concatenate([*answers, np.zeros(0, dtype=bool)])

    async def _vanishes(self, shares: Words, forbidden: Sequence[int]) -> Bits:
        """Opens the products times random numbers, which are dealt while the products are taken."""
        product, factor = await gather(self._product(shares, forbidden), self._random(self._next(), len(shares)))
        return await self._is_zero(F61.multiply(product, factor))

    async def _product(self, shares: Words, forbidden: Sequence[int]) -> Words:
        """Shares of the product over all forbidden numbers of the difference to each."""
        factors = np.stack([F61.subtract(shares, F61.elements([j]).repeat(len(shares))) for j in forbidden])
        while len(factors) > 1:
            half = len(factors) // 2
            product = await self._times(factors[:half].ravel(), factors[half : 2 * half].ravel())
            factors = np.concatenate([product.reshape(half, -1), factors[2 * half :]])
        return np.array(factors[0])

    async def _times(self, a: Words, b: Words) -> Words:
        """Shares of the products: each party shares its own product anew, with the low degree."""
        dealt = await self._deal(F61.multiply(a, b))
        return sharing.reduce_degree({self._places[name]: share for name, share in dealt.items()})

    async def _random(self, channel: Channel, width: int) -> Words:
        """Shares of numbers that nobody knows."""
        dealing = Dealing(channel.me, self._seeds, channel.step, last=True)
        random = dealing.deal_random(width, channel.rng.stream("random"))
        total = np.zeros(width, dtype=np.uint64)
        for share in (await self._handed(channel, dealing, *random)).values():
            total = F61.add(total, share)
        return total

    async def _is_zero(self, products: Words) -> Bits:
        """Opens what these products of shares stand for, and nothing of the polynomials."""
        channel = self._next()
        weights = sharing.weights(tuple(self._places.values()))
        masks = {peer: Rng(seed).stream("mask", channel.step) for peer, seed in self._seeds.items()}
        part = F61.scale(products, weights[self._places[channel.me] - 1])
        part = F61.add(part, sharing.pair_masks(channel.me, masks, len(products)))
        theirs = await channel.exchange(Opened(Elements(part)))
        for peer, answer in theirs.items():
            part = F61.add(part, sharing.accept(answer.parts.words, len(products), party=peer, step=channel.step))
        zero: Bits = part == 0
        return zero

    async def _deal(self, secrets: Words) -> dict[str, Words]:
        """Everyone's shares of its own numbers, by dealer."""
        channel = self._next()
        dealing = Dealing(channel.me, self._seeds, channel.step)
        return await self._handed(channel, dealing, *dealing.deal(secrets))

    async def _handed(
        self, channel: Channel, dealing: Dealing, parcels: dict[str, Words], own: Words
    ) -> dict[str, Words]:
        async def take(peer: str) -> Words:
            if dealing.derives(peer, channel.me):
                return dealing.derived(peer, len(own))
            parts = []
            for start in range(0, len(own), ELEMENTS):
                due = min(ELEMENTS, len(own) - start)
                dealt = await channel.receive(peer, Dealt)
                parts.append(sharing.accept(dealt.shares.words, due, party=peer, step=channel.step))
            return np.concatenate([*parts, np.zeros(0, dtype=np.uint64)])

        async def give(peer: str, parcel: Words) -> Words:
            for start in range(0, len(parcel), ELEMENTS):
                await channel.send(peer, Dealt(Elements(parcel[start : start + ELEMENTS])))
            return parcel

        given = [give(peer, parcel) for peer, parcel in parcels.items()]
        answers = await gather(*given, *(take(peer) for peer in channel.peers))
        return {channel.me: own, **dict(zip(channel.peers, answers[len(given) :], strict=True))}

    def _next(self) -> Channel:
        self._calls += 1
        return self.channel.at(self._calls)


def _rounds(parties: int, width: int, forbidden: int) -> int:
    if parties == 2:
        return conjunction.COST.rounds(2, width)
    return 0 if not width else max(1, (forbidden - 1).bit_length()) + 1


def _messages(parties: int, width: int, forbidden: int) -> int:
    if parties == 2:
        return conjunction.COST.messages(2, width)
    dealt = parties * (parties - 1 - sharing.threshold(parties))
    return 0 if not width else dealt * (1 + (forbidden - 1).bit_length()) + parties * (parties - 1)


def _bytes(parties: int, width: int, forbidden: int) -> int:
    if parties == 2:
        return conjunction.COST.bytes(2, width)
    dealt = parties * (parties - 1 - sharing.threshold(parties))
    numbers = width * (forbidden * dealt + parties * (parties - 1))
    return 8 * numbers + MESSAGE_BYTES * _messages(parties, width, forbidden)


COST = Cost(rounds=_rounds, messages=_messages, bytes=_bytes)
"""Of `width` tests against that many forbidden numbers, once the counts are shared, in one piece."""
