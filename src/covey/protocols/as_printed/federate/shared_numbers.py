"""Shared numbers: three parties or more deal, open and compare numbers that none of them sees.

Source    Shamir's shares in the field of 2^61 - 1, and their products (Ben-Or, Goldwasser and Wigderson 1988). A number
          is below zero where its double, reduced, is odd (Nishide and Ohta 2007): the double is opened under a mask
          whose bits are shared too, and the lowest bit follows from those. Random bits are a random number over a root
          of its opened square (Damgard, Fitzi, Kiltz, Nielsen and Toft 2006).
Roles     every party alike, three or more.
Security  semi-honest; up to (m - 1) // 2 of m parties may collude. What is opened on the way is uniform: squares of
          random numbers, numbers under masks of the field's whole size, and in a verdict zero or a random number.
Not       a party that lies changes answers unnoticed, unless `checking` looks at what is noted here. How many numbers
          there are is public. An answer is wrong by chance in one of 2^55 comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.crypto.dealing import Dealing
from covey.crypto.field import F61
from covey.crypto.rng import Rng
from covey.protocols.as_printed.federate.checking import Notes, NotingWorkshop
from covey.protocols.as_printed.federate.comparison import starts
from covey.protocols.as_printed.federate.largest import turns
from covey.secure import shares
from covey.secure.declare import Leakage
from covey.secure.threshold_test import Workshop, own_part
from covey.wire import Channel, Chunk, gather

MOST = (1 << 59) - 1
"""The largest number that can be compared, and the smallest is as far below zero."""

LEAKAGE = Leakage(
    everyone=("of each of {groups} groups of {together} shared numbers whether all are zero or more, and no number",)
)

_ONE = np.uint64(1)
_HALF = np.uint64((F61.prime + 1) // 2)
_POWERS = np.array([[1 << place for place in range(F61.bits)]], dtype=np.uint64)


class DealtNumbers(Chunk[bytes], tag="shared.dealt"):
    """Shares of the sender's numbers that the recipient cannot derive: uniform to it."""

    shares: bytes


class OpenedPart(Chunk[bytes], tag="shared.part"):
    """The sender's part of numbers that are opened to the recipient, under masks that add up to nothing."""

    parts: bytes


# -- in and out


def encoded(numbers: Longs) -> Words:
    """Numbers of either sign as elements of the field."""
    return np.where(numbers < 0, F61.prime + numbers, numbers).astype(np.uint64)


async def deal(channel: Channel, mine: Words, due: Mapping[str, int]) -> dict[str, Words]:
    """Our shares of what every party deals, ourselves included: so many numbers each."""
    dealing = Dealing(channel.me, channel.pairwise_seeds(), "numbers")
    parcels, own = dealing.deal(mine) if len(mine) else ({}, mine)

    async def give(peer: str) -> Words:
        if peer in parcels:
            await shares.send(channel, peer, DealtNumbers, F61, parcels[peer])
        return own

    async def take(peer: str) -> Words:
        if due[peer] and not dealing.derives(peer, channel.me):
            return await shares.receive(channel, peer, DealtNumbers, F61, due[peer])
        return dealing.derived(peer, due[peer]) if due[peer] else np.zeros(0, dtype=np.uint64)

    peers = channel.peers
    found = await gather(*(give(peer) for peer in peers), *(take(peer) for peer in peers))
    return dict(zip(peers, found[len(peers) :], strict=True)) | {channel.me: own}


async def opened(channel: Channel, numbers: Words) -> Words:
    """The numbers behind shares, of the low or the high degree: everyone learns them."""
    return await shares.open_bytes(channel, OpenedPart, F61, own_part(channel, numbers, F61))


async def opened_to_each(channel: Channel, numbers: Mapping[str, Words]) -> Words:
    """The numbers that are meant for us; each party learns its own alone."""
    streams = {peer: Rng(seed).stream("mask") for peer, seed in channel.pairwise_seeds().items()}
    parts = {name: shares.summand(channel, numbers[name], streams, F61) for name in channel.parties}
    mine, peers = parts[channel.me], channel.peers

    async def give(peer: str) -> Words:
        if len(parts[peer]):
            await shares.send(channel, peer, OpenedPart, F61, parts[peer])
        return mine

    async def take(peer: str) -> Words:
        return await shares.receive(channel, peer, OpenedPart, F61, len(mine)) if len(mine) else mine

    found = await gather(*(give(peer) for peer in peers), *(take(peer) for peer in peers))
    return shares.total([mine, *found[len(peers) :]], F61)


# -- comparisons


