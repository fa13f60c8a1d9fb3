"""Two parties: tests by oblivious transfer, purity by comparing, and no shares, which hide nothing between two.

Before a table is tested each party names the tuples of which it has k records or more by itself. A bucket that is heavy
without them has records of both; it is pure if both have one tuple there and it is the same, which a private comparison
(`covey.secure.match`) says and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.crypto.field import F61, Field
from covey.errors import InputError, PeerError
from covey.protocols.peel import comparing
from covey.protocols.peel.choice import ObliviousTests
from covey.protocols.peel.supply import JointNumbers
from covey.secure import match
from covey.secure.threshold_test import Prepared
from covey.wire import Channel, Message, Vector, chunks, gather

NO_WORDS: Words = np.zeros(0, dtype=np.uint64)


class Alone(Message, tag="peel.alone"):
    """The tuples of which the sender has k records or more: how many of each table, and their limbs.

    Limbs that do not fit into one message go on in further messages, which have no sizes.
    """

    sizes: Vector
    keys: Vector


class TwoPartyTests(JointNumbers):
    """Tests between two, in the place of a `Supply`: nothing is prepared ahead."""

    def __init__(self, pair: ObliviousTests, bound: int) -> None:
        self._pair = pair
        self._bound = bound

    def foresee(self, tests: int) -> None:
        """Nothing is prepared."""

    async def reaches(self, channel: Channel, mine: Words) -> Bits:
        return await self._pair.reaches(channel, mine, self._bound)

    async def none_negative(self, channel: Channel, mine: Longs) -> Bits:
        return await comparing.none_negative(channel, self._pair, mine)

    def prepared(self, use: str, bound: int, width: int, field: Field | None = None) -> Awaitable[Prepared]:
        """Refused: what needs shares is refused to two parties before a run begins."""
        raise InputError("shares hide nothing between two parties")


async def name_own(channel: Channel, keys: Sequence[Words], counts: Sequence[Longs], k: int) -> list[Words]:
    """The tuples of each table (limbs x tuples, each once) of which one of the two has k records or more.

    `keys` has each table's own tuples, which may repeat, and `counts` their records.
    """
    (peer,) = channel.peers
    mine = [_own(each, number, k) for each, number in zip(keys, counts, strict=True)]
    sizes = np.array([each.shape[1] for each in mine], dtype=np.uint64)
    flat = np.concatenate([NO_WORDS, *(each.ravel() for each in mine)])
    spans = chunks.spans(len(flat), chunks.WORD_BYTES)
    parts = (Alone(Vector(sizes if not first else sizes[:0]), Vector(flat[first:last])) for first, last in spans)
    _, theirs = await gather(_say(channel, peer, parts), _hear(channel, peer, [len(each) for each in keys]))
    named = _cut(*theirs, [len(each) for each in keys])
    if named is None:
        raise PeerError(party=peer, step=channel.step, reason="it named what is no list of tuples")
    return [np.unique(np.concatenate(both, axis=1), axis=1) for both in zip(mine, named, strict=True)]


async def _say(channel: Channel, peer: str, parts: Iterable[Alone]) -> tuple[Words, Words]:
    await channel.stream(peer, parts)
    return NO_WORDS, NO_WORDS


async def _hear(channel: Channel, peer: str, limbs: Sequence[int]) -> tuple[Words, Words]:
    """The number of tuples of each table that the peer names, and all their limbs: as many as it says, or fewer."""
    first = await channel.receive(peer, Alone)
    sizes, parts = first.sizes.words, [first.keys.words]
    most = sum(size * limb for size, limb in zip(sizes.tolist(), limbs, strict=False))
    step = chunks.per_message(chunks.WORD_BYTES)
    while len(parts[-1]) == step and len(parts) * step < min(most, chunks.LONGEST):
        parts.append((await channel.receive(peer, Alone)).keys.words)
    return sizes, np.concatenate(parts)


def _own(keys: Words, counts: Longs, k: int) -> Words:
    """The tuples of which there are k records or more."""
    unique, place = np.unique(keys, axis=1, return_inverse=True)
    return unique[:, np.bincount(place.ravel(), weights=counts, minlength=unique.shape[1]) >= k]


def _cut(sizes: Words, flat: Words, limbs: Sequence[int]) -> list[Words] | None:
    """A peer's tuples by table; None if they are none."""
    if len(sizes) != len(limbs) or (sizes > len(flat)).any() or (len(flat) and flat.max() >= F61.prime):
        return None
    ends = np.cumsum([size * limb for size, limb in zip(sizes.tolist(), limbs, strict=True)], dtype=np.int64)
    if len(flat) != (ends[-1] if len(ends) else 0):
        return None
    return [part.reshape(limb, -1) for part, limb in zip(np.split(flat, ends[:-1]), limbs, strict=True)]


async def same_tuple(channel: Channel, keys: Sequence[Words], place: Sequence[Longs], widths: Sequence[int]) -> Bits:
    """The heavy buckets of some tables in which both have just one tuple, and the same: True for these."""
    texts: list[bytes | None] = []
    for own, where, width in zip(keys, place, widths, strict=True):
        low, single = lowest(own, where, width)
        texts += [low[:, bucket].tobytes() if single[bucket] else None for bucket in range(width)]
    found = await match.matches(channel, texts)
    return np.zeros(0, dtype=bool) if found is None else found


def lowest(keys: Words, place: Longs, width: int) -> tuple[Words, Bits]:
    """The least of a party's tuples in each bucket, limb by limb, and which buckets have one tuple and no other."""
    inside = np.flatnonzero(place >= 0)
    low = np.full((len(keys), width), np.iinfo(np.uint64).max, dtype=np.uint64)
    high = np.zeros((len(keys), width), dtype=np.uint64)
    for limb in range(len(keys)):
        np.minimum.at(low[limb], place[inside], keys[limb, inside])
        np.maximum.at(high[limb], place[inside], keys[limb, inside])
    return low, np.asarray((low == high).all(axis=0))
