"""Secure matching of two: the asker learns at which places both parties hold the same text, and nothing else.

Source    Jarecki and Liu's oblivious pseudorandom function (2^HashDH) on ristretto255, one evaluation per place.
Roles     the asker, who is the receiver (or, where both are, the first by name), and the keyholder.
Security  semi-honest. Ask: each text, hashed to a point with its place, under a fresh blind: uniform to the keyholder.
          Reply: the same points under the keyholder's key, and the tags of its own texts: random to whoever has not
          asked for that very text (one more Diffie-Hellman). Where a party holds nothing it takes a random text, so
          that neither bytes nor work show it. Guessing is no use afterwards: only the keyholder can evaluate.
Not       an asker may ask for any text it likes, one for each place; a keyholder may answer anything.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from covey.arrays import Bits
from covey.crypto.group import POINT_BYTES, Points, Scalar, Scalars, hash_to_group
from covey.crypto.rng import Stream, derive
from covey.errors import InputError
from covey.secure.declare import Cost, Leakage, Traffic
from covey.wire import FRAME_BYTES, Channel, Chunk, Message, chunks, gather

Text = bytes | None

SET = b"1"
"""The text of a set bit."""

AHEAD = 4
"""Chunks that may have been asked for before the first is answered."""

TAG = 16
"""Bytes of a tag: two different texts share one in 2^128."""

MESSAGE_BYTES = FRAME_BYTES + 32

LEAKAGE = Leakage(
    everyone=("that {width} places were compared",),
    roles={"receiver": ("at which of {width} places the other party holds what it holds itself",)},
)


def _traffic(width: int, one: bool = False) -> Traffic:
    if not width:
        return Traffic()
    messages = 2 * chunks.messages(width, POINT_BYTES) + (0 if one else 1)
    told = 0 if one else -(-width // 8)
    return Traffic(2 if one else 3, messages, (64 + TAG) * width + told + MESSAGE_BYTES * messages)


COST = Cost(_traffic)
"""Of `width` places; `one` says that there is one receiver."""


class Ask(Message, tag="match.ask"):
    """The asker's texts as points, blinded."""

    points: Points


class Reply(Message, tag="match.reply"):
    """The same points under the key, and the tags of the keyholder's own texts."""

    points: Points
    tags: bytes


class MatchResult(Chunk[bytes], tag="match.result"):
    """The asker's findings, eight places to a byte."""

    matches: bytes


async def matches(channel: Channel, mine: Sequence[Text], *, receiver: str | None = None) -> Bits | None:
    """The places where both parties hold the same text; None for the party that is not the receiver.

    Both lists have the same length; None stands for a place that matches nothing.
    """
    if len(channel.peers) != 1:
        raise InputError("only two parties can match their texts")
    if not mine:
        return np.zeros(0, dtype=bool) if receiver in (None, channel.me) else None
    asker = channel.parties[0] if receiver is None else receiver
    (peer,) = channel.peers
    seed = channel.pairwise_seeds()[peer]
    call = derive(seed, "call").reveal()  # a label that no other call has
    place = PointMap(channel.session, call, channel.rng.stream("match", call))
    if channel.me == asker:
        found = await ask(channel, peer, place, mine)
        if receiver is None:
            await channel.at("result").send_bits(peer, MatchResult, found)
        return found
    await answer(channel, peer, place, mine)
    if receiver is not None:
        return None
    return await channel.at("result").receive_bits(peer, MatchResult, len(mine))


class PointMap:
    """A map of texts to points: bound to the session and the call, so that no two calls share a point."""

    def __init__(self, session: bytes, call: bytes, stream: Stream) -> None:
        self.domain = ("match", session, call)
        self.stream = stream

    def points(self, first: int, texts: Sequence[Text]) -> Points:
        """Each text's point; a party that holds nothing takes a text that nobody else has."""
        return hash_to_group(
            (
                (first + offset).to_bytes(8, "big") + (b"?" + self.stream.bytes(32) if text is None else b"=" + text)
                for offset, text in enumerate(texts)
            ),
            *self.domain,
        )


async def ask(channel: Channel, keyholder: str, place: PointMap, mine: Sequence[Text]) -> Bits:
    """The asker's side."""
    asks, replies = channel.at("ask"), channel.at("reply")
    blinds: asyncio.Queue[Scalars] = asyncio.Queue(AHEAD)
    found: list[Bits] = []

    async def send() -> None:
        for first, last in chunks.spans(len(mine), POINT_BYTES):
            points = place.points(first, mine[first:last])
            blind = Scalars.draw(place.stream, len(points))
            await asks.send(keyholder, Ask(points.times(blind)))
            await blinds.put(blind)

    async def compare() -> None:
        for first, last in chunks.spans(len(mine), POINT_BYTES):
            texts = mine[first:last]
            reply = await replies.receive(keyholder, Reply)
            replies.check_length(keyholder, reply.points, len(texts), "points")
            replies.check_length(keyholder, reply.tags, TAG * len(texts), "tags")
            opened = tags(reply.points.times((await blinds.get()).inverse()))
            equal = (np.frombuffer(opened, dtype="V16") == np.frombuffer(reply.tags, dtype="V16")).astype(bool)
            found.append(equal & np.array([text is not None for text in texts], dtype=bool))

    await gather(send(), compare())
    return np.concatenate(found)


async def answer(channel: Channel, asker: str, place: PointMap, mine: Sequence[Text]) -> None:
    """The keyholder's side."""
    asks, replies = channel.at("ask"), channel.at("reply")
    key = Scalar.fresh(place.stream)
    for first, last in chunks.spans(len(mine), POINT_BYTES):
        texts = mine[first:last]
        own = tags(place.points(first, texts).times(key))
        asked = await asks.receive(asker, Ask)
        asks.check_length(asker, asked.points, len(texts), "points")
        await replies.send(asker, Reply(asked.points.times(key), own))


def tags(points: Points) -> bytes:
    """The tag of each evaluated point: a short hash of it."""
    return b"".join(hashlib.sha256(point).digest()[:TAG] for point in points)


def ideal(inputs: Mapping[str, Sequence[Text]]) -> Bits:
    """A trusted party's answer."""
    pairs = zip(*inputs.values(), strict=True)
    return np.array([one is not None and one == other for one, other in pairs], dtype=bool)
