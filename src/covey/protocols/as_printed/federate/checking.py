"""Checking: a party that spoiled a product or what was opened is noticed before anything rests on it.

Source    Goyal, Song and Zhu 2020 (their checks of multiplications, after Ben-Sasson, Fehr and Ostrovsky 2012): all
          products at once become one inner product by random factors; it is folded, a sixteenth as long each time,
          along polynomials through its parts, at a point that nobody knew before; the last one is opened under a random
          product.
Roles     every party alike, three or more.
Security  with abort: up to (m - 1) // 2 of m parties may lie together. Parties who share anew what they do not have, or
          open something else, to all or only to some, are noticed but by a chance of 2^-50. What is opened is uniform.
Not       it names nobody. What a party deals of its own is believed, as far as it is not noted here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from covey.arrays import Longs, Words
from covey.crypto import sharing
from covey.crypto.field import F61, FieldElements
from covey.crypto.rng import Rng
from covey.errors import Aborted, InputError
from covey.secure import coin
from covey.secure.threshold_test import Workshop
from covey.wire import FRAME_BYTES, Channel, Message

FOLD = 16
"""Parts that become one in each step."""
SHOWN_BYTES = FRAME_BYTES + 47

SPOILED = "a provider did not keep to the protocol: what it shared or opened does not fit; nothing is released"


class Shown(Message, tag="federate.shown"):
    """The sender's shares of what all may see."""

    shares: FieldElements


@dataclass
class Notes:
    """Products that a party has shares of, and shares of what must be nothing: to be checked together."""

    left: list[Words] = field(default_factory=list)
    right: list[Words] = field(default_factory=list)
    factors: list[Longs] = field(default_factory=list)
    """For each place of these the number of the product that it belongs to."""
    products: list[Words] = field(default_factory=list)
    nothing: list[Words] = field(default_factory=list)
    count: int = 0

    def multiplied(self, left: Words, right: Words, products: Words) -> None:
        """Each row of these, multiplied place by place and added up, makes a product."""
        width = left.size // len(products) if len(products) else 0
        self.left.append(left.ravel())
        self.right.append(right.ravel())
        self.factors.append(np.repeat(np.arange(self.count, self.count + len(products)), width))
        self.products.append(products)
        self.count += len(products)

    def is_nothing(self, shares: Words) -> None:
        """These stand for zeros."""
        self.nothing.append(shares.ravel())


class NotingWorkshop(Workshop):
    """A workshop whose products are noted."""

    def __init__(self, channel: Channel, notes: Notes) -> None:
        super().__init__(channel, F61)
        self.notes = notes

    async def multiply(self, left: Words, right: Words) -> Words:
        found = await super().multiply(left, right)
        self.notes.multiplied(left.reshape(-1, 1), right.reshape(-1, 1), found.ravel())
        return found


async def shown(channel: Channel, mine: Words) -> Words:
    """The numbers behind shares of the low degree. Raises Aborted where somebody's share does not fit the others'."""
    places = sharing.places(channel.parties)
    said = {places[channel.me]: mine}
    for peer, theirs in (await channel.exchange(Shown(FieldElements(mine)))).items():
        said[places[peer]] = sharing.accept(theirs.shares.words, len(mine), party=peer, step=channel.step)
    return fitting(said)


def fitting(said: dict[int, Words]) -> Words:
    """The numbers behind everyone's shares of the low degree. Raises Aborted where these do not fit."""
    try:
        return sharing.reveal(said, sharing.threshold(len(said)))
    except InputError:
        raise Aborted(SPOILED, resumable=False) from None


async def check(channel: Channel, notes: Notes) -> None:
    """Returns if all that was noted is true. Raises Aborted if it is not; whose fault it is stays open."""
    rng = Rng(await coin.toss(channel.at("coin")))
    nothing = np.concatenate([np.zeros(1, dtype=np.uint64), *notes.nothing])
    factors = F61.draw(rng.stream("products"), notes.count)
    empty = np.zeros(0, dtype=np.uint64)
    left, right, products = (np.concatenate([empty, *own]) for own in (notes.left, notes.right, notes.products))
    of = np.concatenate([np.zeros(0, dtype=np.int64), *notes.factors])
    left = F61.multiply(left, factors[of])
    total, zero = _dot(factors, products), _dot(F61.draw(rng.stream("nothing"), len(nothing)), nothing)
    turn = 0
    while len(left) > 1:
        left, right, total = await _fold(channel.at("fold", turn), left, right, total, FOLD)
        turn += 1
    at = channel.at("last")
    workshop = Workshop(at, F61)
    one, two = await workshop.random(2, 1)
    made = await workshop.multiply(one, two)
    left, right = np.concatenate([left, one]), np.concatenate([right, two])
    left, right, total = await _fold(at.at("fold"), left, right, F61.add(total, made), 2)
    found = await shown(at, np.concatenate([left, right, total, zero]))
    if F61.multiply(found[:1], found[1:2])[0] != found[2] or found[3]:
        raise Aborted(SPOILED, resumable=False)


async def _fold(channel: Channel, left: Words, right: Words, total: Words, parts: int) -> tuple[Words, Words, Words]:
    """An inner product as long as one of so many parts, which is right if the given one is."""
    length = -(-len(left) // parts)
    left, right = (
        np.concatenate([own, np.zeros(parts * length - len(own), dtype=np.uint64)]).reshape(parts, length)
        for own in (left, right)
    )
    known, more = range(1, parts + 1), range(parts + 1, 2 * parts)
    onward = sharing.lagrange(known, more)
    lefts, rights = (np.concatenate([own, F61.combine(onward, own)]) for own in (left, right))
    local = np.array([_dot(*pair)[0] for pair in zip(lefts[1:], rights[1:], strict=True)], dtype=np.uint64)
    found = await Workshop(channel, F61).reduce(local)
    first = F61.subtract(total, reduce(F61.add, np.split(found[: parts - 1], parts - 1)))
    rng = Rng(await coin.toss(channel.at("coin")))
    point = 2 * parts + int(F61.draw(rng.stream("point"), 1)[0]) % (F61.prime - 2 * parts)
    at = sharing.lagrange(known, [point])
    values = sharing.lagrange(range(1, 2 * parts), [point])
    total = F61.combine(values, np.concatenate([first, found])[:, np.newaxis])[0]
    return F61.combine(at, left)[0], F61.combine(at, right)[0], total


def _dot(left: Words, right: Words) -> Words:
    """The sum of the products, as a vector of one."""
    return np.asarray(F61.combine(left[np.newaxis], right[:, np.newaxis])[0])


def folds(count: int) -> int:
    """The number of steps until an inner product of so many places is one product."""
    steps = 0
    while count > 1:
        count, steps = -(-count // FOLD), steps + 1
    return steps
