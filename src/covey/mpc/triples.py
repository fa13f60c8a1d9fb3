"""Triples: random shared bits and their ANDs, checked before anybody uses them.

Source: D. Beaver, Efficient multiparty protocols using circuit randomization, Crypto 1991; the check of all products
by one inner product that is shortened step by step: D. Boneh, E. Boyle, H. Corrigan-Gibbs, N. Gilboa, Y. Ishai,
Zero-knowledge proofs on secret-shared data via fully linear PCPs, Crypto 2019, here run among the three on shares.
A unit is a machine word u with two others v and the two words u & v: two ANDs often have a factor in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import NamedTuple, Protocol

import numpy as np

from covey.arrays import Longs, Words
from covey.crypto.rng import Rng, Stream
from covey.mpc.binary_field import dot, outer, times
from covey.mpc.sums import (
    BITS,
    at_corners,
    at_point,
    beyond,
    bit_sums,
    bits_at,
    corner_sums,
    corners,
    on_grid,
    sums,
    weighed_words,
)
from covey.mpc.supply import dimensions

COIN = 4
"""Words of a coin."""


class Among(Protocol):
    """A party's box, as far as a batch needs it."""

    async def reshare(self, part: Words, masks: Words) -> Words:
        """Returns shares of the sum of all three parties' parts."""

    async def coin(self, secret: Words) -> tuple[Words, Rng]:
        """Opens shared words, of which the last are a coin, once all have everything."""

    async def exactly(self, shares: Words) -> Words:
        """Returns shared words for everybody."""


class Triples(NamedTuple):
    """Shares of units: u (copies x words), and for each of its two ANDs v and u & v (2 x copies x words)."""

    u: Words
    vs: Words
    ws: Words

    def shaped(self, planes: int, count: int) -> Triples:
        """Returns the units as so many planes of machine words."""
        return Triples(*(np.ascontiguousarray(part.reshape(*part.shape[:-1], planes, count)) for part in self))

    def cut(self, first: int, last: int | None) -> Triples:
        """Returns some units."""
        part = slice(first, last)
        return Triples(self.u[:, part], self.vs[:, :, part], self.ws[:, :, part])


class Store:
    """The triples at hand, oldest first. Nobody takes more than there are."""

    def __init__(self) -> None:
        self._batches: list[Triples] = []
        self._first = 0

    def add(self, batch: Triples) -> None:
        """Puts a checked batch behind the others."""
        self._batches.append(batch)

    def take(self, planes: int, count: int) -> Triples:
        """Returns units that were not taken before, as planes of machine words."""
        parts, missing = list[Triples](), planes * count
        while missing:
            batch = self._batches[0]
            parts.append(batch.cut(self._first, self._first + missing))
            length = parts[-1].u.shape[1]
            missing -= length
            self._first += length
            if self._first == batch.u.shape[1]:
                self._batches.pop(0)
                self._first = 0
        return _joined(parts).shaped(planes, count)


def _joined(parts: Sequence[Triples]) -> Triples:
    if len(parts) == 1:
        return parts[0]
    return Triples(*(np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True)))


async def batch(box: Among, streams: Sequence[Stream], size: int) -> Triples | None:
    """Returns so many units, or None if one of them is wrong. Nothing is opened but coins and a masked product."""

    def draw(*shape: int) -> Words:
        return np.stack([stream.words(prod(shape)).reshape(shape) for stream in streams])

    async def point(count: int) -> Words:
        _, rng = await box.coin(draw(COIN))
        return rng.stream("point").words(count)

    u, (a, b) = draw(size), draw(2, 1).transpose(1, 0, 2)  # a and b mask the factors that are opened at the end
    vs = np.ascontiguousarray(draw(2, size).transpose(1, 0, 2))
    products = [*(_bit_part(u, v) for v in vs), np.array([dot(a[0], b[0] ^ b[1]) ^ dot(a[1], b[0])], np.uint64)]
    shares = await box.reshare(np.concatenate(products), draw(2 * size + 1))
    ws = np.ascontiguousarray(shares[:, :-1].reshape(2, 2, size).transpose(1, 0, 2))
    weights = (await point(2 * size // 64)).reshape(2, -1)
    values, outside = np.empty((2, 3**BITS), np.uint64), beyond(BITS)
    values[:, corners(BITS)] = [_summed(corner_sums, ws[:, copy], weights) for copy in range(2)]
    part = _summed(partial(bit_sums, u), vs, weights, corners(BITS), outside)
    values[:, outside] = await box.reshare(part, draw(outside.size))
    place = await point(BITS)
    counts = outer(at_corners(place))
    y = _summed(weighed_words, [bits_at(v, counts) for v in vs], weights)
    x, y = np.concatenate([bits_at(u, counts), a], 1), np.concatenate([y, b], 1)
    claim = _value(values, place) ^ shares[:, -1]
    for count in dimensions(size):
        x, y = _in_cubes(x, 1 << count), _in_cubes(y, 1 << count)
        values = np.empty((2, 3**count), np.uint64)
        values[:, 1:] = await box.reshare(sums(x, y, corners(count), 3**count)[1:], draw(3**count - 1))
        values[:, 0] = claim ^ np.bitwise_xor.reduce(values[:, corners(count)[1:]], 1)
        place = await point(count)
        claim, counts = _value(values, place), outer(at_corners(place))
        x, y = at_point(x, counts), at_point(y, counts)
    left, right, total = await box.exactly(np.stack([x[:, 0], y[:, 0], claim], 1))
    return Triples(u, vs, ws) if times(left, right) == total else None


def _bit_part(x: Words, y: Words) -> Words:
    """Returns this party's part of x & y."""
    return np.asarray((x[0] & (y[0] ^ y[1])) ^ (x[1] & y[0]))


def _value(values: Words, place: Words) -> Words:
    """Returns the value at a place of a polynomial that is given on the grid."""
    counts = outer(on_grid(place))
    return np.array([dot(np.ascontiguousarray(share), counts) for share in values], np.uint64)


def _in_cubes(elements: Words, corners: int) -> Words:
    """Returns elements as copies x corners x cubes, with zeros behind the last."""
    filled = np.pad(elements, ((0, 0), (0, -elements.shape[1] % corners)))
    return filled.reshape(len(elements), corners, -1)


def _summed(work: Callable[..., Words], factors: Sequence[Words] | Words, weights: Words, *more: Longs) -> Words:
    """Returns the sum of what work makes of both ANDs' factors and weights."""
    first, second = (work(factor, weight, *more) for factor, weight in zip(factors, weights, strict=True))
    return np.asarray(first ^ second)
