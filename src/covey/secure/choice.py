"""Threshold test between two: both learn whether their numbers add up to a bound or more, and nothing else.

Source    Kolesnikov and Kumaresan 2013, one out of N oblivious transfers for the price of a few hashes each, from 256
          transfers on the group (Chou and Orlandi 2015). The *chooser* (the first by name) picks by its own number the
          bit that the *keeper* has written down for it: whether that number and the keeper's reach the bound.
Roles     the chooser and the keeper.
Security  semi-honest. Words of the Walsh-Hadamard code differ in 128 of 256 places, so that a pad that was not picked
          hangs on 128 bits that only the keeper knows. Numbers are clipped at the bound, which is 255 at most.
Not       a party that lies changes answers unnoticed. Where its own number is one below the bound, an answer tells a
          party whether the other's is 0; that is so of any such test.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from covey.crypto.group import Point, Points, Scalar, Scalars, generator_times
from covey.crypto.rng import Rng, Stream, spell
from covey.crypto.secret import Secret
from covey.errors import InputError, PeerError
from covey.secure.declare import Cost, Leakage
from covey.wire import FRAME_BYTES, Channel, Message

Bits = NDArray[np.bool_]
Octets = NDArray[np.uint8]
Words = NDArray[np.uint64]

WIDTH = 256
"""Places of a code word, and transfers on the group."""
LARGEST = WIDTH - 1
CHUNK = 1 << 15
"""Tests whose messages travel together."""

MESSAGE_BYTES = FRAME_BYTES + 27

LEAKAGE = Leakage(everyone=("for each of {width} pairs of numbers whether they add up to {bound} or more, no number",))


class Offer(Message, tag="choice.offer"):
    """The chooser's key for the transfers on the group."""

    key: Point


class Picks(Message, tag="choice.picks"):
    """The keeper's picks, which look alike whatever was picked."""

    points: Points


class Columns(Message, tag="choice.columns"):
    """The chooser's code words under masks: uniform to the keeper."""

    columns: bytes


class Sealed(Message, tag="choice.sealed"):
    """An answer for each number that the chooser may have, each under a pad of its own."""

    bits: bytes


class Answers(Message, tag="choice.answers"):
    """What the chooser read."""

    bits: bytes


COST = Cost(
    rounds=lambda bound, width: 2 * _chunks(width) + 1 if width else 0,
    messages=lambda bound, width: 3 * _chunks(width),
    bytes=lambda bound, width: (
        sum(WIDTH * _octets(size) + _octets(size * (bound + 1)) + _octets(size) for size in _sizes(width))
        + 3 * MESSAGE_BYTES * _chunks(width)
    ),
)
"""Of one `reaches`, after `Pair.meet`."""


