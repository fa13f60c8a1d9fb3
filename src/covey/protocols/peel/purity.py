"""What lies in a heavy bucket: everyone learns whether all its records share one tuple, and if so which.

Source    ours. With c records of each tuple in the bucket and a mark h of each tuple, random by a joint coin, S the sum
          of c, U of c h and V of c h h: S V - U U is 0 if all marks are equal. A random multiple of it is opened. Of a
          pure bucket, S and the sums of c times each limb are opened, all times one random factor: their ratios are the
          tuple, and the number of records stays hidden.
Roles     every party alike, three or more.
Security  semi-honest; up to (m - 1) // 2 of m parties may collude. A bucket of several tuples seems pure with chance
          2^-60: marks are elements of a field of 2^61 - 1.
Not       a party that lies can make a bucket look pure or impure, or change the tuple: the answer is then no tuple, or
          one of another bucket, or its count falls short, and the run ends (see `visit`), but not with a name.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.crypto import sharing
from covey.crypto.dealing import Dealing
from covey.crypto.field import F61, Elements
from covey.crypto.rng import Rng
from covey.errors import Aborted
from covey.secure.declare import Cost
from covey.wire import FRAME_BYTES, Channel, Message, gather

MESSAGE_BYTES = FRAME_BYTES + 30

CHUNK = 1 << 17
"""Words per message: a mebibyte."""


class Shares(Message, tag="peel.shares"):
    """Shares of the sender's sums, or of its products, that the recipient cannot derive: uniform to it."""

    shares: Elements


class OpenedParts(Message, tag="peel.part"):
    """The sender's part of numbers that are opened, under masks that add up to nothing."""

    parts: Elements


class Examination:
    """One party's place at the examination of some buckets, which needs a step of its own."""

    def __init__(self, channel: Channel, shares: Words, factors: Words, numbers: _SharedNumbers) -> None:
        self.channel = channel
        self._shares = shares
        self._factors = factors
        self._numbers = numbers

    @classmethod
    async def begin(cls, channel: Channel, sums: Words, limbs: Words) -> Examination:
        """Shares this party's S, U and V of each bucket (3 x buckets) and its sums of c times each limb."""
        numbers = _SharedNumbers(channel, sums.shape[1])
        return cls(channel, *await numbers.share(np.concatenate([sums, limbs])), numbers)

    async def purity(self) -> Bits:
        """Which buckets are pure."""
        total, first, second = self._shares[:3]
        spread = F61.subtract(F61.multiply(total, second), F61.multiply(first, first))
        opened = await self._numbers.open(F61.multiply(await self._numbers.reduce(spread), self._factors[0]))
        return np.asarray(opened == 0)

    async def tuples(self, which: Longs) -> Words:
        """The tuples of these buckets, which must be pure: limbs x buckets.

        Raises Aborted if a factor is 0 by chance (2^-61).
        """
        hidden = np.concatenate([self._shares[:1, which], self._shares[3:, which]])
        factor = np.tile(self._factors[1, which], len(hidden))
        opened = (await self._numbers.open(F61.multiply(hidden.ravel(), factor))).reshape(len(hidden), -1)
        if not opened[0].all():
            raise Aborted("a random factor was 0 by chance; run the study again", resumable=False)
        inverse = F61.inverse(opened[0])
        return np.stack([F61.multiply(row, inverse) for row in opened[1:]])


