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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Words
from covey.crypto import sharing
from covey.crypto.dealing import Dealing
from covey.crypto.factorial import evaluate, shape
from covey.crypto.field import F31, Elements31
from covey.crypto.rng import Rng
from covey.errors import InputError
from covey.secure.declare import Cost, Leakage
from covey.wire import FRAME_BYTES, Channel, Message, gather

LARGEST = 1 << 19
"""Tests that are opened in one message; more are opened one after the other."""

MESSAGE_BYTES = FRAME_BYTES + 31

LEAKAGE = Leakage(everyone=("for each of {width} joint numbers whether it is {bound} or more, and no number",))


class Dealt(Message, tag="reach.dealt"):
    """Shares of the sender's random numbers or products that the recipient cannot derive: uniform to it."""

    shares: Elements31


class Masked(Message, tag="reach.masked"):
    """The sender's numbers less its part of the masks: uniform to everyone else."""

    numbers: Elements31


class Part(Message, tag="reach.part"):
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
        if len(channel.parties) < 3:
            raise InputError("shares hide nothing between two parties")
        self.channel = channel
        self.seeds = channel.pairwise_seeds()
        self.places = sharing.places(channel.parties)
        self.layers = 0

    async def random(self, width: int) -> tuple[Words, Words, Words]:
        """Own parts of random masks, shares of the masks, and shares of random factors nobody knows."""
        masks = Dealing(self.channel.me, self.seeds, "mask", field=F31)
        factors = Dealing(self.channel.me, self.seeds, "factor", last=True, field=F31)
        mine = F31.draw(self.channel.rng.stream("mask"), width)
        dealt = await self._hand(
            [(masks, *masks.deal(mine)), (factors, *factors.deal_random(width, self.channel.rng.stream("factor")))]
        )
        shares = [_total(each.values()) for each in dealt]
        return mine, shares[0], shares[1]

    async def multiply(self, left: Words, right: Words) -> Words:
        """Shares of the products, row by row."""
        return (await self.reduce(F31.multiply(left.ravel(), right.ravel()))).reshape(left.shape)

    async def reduce(self, product: Words) -> Words:
        """Shares of the low degree of what shares of the high degree stand for: each party shares its own anew."""
        self.layers += 1
        dealing = Dealing(self.channel.me, self.seeds, f"layer {self.layers}", last=self.layers % 2 == 0, field=F31)
        (dealt,) = await self._hand([(dealing, *dealing.deal(product))])
        return sharing.reduce_degree({self.places[name]: share for name, share in dealt.items()}, F31)

    async def _hand(self, dealings: Sequence[tuple[Dealing, dict[str, Words], Words]]) -> list[dict[str, Words]]:
        """Everyone's shares of each dealing, by dealer; what travels to one peer travels together."""
        channel = self.channel
        width = len(dealings[0][2])

        async def give(peer: str) -> list[Words]:
            parcel = [parcels[peer] for _, parcels, _ in dealings if peer in parcels]
            if parcel:
                await channel.send(peer, Dealt(Elements31(np.concatenate(parcel))))
            return []

        async def take(peer: str) -> list[Words]:
            sent = [not dealing.derives(peer, channel.me) for dealing, _, _ in dealings]
            rest = np.zeros(0, dtype=np.uint64)
            if any(sent):
                message = await channel.receive(peer, Dealt)
                rest = sharing.accept(message.shares.words, width * sum(sent), party=peer, step=channel.step, field=F31)
            shares = []
            for (dealing, _, _), travels in zip(dealings, sent, strict=True):
                shares.append(rest[:width] if travels else dealing.derived(peer, width))
                rest = rest[width:] if travels else rest
            return shares

        answers = await gather(*(give(peer) for peer in channel.peers), *(take(peer) for peer in channel.peers))
        theirs = dict(zip(channel.peers, answers[len(channel.peers) :], strict=True))
        return [
            {channel.me: own, **{peer: shares[number] for peer, shares in theirs.items()}}
            for number, (_, _, own) in enumerate(dealings)
        ]


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
    """Where the parties' numbers, modulo 2^31 - 1, add up to the bound or more."""
    opened = await open_products(channel, prepared, mine)
    return np.asarray(opened != 0)


async def all_below(channel: Channel, prepared: Prepared, mine: Words, *, together: int) -> Bits:
    """For each `together` numbers in a row whether all of them are below the bound; which are not stays hidden."""
    opened = await open_products(channel, prepared, mine, together=together)
    return np.asarray(opened == 0)


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
    return np.asarray(await _open_parts(channel, product) != 0)


