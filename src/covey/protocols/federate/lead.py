"""The divider of a group: it chooses the cut, and sees of the other provider's users no number.

It adds up the other's encrypted bits over either side of a cut; what it learns is which of two cuts scores higher, and
whether the best one keeps what is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gmpy2 import mpz

from covey.arrays import Bits, Longs
from covey.crypto import packing
from covey.crypto.paillier import Ciphertexts
from covey.protocols.federate import comparison, largest, score
from covey.protocols.federate.comparison import starts
from covey.protocols.federate.groups import Group
from covey.protocols.federate.pair import CountingPair
from covey.protocols.federate.said import (
    SCORE_BITS,
    Above,
    Candidates,
    Halves,
    Scores,
    room_for,
    tests_of,
    to_vector,
    to_words,
    width_of,
)
from covey.protocols.federate.score import Cuts
from covey.secure import ciphers
from covey.wire import Channel


@dataclass(frozen=True)
class DividedGroup:
    """One group that this provider divides."""

    group: Group
    values: Longs
    cuts: Cuts
    parts: Longs
    """Its own part of each cut's score."""
    above: Ciphertexts
    """How many users of the other's lie above each cut, and in all."""


async def lead(
    channel: Channel, pair: CountingPair, led: list[int], groups: Sequence[Group], spreads: Sequence[tuple[int, int]]
) -> list[Bits | None]:
    """Cuts the groups that this provider divides; for each who is in its upper half, or None."""
    if not led:
        return []
    work = [prepare(pair, groups[place], *spreads[place]) for place in led]
    chosen = await best_cuts(channel.at("choose"), pair, work)
    cut = [place for place, each in enumerate(work) if len(each.cuts)]
    upper = {place: work[place].values >= work[place].cuts.codes[chosen[place]] for place in cut}
    kept = await ask_kept(channel.at("verify"), pair, [(work[p], upper[p], chosen[p]) for p in cut])
    divided = [place for place, good in zip(cut, kept.tolist(), strict=True) if good]
    if divided:
        bits = np.concatenate([upper[place] for place in divided])
        await channel.at("halves").send(pair.peer, Halves(to_words(bits)))
    return [upper[place] if place in divided else None for place in range(len(work))]


def prepare(pair: CountingPair, group: Group, longest: int, column: int) -> DividedGroup:
    """The candidates of a group, this provider's part of their scores, and the sums over the other's bits."""
    params, own, members = pair.params, pair.users, group.members
    empty = np.zeros(0, dtype=np.int64)
    if not longest:
        return DividedGroup(group, empty, Cuts(empty, empty, len(members)), empty, Ciphertexts(pair.theirs.key, []))
    values = own.codes(column, members, group.path)
    cuts = score.candidates(params, values)
    parts = score.of_divider(params, own, column, members, values, cuts)
    if params.alpha == 1:  # the other's part is nothing: this provider knows the best cut
        best = [int(np.argmax(parts))]
        cuts, parts = Cuts(cuts.codes[best], cuts.upper[best], cuts.size), parts[best]
    return DividedGroup(group, values, cuts, parts, sums_above(pair.theirs, members, values, cuts.codes))


def sums_above(theirs: Ciphertexts, members: Longs, values: Longs, codes: Longs) -> Ciphertexts:
    """Sums over the members at or above each code, and over all; each member is multiplied in once."""
    square = theirs.key.square
    order = np.argsort(-values, kind="stable")
    ends = np.searchsorted(-values[order], -codes, side="right").tolist()
    marks: dict[int, list[int]] = {}
    for place, end in enumerate([*ends, len(members)]):
        marks.setdefault(end, []).append(place)
    sums, product = [mpz(1)] * (len(codes) + 1), mpz(1)
    for number, member in enumerate(members[order].tolist(), start=1):
        product = product * theirs.values[member] % square
        for place in marks.get(number, ()):
            sums[place] = product
    return Ciphertexts(theirs.key, sums)


async def best_cuts(channel: Channel, pair: CountingPair, work: Sequence[DividedGroup]) -> list[int]:
    """The place of each group's best cut; the other provider adds its part without learning which that is."""
    counts = [len(each.cuts) for each in work]
    orders = [channel.rng.stream("order", place).permutation(count) for place, count in enumerate(counts)]
    above = np.concatenate([each.cuts.upper[order] for each, order in zip(work, orders, strict=True)])
    if pair.params.alpha == 1:
        above = above[:0]  # nothing is asked
    at = channel.at("candidates")
    await at.send(pair.peer, Candidates(to_vector(np.array(counts)), to_vector(above)))
    if not len(above):
        return [0] * len(work)
    sums = Ciphertexts.join(
        pair.theirs.key, (each.above.take(order.tolist()) for each, order in zip(work, orders, strict=True))
    )
    room = room_for([each.cuts.size for each in work])
    packed = packing.pack(sums, room, packing.slots(sums.key, room)).rerandomised(channel.rng.stream("fresh"))
    await ciphers.send(at, pair.peer, Above, packed)
    scores = await ciphers.receive(channel.at("scores"), pair.peer, Scores, sums.key, len(above))
    back = np.concatenate(
        [start + np.argsort(order) for start, order in zip(starts(np.array(counts)), orders, strict=True)]
    )
    several = [place for place, count in enumerate(counts) if count]
    places = await largest.ask(
        channel.at("largest"),
        pair.peer,
        pair.their_bits,
        [work[place].parts for place in several],
        scores.take(back),
        SCORE_BITS,
    )
    found = dict(zip(several, places, strict=True))
    return [found.get(place, 0) for place in range(len(work))]


async def ask_kept(channel: Channel, pair: CountingPair, chosen: Sequence[tuple[DividedGroup, Bits, int]]) -> Bits:
    """Which of the cuts keep k and delta in both halves, for both providers; one bit each."""
    numbers, widths = [], []
    for each, upper, place in chosen:
        members = each.group.members
        theirs = each.above.take([place, len(each.cuts)])
        above, everyone = theirs.slice(0, 1), theirs.slice(1, 2)
        for half, users in ((upper, above), (~upper, everyone.minus(above))):
            numbers.append(tests(pair, members[half], users))
        widths += [width_of(pair.params, len(members))] * (2 * tests_of(pair.params))
    return await ask_tests(channel, pair, numbers, widths, 2 * tests_of(pair.params))


async def ask_tests(
    channel: Channel, pair: CountingPair, numbers: Sequence[Ciphertexts], widths: Sequence[int], together: int
) -> Bits:
    """Whether all of each `together` numbers are zero or more."""
    joined, lengths = Ciphertexts.join(pair.theirs.key, numbers), np.array(widths, dtype=np.int64)
    shares = await comparison.ask_signs(channel.at("signs"), pair.peer, pair.their_bits, joined, lengths)
    return await comparison.ask_verdicts(channel.at("verdict"), pair.peer, pair.their_bits, shares, together)


def tests(pair: CountingPair, members: Longs, users: Ciphertexts) -> Ciphertexts:
    """What must be zero or more in a group of which the other provider has so many users."""
    own, delta = pair.users.holding(members), pair.params.delta
    common = pair.theirs_among(own)
    found = [common.plus_numbers([-pair.params.k])]
    if delta is not None:
        part = common.scaled([-delta.denominator])
        found.append(part.plus_numbers([delta.numerator * len(own)]))
        found.append(part.plus(users.scaled([delta.numerator])))
    return Ciphertexts.join(pair.theirs.key, found)
