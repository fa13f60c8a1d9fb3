"""Secure sum: everyone learns the total of all parties' vectors, modulo 2^64, and nothing else.

Source    Tassa & Gudes, section 3.1, with pairwise masks in place of the ring: one round instead of 2m hops,
          and no two neighbours who together read the vector of the party between them.
Roles     every party alike, two or more.
Security  semi-honest, up to n - 2 colluders: what they see is uniform, given the total. Each mask is bound to
          session, step and call number and used once; a mask used twice would open a difference.
Not       with two parties the total gives the other's vector away (LEAKAGE says so); a party that lies
          changes the total unnoticed; the vector's length is public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from covey.arrays import Words
from covey.crypto.rng import Rng, Stream
from covey.crypto.secret import Secret
from covey.secure.declare import Cost, Leakage, Traffic
from covey.wire import Channel, Chunk, Vector, chunks, gather

LEAKAGE = Leakage(
    everyone=("the total of all {parties} parties in each of {width} places, and nothing about how it splits",)
)
LEAKAGE_OF_TWO = Leakage(
    everyone=("the other party's number in each of {width} places: with two parties a total gives it away",)
)


def leakage(parties: int) -> Leakage:
    """The leakage of a run among that many."""
    return LEAKAGE_OF_TWO if parties == 2 else LEAKAGE


COST = Cost(lambda n, width: Traffic.exchange(n, chunks.size(width), chunks.messages(width)))


class Masked(Chunk[Vector], tag="sum.masked"):
    """A part of the sender's vector under its masks: uniform to everyone else."""

    values: Vector


async def total(channel: Channel, mine: Words) -> Words:
    """The total of all parties' vectors, which have the same length."""
    masked = mask(mine, mask_streams(channel.me, channel.pairwise_seeds()))
    answer = masked.copy()

    async def add(peer: str) -> None:
        first = 0
        async for part in channel.receive_parts(peer, Masked, len(mine)):
            answer[first : first + len(part)] += part.words
            first += len(part)

    await gather(channel.broadcast_all(Masked, Vector(masked)), *(add(peer) for peer in channel.peers))
    return answer


def mask_streams(me: str, seeds: Mapping[str, Secret]) -> list[tuple[int, Stream]]:
    """One stream of masks per peer, with its sign: the pair's first adds what its second takes away."""
    return [(1 if me < peer else -1, Rng(seed).stream("mask")) for peer, seed in sorted(seeds.items())]


def mask(vector: Words, streams: Iterable[tuple[int, Stream]]) -> Words:
    """The vector under the next words of every mask."""
    masked = vector.astype(np.uint64, copy=True)
    for sign, stream in streams:
        if sign > 0:
            masked += stream.words(len(masked))
        else:
            masked -= stream.words(len(masked))
    return masked


def ideal(inputs: Mapping[str, Words]) -> Words:
    """A trusted party's answer."""
    vectors = list(inputs.values())
    answer = np.zeros(len(vectors[0]), dtype=np.uint64)
    for vector in vectors:
        answer += vector
    return answer
