"""Three providers or more: everybody's bits as shares, and all that is decided with them.

A provider deals shares of its membership bits; products of shares say, again as shares, whom all providers have in
common and whom all but one. A set of providers has the fewest users in common if only one provider is missing: with
delta kept toward those, it is kept toward every set of providers that put their lists side by side.

The divider of a group deals shares of who is in the upper half of a cut. The others multiply and add up without knowing
the cut; signs of the sums say if it is good, and all learn that one bit. If it is, the divider tells the half.

Before anything is released all compare the classes. These are tested once more, and what the tests and the released
numbers rest on is checked: that membership bits are bits, every product, and every number that was opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.crypto.field import F61
from covey.errors import Aborted
from covey.protocols.as_printed.federate import shared_numbers
from covey.protocols.as_printed.federate.checking import SPOILED, Notes, NotingWorkshop, check
from covey.protocols.as_printed.federate.cutting import (
    Candidates,
    Halves,
    PlannedCuts,
    accept_candidates,
    accept_halves,
    own_part,
    plan,
    to_vector,
    to_words,
)
from covey.protocols.as_printed.federate.groups import Group
from covey.protocols.as_printed.federate.shared_numbers import deal, encoded, opened, opened_to_each
from covey.protocols.as_printed.federate.users import OwnUsers, ProviderSide
from covey.protocols.shared.agree import agree
from covey.secure import shares
from covey.wire import Channel, gather

N = TypeVar("N", Words, Longs)

Found = dict[int, Bits]
"""Who is in the upper half, by the place of a group."""


@dataclass(frozen=True)
class ProviderShares(ProviderSide):
    """One provider's side: its users, and its shares of what all providers have."""

    bits: Words
    """Of who of the population each provider has: providers x people."""
    products: Words
    """Of who is common to all providers, and then, for each provider, to all but this one: rows x people."""
    values: Words
    """Of who has which combination of exact values, as the last provider knows: combinations x people."""
    notes: Notes
    """What is to be checked of these before anything is released."""

    @property
    def names(self) -> tuple[str, ...]:
        """The providers, in the order of the parameters."""
        return self.params.providers

    @cached_property
    def place(self) -> int:
        """This provider's place among them."""
        return self.names.index(self.me)

    def sums(self, weights: Words, members: Longs) -> Words:
        """Sums of the products over members with these weights: weights' rows x products."""
        return F61.combine(weights, np.ascontiguousarray(self.products[:, members].T))

    def totals(self, members: Longs) -> Words:
        """Sums of the products over all of the members: 1 x products."""
        return self.sums(np.ones((1, len(members)), dtype=np.uint64), members)

    def delta_tests(self, sums: Words, left_out: Sequence[int]) -> Words:
        """Numbers that must be zero or more: delta times the users of all but one provider, less the common ones."""
        delta = self.params.delta
        if delta is None:
            return np.zeros((len(sums), 0), dtype=np.uint64)
        common = F61.scale(np.ascontiguousarray(sums[:, 0]), np.uint64(delta.denominator))
        part = np.uint64(delta.numerator)
        rows = [F61.scale(np.ascontiguousarray(sums[:, 1 + place]), part) for place in left_out]
        return np.stack([F61.subtract(row, common) for row in rows], axis=1)

    def tests(self, sums: Words) -> Words:
        """Numbers that must be zero or more in groups with these sums: groups x tests."""
        k = np.full(len(sums), np.uint64(self.params.k))
        enough = F61.subtract(np.ascontiguousarray(sums[:, 0]), k)
        return np.column_stack([enough, self.delta_tests(sums, range(len(self.names)))])


async def enrol(channel: Channel, own: OwnUsers) -> ProviderShares:
    """Deals membership bits and exact values, and multiplies bits, for all of the population."""
    names, people, notes = own.params.providers, len(own.params.population), Notes()
    dealt = await deal(channel.at("bits"), own.member.astype(np.uint64), dict.fromkeys(names, people))
    bits = [dealt[name] for name in names]
    products = await _leave_one_out(NotingWorkshop(channel.at("products"), notes), bits)
    values = await _deal_values(channel.at("values"), own)
    for row in (*bits, *(values if len(values) > 1 else ())):
        notes.multiplied(row, row, row)
    if len(values) > 1:
        notes.is_nothing(F61.subtract(shares.total(values, F61), bits[-1]))
    return ProviderShares(own, channel.me, np.stack(bits), products, values, notes)


