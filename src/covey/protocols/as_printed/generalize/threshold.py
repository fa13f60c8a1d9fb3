"""A round's comparison under encryption: both parties learn if their groups fit together, and no count.

Source    ours: one-hot rows, added up by group; then one test for all pairs.
Roles     the encryptor, with fewer groups, and the adder.
Steps     1. The encryptor sends for each person, in the order of the alignment, bits that say its group: ElGamal in the
             exponent under a key of this round. The last group needs no bit: it is what is left.
          2. The adder adds up the bits of the people of each of its groups: an encrypted count c for each pair.
          3. Of each pair it draws two random points: one stands for `large enough`, one for `too small`. For each
             number j that c could be, from none to all people of its group, it returns the fitting point plus (c - j)
             times a random factor, re-randomised; all of them shuffled. It also names all points, in random order.
          4. The encryptor opens everything: of each pair it finds one of the two points, at j = c, and random points
             else. It adds up what it found; the adder adds up what stands for `large enough`. A private comparison of
             the two sums (`secure.match`) says whether they are equal, and then no pair is too small.
Security  the adder sees ciphertexts alone. The encryptor finds one point for each pair, whatever its count is, and
          cannot tell which of the two it is. So it stays hidden how many pairs are too small, and which. Without
          re-randomisation the encryptor could test a guess of who is in a group, since it knows the randomness that
          it had put in.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs
from covey.crypto.elgamal import Ciphertexts, KeyShare, encrypt, opened, rerandomise
from covey.crypto.group import Point, Points, Scalars, generator_times
from covey.crypto.rng import Rng
from covey.protocols.as_printed.generalize.matrix import RoundInput, RoundOutcome
from covey.secure import lists, match
from covey.secure.lists import Elements
from covey.wire import Channel, Message

HALVES = 2
"""Points of a ciphertext."""


class RoundKey(Message, tag="generalize.key"):
    """The encryptor's key of this round."""

    public: Point


class Bits(Elements, tag="generalize.bits"):
    """For each person an encrypted bit per group, but for the last."""


class CountTests(Elements, tag="generalize.tests"):
    """For each pair of groups and each number that its count could be a ciphertext, in random order."""


class Marks(Elements, tag="generalize.marks"):
    """The two points of each pair, in random order."""


def due_tests(people: int, encrypted: int, added: int) -> int:
    """The number of tests that are returned: a group of the adder shares none to all of its people with each other."""
    return encrypted * (people + added)


async def encryptor(channel: Channel, adder: str, given: RoundInput, k: int) -> RoundOutcome:
    """The side with fewer groups: sends encrypted bits, and adds up the marks that it finds in what comes back."""
    rng = channel.rng.child("hidden")
    share = KeyShare(rng.stream("key"))
    hot = given.label[:, np.newaxis] == np.arange(given.groups - 1)
    bits = encrypt(hot.astype(int).ravel().tolist(), share.public, rng.stream("bits"))
    await channel.at("key").send(adder, RoundKey(share.public))
    await lists.send(channel.at("bits"), adder, Bits, [bits.first, bits.second])
    due = due_tests(len(given.ids), given.groups, given.theirs)
    first, second = await lists.receive(channel.at("tests"), adder, CountTests, columns=HALVES, due=due)
    pairs = given.groups * given.theirs
    [marks] = await lists.receive(channel.at("marks"), adder, Marks, due=2 * pairs)
    tests = Ciphertexts(first, second)
    known = set(marks)
    found = {point for point in opened(tests, [share.unlock(tests)]) if point in known}
    if len(found) != pairs:
        reason = f"{len(found)} of its points are among the tests, expected one for each of {pairs} pairs of groups"
        raise channel.at("tests").refusal(adder, reason)
    return await _compare(channel.at("equal"), marks.take([place for place, own in enumerate(marks) if own in found]))


async def adder(channel: Channel, encryptor: str, given: RoundInput, k: int) -> RoundOutcome:
    """The other side: adds up by its own groups, and returns shuffled tests."""
    key = (await channel.at("key").receive(encryptor, RoundKey)).public
    width = given.theirs - 1
    due = len(given.ids) * width
    first, second = await lists.receive(channel.at("bits"), encryptor, Bits, columns=HALVES, due=due)
    counts = added_up(Ciphertexts(first, second), given.label, given.groups, width)
    sizes = np.repeat(np.bincount(given.label, minlength=given.groups), given.theirs)
    rng = channel.rng.child("hidden")
    large, small = (generator_times(Scalars.draw(rng.stream(name), len(counts))) for name in ("large", "small"))
    tests = tested(counts, sizes, large, small, key, k, rng)
    await lists.send(channel.at("tests"), encryptor, CountTests, [tests.first, tests.second])
    marks = Points.join([large, small])
    shuffled = marks.take(rng.stream("marks").permutation(len(marks)))
    await lists.send(channel.at("marks"), encryptor, Marks, [shuffled])
    return await _compare(channel.at("equal"), large)


async def _compare(channel: Channel, points: Points) -> RoundOutcome:
    """Tests if both parties' points have the same sum: that is all that either learns."""
    equal = await match.matches(channel, [_total(points).data])
    if equal is None:
        raise TypeError("both parties learn the outcome")
    return RoundOutcome(bool(equal[0]))


def _total(points: Points) -> Points:
    """The sum, by halves."""
    while len(points) > 1:
        half = len(points) // 2
        added = points.slice(0, half).plus(points.slice(half, 2 * half))
        points = Points.join([added, points.slice(2 * half, len(points))])
    return points


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


def tested(
    counts: Ciphertexts, sizes: Longs, large: Points, small: Points, key: Points, k: int, rng: Rng
) -> Ciphertexts:
    """The tests of all counts, in random order; `sizes` has the most that each count can be."""
    pair = np.repeat(np.arange(len(counts)), sizes + 1)
    number = np.concatenate([np.arange(size + 1) for size in sizes.tolist()])
    differences = counts.take(pair).plus_numbers((-number).tolist())
    hidden = differences.scaled(Scalars.draw(rng.stream("factors"), len(pair)))
    fresh = rerandomise(hidden, key, rng.stream("fresh"))
    too_small = (number > 0) & (number < k)
    marks = Points.join([large, small]).take(pair + len(counts) * too_small)
    marked = Ciphertexts(fresh.first, fresh.second.plus(marks))
    return marked.take(rng.stream("order").permutation(len(marked)))
