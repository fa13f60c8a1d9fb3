"""A round's comparison under encryption: one party learns how many pairs of groups share too few people, no more.

Source    Jiang and Clifton have no such mode; ours, after the note on their counts: one-hot rows, added up by group.
Roles     the encryptor, with fewer groups, and the adder.
Steps     1. The encryptor sends for each person, in the order of the alignment, bits that say its group: ElGamal in the
             exponent under a key of this round. The last group needs no bit: it is what is left.
          2. The adder adds up the bits of the people of each of its groups: an encrypted count c for each pair.
          3. It returns, for each pair and each j from 1 to k - 1, a ciphertext of (c - j) times a random factor,
             re-randomised; all of them shuffled. Of each pair at most one is zero, and one is if 0 < c < k.
          4. The encryptor counts the zeros and says whether there were any.
Security  the adder sees ciphertexts alone. The encryptor sees zeros and random points: their number, and the numbers of
          groups, which both say beforehand. Without the re-randomisation it could test a guess of who is in a group,
          because it knows the randomness that it had put in.
"""

from __future__ import annotations

import numpy as np

from covey.crypto.elgamal import Ciphertexts, KeyShare, encrypt, opened, rerandomise
from covey.crypto.group import Point, Points, Scalars
from covey.errors import PeerError
from covey.protocols.generalize.cells import Longs
from covey.protocols.generalize.compare import Found, Hand
from covey.secure import lists
from covey.secure.lists import Elements
from covey.wire import Channel, Message

HALVES = 2
"""Points of a ciphertext."""


class Key(Message, tag="generalize.key"):
    """The encryptor's key of this round."""

    public: Point


class Bits(Elements, tag="generalize.bits"):
    """For each person an encrypted bit per group, but for the last."""


class Tests(Elements, tag="generalize.tests"):
    """For each pair of groups and each number from 1 to k - 1 whether the count is that, behind a random factor."""


class Fits(Message, tag="generalize.fits"):
    """Whether no pair of groups shares too few people."""

    compatible: bool


async def encryptor(channel: Channel, adder: str, hand: Hand, k: int) -> Found:
    """The side with fewer groups: sends encrypted bits, and counts the zeros that come back."""
    rng = channel.rng.child("hidden")
    share = KeyShare(rng.stream("key"))
    hot = hand.label[:, np.newaxis] == np.arange(hand.groups - 1)
    bits = encrypt(hot.astype(int).ravel().tolist(), share.public, rng.stream("bits"))
    await channel.at("key").send(adder, Key(share.public))
    await lists.send(channel.at("bits"), adder, Bits, [bits.first, bits.second])
    due = hand.groups * hand.theirs * (k - 1)
    first, second = await lists.receive(channel.at("tests"), adder, Tests, columns=HALVES, due=due)
    tests = Ciphertexts(first, second)
    bad = int(opened(tests, [share.unlock(tests)]).identities().sum())
    if bad > hand.groups * hand.theirs:
        reason = f"{bad} pairs of groups share too few, of {hand.groups * hand.theirs}"
        raise PeerError(party=adder, step=channel.at("tests").step, reason=reason)
    await channel.at("verdict").send(adder, Fits(bad == 0))
    return Found(bad == 0)


async def adder(channel: Channel, encryptor: str, hand: Hand, k: int) -> Found:
    """The other side: adds up by its own groups, and returns shuffled tests."""
    key = (await channel.at("key").receive(encryptor, Key)).public
    width = hand.theirs - 1
    due = len(hand.ids) * width
    first, second = await lists.receive(channel.at("bits"), encryptor, Bits, columns=HALVES, due=due)
    counts = added_up(Ciphertexts(first, second), hand.label, hand.groups, width)
    tests = tested(counts, key, k, channel)
    await lists.send(channel.at("tests"), encryptor, Tests, [tests.first, tests.second])
    return Found((await channel.at("verdict").receive(encryptor, Fits)).compatible)


def added_up(bits: Ciphertexts, label: Longs, groups: int, width: int) -> Ciphertexts:
    """An encrypted count for each pair: for each of our groups those of their groups, the last one by what is left."""
    parts = []
    for own in range(groups):
        people = np.flatnonzero(label == own)
        rows = bits.take((people[:, np.newaxis] * width + np.arange(width)).ravel())
        counts = _column_sums(rows, len(people), width)
        parts.append(Ciphertexts.join([counts, _rest(counts, len(people))]))
    return Ciphertexts.join(parts)


def _column_sums(rows: Ciphertexts, count: int, width: int) -> Ciphertexts:
    """The sums of the columns of a table that stands row by row."""
    while count > 1:
        half = count // 2
        added = rows.slice(0, half * width).plus(rows.slice(half * width, 2 * half * width))
        rows = Ciphertexts.join([added, rows.slice(2 * half * width, count * width)])
        count -= half
    return rows


def _rest(counts: Ciphertexts, people: int) -> Ciphertexts:
    """The people who are in none of the counts."""
    total = counts.total()
    return Ciphertexts(total.first.times(_MINUS), total.second.times(_MINUS)).plus_numbers([people])


_MINUS = Scalars.of([-1])


def tested(counts: Ciphertexts, key: Points, k: int, channel: Channel) -> Ciphertexts:
    """For each count and each j below k a random multiple of the difference, in random order."""
    rng = channel.rng.child("hidden")
    pairs = len(counts)
    each = counts.take(np.repeat(np.arange(pairs), k - 1))
    differences = each.plus_numbers([-number for number in range(1, k)] * pairs)
    hidden = differences.scaled(Scalars.draw(rng.stream("factors"), len(differences)))
    fresh = rerandomise(hidden, key, rng.stream("fresh"))
    return fresh.take(rng.stream("order").permutation(len(fresh)))
