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
from collections.abc import Callable, Iterator

import numpy as np

from covey.arrays import Bits, Longs, Octets, Words
from covey.crypto.bits import turn
from covey.crypto.digest import first_bits
from covey.crypto.group import Point, Points, Scalar, Scalars, generator_times
from covey.crypto.rng import Rng, Stream, spell
from covey.crypto.secret import Secret
from covey.errors import InputError
from covey.secure.declare import Cost, Leakage, Traffic
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


def _offered(size: int, width: int) -> Traffic:
    spans = len(_spans(width))
    sent = sum(WIDTH * _octets(each) + _octets(each * size) for each in _sizes(width))
    return Traffic(2, 2 * spans, sent + 2 * MESSAGE_BYTES * spans) if width else Traffic()


def _tested(bound: int, width: int) -> Traffic:
    spans = len(_spans(width))
    told = Traffic(1, spans, sum(map(_octets, _sizes(width))) + MESSAGE_BYTES * spans)
    return _offered(bound + 1, width) + told if width else Traffic()


COST = Cost(_tested)
"""The cost of one `reaches`, after `ObliviousTests.meet`."""
OFFER_COST = Cost(_offered)
"""The cost of one `offer` of so many rows of `size` bits, where the chooser tells nothing."""


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
        if self.chooses:
            return await self.choose(channel, clipped, bound + 1, tells=True)
        others = np.arange(bound + 1)
        return await self.offer(
            channel, len(mine), lambda part: clipped[part, np.newaxis] + others >= bound, hears=True
        )

    async def choose(self, channel: Channel, choices: Longs, size: int, *, tells: bool = False) -> Bits:
        """The chooser's part: of each row of `size` bits that the keeper offers the one that it picks, and no other."""
        pieces = [choices[first:last] for first, last in _spans(len(choices))]
        masked = [self._mask(piece) for piece in pieces]

        async def pick() -> list[Bits]:
            await channel.at("pick").stream(self.peer, (Columns(columns) for columns, _ in masked))
            return []

        async def read() -> list[Bits]:
            answers, at = [np.zeros(0, dtype=bool)], channel.at("tell")
            for piece, (_, pads) in zip(pieces, masked, strict=True):
                sealed = await channel.receive_bits(self.peer, SealedAnswers, len(piece) * size)
                answers.append(np.asarray(sealed.reshape(-1, size)[np.arange(len(piece)), piece] ^ pads))
                if tells:
                    await at.send_bits(self.peer, TestAnswers, answers[-1])
            return answers

        return np.concatenate((await gather(pick(), read()))[1])

    async def offer(
        self, channel: Channel, number: int, table: Callable[[slice], Bits], *, hears: bool = False
    ) -> Bits:
        """The keeper's part: `table` gives some of the rows, of 256 bits at most; it never knows which bit was picked.

        What was picked is the answer where the chooser tells it, else there is none.
        """

        async def write() -> list[Bits]:
            at = channel.at("pick")
            for first, last in _spans(number):
                columns = await at.receive_all(self.peer, Columns, WIDTH * _octets(last - first))
                await channel.send(self.peer, SealedAnswers(self._sealed(columns, table(slice(first, last)))))
            return []

        async def hear() -> list[Bits]:
            at, spans = channel.at("tell"), _spans(number) if hears else []
            return [await at.receive_bits(self.peer, TestAnswers, last - first) for first, last in spans]

        return np.concatenate([np.zeros(0, dtype=bool), *(await gather(write(), hear()))[1]])

    def _mask(self, mine: Longs) -> tuple[bytes, Bits]:
        """Code words under masks, and the pads of the answers that they pick."""
        own, other = (_draw(streams, len(mine)) for streams in self._streams)
        pads = first_bits(_rows(own, len(mine)), self._tests)
        self._tests += len(mine)
        return (own ^ other ^ turn(_WORDS[mine])).tobytes(), pads

    def _sealed(self, columns: bytes, table: Bits) -> bytes:
        """Each bit of the table under its pad."""
        number, size = table.shape
        sent = np.frombuffer(columns, dtype=np.uint8).reshape(WIDTH, -1)
        rows = _rows(_draw(self._streams[0], number) ^ (sent * self._picked[:, np.newaxis]), number)
        picked = np.packbits(self._picked)
        sealed = np.empty((number, size), dtype=bool)
        for choice in range(size):
            sealed[:, choice] = table[:, choice] ^ first_bits(rows ^ (_WORDS[choice] & picked), self._tests)
        self._tests += number
        return np.packbits(sealed.ravel()).tobytes()


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