async def random_bits(channel: Channel, count: int, notes: Notes) -> Words:
    """Shares of random bits that nobody knows."""
    (drawn,) = await Workshop(channel, F61).random(1, count)
    squares = await opened(channel, F61.multiply(drawn, drawn))
    notes.multiplied(drawn, drawn, squares)
    over_root = squares  # becomes s^(2^59 - 1), whose square is 1 / s: so drawn times it is 1 or -1
    for _ in range(F61.bits - 3):
        over_root = F61.multiply(F61.multiply(over_root, over_root), squares)
    signs = F61.multiply(drawn, over_root)
    return F61.scale(F61.add(signs, np.full(count, _ONE)), _HALF)


async def negative(channel: Channel, numbers: Words, notes: Notes) -> Words:
    """Shares of a bit for each number, 1 where it is below zero.

    The numbers' shares may be of the high degree, but where the notes are to be checked.
    """
    count = len(numbers)
    bits = (await random_bits(channel.at("bits"), F61.bits * count, notes)).reshape(F61.bits, count)
    double = F61.add(F61.add(numbers, numbers), F61.combine(_POWERS, bits)[0])
    masked = await opened(channel, double)
    notes.is_nothing(F61.subtract(double, masked))
    workshop = NotingWorkshop(channel, notes)
    borrowed = await _below(workshop, masked, bits)
    (both,) = await workshop.multiply(bits[:1], borrowed[np.newaxis])
    differ = F61.subtract(F61.add(bits[0], borrowed), F61.add(both, both))
    return np.where(masked & _ONE == 0, differ, F61.subtract(np.full(count, _ONE), differ))


async def _below(workshop: NotingWorkshop, public: Words, bits: Words) -> Words:
    """Shares of whether each public number is below the shared one, whose bits these are, the lowest first."""
    said = public[np.newaxis] >> np.arange(F61.bits, dtype=np.uint64)[:, np.newaxis] & _ONE == 1
    opposite = F61.subtract(np.full(bits.size, _ONE), bits.ravel()).reshape(bits.shape)
    less, same = np.where(said, np.uint64(0), bits), np.where(said, bits, opposite)
    while len(less) > 1:  # of two neighbours, the upper decides; where it is the same, the lower
        end = len(less) // 2 * 2
        upper = np.concatenate([same[1:end:2]] * 2)
        product = await workshop.multiply(upper, np.concatenate([less[:end:2], same[:end:2]]))
        high = np.ascontiguousarray(less[1:end:2])
        decided = F61.add(high.ravel(), product[: end // 2].ravel()).reshape(high.shape)
        less, same = (
            np.concatenate([joined, rest[end:]]) for joined, rest in ((decided, less), (product[end // 2 :], same))
        )
    return np.asarray(less[0])


async def none_negative(channel: Channel, numbers: Words, notes: Notes) -> Bits:
    """For each row of numbers whether all are zero or more; which is not stays hidden."""
    if not len(numbers):
        return np.zeros(0, dtype=bool)
    failing = (await negative(channel.at("signs"), numbers.ravel(), notes)).reshape(numbers.shape)
    total = shares.total(failing.T, F61)
    at = channel.at("verdict")
    (factor,) = await Workshop(at, F61).random(1, len(total))
    outcome = await opened(at, F61.multiply(total, factor))
    notes.multiplied(total, factor, outcome)
    return np.asarray(outcome == 0)


async def largest(channel: Channel, sizes: Sequence[int], values: Words, marks: Words) -> Words:
    """Shares of the mark beside each group's largest value, by a knock-out in which nobody sees who wins.

    The groups, of these sizes, follow each other; no two values of a group are equal.
    """
    values, marks = values.copy(), marks.copy()
    first = starts(np.array(sizes, dtype=np.int64)).tolist()
    standing = [list(range(start, start + size)) for start, size in zip(first, sizes, strict=True)]
    for turn in range(turns(sizes)):
        played = np.array([pair for left in standing for pair in zip(left[::2], left[1::2], strict=False)])
        one, two = played[:, 0], played[:, 1]
        gaps = np.stack([F61.subtract(row[two], row[one]) for row in (values, marks)])
        at = channel.at(turn)
        less = await negative(at, F61.subtract(values[one], values[two]), Notes())
        gained = await Workshop(at, F61).multiply(np.stack([less, less]), gaps)
        values[one], marks[one] = F61.add(values[one], gained[0]), F61.add(marks[one], gained[1])
        standing = [left[::2] for left in standing]
    return marks[[left[0] for left in standing]]


def ideal(numbers: Longs) -> Bits:
    """A trusted party's answer to `none_negative`."""
    return np.asarray((numbers >= 0).all(axis=1))
