"""A simulator of what one of three providers of `federate` sees: it gets that provider's ledger, and no other table.

`declared` is the functionality: from all tables it makes what the sentences of the ledger say that one provider learns.
`Other` plays another provider from that alone. It deals uniform numbers, and where something is opened it waits for the
provider's part and says one that makes the outcome what is declared, or a uniform number where nothing is.
The provider itself is the real role.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tests.harness.network import seed_of
from tests.leaks.federate_ledger import ProviderLedger, learned

from covey.arrays import Longs, Words
from covey.crypto import sharing
from covey.crypto.field import F61, FieldElements
from covey.crypto.rng import Rng, Stream
from covey.protocols.as_printed.federate import checking, largest, score, several_cost
from covey.protocols.as_printed.federate.checking import Shown
from covey.protocols.as_printed.federate.cutting import Candidates, Halves, to_vector, to_words
from covey.protocols.as_printed.federate.delivery import ClassCount, ClassOrder
from covey.protocols.as_printed.federate.groups import Group, divisible, joined
from covey.protocols.as_printed.federate.ideal import Owns, keeps, turn
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.several import digest
from covey.protocols.as_printed.federate.shared_numbers import DealtNumbers, OpenedPart
from covey.protocols.as_printed.federate.thresholds import tests_of
from covey.protocols.shared.agree import agree
from covey.secure import coin, shares
from covey.secure.threshold_test import Dealt
from covey.wire import Channel, Chunk, Vector

# -- what is declared to leak


@dataclass(frozen=True)
class Turn:
    """What a provider learns of one group."""

    divider: int
    kept: bool
    cuts: int
    above: tuple[tuple[int, int], ...] = ()
    """Where another divides: of each cut, in no order, how many members and own users lie above it."""
    best: int = 0
    """Where it divides itself: the place of its best cut."""
    upper: tuple[bool, ...] = ()
    """Where the group is divided: who is in the upper half."""


Learned = ProviderLedger[Turn]
"""A provider's ledger, in figures."""


def declared(provider: str, params: Parameters, owns: Owns, stream: Stream) -> Learned:
    """What the sentences of the ledger come to for one provider; `stream` puts candidates in no order."""
    place = params.providers.index(provider)
    return learned(provider, params, owns, lambda group: _turn(place, params, owns, group, stream))


def _turn(place: int, params: Parameters, owns: Owns, group: Group, stream: Stream) -> Turn:
    step, halves = turn(params, owns, group, keeps)
    if not step.candidates:
        return Turn(step.divider, False, 0)
    own, divider = owns[place], owns[step.divider]
    values = divider.codes(divider.spread(group.members)[1], group.members, group.path)
    cuts = score.candidates(params, values)
    upper = () if halves is None else tuple(np.isin(group.members, halves[1].members).tolist())
    if params.alpha == 1:
        return Turn(step.divider, step.split, 1, upper=upper)
    if step.divider != place:
        mine = (cuts.upper_halves(values) & own.member[group.members]).sum(axis=1)
        above = tuple((int(cuts.upper[at]), int(mine[at])) for at in stream.permutation(len(cuts)).tolist())
        return Turn(step.divider, step.split, len(cuts), above, upper=upper)
    _, tried = turn(params, owns, group, lambda *_: True)
    assert tried is not None
    chosen = [np.isin(group.members, tried[1].members).tolist() == each.tolist() for each in cuts.upper_halves(values)]
    return Turn(step.divider, step.split, len(cuts), best=chosen.index(True), upper=upper)


# -- the simulator


class Tape:
    """The provider's own parts of what is opened to each alone: its random tape is the simulator's, as in a proof."""

    def __init__(self, seed: int) -> None:
        self.seed, self.parts, self.made = seed, dict[str, list[Words]](), asyncio.Event()

    def note(self, step: str, part: Words) -> None:
        """The provider has made a part."""
        self.parts.setdefault(step, []).append(part)
        self.made.set()

    async def part(self, step: str, place: int) -> Words:
        """Its part at a step for the party at that place, as soon as it has made it."""
        while len(self.parts.get(step, ())) <= place:
            self.made.clear()
            await self.made.wait()
        return self.parts[step][place]