async def _leave_one_out(workshop: NotingWorkshop, bits: list[Words]) -> Words:
    """The product of all rows, and then, for each row, of all others."""
    count, before, after = len(bits), [bits[0]], [bits[-1]]
    for place in range(1, count - 1):
        left, right = np.stack([before[-1], after[-1]]), np.stack([bits[place], bits[-1 - place]])
        first, last = await workshop.multiply(left, right)
        before.append(first)
        after.append(last)
    inner = range(1, count - 1)
    left = np.stack([*(before[place - 1] for place in inner), before[-1]])
    right = np.stack([*(after[count - 2 - place] for place in inner), bits[-1]])
    *middle, everyone = await workshop.multiply(left, right)
    return np.stack([everyone, after[-1], *middle, before[-1]])


async def _deal_values(channel: Channel, own: OwnUsers) -> Words:
    """Shares of the marks of everybody's combination of exact values; nothing is dealt where there is one only."""
    params, people = own.params, len(own.params.population)
    if params.width == 1:
        return np.ones((1, people), dtype=np.uint64)
    marks = np.zeros((params.width if channel.me == params.second else 0, people), dtype=np.uint64)
    if len(marks):
        mine = np.flatnonzero(own.member)
        marks[own.exact[own.row[mine]], mine] = 1
    due = dict.fromkeys(params.providers, 0) | {params.second: params.width * people}
    return (await deal(channel, marks.ravel(), due))[params.second].reshape(params.width, people)


# -- tests


async def is_feasible(channel: Channel, held: ProviderShares, everyone: Group) -> bool:
    """True if the whole population as one group keeps k and delta; all learn it."""
    numbers = held.tests(held.totals(everyone.members))
    return bool((await shared_numbers.none_negative(channel, numbers, Notes()))[0])


async def keep_exactly(channel: Channel, held: ProviderShares, leaves: Sequence[Group]) -> Bits:
    """The groups that keep delta for each exact value in them, toward those who know the values; all learn which."""
    sums = [held.sums(held.values[:, group.members], group.members) for group in leaves]
    return await shared_numbers.none_negative(channel, _exact_tests(held, sums), Notes())


def _exact_tests(held: ProviderShares, sums: Sequence[Words]) -> Words:
    """Numbers that must be zero or more in groups with these sums for each exact value: groups x tests."""
    return np.stack([held.delta_tests(each, range(len(held.names) - 1)).ravel() for each in sums])


# -- before the release


@dataclass(frozen=True)
class CheckedNumbers(ProviderSide):
    """One provider's side when all is checked."""

    numbers: Words
    """Shares, of the low degree, of the common users of each class and combination of exact values."""


async def settle(channel: Channel, held: ProviderShares, leaves: Sequence[Group]) -> CheckedNumbers:
    """The numbers of the release.

    All compare the classes, test them once more, and check everything that these tests and numbers rest on. Raises
    PeerError for another provider's classes that are not ours, Aborted where a class falls short or a check fails.
    """
    reason = "it has other classes than we have: a provider told us different halves"
    await agree(channel.at("classes"), digest(leaves), reason)
    sums = await _class_sums(NotingWorkshop(channel.at("sums"), held.notes), held, leaves)
    tests = held.tests(np.concatenate([held.totals(group.members) for group in leaves]))
    if held.params.sensitive:
        tests = np.concatenate([tests, _exact_tests(held, sums)], axis=1)
    kept = await shared_numbers.none_negative(channel.at("tests"), tests, held.notes)
    await check(channel.at("check"), held.notes)
    if not kept.all():
        raise Aborted(SPOILED, resumable=False)
    return CheckedNumbers(held.users, held.me, np.stack([each[:, 0] for each in sums]))


