"""The paper's own sum and AND, hop by hop round a ring: kept to compare with and to reproduce its figures.

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
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from covey.arrays import Bits, Words
from covey.crypto.rng import derive, spell
from covey.crypto.secret import Secret
from covey.errors import InputError, PeerError
from covey.secure.declare import Cost, Leakage
from covey.wire import FRAME_BYTES, Channel, Message, Vector, gather

CHUNK = 1 << 17
"""Places per message."""

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


def _chunks(width: int) -> int:
    return -(-width // CHUNK)


SUM_COST = Cost(
    rounds=lambda n, width: 2 * n + 1 if width else 0,
    messages=lambda n, width: (3 * n - 1) * _chunks(width),
    bytes=lambda n, width: (3 * n - 1) * (8 * width + MESSAGE_BYTES * _chunks(width)),
)
"""2m hops as in the paper, and the telling, which it does not count."""

AND_COST = Cost(
    rounds=lambda n, width: 2 * n if width else 0,
    messages=lambda n, width: (3 * n - 1) * _chunks(width),
    bytes=lambda n, width: (
        (2 * n - 2) * width + 2 * HASH * width + (n - 1) * -(-width // 8) + (3 * n - 1) * MESSAGE_BYTES * _chunks(width)
    ),
)


class Residues:
    """Numbers below 256, one byte each, that may be sent."""

    __slots__ = ("words",)

    def __init__(self, words: Words) -> None:
        self.words = words

    def pack(self) -> bytes:
        """The bytes on the wire."""
        return self.words.astype(np.uint8).tobytes()

    @classmethod
    def unpack(cls, raw: bytes) -> Residues:
        """The numbers in these bytes: any will do, the ring refuses what is above its modulus."""
        return cls(np.frombuffer(raw, dtype=np.uint8).astype(np.uint64))


class Added(Message, tag="ring.added"):
    """The sum so far, modulo 2^64, under the masks of those who have added to it."""

    values: Vector


class Counted(Message, tag="ring.counted"):
    """The set bits so far, modulo m + 1, under the masks of those who have counted theirs."""

    values: Residues


class Hashed(Message, tag="ring.hashed"):
    """Keyed hashes of one side of the comparison."""

    tags: Annotated[bytes, Meta(max_length=CHUNK * HASH)]


class Told(Message, tag="ring.told"):
    """The total, from the first player."""

    values: Vector


class Answered(Message, tag="ring.answered"):
    """The AND, from the first player, eight places to a byte."""

    bits: Annotated[bytes, Meta(max_length=CHUNK // 8)]


async def total(channel: Channel, mine: Words) -> Words:
    """Algorithm 1: the total of all parties' vectors modulo 2^64, known to the first and told to the others."""
    ring = Ring(channel, None, len(mine))
    masked = ring.add(mine, ring.masks)
    added = await ring.pass_on("add", ring.lap, np.zeros_like(mine), lambda a, at: ring.add(a, masked[at]))  # 1-4
    found = await ring.pass_on("strip", ring.lap, added, lambda a, at: ring.subtract(a, ring.masks[at]))  # 5-7
    tell = channel.at("tell")
    if channel.me == ring.first:
        for at in ring.slices:
            await tell.broadcast(Told(Vector(found[at])))
        return found
    parts = [ring.fitting((await tell.receive(ring.first, Told)).values.words, at, tell) for at in ring.slices]
    return _joined(parts)


async def conjoin(channel: Channel, mine: Bits) -> Bits:
    """Algorithm 2 for three players or more: where all bits are set, known to the first and told to the others."""
    m = len(channel.parties)
    if not 3 <= m <= LARGEST_RING:
        raise InputError(f"the ring's AND takes 3 to {LARGEST_RING} players, there are {m}")
    ring = Ring(channel, m + 1, len(mine))
    masked = ring.add(mine.astype(np.uint64), ring.masks)
    added = await ring.pass_on("add", ring.lap, np.zeros_like(masked), lambda a, at: ring.add(a, masked[at]))  # 1-4
    until_last = ring.lap[: m - 1]
    found = await ring.pass_on("strip", until_last, added, lambda a, at: ring.subtract(a, ring.masks[at]))  # 5-7
    first, *_, before_last, last = channel.parties
    hashes, tell = channel.at("hash"), channel.at("tell")
    if channel.me == before_last:
        u = ring.subtract(found, ring.masks)  # step 8
        await hashes.stream(first, (Hashed(tags(ring.seeds[last], u[at], at.start)) for at in ring.slices))
    elif channel.me == last:
        v = ring.add(ring.masks, np.uint64(m))  # step 9
        await hashes.stream(first, (Hashed(tags(ring.seeds[before_last], v[at], at.start)) for at in ring.slices))
    answer: list[Bits] = []
    for at in ring.slices:
        width = at.stop - at.start
        if channel.me == first:
            of_u = _hashes(await hashes.receive(before_last, Hashed), width, before_last, hashes.step)
            of_v = _hashes(await hashes.receive(last, Hashed), width, last, hashes.step)
            answer.append(of_u == of_v)  # step 10
            await tell.broadcast(Answered(np.packbits(answer[-1]).tobytes()))
        else:
            answer.append(_bits(await tell.receive(first, Answered), width, first, tell.step))
    return np.concatenate([*answer, np.zeros(0, dtype=bool)])


