"""Computing with shares among three parties or more: deal, multiply, open.

Each party deals shares of its vectors to every other; what a recipient derives from a seed in common does not travel
(`covey.crypto.dealing`). A product of shares has the high degree: `reduce` shares it anew, `open_total` opens it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from covey.arrays import Words
from covey.crypto import sharing
from covey.crypto.dealing import Dealing
from covey.crypto.field import Field, FieldElements
from covey.crypto.rng import Stream
from covey.errors import InputError
from covey.wire import Channel, Chunk, gather

E = TypeVar("E", bound=FieldElements)

Dealt = tuple[Dealing, dict[str, Words], Words]
"""A dealing, the shares that it sends to each recipient that cannot derive them, and the dealer's own."""


def refuse_two(channel: Channel) -> None:
    """Raises `InputError` between two parties."""
    if len(channel.parties) < 3:
        raise InputError("shares hide nothing between two parties")


class Handout:
    """Several dealings of which everyone's shares travel together."""

    def __init__(self, me: str, dealt: Sequence[Dealt]) -> None:
        self._me, self._dealt = me, dealt

    @property
    def own(self) -> list[Words]:
        """This party's own shares of what it dealt."""
        return [own for _, _, own in self._dealt]

    def parcel(self, peer: str) -> Words | None:
        """All shares that the peer is sent; None if it derives them all."""
        travelling = [shares[peer] for _, shares, _ in self._dealt if peer in shares]
        return np.concatenate(travelling) if travelling else None

    def due(self, peer: str) -> int | None:
        """The number of shares that the peer sends; None if we derive them all."""
        travelling = [len(own) for dealing, _, own in self._dealt if not dealing.derives(peer, self._me)]
        return sum(travelling) if travelling else None

    def shares(self, peer: str, parcel: Words) -> list[Words]:
        """The peer's shares of each dealing: from its parcel, or derived."""
        answer = []
        for dealing, _, own in self._dealt:
            if dealing.derives(peer, self._me):
                answer.append(dealing.derived(peer, len(own)))
            else:
                answer.append(parcel[: len(own)])
                parcel = parcel[len(own) :]
        return answer


async def hand_out(channel: Channel, kind: type[Chunk[E]], of: type[E], dealt: Sequence[Dealt]) -> list[list[Words]]:
    """Everyone's shares of each dealing, in the order of the parties; `of` is the type of the message's field."""
    handout = Handout(channel.me, dealt)

    async def give(peer: str) -> list[Words]:
        parcel = handout.parcel(peer)
        if parcel is not None:
            await channel.send_all(peer, kind, of(parcel))
        return []

    async def take(peer: str) -> list[Words]:
        due = handout.due(peer)
        parcel = None if due is None else (await channel.receive_all(peer, kind, due)).words
        return handout.shares(peer, np.zeros(0, dtype=np.uint64) if parcel is None else parcel)

    peers = channel.peers
    answers = await gather(*(give(peer) for peer in peers), *(take(peer) for peer in peers))
    theirs = dict(zip(peers, answers[len(peers) :], strict=True)) | {channel.me: handout.own}
    return [list(shares) for shares in zip(*(theirs[party] for party in channel.parties), strict=True)]


async def reduce(channel: Channel, kind: type[Chunk[E]], of: type[E], dealing: Dealing, product: Words) -> Words:
    """Shares of the low degree of what shares of the high degree stand for: each party shares its own anew."""
    (dealt,) = await hand_out(channel, kind, of, [(dealing, *dealing.deal(product))])
    return sharing.reduce_degree(dict(enumerate(dealt, start=1)), of.field)


def summand(channel: Channel, shares: Words, streams: Mapping[str, Stream], field: Field) -> Words:
    """Shares of the high degree as summands, under masks that add up to nothing and hide the polynomials."""
    places = sharing.places(channel.parties)
    weight = sharing.weights(tuple(places.values()), field)[places[channel.me] - 1]
    return field.add(field.scale(shares, weight), sharing.pair_masks(channel.me, streams, len(shares), field))


async def open_total(channel: Channel, kind: type[Chunk[E]], of: type[E], mine: Words) -> Words:
    """The total of everyone's summands."""
    theirs = await channel.exchange_all(kind, of(mine))
    return total([mine, *(each.words for each in theirs.values())], of.field)


def total(vectors: Iterable[Words], field: Field) -> Words:
    """The sum of these vectors."""
    summands = iter(vectors)
    answer = np.ascontiguousarray(next(summands))
    for vector in summands:
        answer = field.add(answer, np.ascontiguousarray(vector))
    return answer
