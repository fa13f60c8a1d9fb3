"""Purity of a heavy bucket: everyone learns if all its records share one tuple, and if so which.

Source    ours. With c records of each tuple in the bucket and a mark h of each tuple, random by a joint coin, S the sum
          of c, U of c h and V of c h h: S V - U U is 0 if all marks are equal. A random multiple of it is opened. Of a
          pure bucket, S and the sums of c times each limb are opened, all times one random factor: their ratios are the
          tuple, and the number of records stays hidden.
Roles     every party alike, three or more.
Security  semi-honest; up to (m - 1) // 2 of m parties may collude. A bucket of several tuples seems pure with chance
          2^-60: marks are elements of a field of 2^61 - 1.
Not       a party that lies can make a bucket look pure or impure, or change the tuple. The answer is then no tuple, or
          one of another bucket, or its count falls short: the run ends (see `search`), but nobody is named.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.crypto import sharing
from covey.crypto.dealing import Dealing
from covey.crypto.field import F61, FieldElements
from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import Aborted
from covey.secure import shares
from covey.secure.declare import Cost, Traffic
from covey.wire import FRAME_BYTES, Channel, Chunk
from covey.wire.chunks import messages

MESSAGE_BYTES = FRAME_BYTES + 30


class Shares(Chunk[FieldElements], tag="peel.shares"):
    """Shares of the sender's sums, or of its products, that the recipient cannot derive: uniform to it."""

    shares: FieldElements


class OpenedParts(Chunk[FieldElements], tag="peel.part"):
    """The sender's part of numbers that are opened, under masks that add up to nothing."""

    parts: FieldElements


class Examination:
    """One party's place at the examination of some buckets, which needs a step of its own."""

    def __init__(self, channel: Channel, seeds: Mapping[str, Secret], sums: Words, factors: Words) -> None:
        self.channel = channel
        self._reducing = Dealing(channel.me, seeds, "reduce")
        self._shares = sums
        """Shares of S, U, V and of the sums of c times each limb."""
        self._factors = factors
        self._masks = {peer: Rng(seed).stream("mask") for peer, seed in seeds.items()}

    @classmethod
    async def begin(cls, channel: Channel, sums: Words, limbs: Words) -> Examination:
        """Shares this party's S, U and V of each bucket (3 x buckets) and its sums of c times each limb."""
        mine, width = np.concatenate([sums, limbs]), sums.shape[1]
        seeds = channel.pairwise_seeds()
        own, factors = Dealing(channel.me, seeds, "sums"), Dealing(channel.me, seeds, "factors", last=True)
        drawn = factors.deal_random(2 * width, channel.rng.stream("factors"))
        dealt = await shares.hand_out(
            channel, Shares, FieldElements, [(own, *own.deal(mine.ravel())), (factors, *drawn)]
        )
        total, random = (shares.total(each, F61) for each in dealt)
        return cls(channel, seeds, total.reshape(mine.shape), random.reshape(2, width))

    async def purity(self) -> Bits:
        """The buckets that are pure."""
        total, first, second = self._shares[:3]
        spread = F61.subtract(F61.multiply(total, second), F61.multiply(first, first))
        reduced = await shares.reduce(self.channel, Shares, FieldElements, self._reducing, spread)
        return np.asarray(await self._open(F61.multiply(reduced, self._factors[0])) == 0)

    async def tuples(self, which: Longs) -> Words:
        """The tuples of these buckets, which must be pure: limbs x buckets.

        Raises Aborted if a factor is 0 by chance (2^-61).
        """
        hidden = np.concatenate([self._shares[:1, which], self._shares[3:, which]])
        factor = np.tile(self._factors[1, which], len(hidden))
        opened = (await self._open(F61.multiply(hidden.ravel(), factor))).reshape(len(hidden), -1)
        if not opened[0].all():
            raise Aborted("a random factor was 0 by chance; run the study again", resumable=False)
        inverse = F61.inverse(opened[0])
        return np.stack([F61.multiply(row, inverse) for row in opened[1:]])

    async def _open(self, product: Words) -> Words:
        """The numbers behind shares of the high degree."""
        part = shares.summand(self.channel, product, self._masks, F61)
        return await shares.open_total(self.channel, OpenedParts, FieldElements, part)


def own_sums(bucket: Longs, width: int, counts: Words, marks: Words, keys: Words) -> tuple[Words, Words]:
    """A party's own S, U and V of each bucket, and its sums of each limb; `bucket` says where each tuple lies."""
    first = F61.multiply(counts, marks)
    sums = [counts, first, F61.multiply(first, marks)]
    limbs = [F61.multiply(counts, limb) for limb in keys]
    added = [_add_up(bucket, row, width) for row in (*sums, *limbs)]
    return np.stack(added[:3]), np.stack(added[3:])


def _add_up(place: Longs, values: Words, width: int) -> Words:
    """The sums of the values at each place, in the field.

    High and low halves are added on their own: sums of numbers below 2^31 are exact in a float.
    """
    low = np.bincount(place, weights=(values & np.uint64((1 << 31) - 1)).astype(np.float64), minlength=width)
    high = np.bincount(place, weights=(values >> np.uint64(31)).astype(np.float64), minlength=width)
    shift = np.full(width, 1 << 31, dtype=np.uint64)
    return F61.add(F61.multiply(high.astype(np.uint64), shift), low.astype(np.uint64))


def _sent(parties: int) -> int:
    return parties * (parties - 1 - sharing.threshold(parties))


def _traffic(parties: int, buckets: int, pure: int, limbs: int) -> Traffic:
    """Some of a party's peers derive its sums' shares, some its factors', and with an even number one neither."""
    derive, pairs = sharing.threshold(parties), parties * (parties - 1)
    sums, factors, both = (messages(each * buckets) for each in (3 + limbs, 2, 5 + limbs))
    shared = parties * (derive * (sums + factors) + (parties - 1 - 2 * derive) * both)
    opened = messages(buckets) + messages(pure * (1 + limbs))
    number = shared + _sent(parties) * messages(buckets) + pairs * opened
    words = _sent(parties) * (6 + limbs) * buckets + pairs * (buckets + pure * (1 + limbs))
    return Traffic(4, number, 8 * words + MESSAGE_BYTES * number)


COST = Cost(_traffic)
"""The cost of one examination: `purity` of all buckets, `tuples` of the pure ones."""
