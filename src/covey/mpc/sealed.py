"""The backend on shares: three parties, of whom one may be curious.

Source: T. Araki, J. Furukawa, Y. Lindell, A. Nof, K. Ohara, High-throughput semi-honest secure three-party
computation, CCS 2016 (replicated shares); S. Laur, J. Willemson, B. Zhang, Round-efficient oblivious database
manipulation, ISC 2011 (shuffles by pairs). A secret x is x0 ^ x1 ^ x2, and party i holds x_i and x_i+1. Seed i is
known to parties i and i - 1.
Not: parties that deviate; `covey.mpc.checked` stops one of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Coroutine, Mapping, Sequence
from math import prod
from typing import Self, TypeVar

import numpy as np

from covey.arrays import Longs, Words
from covey.crypto.rng import Rng, Stream, derive
from covey.crypto.secret import Secret
from covey.errors import InputError, PeerError
from covey.mpc.box import Box
from covey.mpc.gates import choices, merged, product
from covey.mpc.kernels import DIGEST_WORDS, Shuffled
from covey.mpc.lockstep import Lockstep
from covey.mpc.outside import SEED_WORDS, digest_of, unfolded
from covey.mpc.planes import blocks, cut, planes_of
from covey.mpc.quicksort import PIVOTS
from covey.mpc.rounds import Answer, Lines, Parcel
from covey.mpc.shared import Shared, aligned, alike, joined, public_words
from covey.mpc.streams import permutation
from covey.wire import Channel

T = TypeVar("T")

FIRST, SECOND = 0, 1


def _digest(shares: Sequence[tuple[int, Words]]) -> Words:
    """Returns the hash of shares and their numbers of records."""
    digest = hashlib.sha256()
    for records, share in shares:
        digest.update(b"%d records of %d bits;" % (records, len(share)) + np.ascontiguousarray(share, "<u8").tobytes())
    return np.frombuffer(digest.digest(), np.uint64)


class Sealed(Box):
    """One party's box. `planes[FIRST]` is its own share of each value, `planes[SECOND]` the next party's."""

    def __init__(
        self,
        channel: Channel,
        parties: Sequence[str],
        seeds: tuple[Secret, Secret],
        *,
        attempt: int = 1,
        pivots: int = PIVOTS,
    ) -> None:
        super().__init__(pivots)
        if len(set(parties)) < max(3, len(parties)) or channel.me not in parties[:3]:
            raise InputError(f"the first three parties compute, {channel.me!r} is none of {', '.join(parties[:3])}")
        self.number, self._parties = parties.index(channel.me), parties
        self._previous, self._next = parties[(self.number + 2) % 3], parties[(self.number + 1) % 3]
        self._rngs = [Rng(derive(seed, "box", attempt)) for seed in seeds]
        self._masks: list[Stream] = []
        self._shuffles = 0
        self._step = channel.step or "the start"
        self._lines = Lines(channel, self._previous, self._next)
        self._steps = Lockstep[Parcel, Answer](self._carry)
        full = np.uint64(0xFFFFFFFFFFFFFFFF)
        self.ones = np.array([full * (self.number == 0), full * (self.number == 2)], np.uint64).reshape(2, 1, 1)

    @classmethod
    def among(cls, channel: Channel, parties: Sequence[str], *, attempt: int = 1, pivots: int = PIVOTS) -> Self:
        """Returns the box of three parties under seeds of this session and step; each attempt has its own number."""
        seeds, number = channel.among(*parties[:3]).pairwise_seeds(), parties.index(channel.me)
        pair = (seeds[parties[(number + 2) % 3]], seeds[parties[(number + 1) % 3]])
        return cls(channel, parties, pair, attempt=attempt, pivots=pivots)

    # rounds

    async def together(self, *work: Coroutine[object, object, T]) -> list[T]:
        """Returns the results of work side by side."""
        return await self._steps.together(work)

    async def _agree(self) -> None:
        await self._steps.exchange([])

    async def compare(self, *columns: Shared) -> None:
        """Raises `PeerError` if a neighbour's hash of the shares in common is another one."""
        await self._same(columns, "its state of the run is another than ours")

    async def _same(self, columns: Sequence[Shared], otherwise: str) -> None:
        """Raises `PeerError`, with the reason, if a neighbour's hash of the shares in common is another one."""
        common = {}
        for peer, share in ((self._previous, FIRST), (self._next, SECOND)):
            common[peer] = _digest([(column.records, column.cut().planes[share]) for column in columns])
        answer = await self._swap(common, dict.fromkeys(common, DIGEST_WORDS))
        for peer, digest in common.items():
            if not np.array_equal(answer[peer], digest):
                raise PeerError(party=peer, step=self._step, reason=otherwise)

    async def _swap(self, sent: Mapping[str, Words], due: Mapping[str, int]) -> Answer:
        """Returns what the others have for this strand in the coming round."""
        (answer,) = await self._steps.exchange([Parcel(sent, due)])
        return answer

    async def _carry(self, parcels: Sequence[Parcel]) -> list[Answer]:
        """Takes a round; the masks of the next one are others."""
        self.rounds += 1
        self._masks = []
        return await self._lines.carry(parcels, self._declared())

    def _draw(self, seed: int, shape: tuple[int, ...]) -> Words:
        """Returns masks of the coming round, of which the neighbour with the same seed draws the same."""
        if not self._masks:
            self._masks = [rng.stream("masks", self.rounds) for rng in self._rngs]
        return self._masks[seed].words(prod(shape)).reshape(shape)

    def _value(self, first: Words, second: Words, records: int) -> Shared:
        return Shared(self, np.stack([first, second]), records)

    # where secrets come in, meet, move and go out

    async def share(self, values: Words | None, width: int, records: int, holder: int) -> Shared:
        """Returns the holder's column under two masks; each of the other two draws one of them.

        A holder who does not compute sends seeds for them.
        """
        shape, size, role = (width, blocks(records)), width * blocks(records), (holder - self.number) % 3
        if not size:
            return self.zeros(width, records)
        if holder >= 3:
            name, seeds = self._parties[holder], SEED_WORDS * (2 if self.number == 0 else 1)
            words = (await self._swap({}, {name: seeds + (size if self.number else 0)}))[name]
            return Shared(self, np.stack(unfolded(self.number, words, size)).reshape(2, *shape), records)
        if role == 2:
            first = self._draw(FIRST, shape)
            answer = await self._swap({}, {self._previous: size})
            return self._value(first, answer[self._previous].reshape(shape), records)
        if role == 1:
            second = self._draw(SECOND, shape)
            answer = await self._swap({}, {self._next: size})
            return self._value(answer[self._next].reshape(shape), second, records)
        if values is None or public_words(values, width).shape[1] != records:
            raise InputError(f"{records} records are due from {self._parties[self.number]!r}")
        first, second = self._draw(FIRST, shape), self._draw(SECOND, shape)
        masked = planes_of(public_words(values, width)[None], width)[0] ^ first ^ second
        await self._swap({self._previous: masked, self._next: masked}, {})
        return self._value(first, second, records)

    def _part(self, x: Words, y: Words) -> Words:
        """Returns this party's part of x & y as its own share, under masks that cancel out among the three."""
        shape, (x, y) = y.shape[1:], map(np.ascontiguousarray, (x, y))
        return product(x, y, self._draw(FIRST, shape), self._draw(SECOND, shape))

    async def _and(self, x: Words, y: Words) -> Words:
        """Returns the shares of x & y; plane j of y goes with plane j of x, again and again. Takes one round."""
        if not y.size:
            return y
        part = self._part(x, y)
        answer = await self._swap({self._previous: part[FIRST]}, {self._next: y[FIRST].size})
        part[SECOND] = answer[self._next].reshape(part.shape[1:])
        return part

    async def _and_opened(self, x: Words, y: Words, plus: Words, records: int) -> Words:
        """Returns (x & y) ^ plus for everybody, in one round; nothing is sent of what stands behind the last record."""
        part = cut(self._part(x, y)[FIRST] ^ plus[FIRST], records)
        neighbours = (self._previous, self._next)
        answer = await self._swap(dict.fromkeys(neighbours, part), dict.fromkeys(neighbours, part.size))
        planes: Words = part ^ (answer[self._previous] ^ answer[self._next]).reshape(part.shape)
        return planes

    async def _reveal(self, value: Shared, to: int | None = None) -> Words | None:
        """Returns the planes of a column for everybody, or for one party: the others send it what it has not."""
        first, second = value.planes
        if not first.size:
            return np.zeros_like(first) if to in (None, self.number) else None
        if to is not None and to >= 3:
            part = {0: first ^ second, 1: second}.get(self.number)
            await self._swap({} if part is None else {self._parties[to]: part}, {})
            return None
        sent = {self._previous: second} if to in (None, (self.number + 2) % 3) else {}
        answer = await self._swap(sent, {self._next: first.size} if to in (None, self.number) else {})
        if self._next not in answer:
            return None
        planes: Words = first ^ second ^ answer[self._next].reshape(first.shape)
        return planes

    async def _told(self, parties: Sequence[int], words: Words) -> None:
        part = words if self.number == 0 else digest_of(words)
        await self._swap(dict.fromkeys((self._parties[party] for party in parties), part), {})

    async def _pass(self, value: Shared, order: Longs | None, leader: int) -> Shared:
        """Returns a third of a shuffle: party `leader` and the next move the records and share them anew."""
        role, shape, size = (self.number - leader) % 3, value.planes.shape[1:], value.planes[FIRST].size
        if not size:
            return value
        if order is None:
            masks = self._draw(FIRST, shape), self._draw(SECOND, shape)
            await self._swap({}, {})
            return self._value(*masks, value.records)
        x, seed = value.planes, FIRST if role == 0 else SECOND
        summand = x[FIRST] ^ x[SECOND] if role == 0 else x[SECOND]
        mask = self._draw(seed, shape)
        masked = Shared(self, summand[None], value.records).at(order).planes[0] ^ mask
        if role == 0:
            answer = await self._swap({self._next: masked}, {self._next: size})
            return self._value(mask, masked ^ answer[self._next].reshape(shape), value.records)
        answer = await self._swap({self._previous: masked}, {self._previous: size})
        return self._value(masked ^ answer[self._previous].reshape(shape), mask, value.records)

    # kernels made of these

    async def both(self, a: Shared, b: Shared) -> Shared:
        """Returns a & b, bit by bit."""
        alike(a, b)
        if a.width > b.width:
            a, b = b, a
        return Shared(self, await self._and(a.planes, b.planes), a.records)

    async def all(self, value: Shared) -> Shared:
        """Returns for each record 1 if all its bits are 1, by halves."""
        if not value.width:
            return self.constant(1, 1, value.records)
        planes = value.planes
        while (width := planes.shape[1]) > 1:
            half = width // 2
            products = await self._and(planes[:, :half], planes[:, half : 2 * half])
            planes = np.concatenate([products, planes[:, 2 * half :]], 1)
        return Shared(self, planes, value.records)

    async def less(self, a: Shared, b: Shared) -> Shared:
        """Returns for each record 1 if a < b: neighbouring groups of bits become one, the higher one decides.

        Of a group is known if it differs, and if so whether b's highest differing bit is the 1. Behind the last bit
        stands a group that answers 0, for words that are equal.
        """
        a, b = aligned(a, b)
        differ, answer = (a ^ b).planes, joined(b, self.zeros(1, a.records)).planes
        while answer.shape[1] > 1:
            products = await self._and(*choices(differ, answer))
            differ, answer = merged(differ, answer, products)
        return Shared(self, answer, a.records)

    async def _precedes(self, a: Shared, b: Shared) -> Words:
        """Returns the plane of a < b; since all words differ, the last group is the last bit, and its AND is opened."""
        a, b = aligned(a, b)
        differ, answer = np.ascontiguousarray((a ^ b).planes[:, :-1]), np.ascontiguousarray(b.planes)
        while answer.shape[1] > 2:
            products = await self._and(*choices(differ, answer))
            differ, answer = merged(differ, answer, products)
        if answer.shape[1] == 1:
            nothing = np.zeros_like(answer)
            return await self._and_opened(nothing, nothing, answer, a.records)
        top, options = choices(differ, answer)
        return await self._and_opened(top, options, answer[:, 1:], a.records)

    async def add(self, a: Shared, b: Shared) -> Shared:
        """Returns a + b, with carries by doubling spans (Kogge and Stone 1973): is a carry made, is it passed on?"""
        a, b = aligned(a, b)
        width, sums, span = a.width, a ^ b, 1
        makes, passes = (await self.both(a, b)).planes, sums.planes
        while span < width:
            length = width - span
            lower = np.concatenate([makes[:, span:], passes[:, span:]], 1)
            products = await self._and(passes[:, :length], lower)
            makes = np.concatenate([makes[:, :length] ^ products[:, :length], makes[:, length:]], 1)
            passes = np.concatenate([products[:, length:], passes[:, length:]], 1)
            span *= 2
        carries = joined(Shared(self, makes, a.records), self.zeros(1, a.records))
        return sums.padded(width + 1) ^ carries

    async def shuffle(self, value: Shared) -> tuple[Shared, Shuffled]:
        """Returns the records in an order that nobody knows: of three passes each party knows two."""
        self._shuffles = label = self._shuffles + 1
        orders: list[Longs | None] = [None] * 3
        for leader in range(3):
            role = (self.number - leader) % 3
            if role < 2:  # the pair's common seed is the second's own
                stream = self._rngs[SECOND if role == 0 else FIRST].stream("order", label)
                orders[leader] = permutation(stream, value.records)
            value = await self._pass(value, orders[leader], leader)
        return value, Shuffled((orders[0], orders[1], orders[2]))

    async def unshuffle(self, value: Shared, shuffled: Shuffled) -> Shared:
        """Returns the records in the order from before that shuffle."""
        for leader in (2, 1, 0):
            value = await self._pass(value, shuffled.inverses[leader], leader)
        return value
