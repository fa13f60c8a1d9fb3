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

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from covey.arrays import Words
from covey.crypto.rng import Rng, Stream
from covey.crypto.secret import Secret
from covey.errors import InputError, PeerError
from covey.secure.declare import Cost, Leakage
from covey.wire import FRAME_BYTES, Channel, Message, Vector, gather

CHUNK = 1 << 17
"""Words per message: a mebibyte."""

AHEAD = 4
"""Chunks that a party may have masked and sent before it has added up the first."""

MESSAGE_BYTES = FRAME_BYTES + 28

LEAKAGE = Leakage(
    everyone=("the total of all {parties} parties in each of {width} places, and nothing about how it splits",)
)
LEAKAGE_OF_TWO = Leakage(
    everyone=("the other party's number in each of {width} places: with two parties a total gives it away",)
)


def leakage(parties: int) -> Leakage:
    """What a run among that many teaches."""
    return LEAKAGE_OF_TWO if parties == 2 else LEAKAGE


def _chunks(width: int) -> int:
    return max(1, -(-width // CHUNK))


COST = Cost(
    rounds=lambda n, width: 1,
    messages=lambda n, width: n * (n - 1) * _chunks(width),
    bytes=lambda n, width: n * (n - 1) * (8 * width + MESSAGE_BYTES * _chunks(width)),
)


class Masked(Message, tag="sum.masked"):
    """A part of the sender's vector under its masks: uniform to everyone else."""

    values: Vector


async def total(channel: Channel, mine: Words) -> Words:
    """The total of all parties' vectors, which have the same length."""
    parts: list[Words] = []
    pieces = (mine[start : start + CHUNK] for start in range(0, max(1, len(mine)), CHUNK))
    await total_in_chunks(channel, pieces, len(mine), parts.append)
    return np.concatenate(parts)


async def total_in_chunks(channel: Channel, mine: Iterable[Words], width: int, take: Callable[[Words], None]) -> None:
    """The same for a vector that is never in memory as a whole.

    `mine` yields it in pieces of `CHUNK` words (the last may be shorter); `take` is given the total's
    pieces in order.
    """
    streams = mask_streams(channel.me, channel.pairwise_seeds())
    ready: asyncio.Queue[Words] = asyncio.Queue(AHEAD)

    async def say() -> None:
        for piece in _checked(mine, width):
            masked = mask(piece, streams)
            await channel.broadcast(Masked(Vector(masked)))
            await ready.put(masked)

    async def add_up() -> None:
        for index in range(_chunks(width)):
            due = min(CHUNK, width - index * CHUNK)
            theirs = await channel.collect(Masked)
            piece = await ready.get()
            for sender, part in theirs.items():
                if len(part.values) != due:
                    reason = f"{len(part.values)} values, expected {due}"
                    raise PeerError(party=sender, step=channel.step or "sum", reason=reason)
                piece += part.values.words
            take(piece)

    await gather(say(), add_up())


def mask_streams(me: str, seeds: Mapping[str, Secret]) -> list[tuple[int, Stream]]:
    """One stream of masks per peer, with its sign: the pair's first adds what its second takes away."""
    return [(1 if me < peer else -1, Rng(seed).stream("mask")) for peer, seed in sorted(seeds.items())]


def mask(piece: Words, streams: Iterable[tuple[int, Stream]]) -> Words:
    """The next piece of the vector, under the next words of every mask."""
    masked = piece.astype(np.uint64, copy=True)
    for sign, stream in streams:
        if sign > 0:
            masked += stream.words(len(masked))
        else:
            masked -= stream.words(len(masked))
    return masked


def ideal(inputs: Mapping[str, Words]) -> Words:
    """What a trusted party would answer."""
    vectors = list(inputs.values())
    answer = np.zeros(len(vectors[0]), dtype=np.uint64)
    for vector in vectors:
        answer += vector
    return answer


def _checked(pieces: Iterable[Words], width: int) -> Iterator[Words]:
    done = 0
    for piece in pieces:
        if len(piece) != min(CHUNK, width - done):
            raise InputError(f"a vector of {width} words comes in pieces of {CHUNK}, this one has {len(piece)}")
        done += len(piece)
        yield piece
    if done != width:
        raise InputError(f"the vector has {done} words, {width} were announced")