async def _class_sums(workshop: NotingWorkshop, held: ProviderShares, leaves: Sequence[Group]) -> list[Words]:
    """For each class the sums of products that are needed, by combination of exact values: combinations x products."""
    if len(held.values) == 1:
        return [held.totals(group.members) for group in leaves]
    needed = held.products[: len(held.names) if held.params.sensitive else 1]
    own = [(held.values[:, group.members], np.ascontiguousarray(needed[:, group.members])) for group in leaves]
    local = [F61.combine(values, np.ascontiguousarray(products.T)) for values, products in own]
    found = await workshop.reduce(np.concatenate([each.ravel() for each in local]))
    sums = np.split(found, np.cumsum([each.size for each in local])[:-1])
    for (values, products), each in zip(own, sums, strict=True):
        left = np.repeat(values, len(products), axis=0)
        held.notes.multiplied(left, np.tile(products, (len(values), 1)), each)
    return [each.reshape(len(held.values), len(needed)) for each in sums]


def digest(leaves: Sequence[Group]) -> bytes:
    """A hash of the classes, in the order that all providers have."""
    known = hashlib.sha256()
    for group in leaves:
        known.update(f"{group.path}:{len(group.members)}:".encode() + group.members.astype("<i8").tobytes())
    return known.digest()


# -- cuts


async def divide_level(
    channel: Channel, held: ProviderShares, groups: Sequence[Group]
) -> list[tuple[Group, Group] | None]:
    """For each group its halves, the lower first, or None where it stays as it is."""
    spreads = [held.users.spread(group.members) for group in groups]
    dividers = await choose_dividers(channel.at("range"), held, np.array([longest for longest, _ in spreads]))
    level = Level(held, groups, dividers, _plans(held, groups, dividers, spreads))
    cuts = await level.announce(channel.at("candidates"))
    chosen = await cuts.best(channel) if held.params.alpha < 1 else dict.fromkeys(level.plans, 0)
    upper = {place: level.plans[place].upper(best) for place, best in chosen.items() if cuts.counts[place]}
    kept = await cuts.test(channel, upper)
    found = await level.tell_halves(channel.at("halves"), kept, upper)
    return [None if place not in found else group.halves(found[place]) for place, group in enumerate(groups)]


async def choose_dividers(channel: Channel, held: ProviderShares, ranges: Longs) -> Longs:
    """The place of the provider that divides each group: the first of those whose range is longest."""
    count, width = len(held.names), len(ranges)
    ranked = encoded(ranges * count + count - 1 - held.place)  # no two are equal, and the first is the larger one
    dealt = await deal(channel, ranked, dict.fromkeys(held.names, width))
    values = np.stack([dealt[name] for name in held.names], axis=1).ravel()
    marks = np.tile(np.arange(count, dtype=np.uint64), width)
    found = await opened(channel, await shared_numbers.largest(channel.at("largest"), [count] * width, values, marks))
    return _within(found, np.full(width, count))


def _plans(
    held: ProviderShares, groups: Sequence[Group], dividers: Longs, spreads: Sequence[tuple[int, int]]
) -> dict[int, PlannedCuts]:
    """The cuts of the groups that this provider divides."""
    mine = np.flatnonzero(dividers == held.place).tolist()
    return {place: plan(held.users, groups[place], *spreads[place]) for place in mine}


