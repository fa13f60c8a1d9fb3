"""The paper's own sum, AND and threshold, hop by hop round a ring: kept to compare with and to reproduce its figures.

Source    Tassa & Gudes, Algorithms 1 and 2. What a study uses are `covey.secure.sum` and `covey.secure.conjunction`,
          unless it asks for the paper's own.
Roles     every party alike, in the sorted order of names; the first one finds the answer and tells it. The sum takes
          two parties or more, the AND three or more.
Security  semi-honest, and nobody may collude. Two repairs: residues are modulo m + 1 whatever m is (section 7.1's
          ceil(log m) bits are too few), and the hashes that the first player compares are keyed afresh for each place
          (one salt for a whole vector would show it every private sum).
Not       a player's two neighbours together read its input: what goes in and what comes out differ by it. The first
          player together with one of the last two reads how many bits are set, by trying m + 1 values.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from covey.arrays import Bits, Words
from covey.crypto.rng import derive, spell
from covey.crypto.secret import Secret
from covey.errors import InputError
from covey.secure.declare import Cost, Leakage, Traffic
from covey.wire import FRAME_BYTES, Channel, Chunk, Vector, chunks, gather

LARGEST_RING = 254
"""Players of the AND: a residue modulo m + 1 is one byte."""

HASH = 32

MESSAGE_BYTES = FRAME_BYTES + 28

LEAKAGE = Leakage(
    everyone=(
        "the total of all {parties} parties in each of {width} places; "
        "a party's two neighbours in the ring, if they put their heads together, its number too",
    )
)
LEAKAGE_OF_AND = Leakage(
    everyone=(
        "in each of {width} places whether all {parties} parties' bits are set; "
        "a party's two neighbours in the ring, if they put their heads together, its bits too",
    )
)


def _of_sum(n: int, width: int) -> Traffic:
    hops = 3 * n - 1
    return Traffic(2 * n + 1, hops * chunks.messages(width), hops * chunks.size(width)) if width else Traffic()


SUM_COST = Cost(_of_sum)
"""2m hops as in the paper, and the telling, which it does not count."""


def _of_and(n: int, width: int) -> Traffic:
    """Counts, hashes and answers: how many lists of how many bytes each."""
    lists = [(2 * n - 2, width), (2, HASH * width), (n - 1, -(-width // 8))] if width else []
    messages = sum(times * chunks.messages(size, 1) for times, size in lists)
    sent = sum(times * chunks.size(size, 1, MESSAGE_BYTES) for times, size in lists)
    return Traffic(2 * n if width else 0, messages, sent)


AND_COST = Cost(_of_and)


class Added(Chunk[Vector], tag="ring.added"):
    """The sum so far, modulo 2^64, under the masks of those who have added to it."""

    values: Vector


class Counted(Chunk[bytes], tag="ring.counted"):
    """The set bits so far, modulo m + 1, under the masks of those who have counted theirs; one byte each."""

    values: bytes


class Hashed(Chunk[bytes], tag="ring.hashed"):
    """Keyed hashes of one side of the comparison."""

    tags: bytes


class RingTotal(Chunk[Vector], tag="ring.told"):
    """The total, from the first player."""

    values: Vector


class RingConjunction(Chunk[bytes], tag="ring.answered"):
    """The AND, from the first player, eight places to a byte."""

    bits: bytes


async def total(channel: Channel, mine: Words) -> Words:
    """Algorithm 1: the total of all parties' vectors modulo 2^64, known to the first and told to the others."""
    if not len(mine):
        return mine
    ring = Ring(channel, None, len(mine))
    masked = ring.add(mine, ring.masks)
    added = await ring.pass_on("add", ring.lap, np.zeros_like(mine), lambda a: ring.add(a, masked))  # 1-4
    found = await ring.pass_on("strip", ring.lap, added, lambda a: ring.subtract(a, ring.masks))  # 5-7
    tell = channel.at("tell")
    if channel.me != ring.first:
        return (await tell.receive_all(ring.first, RingTotal, len(mine))).words
    await tell.broadcast_all(RingTotal, Vector(found))
    return found


async def conjoin(channel: Channel, mine: Bits) -> Bits:
    """Algorithm 2 for three players or more: where all bits are set, known to the first and told to the others."""
    return await reach(channel, mine, len(channel.parties))


