"""A party that does not compute: it shares its columns among the three who do, and reads what is opened to it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from covey.arrays import Words
from covey.crypto.rng import Rng
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.errors import InputError, PeerError
from covey.mpc.kernels import DIGEST_WORDS
from covey.mpc.planes import as_public, blocks, planes_of
from covey.mpc.rounds import receive, send
from covey.mpc.shared import public_words
from covey.wire import Channel, gather

SEED_WORDS = SECRET_BYTES // 8
LONG = 7 * 86400.0
"""Seconds for which a party outside waits while the three compute, as long as their lines are alive."""


def masks(seed: Words, size: int) -> Words:
    """Returns the share that a seed of the holder stands for."""
    return Rng(Secret(seed.tobytes())).stream("share").words(size)


def unfolded(number: int, words: Words, size: int) -> tuple[Words, Words]:
    """Returns the shares `number` and the next one, from what the holder sent to the party of that number.

    Share 0 and share 1 are masks, of which seeds travel; share 2 travels itself.
    """
    if number == 0:
        return masks(words[:SEED_WORDS], size), masks(words[SEED_WORDS:], size)
    mask, masked = masks(words[:SEED_WORDS], size), words[SEED_WORDS:]
    return (mask, masked) if number == 1 else (masked, mask)


def digest_of(words: Words) -> Words:
    """Returns the hash of public words."""
    return np.frombuffer(hashlib.sha256(np.ascontiguousarray(words, "<u8").data).digest(), np.uint64)


class Outside:
    """The party's end of the box. Calls are made in the order in which the three expect them."""

    def __init__(self, channel: Channel, parties: Sequence[str], *, attempt: int = 1, checked: bool = False) -> None:
        if channel.me not in parties[3:]:
            raise InputError(f"party {channel.me!r} computes, or is none of {', '.join(parties)}")
        self._channel, self._computing = channel, parties[:3]
        self._rng, self._columns, self._checked = channel.rng.child("outside", attempt), 0, checked

    async def share(self, values: Words, width: int) -> None:
        """Shares a column among the three."""
        words = public_words(values, width)
        if not (size := width * blocks(words.shape[1])):
            return
        self._columns += 1
        seeds = self._rng.stream("seeds", self._columns).words(2 * SEED_WORDS).reshape(2, SEED_WORDS)
        masked = planes_of(words[None], width).reshape(-1) ^ masks(seeds[0], size) ^ masks(seeds[1], size)
        parcels = ([seeds[0], seeds[1]], [seeds[1], masked], [seeds[0], masked])
        lines = zip(self._computing, parcels, strict=True)
        await gather(*(send(self._channel, party, parcel) for party, parcel in lines))

    async def open(self, width: int, records: int) -> Words:
        """Returns a column that the three open to this party."""
        if not (size := width * blocks(records)):
            return as_public(np.zeros((width, blocks(records)), np.uint64), records)
        if self._checked:
            parts = await gather(*(receive(self._channel, name, size + DIGEST_WORDS, LONG) for name in self._computing))
            for place, part in enumerate(parts):
                if not np.array_equal(part[size:], digest_of(parts[(place + 1) % 3][:size])):
                    raise self._differ(self._computing[place], self._computing[(place + 1) % 3])
            planes = parts[0][:size] ^ parts[1][:size] ^ parts[2][:size]
        else:
            first, second = await gather(*(receive(self._channel, name, size, LONG) for name in self._computing[:2]))
            planes = first ^ second
        return as_public(planes.reshape(width, blocks(records)), records)

    async def told(self, size: int) -> Words:
        """Returns so many public words. Raises `PeerError` if the three do not tell the same."""
        if not size:
            return np.zeros(0, np.uint64)
        due = zip(self._computing, (size, DIGEST_WORDS, DIGEST_WORDS), strict=True)
        words, *digests = await gather(*(receive(self._channel, party, length, LONG) for party, length in due))
        told = digest_of(words)
        alike = [np.array_equal(digest, told) for digest in digests]
        if not any(alike) and np.array_equal(digests[0], digests[1]):
            raise self._differ(self._computing[0], self._computing[1])
        for party, equal in zip(self._computing[1:], alike, strict=True):
            if not equal:
                raise self._differ(party, self._computing[0])
        return words

    def _differ(self, party: str, other: str) -> PeerError:
        reason = f"it tells us something else than {other!r} does"
        return PeerError(party=party, step=self._channel.step, reason=reason)