class Other:
    """One of the two other providers, to the one in the ledger."""

    def __init__(self, me: str, params: Parameters, learned: Learned, tape: Tape) -> None:
        self.me, self.params, self.learned, self.to, self.tape = me, params, learned, learned.provider, tape
        self.rng = Rng(seed_of(tape.seed)).child("simulator")  # both others draw the outcomes from it alike
        self.order = sorted(params.providers)
        self.calls = 0

    @property
    def place(self) -> int:
        """Its place among the providers."""
        return self.params.providers.index(self.me)

    async def play(self, channel: Channel) -> None:
        """Everything that this provider would say to the one in the ledger."""
        params, people = self.params, len(self.params.population)
        at = channel.at("federate")
        enrol = at.at("enrol")
        await self._deal(enrol.at("bits"), people, people)
        await self._multiply(enrol.at("products"), [2 * people, 2 * people])
        if params.width > 1:
            marks = {params.second: params.width * people}
            await self._deal(enrol.at("values"), marks.get(self.me, 0), marks.get(self.to, 0))
        await self._verdicts(at.at("divide", "root"), tests_of(params), [self.learned.feasible])
        if not self.learned.feasible:
            return
        leaves: list[Group] = []
        below = [Group("", np.arange(people))]
        for depth, turns in enumerate(self.learned.levels):
            groups = divisible(params, below, leaves)
            below = []
            await self._level(at.at("divide", depth), groups, turns)
            for group, each in zip(groups, turns, strict=True):
                if each.upper:
                    below += group.halves(np.array(each.upper))
                else:
                    leaves.append(group)
        leaves.sort(key=lambda group: group.path)
        for number, good in enumerate(self.learned.joined):
            await self._verdicts(at.at("exact", number), 2 * params.width, good)
            failing = [group for group, fine in zip(leaves, good, strict=True) if not fine]
            leaves = joined(leaves, failing) if failing else leaves
        await self._settle(at.among(*params.providers).at("settle"), leaves)
        await at.at("ready").send(params.recipient, ClassCount(self.learned.classes))
        if self.me == params.first:
            order = np.arange(self.learned.classes, dtype=np.uint64)
            await at.at("release", "order").send(self.to, ClassOrder(Vector(order)))
        elif self.to == params.first:
            await at.at("release", "order").receive(self.to, ClassOrder)

    async def _level(self, at: Channel, groups: Sequence[Group], turns: Sequence[Turn]) -> None:
        count, mine = len(groups), self.params.providers.index(self.to)
        ranges = at.at("range")
        await self._deal(ranges, count, count)
        await self._largest(ranges.at("largest"), [3] * count)
        await self._open(ranges, np.array([each.divider for each in turns]))
        led = {name: [g for g, each in enumerate(turns) if each.divider == self._at(name)] for name in self.order}
        cut = {name: [g for g in own if turns[g].cuts] for name, own in led.items()}
        asks = self.params.alpha < 1
        if led[self.me]:
            above = [members for g in led[self.me] for members, _ in turns[g].above]
            counts = [turns[g].cuts for g in led[self.me]]
            said = Candidates(to_vector(np.array(counts)), to_vector(np.array(above, dtype=np.int64)))
            await at.at("candidates").send(self.to, said)
        if led[self.to]:
            await at.at("candidates").receive(self.to, Candidates)
        sizes = [each.cuts for each in turns if each.cuts]
        if asks and sizes:
            upper = {name: sum(turns[g].cuts * len(groups[g].members) for g in own) for name, own in cut.items()}
            await self._deal(at.at("upper"), upper[self.me], upper[self.to])
            users = [own for each in turns if each.divider != mine for _, own in each.above]
            total, asked = sum(sizes), {name: sum(turns[g].cuts for g in own) for name, own in cut.items()}
            await self._open_to_each(at.at("users"), users, total - asked[self.me])
            await self._deal(at.at("scores"), total + asked[self.me], total + asked[self.to])
            await self._largest(at.at("largest"), sizes)
            best = [turns[g].best for g in cut[self.to]]
            await self._open_to_each(at.at("best"), best, len(cut[self.me]))
        if sizes:
            chosen = {name: sum(len(groups[g].members) for g in own) for name, own in cut.items()}
            await self._deal(at.at("chosen"), chosen[self.me], chosen[self.to])
            good = [each.kept for each in turns if each.cuts]
            await self._verdicts(at.at("verify"), 2 * tests_of(self.params), good)
        if halves := [np.array(turns[g].upper) for g in led[self.me] if turns[g].kept]:
            await at.at("halves").send(self.to, Halves(to_words(np.concatenate(halves))))
        if any(turns[g].kept for g in led[self.to]):
            await at.at("halves").receive(self.to, Halves)

    def _at(self, name: str) -> int:
        return self.params.providers.index(name)

    # -- what is said

    async def _deal(self, at: Channel, mine: int, theirs: int, kind: type[Chunk[bytes]] = DealtNumbers) -> None:
        """Sends uniform shares, if the provider does not derive them, and takes its own."""
        ahead = (self.order.index(self.to) - self.order.index(self.me)) % 3
        await self._send(at, kind, mine if ahead != 1 else 0)
        await self._take(at, kind, theirs if ahead != 2 else 0)

    async def _multiply(self, at: Channel, widths: Sequence[int]) -> None:
        """Products: every other time the neighbours on the other side derive their shares."""
        for layer, width in enumerate(widths, start=1):
            ahead = (self.order.index(self.to) - self.order.index(self.me)) % 3
            ahead = 3 - ahead if layer % 2 == 0 else ahead
            await self._send(at, Dealt, width if ahead != 1 else 0)
            await self._take(at, Dealt, width if ahead != 2 else 0)

    async def _send(self, at: Channel, kind: type[Chunk[bytes]], width: int) -> None:
        if width:
            self.calls += 1
            drawn = F61.draw(at.rng.stream("simulated", self.calls), width)
            await shares.send(at, self.to, kind, F61, drawn)

    async def _take(self, at: Channel, kind: type[Chunk[bytes]], width: int) -> None:
        if width:
            await shares.receive(at, self.to, kind, F61, width)

    async def _open(self, at: Channel, outcome: Longs | Words) -> None:
        """Says a part that makes the opened numbers these."""
        theirs = await shares.receive(at, self.to, OpenedPart, F61, len(outcome))
        await self._say_part(at, theirs, outcome)

    async def _open_to_each(self, at: Channel, outcome: Sequence[int], mine: int) -> None:
        """Makes the provider find these, and takes its part of what is for us."""
        await self._take(at, OpenedPart, mine)
        if outcome:
            await self._say_part(at, await self.tape.part(at.step, self.order.index(self.to)), np.array(outcome))

    async def _say_part(self, at: Channel, theirs: Words, outcome: Longs | Words) -> None:
        one = F61.draw(self.rng.stream("part", at.step), len(outcome))
        rest = F61.subtract(F61.subtract(outcome.astype(np.uint64), theirs), one)
        first = min(name for name in self.order if name != self.to)
        await shares.send(at, self.to, OpenedPart, F61, one if self.me == first else rest)

    async def _signs(self, at: Channel, count: int) -> None:
        """Squares of random numbers, masked numbers, and products: nothing of it says anything."""
        drawn = F61.draw(self.rng.stream("root", at.step), F61.bits * count)
        await self._open(at.at("bits"), F61.multiply(drawn, drawn))
        await self._open(at, F61.draw(self.rng.stream("masked", at.step), count))
        await self._multiply(at, [width * count for width in (60, 30, 16, 8, 4, 2, 1)])

    async def _settle(self, at: Channel, leaves: Sequence[Group]) -> None:
        """Says the classes of the ledger, and shares that show a random product and nothing, and fit the provider's."""
        params, classes = self.params, len(leaves)
        await agree(at.at("classes"), digest(leaves))
        if sums := several_cost.class_sums(params):
            await self._multiply(at.at("sums"), [classes * sums])
        await self._verdicts(at.at("tests"), several_cost.tests_of_class(params), [True] * classes)
        check = at.at("check")
        await coin.toss(check.at("coin"))
        for number in range(checking.folds(several_cost.noted(params, classes))):
            await self._fold(check.at("fold", number), checking.FOLD)
        last = check.at("last")
        await self._multiply(last, [1])
        await self._fold(last.at("fold"), 2)
        one, two = (F61.draw(self.rng.stream(part, at.step), 1) for part in ("one", "two"))
        secret = np.concatenate([one, two, F61.multiply(one, two), np.zeros(1, dtype=np.uint64)])
        theirs, places = (await last.receive(self.to, Shown)).shares.words, sharing.places(self.order)
        (fitting,) = sharing.extend({0: secret, places[self.to]: theirs}, [places[self.me]])
        await last.send(self.to, Shown(FieldElements(fitting)))

    async def _fold(self, at: Channel, parts: int) -> None:
        await self._multiply(at, [2 * parts - 2])
        await coin.toss(at.at("coin"))

    async def _verdicts(self, at: Channel, together: int, good: Sequence[bool]) -> None:
        await self._signs(at.at("signs"), together * len(good))
        drawn = F61.draw(self.rng.stream("verdict", at.step), len(good))
        await self._open(at.at("verdict"), np.where(good, np.uint64(0), drawn))

    async def _largest(self, at: Channel, sizes: Sequence[int]) -> None:
        for number, count in enumerate(largest.matches(sizes)):
            await self._signs(at.at(number), count)
            await self._multiply(at.at(number), [2 * count])