@dataclass(frozen=True)
class Level:
    """The groups of a level, who divides each, and the cuts of those that this provider divides."""

    held: ProviderShares
    groups: Sequence[Group]
    dividers: Longs
    plans: dict[int, PlannedCuts]

    def led_by(self, name: str) -> list[int]:
        """The places of the groups that a provider divides."""
        return np.flatnonzero(self.dividers == self.held.names.index(name)).tolist()

    async def announce(self, channel: Channel) -> Cuts:
        """The number of cuts of each group, and how many members are above each, in a random order."""
        asks = self.held.params.alpha < 1
        orders = {
            place: channel.rng.stream("order", place).permutation(len(each.cuts)) for place, each in self.plans.items()
        }
        counts = np.array([len(each.cuts) for each in self.plans.values()], dtype=np.int64)
        above = [each.cuts.upper[orders[place]] for place, each in self.plans.items() if asks]
        mine = Candidates(to_vector(counts), to_vector(np.concatenate([np.zeros(0, dtype=np.int64), *above])))

        async def hear(peer: str) -> tuple[list[int], Longs]:
            groups = [self.groups[place] for place in self.led_by(peer)]
            if not groups:
                return [], np.zeros(0, dtype=np.int64)
            message = await channel.receive(peer, Candidates)
            return accept_candidates(self.held.params, channel, peer, message, groups)

        if self.plans:
            await channel.broadcast(mine)
        heard = dict(zip(channel.peers, await gather(*(hear(peer) for peer in channel.peers)), strict=True))
        heard[channel.me] = counts.tolist(), mine.above.words.astype(np.int64)
        found: dict[int, int] = {}
        members: dict[int, Longs] = {}
        for name, (each, upper) in heard.items():
            found |= dict(zip(self.led_by(name), each, strict=True))
            members |= _by_group(self.led_by(name), each, upper) if asks else {}
        return Cuts(self, [found[place] for place in range(len(self.groups))], members, orders)

    async def tell_halves(self, channel: Channel, kept: Sequence[int], upper: Found) -> Found:
        """The upper half of each group that is divided; its divider says it."""
        mine = [upper[place] for place in kept if place in upper]
        if mine:
            await channel.broadcast(Halves(to_words(np.concatenate(mine))))

        async def hear(peer: str) -> Found:
            divided = [place for place in self.led_by(peer) if place in kept]
            if not divided:
                return {}
            sizes = [len(self.groups[place].members) for place in divided]
            halves = accept_halves(channel, peer, await channel.receive(peer, Halves), sizes)
            return dict(zip(divided, halves, strict=True))

        found = {place: upper[place] for place in kept if place in upper}
        for theirs in await gather(*(hear(peer) for peer in channel.peers)):
            found |= theirs
        return found


