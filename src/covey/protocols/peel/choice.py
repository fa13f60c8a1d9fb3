"""Threshold test between two: both learn if their numbers add up to a bound or more, and nothing else.

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

from covey.arrays import Bits, Longs, Octets, Words
from covey.crypto.bits import turn
from covey.crypto.digest import first_bits
from covey.crypto.group import Point, Points, Scalar, Scalars, generator_times
from covey.crypto.rng import Rng, Stream, spell
from covey.crypto.secret import Secret
from covey.errors import InputError
from covey.secure.declare import Cost, Leakage
from covey.wire import FRAME_BYTES, Channel, Chunk, Message, chunks, gather

WIDTH = 256
"""Places of a code word, and transfers on the group."""
LARGEST = WIDTH - 1

MESSAGE_BYTES = FRAME_BYTES + 32

LEAKAGE = Leakage(everyone=("for each of {width} pairs of numbers whether they add up to {bound} or more, no number",))


class Offer(Message, tag="choice.offer"):
    """The chooser's key for the transfers on the group."""

    key: Point


class Picks(Message, tag="choice.picks"):
    """The keeper's picks, which look alike whatever was picked."""

    points: Points


class Columns(Chunk[bytes], tag="choice.columns"):
    """The chooser's code words under masks: uniform to the keeper."""

    columns: bytes


class SealedAnswers(Chunk[bytes], tag="choice.sealed"):
    """An answer for each number that the chooser may have, each under a pad of its own."""

    bits: bytes


class TestAnswers(Chunk[bytes], tag="choice.answers"):
    """The answers that the chooser read."""

    bits: bytes


COST = Cost(
    rounds=lambda bound, width: 3 if width else 0,
    messages=lambda bound, width: 3 * len(_spans(width)),
    bytes=lambda bound, width: (
        sum(WIDTH * _octets(size) + _octets(size * (bound + 1)) + _octets(size) for size in _sizes(width))
        + 3 * MESSAGE_BYTES * len(_spans(width))
    ),
)
"""The cost of one `reaches`, after `ObliviousTests.meet`."""


class ObliviousTests:
    """One of the two, after the transfers on the group; it tests as often as is asked."""

    def __init__(self, me: str, peer: str, chooses: bool, streams: tuple[list[Stream], ...], picked: Octets) -> None:
        self.me, self.peer, self.chooses = me, peer, chooses
        self._streams = streams
        self._picked = picked
        self._tests = 0

    @classmethod
    async def meet(cls, channel: Channel) -> ObliviousTests:
        """Makes the 256 transfers. Needs a step of its own."""
        if len(channel.parties) != 2:
            raise InputError("this test is between two parties")
        (peer,) = channel.peers
        if channel.me == channel.parties[0]:
            secret = Scalar.fresh(channel.rng.stream("key"))
            key = Point(generator_times(secret).pack())
            await channel.send(peer, Offer(key))
            picks = (await channel.receive(peer, Picks)).points
            channel.check_length(peer, picks, WIDTH, "picks")
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
        """The places at which the two numbers add up to the bound or more. Raises InputError for a bound above 255."""
        if not 1 <= bound <= LARGEST:
            raise InputError(f"between two parties a bound of {bound} cannot be tested; it is {LARGEST} at most")
        clipped = np.minimum(mine, np.uint64(bound)).astype(np.int64)
        pieces = [clipped[first:last] for first, last in _spans(len(mine))]
        test = self._choose if self.chooses else self._keep
        return np.concatenate([np.zeros(0, dtype=bool), *await test(channel, pieces, bound)])

    async def _choose(self, channel: Channel, pieces: list[Longs], bound: int) -> list[Bits]:
        masked = [self._mask(piece) for piece in pieces]

        async def pick() -> list[Bits]:
            await channel.at("pick").stream(self.peer, (Columns(columns) for columns, _ in masked))
            return []

        async def read() -> list[Bits]:
            answers, at = [], channel.at("tell")
            for piece, (_, pads) in zip(pieces, masked, strict=True):
                sealed = await channel.receive_bits(self.peer, SealedAnswers, len(piece) * (bound + 1))
                answers.append(np.asarray(sealed.reshape(-1, bound + 1)[np.arange(len(piece)), piece] ^ pads))
                await at.send_bits(self.peer, TestAnswers, answers[-1])
            return answers

        return (await gather(pick(), read()))[1]

    def _mask(self, mine: Longs) -> tuple[bytes, Bits]:
        """Code words under masks, and the pads of the answers that they pick."""
        own, other = (_draw(streams, len(mine)) for streams in self._streams)
        pads = first_bits(_rows(own, len(mine)), self._tests)
        self._tests += len(mine)
        return (own ^ other ^ turn(_WORDS[mine])).tobytes(), pads

    async def _keep(self, channel: Channel, pieces: list[Longs], bound: int) -> list[Bits]:
        async def write() -> list[Bits]:
            at = channel.at("pick")
            for piece in pieces:
                columns = await at.receive_all(self.peer, Columns, WIDTH * _octets(len(piece)))
                await channel.send(self.peer, SealedAnswers(self._sealed(columns, piece, bound)))
            return []

        async def hear() -> list[Bits]:
            at = channel.at("tell")
            return [await at.receive_bits(self.peer, TestAnswers, len(piece)) for piece in pieces]

        return (await gather(write(), hear()))[1]

    def _sealed(self, columns: bytes, mine: Longs, bound: int) -> bytes:
        """The answer for each number that the chooser may have, each under its pad."""
        sent = np.frombuffer(columns, dtype=np.uint8).reshape(WIDTH, -1)
        rows = _rows(_draw(self._streams[0], len(mine)) ^ (sent * self._picked[:, np.newaxis]), len(mine))
        picked = np.packbits(self._picked)
        answers = np.empty((len(mine), bound + 1), dtype=bool)
        for choice in range(bound + 1):
            pads = first_bits(rows ^ (_WORDS[choice] & picked), self._tests)
            answers[:, choice] = (mine + choice >= bound) ^ pads
        self._tests += len(mine)
        return np.packbits(answers.ravel()).tobytes()


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


def _rows(columns: Octets, size: int) -> Octets:
    """Each test's 256 bits, as 32 bytes."""
    return turn(columns)[:size]


def _octets(bits: int) -> int:
    return -(-bits // 8)


def _spans(width: int) -> list[tuple[int, int]]:
    """The tests whose messages travel together: their code words make a mebibyte."""
    return chunks.spans(width, WIDTH // 8) if width else []


def _sizes(width: int) -> Iterator[int]:
    return (last - first for first, last in _spans(width))