class _SharedNumbers:
    """One party's place at one examination."""

    def __init__(self, channel: Channel, width: int) -> None:
        self.channel = channel
        self.width = width
        self.seeds = channel.pairwise_seeds()
        self.places = sharing.places(channel.parties)
        self.weight = sharing.weights(tuple(self.places.values()))[self.places[channel.me] - 1]
        self.masks = {peer: Rng(seed).stream("mask") for peer, seed in self.seeds.items()}

    async def share(self, mine: Words) -> tuple[Words, Words]:
        """Shares of everyone's sums, and of two random factors for each bucket."""
        sums = Dealing(self.channel.me, self.seeds, "sums")
        factors = Dealing(self.channel.me, self.seeds, "factors", last=True)
        stream = self.channel.rng.stream("factors")
        dealt = await self._hand(
            [(sums, *sums.deal(mine.ravel())), (factors, *factors.deal_random(2 * self.width, stream))]
        )
        totals = [_total(each.values()) for each in dealt]
        return totals[0].reshape(mine.shape), totals[1].reshape(2, self.width)

    async def reduce(self, product: Words) -> Words:
        """Shares of the low degree of what shares of the high degree stand for."""
        dealing = Dealing(self.channel.me, self.seeds, "reduce")
        (dealt,) = await self._hand([(dealing, *dealing.deal(product))])
        return sharing.reduce_degree({self.places[name]: share for name, share in dealt.items()})

    async def open(self, shares: Words) -> Words:
        """The numbers behind shares of the high degree."""
        part = F61.add(F61.scale(shares, self.weight), sharing.pair_masks(self.channel.me, self.masks, len(shares)))
        channel, pieces = self.channel, [OpenedParts(Elements(part[start:stop])) for start, stop in _cut(len(part))]

        async def give(peer: str) -> Words:
            await channel.stream(peer, pieces)
            return part

        async def take(peer: str) -> Words:
            found = channel.receive_stream(peer, OpenedParts, len(pieces))
            return _join(channel, peer, [each.parts.words async for each in found], len(part))

        answers = await gather(*(give(peer) for peer in channel.peers), *(take(peer) for peer in channel.peers))
        theirs = answers[len(channel.peers) :]
        return _total([part, *theirs])

    async def _hand(self, dealings: list[tuple[Dealing, dict[str, Words], Words]]) -> list[dict[str, Words]]:
        channel = self.channel

        async def give(peer: str) -> list[Words]:
            parcel = [parcels[peer] for _, parcels, _ in dealings if peer in parcels]
            if parcel:
                words = np.concatenate(parcel)
                await channel.stream(peer, (Shares(Elements(words[start:stop])) for start, stop in _cut(len(words))))
            return []

        async def take(peer: str) -> list[Words]:
            due = [0 if dealing.derives(peer, channel.me) else len(own) for dealing, _, own in dealings]
            rest = np.zeros(0, dtype=np.uint64)
            if any(due):
                found = channel.receive_stream(peer, Shares, len(_cut(sum(due))))
                rest = _join(channel, peer, [each.shares.words async for each in found], sum(due))
            shares = []
            for (dealing, _, own), number in zip(dealings, due, strict=True):
                shares.append(rest[:number] if number else dealing.derived(peer, len(own)))
                rest = rest[number:]
            return shares

        answers = await gather(*(give(peer) for peer in channel.peers), *(take(peer) for peer in channel.peers))
        theirs = dict(zip(channel.peers, answers[len(channel.peers) :], strict=True))
        return [
            {channel.me: own, **{peer: shares[number] for peer, shares in theirs.items()}}
            for number, (_, _, own) in enumerate(dealings)
        ]


def own_sums(bucket: Longs, width: int, counts: Words, marks: Words, keys: Words) -> tuple[Words, Words]:
    """A party's own S, U and V of each bucket, and its sums of each limb; `bucket` says where each tuple lies."""
    first = F61.multiply(counts, marks)
    sums = [counts, first, F61.multiply(first, marks)]
    limbs = [F61.multiply(counts, limb) for limb in keys]
    added = [_add_up(bucket, row, width) for row in (*sums, *limbs)]
    return np.stack(added[:3]), np.stack(added[3:])


def _add_up(place: Longs, values: Words, width: int) -> Words:
    """The sums of the values at each place, in the field: high and low halves are added on their own."""
    low = np.bincount(place, weights=(values & np.uint64((1 << 31) - 1)).astype(np.float64), minlength=width)
    high = np.bincount(place, weights=(values >> np.uint64(31)).astype(np.float64), minlength=width)
    shift = np.full(width, 1 << 31, dtype=np.uint64)
    return F61.add(F61.multiply(high.astype(np.uint64), shift), low.astype(np.uint64))


def _total(vectors: Iterable[Words]) -> Words:
    summands = iter(vectors)
    total = next(summands)
    for vector in summands:
        total = F61.add(total, vector)
    return total


def _cut(words: int) -> list[tuple[int, int]]:
    """Where the messages of so many words begin and end; none at all takes one, too."""
    return [(start, min(start + CHUNK, words)) for start in range(0, max(1, words), CHUNK)]


def _join(channel: Channel, peer: str, parts: list[Words], due: int) -> Words:
    pairs = zip(parts, _cut(due), strict=True)
    fine = [sharing.accept(part, stop - start, party=peer, step=channel.step) for part, (start, stop) in pairs]
    return np.concatenate(fine)


def _sent(parties: int) -> int:
    return parties * (parties - 1 - sharing.threshold(parties))


def _messages(parties: int, buckets: int, pure: int, limbs: int) -> int:
    """Of each party's peers some derive its sums' shares, some its factors', and with an even number one neither."""
    derive = sharing.threshold(parties)
    sums, factors, both = (len(_cut(each * buckets)) for each in (3 + limbs, 2, 5 + limbs))
    shared = parties * (derive * (sums + factors) + (parties - 1 - 2 * derive) * both)
    opened = len(_cut(buckets)) + len(_cut(pure * (1 + limbs)))
    return shared + _sent(parties) * len(_cut(buckets)) + parties * (parties - 1) * opened


COST = Cost(
    rounds=lambda parties, buckets, pure, limbs: 4,
    messages=_messages,
    bytes=lambda parties, buckets, pure, limbs: (
        8 * _sent(parties) * (6 + limbs) * buckets
        + 8 * parties * (parties - 1) * (buckets + pure * (1 + limbs))
        + MESSAGE_BYTES * _messages(parties, buckets, pure, limbs)
    ),
)
"""Of one examination: `purity` of all buckets, `tuples` of the pure ones."""