@dataclass(frozen=True)
class Cuts:
    """The cuts that are considered in the groups of a level."""

    level: Level
    counts: list[int]
    above: dict[int, Longs]
    """The number of members above each cut of a group, in its divider's random order."""
    orders: dict[int, Longs]
    """The random orders of those that this provider divides."""

    @property
    def cut(self) -> list[int]:
        """The groups that have a cut."""
        return [place for place, count in enumerate(self.counts) if count]

    def _led(self, name: str) -> list[int]:
        """The groups with a cut that a provider divides."""
        return [place for place in self.level.led_by(name) if self.counts[place]]

    async def _deal_upper(self, channel: Channel, rows: dict[int, Bits], cuts: Sequence[int]) -> dict[int, Words]:
        """Shares of who is above so many cuts of each group: for each group cuts x members."""
        held, groups = self.level.held, self.level.groups
        sizes = {place: (cuts[place], len(groups[place].members)) for place in self.cut}
        lengths = {name: [int(np.prod(sizes[place])) for place in self._led(name)] for name in held.names}
        due = {name: sum(each) for name, each in lengths.items()}
        mine = [rows[place].ravel().astype(np.uint64) for place in self._led(held.me)]
        dealt = await deal(channel, np.concatenate([np.zeros(0, dtype=np.uint64), *mine]), due)
        parts = [_by_group(self._led(name), lengths[name], dealt[name]) for name in held.names]
        return {place: part.reshape(sizes[place]) for each in parts for place, part in each.items()}

    async def best(self, channel: Channel) -> dict[int, int]:
        """The best cut of each group that this provider divides; of the others' parts it sees nothing else."""
        if not self.cut:
            return {}
        level, held = self.level, self.level.held
        rows = {place: each.cuts.upper_halves(each.values)[self.orders[place]] for place, each in level.plans.items()}
        upper = await self._deal_upper(channel.at("upper"), rows, self.counts)
        users = {
            place: F61.combine(each, np.ascontiguousarray(held.bits[:, level.groups[place].members].T))
            for place, each in upper.items()
        }
        at = channel.at("users")
        told = {name: self._concatenated(users, name) for name in held.names}
        parts = self._parts(at, (await opened_to_each(at, told)).astype(np.int64))
        at = channel.at("scores")
        marks = [self.orders[place] for place in self._led(held.me)]
        width, sizes = sum(self.counts), [self.counts[place] for place in self.cut]
        due = {name: width + sum(self.counts[place] for place in self._led(name)) for name in held.names}
        dealt = await deal(at, encoded(np.concatenate([*(parts[place] for place in self.cut), *marks])), due)
        scores = shares.total([dealt[name][:width] for name in held.names], F61)
        ranks = self._arranged({name: dealt[name][width:] for name in held.names})
        best = await shared_numbers.largest(channel.at("largest"), sizes, scores, ranks)
        winners = dict(zip(self.cut, best, strict=True))
        told = {name: np.array([winners[place] for place in self._led(name)], dtype=np.uint64) for name in held.names}
        mine = self._led(held.me)
        found = await opened_to_each(channel.at("best"), told)
        return dict(zip(mine, _within(found, np.array([self.counts[p] for p in mine])).tolist(), strict=True))

    def _concatenated(self, users: dict[int, Words], name: str) -> Words:
        """The numbers of a provider's users above the cuts of groups that others divide."""
        place, led = self.level.held.names.index(name), self._led(name)
        columns = [users[group][:, place] for group in self.cut if group not in led]
        return np.concatenate([np.zeros(0, dtype=np.uint64), *columns])

    def _parts(self, channel: Channel, users: Longs) -> dict[int, Longs]:
        """Our part of each cut's score, times the number of cuts; the divider adds ranks, so that none are equal."""
        level, parts, first = self.level, {}, 0
        for place in self.cut:
            count = self.counts[place]
            if place in level.plans:
                ranked = level.plans[place].parts * count + count - 1 - np.arange(count)
                parts[place] = ranked[self.orders[place]]
                continue
            divider, here = level.held.names[level.dividers[place]], users[first : first + count]
            group, above = level.groups[place], self.above[place]
            parts[place] = own_part(level.held.users, channel, divider, group, above, here) * count
            first += count
        return parts

    def _arranged(self, dealt: dict[str, Words]) -> Words:
        """The numbers that each provider dealt for the cuts of its own groups, in the order of the groups."""
        found: dict[int, Words] = {}
        for name, numbers in dealt.items():
            found |= _by_group(self._led(name), [self.counts[place] for place in self._led(name)], numbers)
        return np.concatenate([found[place] for place in self.cut])

    async def test(self, channel: Channel, upper: Found) -> list[int]:
        """The groups whose chosen cut keeps k and delta in both halves; all learn which."""
        if not self.cut:
            return []
        held, numbers = self.level.held, []
        dealt = await self._deal_upper(channel.at("chosen"), upper, [1] * len(self.counts))
        for place in self.cut:
            members = self.level.groups[place].members
            above = held.sums(dealt[place], members)
            below = F61.subtract(held.totals(members).ravel(), above.ravel())[np.newaxis]
            numbers.append(held.tests(np.concatenate([above, below])).ravel())
        kept = await shared_numbers.none_negative(channel.at("verify"), np.stack(numbers), Notes())
        return [place for place, good in zip(self.cut, kept.tolist(), strict=True) if good]


def _by_group(places: Sequence[int], lengths: Sequence[int], numbers: N) -> dict[int, N]:
    """The numbers of each of these groups, which follow each other."""
    ends = np.cumsum([0, *lengths]).tolist()
    return {place: numbers[ends[at] : ends[at + 1]] for at, place in enumerate(places)}


def _within(found: Words, bounds: Longs) -> Longs:
    """Places that were opened. Raises Aborted where one is none."""
    if (found >= bounds.astype(np.uint64)).any():
        raise Aborted("what was opened makes no sense: a provider did not keep to the protocol", resumable=False)
    return found.astype(np.int64)
