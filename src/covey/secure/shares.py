"""Computing with shares among three parties or more: deal, multiply, open.

Each party deals shares of its vectors to every other; what a recipient derives from a seed in common does not travel
(`covey.crypto.dealing`). A product of shares has the high degree: `reduce` shares it anew, `open_total` opens it.
Many numbers are opened in lots, one for each party, who adds its lot up and tells the others: that takes two rounds
instead of one, and the bytes no longer grow with the number of parties.

Where numbers of a field travel as bytes, the field stands where otherwise the type of the message's elements does.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar, cast

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


async def send(channel: Channel, peer: str, kind: type[Chunk[bytes]], field: Field, numbers: Words) -> None:
    """Sends elements of a field, as bytes."""
    await channel.send_all(peer, kind, field.pack(numbers))


async def receive(channel: Channel, peer: str, kind: type[Chunk[bytes]], field: Field, due: int) -> Words:
    """A peer's elements of a field. Raises `PeerError` for another number of them, and for what is no element."""
    packed = await channel.receive_all(peer, kind, field.size(due))
    try:
        return field.unpack(packed)[:due]
    except InputError as error:
        raise channel.refusal(peer, str(error)) from None


async def hand_out(
    channel: Channel, kind: type[Chunk[E]] | type[Chunk[bytes]], of: type[E] | Field, dealt: Sequence[Dealt]
) -> list[list[Words]]:
    """Everyone's shares of each dealing, in the order of the parties; `of` is the type of the message's field."""
    handout = Handout(channel.me, dealt)

    async def give(peer: str) -> list[Words]:
        parcel = handout.parcel(peer)
        if parcel is not None and isinstance(of, Field):
            await send(channel, peer, cast("type[Chunk[bytes]]", kind), of, parcel)
        elif parcel is not None and not isinstance(of, Field):
            await channel.send_all(peer, cast("type[Chunk[E]]", kind), of(parcel))
        return []

    async def take(peer: str) -> list[Words]:
        due, parcel = handout.due(peer), np.zeros(0, dtype=np.uint64)
        if due is not None and isinstance(of, Field):
            parcel = await receive(channel, peer, cast("type[Chunk[bytes]]", kind), of, due)
        elif due is not None:
            parcel = (await channel.receive_all(peer, cast("type[Chunk[E]]", kind), due)).words
        return handout.shares(peer, parcel)

    peers = channel.peers
    answers = await gather(*(give(peer) for peer in peers), *(take(peer) for peer in peers))
    theirs = dict(zip(peers, answers[len(peers) :], strict=True)) | {channel.me: handout.own}
    return [list(shares) for shares in zip(*(theirs[party] for party in channel.parties), strict=True)]


async def reduce(
    channel: Channel,
    kind: type[Chunk[E]] | type[Chunk[bytes]],
    of: type[E] | Field,
    dealing: Dealing,
    product: Words,
) -> Words:
    """Shares of the low degree of what shares of the high degree stand for: each party shares its own anew."""
    (dealt,) = await hand_out(channel, kind, of, [(dealing, *dealing.deal(product))])
    return sharing.reduce_degree(dict(enumerate(dealt, start=1)), dealing.field)


def summand(channel: Channel, shares: Words, streams: Mapping[str, Stream], field: Field) -> Words:
    """Shares of the high degree as summands, under masks that add up to nothing and hide the polynomials."""
    places = sharing.places(channel.parties)
    weight = sharing.weights(tuple(places.values()), field)[places[channel.me] - 1]
    return field.add(field.scale(shares, weight), sharing.pair_masks(channel.me, streams, len(shares), field))


async def open_total(channel: Channel, kind: type[Chunk[E]], of: type[E], mine: Words) -> Words:
    """The total of everyone's summands."""
    theirs = await channel.exchange_all(kind, of(mine))
    return total([mine, *(each.words for each in theirs.values())], of.field)


async def open_bytes(channel: Channel, kind: type[Chunk[bytes]], field: Field, mine: Words) -> Words:
    """The total of everyone's summands, which travel as bytes."""
    peers = channel.peers
    sending = [_nothing(send(channel, peer, kind, field, mine)) for peer in peers]
    theirs = await gather(*sending, *(receive(channel, peer, kind, field, len(mine)) for peer in peers))
    return total([mine, *theirs[len(peers) :]], field)


async def open_to(channel: Channel, receiver: str, kind: type[Chunk[bytes]], field: Field, mine: Words) -> Words | None:
    """The total of everyone's summands, which travel as bytes, for one party alone; None for the others."""
    if channel.me != receiver:
        await send(channel, receiver, kind, field, mine)
        return None
    theirs = await gather(*(receive(channel, peer, kind, field, len(mine)) for peer in channel.peers))
    return total([mine, *theirs], field)


async def open_lots(
    channel: Channel, kind: type[Chunk[bytes]], back: type[Chunk[bytes]], field: Field, mine: Words, *, bits: bool
) -> Words:
    """The total of everyone's summands, which each party adds up for its lot; with `bits`, only where it is not 0."""
    parties, peers = channel.parties, channel.peers
    ends = [len(mine) * place // len(parties) for place in range(len(parties) + 1)]
    lots = {name: slice(*span) for name, span in zip(parties, pairwise(ends), strict=True)}
    due = {name: lot.stop - lot.start for name, lot in lots.items()}
    own = due[channel.me]
    sending = [_nothing(send(channel, peer, kind, field, mine[lots[peer]])) for peer in peers]
    parts = await gather(*sending, *(receive(channel, peer, kind, field, own) for peer in peers))
    added = total([mine[lots[channel.me]], *parts[len(peers) :]], field)

    async def tell(peer: str) -> Words:
        if bits:
            await channel.send_bits(peer, back, added != 0)
        else:
            await send(channel, peer, back, field, added)
        return added

    async def hear(peer: str) -> Words:
        if bits:
            return (await channel.receive_bits(peer, back, due[peer])).astype(np.uint64)
        return await receive(channel, peer, back, field, due[peer])

    answers = await gather(*(tell(peer) for peer in peers), *(hear(peer) for peer in peers))
    known = dict(zip(peers, answers[len(peers) :], strict=True)) | {channel.me: added}
    return np.concatenate([known[party] for party in parties])


async def _nothing(sending: Coroutine[object, object, None]) -> Words:
    """Sends; for where sending and receiving are gathered."""
    await sending
    return np.zeros(0, dtype=np.uint64)


def total(vectors: Iterable[Words], field: Field) -> Words:
    """The sum of these vectors."""
    summands = iter(vectors)
    answer = np.ascontiguousarray(next(summands))
    for vector in summands:
        answer = field.add(answer, np.ascontiguousarray(vector))
    return answer
