"""Cuts of groups: who divides each, and where. Every step of all groups that one provider divides travels at once.

The *divider* adds up the other's encrypted bits over either side of a cut; what it learns is which of two cuts scores
higher, and if the best one keeps what is asked for. It sees no number of the other provider's users. The *follower*
adds its part to the scores: of each candidate, in random order, it is told how many members lie above it, and it reads
how many of these are its own users; of the chosen cut it learns if it is good, and then who is on which side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gmpy2 import mpz

from covey.arrays import Bits, Longs
from covey.crypto.paillier import Ciphertexts
from covey.protocols.as_printed.federate import comparison, largest, score
from covey.protocols.as_printed.federate.comparison import starts
from covey.protocols.as_printed.federate.groups import Group
from covey.protocols.as_printed.federate.meeting import CountingPair, Pair, room_for
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.score import CandidateCuts
from covey.protocols.as_printed.federate.thresholds import answer_tests, ask_tests, group_tests, tests_of, width_of
from covey.protocols.as_printed.federate.users import UNIT, OwnUsers
from covey.secure import ciphers
from covey.secure.ciphers import Ciphers
from covey.wire import Channel, Message, Vector

RANGE_BITS = UNIT.bit_length() - 1
SCORE_BITS = UNIT.bit_length() + 2


class Candidates(Message, tag="federate.candidates"):
    """The number of cuts that the sender considers in each group that it divides, and of the members above each."""

    counts: Vector
    above: Vector


class Above(Ciphers, tag="federate.above"):
    """The number of the recipient's users above each cut, under the recipient's key, many in one ciphertext."""


class Scores(Ciphers, tag="federate.scores"):
    """The sender's part of each cut's score, under the sender's key."""


class Halves(Message, tag="federate.halves"):
    """For each member of each group that is divided whether it is in the upper half."""

    upper: Vector


async def choose_dividers(channel: Channel, pair: Pair, ranges: Sequence[int]) -> Bits:
    """The groups that this provider divides: those where its range is longer, or equal if it is the first."""
    widths = np.full(len(ranges), RANGE_BITS, dtype=np.int64)
    if pair.is_first:
        shares = await comparison.answer_less(channel, pair.peer, pair.reading, ranges, widths)
    else:
        shares = await comparison.ask_less(channel, pair.peer, pair.their_bits, ranges, widths)
    at = channel.at("open")
    await comparison.tell(at, pair.peer, shares)
    shorter = await comparison.opened(at, pair.peer, shares)
    return ~shorter if pair.is_first else shorter


# -- the divider


@dataclass(frozen=True)
class PlannedCuts:
    """One group that this provider divides, and the cuts that it considers; none where all its users are alike."""

    group: Group
    values: Longs
    cuts: CandidateCuts
    parts: Longs
    """Its own part of each cut's score."""

    def upper(self, place: int) -> Bits:
        """The members above a cut."""
        return np.asarray(self.values >= self.cuts.codes[place])


@dataclass(frozen=True)
class DividedGroup(PlannedCuts):
    """The same, with sums over the other's bits."""

    above: Ciphertexts
    """The number of the other's users above each cut, and in all."""


async def lead(
    channel: Channel, pair: CountingPair, led: list[int], groups: Sequence[Group], spreads: Sequence[tuple[int, int]]
) -> list[Bits | None]:
    """Cuts the groups that this provider divides; for each who is in its upper half, or None."""
    if not led:
        return []
    work = [prepare(pair, groups[place], *spreads[place]) for place in led]
    chosen = await best_cuts(channel.at("choose"), pair, work)
    cut = [place for place, each in enumerate(work) if len(each.cuts)]
    upper = {place: work[place].upper(chosen[place]) for place in cut}
    kept = await ask_kept(channel.at("verify"), pair, [(work[p], upper[p], chosen[p]) for p in cut])
    divided = [place for place, good in zip(cut, kept.tolist(), strict=True) if good]
    if divided:
        bits = np.concatenate([upper[place] for place in divided])
        await channel.at("halves").send(pair.peer, Halves(to_words(bits)))
    return [upper[place] if place in divided else None for place in range(len(work))]


def prepare(pair: CountingPair, group: Group, longest: int, column: int) -> DividedGroup:
    """The candidates of a group, this provider's part of their scores, and the sums over the other's bits."""
    planned = plan(pair.users, group, longest, column)
    sums = Ciphertexts(pair.theirs.key, [])
    if longest:
        sums = sums_above(pair.theirs, group.members, planned.values, planned.cuts.codes)
    return DividedGroup(group, planned.values, planned.cuts, planned.parts, sums)


def plan(own: OwnUsers, group: Group, longest: int, column: int) -> PlannedCuts:
    """The candidates of a group in the column of this provider's longest range, and its part of their scores."""
    params, members = own.params, group.members
    empty = np.zeros(0, dtype=np.int64)
    if not longest:
        return PlannedCuts(group, empty, CandidateCuts(empty, empty, len(members)), empty)
    values = own.codes(column, members, group.path)
    cuts = score.candidates(params, values)
    parts = score.of_divider(params, own, column, members, values, cuts)
    if params.alpha == 1:  # the others' part is nothing: this provider knows the best cut
        best = [int(np.argmax(parts))]
        cuts, parts = CandidateCuts(cuts.codes[best], cuts.upper[best], cuts.size), parts[best]
    return PlannedCuts(group, values, cuts, parts)


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
    await pair.send_numbers(at, Above, sums, room, channel.rng.stream("fresh"))
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
    """The cuts that keep k and delta in both halves, for both providers; one bit each."""
    numbers, widths = [], []
    for each, upper, place in chosen:
        members = each.group.members
        theirs = each.above.take([place, len(each.cuts)])
        above, everyone = theirs.slice(0, 1), theirs.slice(1, 2)
        for half, users in ((upper, above), (~upper, everyone.minus(above))):
            numbers.append(group_tests(pair, members[half], users))
        widths += [width_of(pair.params, len(members))] * (2 * tests_of(pair.params))
    return await ask_tests(channel, pair, numbers, widths, 2 * tests_of(pair.params))