class Pair:
    """One of the two, after the transfers on the group; it tests as often as is asked."""

    def __init__(self, me: str, peer: str, chooses: bool, streams: tuple[list[Stream], ...], picked: Octets) -> None:
        self.me, self.peer, self.chooses = me, peer, chooses
        self._streams = streams
        self._picked = picked
        self._tests = 0

    @classmethod
    async def meet(cls, channel: Channel) -> Pair:
        """Makes the 256 transfers. Needs a step of its own."""
        if len(channel.parties) != 2:
            raise InputError("this test is between two parties")
        (peer,) = channel.peers
        if channel.me == channel.parties[0]:
            secret = Scalar.fresh(channel.rng.stream("key"))
            key = Point(generator_times(secret).pack())
            await channel.send(peer, Offer(key))
            picks = (await channel.receive(peer, Picks)).points
            if len(picks) != WIDTH:
                raise PeerError(party=peer, step=channel.step, reason=f"{len(picks)} picks, expected {WIDTH}")
            both = [_streams(channel, each.times(secret)) for each in (picks, picks.minus(key))]
            return cls(channel.me, peer, True, (both[0], both[1]), np.zeros(WIDTH, dtype=np.uint8))
        offer = (await channel.receive(peer, Offer)).key
        bits = np.unpackbits(np.frombuffer(channel.rng.stream("picks").bytes(WIDTH // 8), dtype=np.uint8))
        scalars = Scalars.draw(channel.rng.stream("scalars"), WIDTH)
        plain = list(generator_times(scalars))
        moved = list(generator_times(scalars).plus(offer))
        chosen = Points(b"".join(moved[place] if bit else plain[place] for place, bit in enumerate(bits.tolist())))
        await channel.send(peer, Picks(chosen))
        return cls(channel.me, peer, False, (_streams(channel, offer.times(scalars)),), bits)

    async def reaches(self, channel: Channel, mine: Words, bound: int) -> Bits:
        """Where the two numbers add up to the bound or more. Raises InputError for a bound above 255."""
        if not 1 <= bound <= LARGEST:
            raise InputError(f"between two parties a bound of {bound} cannot be tested; it is {LARGEST} at most")
        clipped = np.minimum(mine, np.uint64(bound)).astype(np.int64)
        parts = [np.zeros(0, dtype=bool)]
        for start in range(0, len(mine), CHUNK):
            piece = clipped[start : start + CHUNK]
            test = self._choose if self.chooses else self._keep
            parts.append(await test(channel, piece, bound))
            self._tests += len(piece)
        return np.concatenate(parts)

    async def _choose(self, channel: Channel, mine: NDArray[np.int64], bound: int) -> Bits:
        size = len(mine)
        own, other = (_draw(streams, size) for streams in self._streams)
        await channel.send(self.peer, Columns((own ^ other ^ _turned(_CODE[mine])).tobytes()))
        pads = _pads(_rows(own, size), self._tests)
        sealed = await channel.receive(self.peer, Sealed)
        table = _unpacked(channel, self.peer, sealed.bits, size * (bound + 1)).reshape(size, bound + 1)
        answer = np.asarray(table[np.arange(size), mine] ^ pads)
        await channel.send(self.peer, Answers(np.packbits(answer).tobytes()))
        return answer

    async def _keep(self, channel: Channel, mine: NDArray[np.int64], bound: int) -> Bits:
        size = len(mine)
        columns = (await channel.receive(self.peer, Columns)).columns
        if len(columns) != WIDTH * _octets(size):
            raise PeerError(party=self.peer, step=channel.step, reason="its code words are not as many as are due")
        sent = np.frombuffer(columns, dtype=np.uint8).reshape(WIDTH, -1)
        rows = _rows(_draw(self._streams[0], size) ^ (sent * self._picked[:, np.newaxis]), size)
        picked = np.packbits(self._picked)
        answers = [(mine + choice >= bound) ^ _pads(rows ^ (_WORDS[choice] & picked), self._tests)
                   for choice in range(bound + 1)]  # fmt: skip
        await channel.send(self.peer, Sealed(np.packbits(np.stack(answers, axis=1).ravel()).tobytes()))
        return _unpacked(channel, self.peer, (await channel.receive(self.peer, Answers)).bits, size)


_CODE: Octets = np.array(
    [[(word & place).bit_count() & 1 for place in range(WIDTH)] for word in range(WIDTH)], np.uint8
)
_WORDS: Octets = np.packbits(_CODE, axis=1)


def _streams(channel: Channel, points: Points) -> list[Stream]:
    """A stream of masks from each common point."""
    context = (channel.session, channel.step)
    return [
        Rng(Secret(hashlib.sha256(spell("covey choice/1", *context, place, point)).digest())).stream("columns")
        for place, point in enumerate(points)
    ]


def _draw(streams: list[Stream], size: int) -> Octets:
    """The next masks: a row of bits for each stream."""
    return np.stack([np.frombuffer(stream.bytes(_octets(size)), dtype=np.uint8) for stream in streams])


def _turned(bits: Octets) -> Octets:
    return np.packbits(bits.T, axis=1)


def _rows(columns: Octets, size: int) -> Octets:
    """Each test's 256 bits, as 32 bytes."""
    return np.packbits(np.unpackbits(columns, axis=1, count=size).T, axis=1)


def _pads(rows: Octets, first: int) -> Bits:
    """A bit for each row that says nothing of the row, and that nobody guesses who lacks it."""
    flat, width = rows.tobytes(), rows.shape[1]
    digest = hashlib.sha256
    found = [
        digest((first + place).to_bytes(8, "big") + flat[width * place : width * (place + 1)]).digest()[0] & 1
        for place in range(len(rows))
    ]
    return np.array(found, dtype=bool)


def _unpacked(channel: Channel, peer: str, packed: bytes, size: int) -> Bits:
    if len(packed) != _octets(size):
        raise PeerError(party=peer, step=channel.step, reason=f"{len(packed)} bytes of bits, expected {_octets(size)}")
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=size).astype(bool)


def _octets(bits: int) -> int:
    return -(-bits // 8)


def _chunks(width: int) -> int:
    return -(-width // CHUNK)


def _sizes(width: int) -> Iterator[int]:
    return (min(CHUNK, width - start) for start in range(0, width, CHUNK))
