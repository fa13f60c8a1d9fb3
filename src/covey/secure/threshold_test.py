"""Threshold test: everyone learns whether joint numbers reach a bound, and nothing else about them.

Source    ours. Before the numbers matter, the parties share a mask r (a sum of which each knows its part), a factor f
          and products of both; then c - r is opened, and f c (c - 1) … (c - bound + 1) follows from it by an exchange:
          0 where c is one of 0 … bound - 1, uniform elsewhere. As falling factorials add up like powers (Vandermonde),
          it is a sum of about sqrt(bound) products of two shared numbers, which need no exchange of their own.
Roles     every party alike, three or more.
Security  semi-honest; up to (m - 1) // 2 of m parties may collude. A factor is 0 by chance in one of 2^31 tests, and a
          number that reaches the bound then seems not to; none that does not ever seems to.
Not       a party that lies changes answers unnoticed; how many tests there are is public; two parties cannot share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Words
from covey.crypto import sharing
from covey.crypto.dealing import Dealing
from covey.crypto.factorial import evaluate, shape
from covey.crypto.field import F31, Elements31
from covey.crypto.rng import Rng
from covey.errors import InputError
from covey.secure import shares
from covey.secure.declare import Cost, Leakage
from covey.wire import FRAME_BYTES, Channel, Chunk
from covey.wire.chunks import messages, size

MESSAGE_BYTES = FRAME_BYTES + 31

LEAKAGE = Leakage(everyone=("for each of {width} joint numbers whether it is {bound} or more, and no number",))


class Dealt(Chunk[Elements31], tag="reach.dealt"):
    """Shares of the sender's random numbers or products that the recipient cannot derive: uniform to it."""

    shares: Elements31


class MaskedNumbers(Chunk[Elements31], tag="reach.masked"):
    """The sender's numbers less its part of the masks: uniform to everyone else."""

    numbers: Elements31


class Part(Chunk[Elements31], tag="reach.part"):
    """The sender's part of the products, under masks that add up to nothing."""

    parts: Elements31


@dataclass(frozen=True)
class Prepared:
    """Tests against one bound that wait for their numbers; each is used once."""

    bound: int
    mask: Words
    """This party's own part of each mask."""
    powers: Words
    """Shares of the masks' powers from 1 to stride - 1, one row each."""
    factors: Words
    """Shares of the random factor times the mask's falling factorials: none, one, two … strides."""

    def __len__(self) -> int:
        return len(self.mask)

    def split(self, width: int) -> tuple[Prepared, Prepared]:
        """The first tests, and the rest."""
        return self._part(slice(None, width)), self._part(slice(width, None))

    def _part(self, which: slice) -> Prepared:
        return Prepared(self.bound, self.mask[which], self.powers[:, which], self.factors[:, which])

    @classmethod
    def join(cls, parts: Sequence[Prepared]) -> Prepared:
        """All of these tests, in order."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            parts[0].bound,
            np.concatenate([part.mask for part in parts]),
            np.concatenate([part.powers for part in parts], axis=1),
            np.concatenate([part.factors for part in parts], axis=1),
        )


class _Workshop:
    """One party's place at one preparation: what it deals, and how it multiplies what it was dealt."""

    def __init__(self, channel: Channel) -> None:
        shares.refuse_two(channel)
        self.channel = channel
        self.seeds = channel.pairwise_seeds()
        self.layers = 0

    async def random(self, width: int) -> tuple[Words, Words, Words]:
        """Own parts of random masks, shares of the masks, and shares of random factors nobody knows."""
        masks = Dealing(self.channel.me, self.seeds, "mask", field=F31)
        factors = Dealing(self.channel.me, self.seeds, "factor", last=True, field=F31)
        mine = F31.draw(self.channel.rng.stream("mask"), width)
        drawn = factors.deal_random(width, self.channel.rng.stream("factor"))
        dealt = await shares.hand_out(self.channel, Dealt, Elements31, [(masks, *masks.deal(mine)), (factors, *drawn)])
        mask, factor = (shares.total(each, F31) for each in dealt)
        return mine, mask, factor

    async def multiply(self, left: Words, right: Words) -> Words:
        """Shares of the products, row by row."""
        return (await self.reduce(F31.multiply(left.ravel(), right.ravel()))).reshape(left.shape)

    async def reduce(self, product: Words) -> Words:
        """Shares of the low degree of what shares of the high degree stand for."""
        self.layers += 1
        dealing = Dealing(self.channel.me, self.seeds, f"layer {self.layers}", last=self.layers % 2 == 0, field=F31)
        return await shares.reduce(self.channel, Dealt, Elements31, dealing, product)


async def prepare(channel: Channel, bound: int, width: int) -> Prepared:
    """That many tests against the bound. Each call needs a step of its own; no number is needed yet."""
    cut = shape(bound)
    workshop = _Workshop(channel)
    mine, mask, factor = await workshop.random(width)
    powers = mask[np.newaxis]
    while len(powers) < cut.stride:
        more = powers[: cut.stride - len(powers)]
        highest = np.repeat(powers[-1:], len(more), axis=0)
        powers = np.concatenate([powers, await workshop.multiply(highest, more)])
    factors = [factor]
    with_one = np.concatenate([np.ones((1, width), dtype=np.uint64), powers])
    for stride in range(cut.strides):
        below = F31.combine(cut.shifts[stride, -1:], with_one)
        factors.append((await workshop.multiply(factors[-1][np.newaxis], below))[0])
    return Prepared(bound, mine, np.ascontiguousarray(powers[: cut.stride - 1]), np.stack(factors))