# -- the follower


async def follow(channel: Channel, pair: CountingPair, groups: Sequence[Group]) -> list[Bits | None]:
    """The other side of `lead`; for each group who is in its upper half, or None where it stays as it is."""
    if not groups:
        return []
    counts = await add_scores(channel.at("choose"), pair, groups)
    cut = [place for place, count in enumerate(counts) if count]
    widths = [width_of(pair.params, len(groups[p].members)) for p in cut for _ in range(2 * tests_of(pair.params))]
    kept = await answer_tests(channel.at("verify"), pair, widths, 2 * tests_of(pair.params))
    divided = [place for place, good in zip(cut, kept.tolist(), strict=True) if good]
    if not divided:
        return [None] * len(groups)
    at = channel.at("halves")
    message = await at.receive(pair.peer, Halves)
    upper = accept_halves(at, pair.peer, message, [len(groups[place].members) for place in divided])
    found = dict(zip(divided, upper, strict=True))
    return [found.get(place) for place in range(len(groups))]


async def add_scores(channel: Channel, pair: CountingPair, groups: Sequence[Group]) -> list[int]:
    """Tells the divider this provider's part of each cut's score, encrypted; returns how many cuts each group has."""
    at = channel.at("candidates")
    message = await at.receive(pair.peer, Candidates)
    counts, above = accept_candidates(pair.params, at, pair.peer, message, groups)
    if not len(above):
        return counts
    room = room_for([len(group.members) for group in groups])
    users = np.array(await pair.receive_numbers(at, Above, room, len(above)), dtype=np.int64)
    parts, first = [], 0
    for group, count in zip(groups, counts, strict=True):
        here, upper = users[first : first + count], above[first : first + count]
        parts.append(own_part(pair.users, at, pair.peer, group, upper, here))
        first += count
    mine = pair.secret.encrypt(np.concatenate(parts).tolist(), channel.rng.stream("scores"))
    await ciphers.send(channel.at("scores"), pair.peer, Scores, mine)
    several = [count for count in counts if count]
    await largest.answer(channel.at("largest"), pair.peer, pair.secret, pair.reading, several, SCORE_BITS)
    return counts


def own_part(own: OwnUsers, channel: Channel, divider: str, group: Group, upper: Longs, users: Longs) -> Longs:
    """Our part of each cut's score, above which so many members and so many of our users are. Raises PeerError."""
    size, have = len(group.members), len(own.holding(group.members))
    if (users > upper).any() or (users > have).any() or (have - users > size - upper).any():
        raise channel.refusal(divider, "more users than there can be above a cut")
    return score.of_other(own.params, size, upper, size - have, upper - users)


def accept_candidates(
    params: Parameters, channel: Channel, divider: str, message: Candidates, groups: Sequence[Group]
) -> tuple[list[int], Longs]:
    """The candidates of each group. Raises PeerError for numbers that cannot be."""
    counts = message.counts.words.astype(np.int64)
    above = message.above.words.astype(np.int64)
    sizes = np.array([len(group.members) for group in groups])
    most = np.minimum(sizes - 1, 1 if params.alpha == 1 else params.candidates or sizes)
    if len(counts) != len(groups) or (counts < 0).any() or (counts > most).any():
        raise channel.refusal(divider, "not as many cuts as a group can have")
    due = 0 if params.alpha == 1 else int(counts.sum())
    if len(above) != due or (above < 1).any() or (above >= np.repeat(sizes, counts)[:due]).any():
        raise channel.refusal(divider, "a cut with more members above it than there are")
    return counts.tolist(), above


# -- how numbers and bits travel


def to_vector(numbers: Longs) -> Vector:
    """Numbers as they travel."""
    return Vector(numbers.astype(np.uint64))


def to_words(bits: Bits) -> Vector:
    """Bits as they travel, 64 in a word."""
    packed = np.packbits(bits, bitorder="little")
    return Vector(np.frombuffer(packed.tobytes() + bytes(-len(packed) % 8), dtype="<u8").astype(np.uint64))


def accept_halves(channel: Channel, divider: str, message: Halves, sizes: Sequence[int]) -> list[Bits]:
    """Each group's upper half. Raises PeerError where they cannot be."""
    total = sum(sizes)
    if len(message.upper) == -(-total // 64):
        raw = np.unpackbits(message.upper.words.astype("<u8").view(np.uint8), bitorder="little")
        upper = np.split(raw[:total].astype(bool), np.cumsum(sizes)[:-1])
        if not raw[total:].any() and all(each.any() and not each.all() for each in upper):
            return upper
    raise channel.refusal(divider, "its halves are not those of the groups, or are empty")