async def reach(channel: Channel, mine: Bits, least: int) -> Bits:
    """Section 3.2's threshold function: where so many bits are set or more; with all of them it is the AND."""
    m, width = len(channel.parties), len(mine)
    if not 3 <= m <= LARGEST_RING:
        raise InputError(f"the ring's AND takes 3 to {LARGEST_RING} players, there are {m}")
    if not 0 < least <= m:
        raise InputError(f"a threshold lies between 1 and the number of players, {m}")
    if not width:
        return mine
    ring = Ring(channel, m + 1, width)
    masked = ring.add(mine.astype(np.uint64), ring.masks)
    added = await ring.pass_on("add", ring.lap, np.zeros_like(masked), lambda a: ring.add(a, masked))  # 1-4
    until_last = ring.lap[: m - 1]
    found = await ring.pass_on("strip", until_last, added, lambda a: ring.subtract(a, ring.masks))  # 5-7
    first, *_, before_last, last = channel.parties
    hashes, tell = channel.at("hash"), channel.at("tell")
    if channel.me == before_last:
        u = ring.subtract(found, ring.masks)  # step 8
        await hashes.send_all(first, Hashed, tags(ring.seeds[last], u))
    elif channel.me == last:
        v = np.stack([ring.add(ring.masks, np.uint64(number)) for number in range(least, m + 1)], axis=1)  # step 9
        if least < m:  # the place of the one that fits would say how many bits are set
            drawn = channel.rng.stream("ring", "order", ring.call).words(v.size).reshape(v.shape)
            v = np.take_along_axis(v, np.argsort(drawn, axis=1), axis=1)
        await hashes.send_all(first, Hashed, tags(ring.seeds[before_last], v))
    if channel.me != first:
        return await tell.receive_bits(first, RingConjunction, width)
    of_u, of_v = [
        np.frombuffer(await hashes.receive_all(player, Hashed, HASH * width * each), dtype=f"V{HASH}")
        for player, each in ((before_last, 1), (last, m + 1 - least))
    ]
    answer: Bits = np.asarray((of_u[:, np.newaxis] == of_v.reshape(width, -1)).any(axis=1))  # step 10
    await gather(*(tell.send_bits(player, RingConjunction, answer) for player in tell.peers))
    return answer


def tags(key: Secret, residues: Words) -> bytes:
    """Hashes that the first player may compare, one or more for each place: their key depends on the place as well."""
    secret = key.reveal()
    return b"".join(
        hmac.digest(secret, spell("ring", place, value), hashlib.sha256)
        for place, values in enumerate(residues.reshape(len(residues), -1).tolist())
        for value in values
    )


class Ring:
    """One player's seat in the ring for one call: its masks, and how vectors are passed on."""

    def __init__(self, channel: Channel, modulus: int | None, width: int) -> None:
        self.channel, self.modulus = channel, modulus
        self.first = channel.parties[0]
        self.lap = (*channel.parties, self.first)
        self.width = width
        self.seeds = channel.pairwise_seeds()
        self.call = derive(self.seeds[channel.peers[0]], "call").reveal()  # a label that no other call has
        stream = channel.rng.stream("ring", self.call)
        self.masks = stream.words(width) if modulus is None else stream.words_below(modulus, width)

    def add(self, a: Words, b: Words | np.uint64) -> Words:
        """The sums in the ring of residues."""
        return a + b if self.modulus is None else (a + b) % np.uint64(self.modulus)

    def subtract(self, a: Words, b: Words) -> Words:
        """The differences in the ring of residues."""
        return a - b if self.modulus is None else (a + np.uint64(self.modulus) - b) % np.uint64(self.modulus)

    async def pass_on(self, step: str, stops: Sequence[str], begin: Words, change: Callable[[Words], Words]) -> Words:
        """A vector goes from stop to stop; all but the last stop change it before they send it on.

        The first stop begins with `begin`. Returns what arrives at the last stop, which may be the first again;
        nothing to the others.
        """
        at, me, nothing = self.channel.at(step), self.channel.me, np.zeros(0, dtype=np.uint64)

        async def halt(index: int) -> Words:
            words = await self._receive(at, stops[index - 1]) if index else begin
            if index == len(stops) - 1:
                return words
            await self._send(at, stops[index + 1], change(words))
            return nothing

        arrived = await gather(*(halt(index) for index, stop in enumerate(stops) if stop == me))
        return arrived[-1] if arrived else nothing

    async def _send(self, at: Channel, to: str, words: Words) -> None:
        if self.modulus is None:
            await at.send_all(to, Added, Vector(words))
        else:
            await at.send_all(to, Counted, words.astype(np.uint8).tobytes())

    async def _receive(self, at: Channel, sender: str) -> Words:
        if self.modulus is None:
            return (await at.receive_all(sender, Added, self.width)).words
        residues = np.frombuffer(await at.receive_all(sender, Counted, self.width), dtype=np.uint8)
        if residues.max() >= self.modulus:
            raise at.refusal(sender, f"a residue of {self.modulus} or more")
        return residues.astype(np.uint64)


def ideal_total(inputs: Mapping[str, Words]) -> Words:
    """The trusted party's answer to the sum."""
    return np.asarray(np.sum(np.stack(list(inputs.values())), axis=0, dtype=np.uint64))


def ideal_and(inputs: Mapping[str, Bits]) -> Bits:
    """The trusted party's answer to the AND."""
    answer: Bits = np.all(np.stack(list(inputs.values())), axis=0)
    return answer
