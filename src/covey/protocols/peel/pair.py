"""Two parties: tests by oblivious transfer, purity by comparing, and no shares, which hide nothing between two.

Before a table is tested each party names the tuples of which it has k records or more by itself. A bucket that is heavy
without them has records of both; it is pure if both have one tuple there and it is the same, which a private comparison
(`covey.secure.match`) says and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from covey.crypto.field import F61, Words
from covey.errors import PeerError
from covey.protocols.peel.course import Course
from covey.secure import match
from covey.secure.choice import Pair
from covey.wire import Channel, Message, Vector

Bits = NDArray[np.bool_]
Longs = NDArray[np.int64]


class Alone(Message, tag="peel.alone"):
    """The tuples of which the sender has k records or more, limb after limb."""

    keys: Vector


class Couple:
    """Tests between two, in the place of a `Supply`: nothing is prepared ahead."""

    def __init__(self, pair: Pair, bound: int, course: Course) -> None:
        self.course = course
        self._pair = pair
        self._bound = bound

    def foresee(self, tests: int) -> None:
        """Nothing is prepared."""

    async def reaches(self, channel: Channel, mine: Words) -> Bits:
        """Where the two numbers add up to the bound or more."""
        return await self._pair.reaches(channel, mine, self._bound)

    async def work(self) -> None:
        """Nothing to do beside the visits."""

    def close(self) -> None:
        """Nothing is left to be made."""


async def name_own(channel: Channel, keys: Words, counts: Longs, k: int) -> Words:
    """All tuples (limbs x tuples, each once) of which one of the two has k records or more; `keys` may repeat."""
    (peer,) = channel.peers
    unique, place = np.unique(keys, axis=1, return_inverse=True)
    total = np.bincount(place.ravel(), weights=counts, minlength=unique.shape[1])
    mine = unique[:, total >= k]
    theirs = (await channel.exchange(Alone(Vector(mine.ravel()))))[peer].keys.words
    if len(theirs) % len(keys) or (len(theirs) and theirs.max() >= F61.prime):
        raise PeerError(party=peer, step=channel.step, reason="it named what is no list of tuples")
    return np.unique(np.concatenate([mine, theirs.reshape(len(keys), -1)], axis=1), axis=1)


async def same_tuple(channel: Channel, keys: Sequence[Words], place: Sequence[Longs], widths: Sequence[int]) -> Bits:
    """Of each heavy bucket of some tables whether both have just one tuple there, and the same."""
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