def tags(key: Secret, residues: Words, start: int) -> bytes:
    """What the first player may compare: hashes under a key that depends on the place as well."""
    secret = key.reveal()
    return b"".join(
        hmac.digest(secret, spell("ring", start + offset, value), hashlib.sha256)
        for offset, value in enumerate(residues.tolist())
    )


class Ring:
    """One player's seat in the ring for one call: its masks, and how vectors are passed on."""

    def __init__(self, channel: Channel, modulus: int | None, width: int) -> None:
        self.channel, self.modulus = channel, modulus
        self.first = channel.parties[0]
        self.lap = (*channel.parties, self.first)
        self.slices = [slice(start, min(start + CHUNK, width)) for start in range(0, width, CHUNK)]
        self.seeds = channel.pairwise_seeds()
        call = derive(self.seeds[channel.peers[0]], "call").reveal()  # a label that no other call has
        stream = channel.rng.stream("ring", call)
        self.masks = stream.words(width) if modulus is None else stream.words_below(modulus, width)

    def add(self, a: Words, b: Words | np.uint64) -> Words:
        """The sums in the ring of residues."""
        return a + b if self.modulus is None else (a + b) % np.uint64(self.modulus)

    def subtract(self, a: Words, b: Words) -> Words:
        """The differences in the ring of residues."""
        return a - b if self.modulus is None else (a + np.uint64(self.modulus) - b) % np.uint64(self.modulus)

    async def pass_on(
        self, step: str, stops: Sequence[str], begin: Words, change: Callable[[Words, slice], Words]
    ) -> Words:
        """A vector goes from stop to stop; all but the last stop change it before they send it on.

        The first stop begins with `begin`. Returns what arrives at the last stop, which may be the first again;
        nothing to the others.
        """
        at_step, me = self.channel.at(step), self.channel.me
        arrived: list[Words] = []

        async def set_out() -> None:
            for at in self.slices:
                await self._send(at_step, stops[1], change(begin[at], at))

        async def forward(before: str, after: str) -> None:
            for at in self.slices:
                await self._send(at_step, after, change(await self._receive(at_step, before, at), at))

        async def arrive() -> None:
            for at in self.slices:
                arrived.append(await self._receive(at_step, stops[-2], at))

        own = [index for index, stop in enumerate(stops) if stop == me]
        work = [
            set_out()
            if index == 0
            else arrive()
            if index == len(stops) - 1
            else forward(stops[index - 1], stops[index + 1])
            for index in own
        ]
        await gather(*work)
        return _joined(arrived)

    async def _send(self, at_step: Channel, to: str, words: Words) -> None:
        await at_step.send(to, Added(Vector(words)) if self.modulus is None else Counted(Residues(words)))

    async def _receive(self, at_step: Channel, sender: str, at: slice) -> Words:
        if self.modulus is None:
            return self.fitting((await at_step.receive(sender, Added)).values.words, at, at_step, sender)
        words = self.fitting((await at_step.receive(sender, Counted)).values.words, at, at_step, sender)
        if words.size and words.max() >= self.modulus:
            raise PeerError(party=sender, step=at_step.step, reason=f"a residue of {self.modulus} or more")
        return words

    def fitting(self, words: Words, at: slice, at_step: Channel, sender: str | None = None) -> Words:
        """The vector, if it has as many places as the slice. Raises `PeerError`."""
        if len(words) != at.stop - at.start:
            reason = f"{len(words)} values, expected {at.stop - at.start}"
            raise PeerError(party=sender or self.first, step=at_step.step, reason=reason)
        return words


def ideal_total(inputs: Mapping[str, Words]) -> Words:
    """What a trusted party would answer to the sum."""
    return _joined([np.sum(np.stack(list(inputs.values())), axis=0, dtype=np.uint64)])


def ideal_and(inputs: Mapping[str, Bits]) -> Bits:
    """What a trusted party would answer to the AND."""
    answer: Bits = np.all(np.stack(list(inputs.values())), axis=0)
    return answer


def _joined(parts: Sequence[Words]) -> Words:
    return np.concatenate([*parts, np.zeros(0, dtype=np.uint64)])


def _hashes(message: Hashed, width: int, sender: str, step: str) -> NDArray[np.void]:
    if len(message.tags) != HASH * width:
        raise PeerError(party=sender, step=step, reason=f"{len(message.tags)} bytes of hashes, expected {HASH * width}")
    return np.frombuffer(message.tags, dtype=f"V{HASH}")


def _bits(message: Answered, width: int, sender: str, step: str) -> Bits:
    if len(message.bits) != -(-width // 8):
        raise PeerError(party=sender, step=step, reason=f"{len(message.bits)} bytes of bits, expected {-(-width // 8)}")
    return np.unpackbits(np.frombuffer(message.bits, dtype=np.uint8), count=width).astype(bool)
