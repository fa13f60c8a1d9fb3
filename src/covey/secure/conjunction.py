"""Secure AND: the receivers learn where every party's bit is set, and nothing else.

Source    Tassa & Gudes, section 3.2, by shares instead of the ring, which two players break. Ben-Or, Goldwasser and
          Wigderson's product with a random factor; two parties compare blinded points (`covey.secure.match`).
Roles     every party alike, two or more; the receivers are everyone or one named party.
Security  semi-honest; with m parties up to (m - 1) // 2 may collude. Deal: each party shares z, its bit inverted, and
          a random number. Open: the product of all z's sum and all random numbers' sum, which is 0 where all bits are
          set and uniform elsewhere: how many bits are missing stays hidden. An opened 0 is by chance in one of 2^61.
          Half of what is dealt follows from the pairs' common seeds and is never sent.
Not       with two parties an answer gives the other's bit away wherever one's own is set (LEAKAGE says so); a party
          that lies changes the answer unnoticed; the vector's length is public.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import numpy as np

from covey.arrays import Bits, Words
from covey.crypto import sharing
from covey.crypto.dealing import Dealing
from covey.crypto.field import F61, FieldElements
from covey.crypto.rng import Rng, derive
from covey.errors import InputError
from covey.secure import match, shares
from covey.secure.declare import Cost, Leakage, Traffic
from covey.secure.shares import Handout
from covey.wire import FRAME_BYTES, Channel, Message, chunks, gather

AHEAD = 2
"""Chunks that a party may have dealt or opened before it has dealt with the first."""

MESSAGE_BYTES = FRAME_BYTES + 26

LEAKAGE = Leakage(
    everyone=("that {width} places were compared",),
    roles={"receiver": ("in each of {width} places whether all {parties} parties' bits are set, not how many are",)},
)
LEAKAGE_OF_TWO = Leakage(
    everyone=("that {width} places were compared",),
    roles={
        "receiver": ("the other party's bit in each of {width} places in which its own is set, no other",),
    },
)


def leakage(parties: int) -> Leakage:
    """The leakage of a run among that many."""
    return LEAKAGE_OF_TWO if parties == 2 else LEAKAGE


def _traffic(n: int, width: int, one: bool = False) -> Traffic:
    if n == 2:
        return match.COST.of(width, one)
    if not width:
        return Traffic()
    openings = n - 1 if one else n * (n - 1)
    messages = (n * (n - 1) + openings) * chunks.messages(width)
    vectors = 2 * n * (n - 1 - sharing.threshold(n)) + openings
    return Traffic(2, messages, 8 * width * vectors + MESSAGE_BYTES * messages)


COST = Cost(_traffic)
"""Of `width` bits among n parties; `one` says that there is one receiver."""


class Deal(Message, tag="and.deal"):
    """The shares that the recipient cannot derive: of the inverted bits, of the random numbers, or of both."""

    shares: FieldElements


class Open(Message, tag="and.open"):
    """The sender's part of the product, under masks that add up to nothing: uniform without the others' parts."""

    parts: FieldElements


async def conjoin(channel: Channel, mine: Bits, *, receiver: str | None = None) -> Bits | None:
    """The places where all parties' bits are set; None for a party that is not the receiver.

    All vectors have the same length. Without a named receiver every party is one.
    """
    if receiver is not None and receiver not in channel.parties:
        raise InputError(f"the receiver {receiver!r} is no party of this session")
    if mine.dtype != np.bool_:
        raise InputError(f"an AND is of bits, these are {mine.dtype}")
    if len(channel.parties) == 2:
        return await match.matches(channel, [match.SET if bit else None for bit in mine.tolist()], receiver=receiver)
    opened = await open_products(channel, mine, receiver=receiver)
    return None if opened is None else opened == 0


async def open_products(channel: Channel, mine: Bits, *, receiver: str | None = None) -> Words | None:
    """The receivers' view among three or more: 0 where all bits are set, a uniform element elsewhere."""
    shares.refuse_two(channel)
    receivers = channel.parties if receiver is None else (receiver,)
    if not len(mine):
        return np.zeros(0, dtype=np.uint64) if channel.me in receivers else None
    seat = ConjunctionParty(channel)
    deals, opens = channel.at("deal"), channel.at("open")
    dealt: asyncio.Queue[Handout] = asyncio.Queue(AHEAD)
    masked: asyncio.Queue[Words] = asyncio.Queue(AHEAD)
    opened: list[Words] = []
    pieces = [mine[first:last] for first, last in chunks.spans(len(mine), chunks.WORD_BYTES)]

    async def deal() -> None:
        for piece in pieces:
            handout = seat.deal(piece)
            parcels = {peer: handout.parcel(peer) for peer in deals.peers}
            await gather(
                *(deals.send(peer, Deal(FieldElements(each))) for peer, each in parcels.items() if each is not None)
            )
            await dealt.put(handout)

    async def multiply() -> None:
        for _ in pieces:
            theirs, handout = await deals.collect(Deal), await dealt.get()
            for peer, parcel in theirs.items():
                deals.check_length(peer, parcel.shares, handout.due(peer) or 0, "shares")
            part = seat.part(*seat.add_up(handout, {peer: parcel.shares.words for peer, parcel in theirs.items()}))
            await gather(*(opens.send(peer, Open(FieldElements(part))) for peer in receivers if peer != channel.me))
            if channel.me in receivers:
                await masked.put(part)

    async def read() -> None:
        for piece in pieces:
            total = await masked.get()
            for peer, theirs in (await opens.collect(Open)).items():
                opens.check_length(peer, theirs.parts, len(piece), "parts")
                total = F61.add(total, theirs.parts.words)
            opened.append(total)

    await gather(deal(), multiply(), *([read()] if channel.me in receivers else []))
    return np.concatenate(opened) if channel.me in receivers else None


class ConjunctionParty:
    """One party's place at the table for one call: what it deals, and how it multiplies what it was dealt."""

    def __init__(self, channel: Channel) -> None:
        seeds = channel.pairwise_seeds()
        call = derive(seeds[channel.peers[0]], "call").reveal()  # a label that no other call has
        self.channel = channel
        self.own = channel.rng.stream("own", call)
        self.bits = Dealing(channel.me, seeds, "bit")
        self.randoms = Dealing(channel.me, seeds, "random", last=True)
        self.masks = {peer: Rng(seed).stream("mask") for peer, seed in seeds.items()}

    def deal(self, bits: Bits) -> Handout:
        """The shares of the inverted bits and of random numbers."""
        inverted = self.bits.deal((~bits).astype(np.uint64))
        random = self.randoms.deal_random(len(bits), self.own)
        return Handout(self.channel.me, [(self.bits, *inverted), (self.randoms, *random)])

    def add_up(self, handout: Handout, parcels: Mapping[str, Words]) -> tuple[Words, Words]:
        """This party's shares of the sum of all inverted bits and of the sum of all random numbers."""
        everyone = [handout.own, *(handout.shares(peer, parcel) for peer, parcel in parcels.items())]
        inverted, random = (shares.total(each, F61) for each in zip(*everyone, strict=True))
        return inverted, random

    def part(self, inverted: Words, random: Words) -> Words:
        """This party's part of the product: its shares' product, weighted for the opening and masked.

        Without masks the parts would show the product's polynomial, and its factors the number of missing bits.
        """
        return shares.summand(self.channel, F61.multiply(inverted, random), self.masks, F61)


def ideal(inputs: Mapping[str, Bits]) -> Bits:
    """A trusted party's answer."""
    answer: Bits = np.logical_and.reduce(list(inputs.values()))
    return answer