async def open_products(channel: Channel, prepared: Prepared, mine: Words, *, together: int = 1) -> Words:
    """What everyone sees: 0 where a sum is below the bound, uniform elsewhere; sums of `together` such numbers."""
    _fits(prepared, mine, together)
    opened = []
    step = max(1, LARGEST // together) * together
    while len(prepared) > step:
        first, prepared = prepared.split(step)
        opened.append(await _open(channel, first, mine[:step], together))
        mine = mine[step:]
    opened.append(await _open(channel, prepared, mine, together))
    return np.concatenate(opened)


async def _open(channel: Channel, prepared: Prepared, mine: Words, together: int) -> Words:
    if not len(prepared):
        return np.zeros(0, dtype=np.uint64)
    products = await _products(channel, prepared, mine)
    return await _open_parts(channel, _total(products.reshape(-1, together).T))


async def _products(channel: Channel, prepared: Prepared, mine: Words) -> Words:
    """This party's shares, of the high degree, of the products: opens the masked sums."""
    masked = F31.subtract(mine, prepared.mask)
    heard = await channel.exchange(Masked(Elements31(masked)))
    theirs = (_accept(channel, peer, message.numbers, len(mine)) for peer, message in heard.items())
    return multiply_out(prepared, _total([masked, *theirs]))


async def _open_parts(channel: Channel, shares: Words) -> Words:
    part = own_part(channel, shares)
    answers = await channel.exchange(Part(Elements31(part)))
    return _total([part, *(_accept(channel, peer, each.parts, len(part)) for peer, each in answers.items())])


def _fits(prepared: Prepared, mine: Words, together: int) -> None:
    if len(mine) != len(prepared) or len(mine) % together:
        raise InputError(f"{len(mine)} numbers, {len(prepared)} tests, {together} together: they do not fit")


def multiply_out(prepared: Prepared, opened: Words) -> Words:
    """This party's share, of the high degree, of the factor times c (c - 1) … (c - bound + 1), given c - r."""
    cut = shape(prepared.bound)
    powers, factors = np.ascontiguousarray(prepared.powers), np.ascontiguousarray(prepared.factors)
    return evaluate(opened, powers, factors, cut.binomials, cut.shifts)


def own_part(channel: Channel, shares: Words) -> Words:
    """Shares of the high degree as summands, under masks that add up to nothing and hide the polynomials."""
    places = sharing.places(channel.parties)
    weight = sharing.weights(tuple(places.values()), F31)[places[channel.me] - 1]
    masks: Mapping[str, Rng] = {peer: Rng(seed) for peer, seed in channel.pairwise_seeds().items()}
    streams = {peer: rng.stream("mask") for peer, rng in masks.items()}
    return F31.add(F31.scale(shares, weight), sharing.pair_masks(channel.me, streams, len(shares), F31))


def ideal(inputs: Mapping[str, Words], bound: int) -> Bits:
    """What a trusted party would answer."""
    total = _total(list(inputs.values()))
    return np.asarray(total >= bound)


def _sent(parties: int) -> int:
    return parties * (parties - 1 - sharing.threshold(parties))


def _layers(bound: int) -> int:
    return shape(bound).exchanges - 1


PREPARATION_COST = Cost(
    rounds=lambda parties, bound, width: 1 + _layers(bound),
    messages=lambda parties, bound, width: parties * (parties - 1) + _sent(parties) * _layers(bound),
    bytes=lambda parties, bound, width: (
        4 * width * _sent(parties) * (2 + shape(bound).products)
        + MESSAGE_BYTES * (parties * (parties - 1) + _sent(parties) * _layers(bound))
    ),
)
"""Of one `prepare`."""


def _openings(width: int) -> int:
    return -(-width // LARGEST)


COST = Cost(
    rounds=lambda parties, width: 2 * _openings(width),
    messages=lambda parties, width: 2 * parties * (parties - 1) * _openings(width),
    bytes=lambda parties, width: 2 * parties * (parties - 1) * (4 * width + MESSAGE_BYTES * _openings(width)),
)
"""Of one `reaches`, once it is prepared."""


def _accept(channel: Channel, peer: str, vector: Elements31, due: int) -> Words:
    return sharing.accept(vector.words, due, party=peer, step=channel.step, field=F31)


def _total(vectors: Iterable[Words]) -> Words:
    summands = iter(vectors)
    total = np.ascontiguousarray(next(summands))
    for vector in summands:
        total = F31.add(total, np.ascontiguousarray(vector))
    return total