async def reaches(channel: Channel, prepared: Prepared, mine: Words) -> Bits:
    """The places where the parties' numbers, modulo 2^31 - 1, add up to the bound or more."""
    opened = await open_products(channel, prepared, mine)
    return np.asarray(opened != 0)


async def none_below(channel: Channel, prepared: Prepared, mine: Words, *, together: int) -> Bits:
    """For each `together` numbers in a row whether none of them is below the bound; which is stays hidden.

    The products of a row are multiplied with each other before the outcome is opened.
    """
    _fits(prepared, mine, together)
    if not len(mine):
        return np.zeros(0, dtype=bool)
    workshop = _Workshop(channel.at("multiply"))
    factors = (await workshop.reduce(await _products(channel, prepared, mine))).reshape(-1, together).T
    while len(factors) > 2:
        half = len(factors) // 2
        first, second = (np.ascontiguousarray(factors[start : start + half]) for start in (0, half))
        factors = np.concatenate([await workshop.multiply(first, second), factors[2 * half :]])
    last = [np.ascontiguousarray(row) for row in factors]
    product = F31.multiply(last[0], last[1]) if len(last) > 1 else last[0]
    return np.asarray(await _open(channel, product) != 0)


async def open_products(channel: Channel, prepared: Prepared, mine: Words, *, together: int = 1) -> Words:
    """Everyone's view: 0 where a sum is below the bound, uniform elsewhere; sums of `together` such numbers."""
    _fits(prepared, mine, together)
    if not len(mine):
        return np.zeros(0, dtype=np.uint64)
    products = await _products(channel, prepared, mine)
    return await _open(channel, shares.total(products.reshape(-1, together).T, F31))


async def _products(channel: Channel, prepared: Prepared, mine: Words) -> Words:
    """This party's shares, of the high degree, of the products: opens the masked sums."""
    opened = await shares.open_total(channel, MaskedNumbers, Elements31, F31.subtract(mine, prepared.mask))
    return multiply_out(prepared, opened)


async def _open(channel: Channel, products: Words) -> Words:
    return await shares.open_total(channel, Part, Elements31, own_part(channel, products))


def _fits(prepared: Prepared, mine: Words, together: int) -> None:
    if len(mine) != len(prepared) or len(mine) % together:
        raise InputError(f"{len(mine)} numbers, {len(prepared)} tests, {together} together: they do not fit")


def multiply_out(prepared: Prepared, opened: Words) -> Words:
    """This party's share, of the high degree, of the factor times c (c - 1) … (c - bound + 1), given c - r."""
    cut = shape(prepared.bound)
    powers, factors = np.ascontiguousarray(prepared.powers), np.ascontiguousarray(prepared.factors)
    return evaluate(opened, powers, factors, cut.binomials, cut.shifts)


def own_part(channel: Channel, products: Words) -> Words:
    """Shares of the high degree as summands, under masks that add up to nothing and hide the polynomials."""
    streams = {peer: Rng(seed).stream("mask") for peer, seed in channel.pairwise_seeds().items()}
    return shares.summand(channel, products, streams, F31)


def ideal(inputs: Mapping[str, Words], bound: int) -> Bits:
    """A trusted party's answer."""
    return np.asarray(shares.total(inputs.values(), F31) >= bound)


def _sent(parties: int) -> int:
    """Shares of one dealing that travel, all parties together."""
    return parties * (parties - 1 - sharing.threshold(parties))


def _layers(bound: int) -> list[int]:
    """Products of each layer of a preparation, for each test."""
    cut, powers, rows = shape(bound), 1, []
    while powers < cut.stride:
        rows.append(min(powers, cut.stride - powers))
        powers += rows[-1]
    return rows + [1] * cut.strides


def _preparation_messages(parties: int, bound: int, width: int) -> int:
    """Masks and factors travel together: where the number of parties is even, one peer of each derives neither."""
    derived = 2 * sharing.threshold(parties)
    first = parties * (derived * messages(width, 4) + (parties - 1 - derived) * messages(2 * width, 4))
    return first + _sent(parties) * sum(messages(rows * width, 4) for rows in _layers(bound))


PREPARATION_COST = Cost(
    rounds=lambda parties, bound, width: shape(bound).exchanges,
    messages=_preparation_messages,
    bytes=lambda parties, bound, width: (
        4 * width * _sent(parties) * (2 + shape(bound).products)
        + MESSAGE_BYTES * _preparation_messages(parties, bound, width)
    ),
)
"""Of one `prepare`."""

COST = Cost(
    rounds=lambda parties, width: 2 if width else 0,
    messages=lambda parties, width: 2 * parties * (parties - 1) * messages(width, 4) if width else 0,
    bytes=lambda parties, width: 2 * parties * (parties - 1) * size(width, 4, MESSAGE_BYTES) if width else 0,
)
"""Of one `reaches`, once it is prepared."""
