"""Cardinality: two parties learn how many ids their private sets have in common, and nothing else but the sizes.

Source    Diffie-Hellman private set intersection in the form of Huberman, Franklin & Hogg; the first party's
          list comes back shuffled, so that only the number is left of the intersection.
Roles     the counter (the first of the two names) and the other party, the echo.
Security  semi-honest, under decisional Diffie-Hellman with the hash as a random oracle. Each call draws new keys:
          elements of two calls cannot be linked.
Not       a party that lies about its set, or the counter about the number, is not noticed; the sizes of both
          sets are public: pad with random ids where they must not be.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from covey.crypto.commutative import BlindingKey
from covey.crypto.group import Points, hash_to_group
from covey.crypto.rng import Stream
from covey.errors import InputError, PeerError
from covey.secure import lists
from covey.secure.declare import Cost, Leakage, Traffic
from covey.secure.lists import Elements
from covey.wire import FRAME_BYTES, Channel, Count, Message

LEAKAGE = Leakage(
    everyone=("how many ids both sets have in common ({common})", "the size of the other's set ({their_size})")
)

NUMBER_BYTES = FRAME_BYTES + 32

COST = Cost(
    lambda counter, echo: (
        Traffic(1, lists.messages(counter) + lists.messages(echo), lists.size(counter) + lists.size(echo))
        + lists.traffic(counter)
        + Traffic(1, 1, NUMBER_BYTES)
    )
)


class BlindedIds(Elements, tag="cardinality.blinded"):
    """The sender's ids, hashed to the group, blinded with its key, shuffled."""


class TwiceBlindedIds(Elements, tag="cardinality.echoed"):
    """The counter's list, blinded a second time, shuffled again."""


class CommonCount(Message, tag="cardinality.common"):
    """The number of elements that both lists had in common."""

    number: Count


async def count_common(channel: Channel, ids: Sequence[str]) -> int:
    """The number of ids that the two parties of this channel have in common. Raises `InputError` for a repeated id."""
    if len(channel.peers) != 1:
        raise InputError(f"cardinality is for two parties, here are {len(channel.parties)}")
    [peer] = channel.peers
    rng = channel.rng.child("cardinality")
    key = BlindingKey(rng.stream("key"))
    mine = shuffled(
        hash_to_group(lists.spelled(ids), "cardinality", channel.session, channel.step), rng.stream("order")
    )
    [theirs] = await lists.exchange(channel, peer, BlindedIds, [key.blind(mine)])
    if channel.me == channel.parties[0]:
        return await _counter(channel, peer, key.blind(theirs), len(mine))
    return await _echo(channel, peer, shuffled(key.blind(theirs), rng.stream("echo")), len(mine))


async def _counter(channel: Channel, echo: str, theirs: Points, size: int) -> int:
    [mine] = await lists.receive(channel, echo, TwiceBlindedIds, due=size)
    number = len(set(mine) & set(theirs))
    await channel.send(echo, CommonCount(number))
    return number


async def _echo(channel: Channel, counter: str, theirs: Points, size: int) -> int:
    await lists.send(channel, counter, TwiceBlindedIds, [theirs])
    number = (await channel.receive(counter, CommonCount)).number
    if number > min(size, len(theirs)):
        reason = f"{number} ids in common, of at most {min(size, len(theirs))}"
        raise PeerError(party=counter, step=channel.step or "cardinality", reason=reason)
    return number


def shuffled(points: Points, stream: Stream) -> Points:
    """The points in random order: without this, the counter would read off which of its ids are common."""
    return points.take(stream.permutation(len(points)))


def ideal(inputs: Mapping[str, Collection[str]]) -> int:
    """The answer of a trusted party."""
    first, second = inputs.values()
    return len(set(first) & set(second))
