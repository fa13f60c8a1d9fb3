"""A simulator of what a provider of `federate` sees: it gets that provider's ledger, and nothing of the other's table.

`declared` is the functionality: from both tables it makes what the sentences of `LEAKAGE` say that one provider learns.
`Simulator` plays the other provider from that alone. Wherever the real one computes on its users, this one says
encryptions of zero, random elements, random numbers and coins, so that only what is declared comes out.
The provider itself is the real role. Its random tape is the simulator's to draw, and so known to it, as in a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from tests.harness.network import seed_of
from tests.leaks.federate_ledger import ProviderLedger, learned

from covey.arrays import Bits, Longs
from covey.crypto import elgamal, paillier_proof
from covey.crypto.elgamal import Ciphertexts as Pairs
from covey.crypto.group import Point, Scalars, generator_times
from covey.crypto.paillier import PublicKey, SecretKey
from covey.crypto.reading import ReadingKey
from covey.crypto.rng import Rng, Stream, derive
from covey.protocols.as_printed.federate import largest, score
from covey.protocols.as_printed.federate.comparison import (
    HIDING,
    BlindedDigits,
    Digits,
    Flags,
    MaskedCiphertexts,
    slot_bits,
    starts,
)
from covey.protocols.as_printed.federate.cutting import (
    RANGE_BITS,
    SCORE_BITS,
    Above,
    Candidates,
    Halves,
    Scores,
    accept_halves,
    to_vector,
    to_words,
)
from covey.protocols.as_printed.federate.delivery import ClassCount, ClassOrder, Summed
from covey.protocols.as_printed.federate.groups import Group, divisible, joined
from covey.protocols.as_printed.federate.ideal import Owns, keeps, turn
from covey.protocols.as_printed.federate.meeting import (
    BitKey,
    MembershipBits,
    NumberKey,
    _check,
    _context,
    _prove,
    room_for,
)
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.thresholds import tests_of, width_of
from covey.secure import ciphers, lists
from covey.wire import Channel, gather

# -- what is declared to leak


@dataclass(frozen=True)
class Turn:
    """What a provider learns of one group."""

    mine: bool
    """Whether it divides the group itself."""
    kept: bool
    cuts: int
    above: tuple[tuple[int, int], ...] = ()
    """Where the other divides: of each cut, in no order, how many members and own users lie above it."""
    won: tuple[tuple[bool, ...], ...] = ()
    """Where it divides itself: in each round of a knock-out of its cuts, whether the first of each pair won."""
    upper: tuple[bool, ...] = ()
    """Where the other divided: who is in the upper half."""


Learned = ProviderLedger[Turn]
"""A provider's ledger, in figures."""


def declared(provider: str, params: Parameters, owns: Owns, stream: Stream) -> Learned:
    """What the sentences of the ledger come to for one provider; `stream` puts candidates in no order."""
    return learned(provider, params, owns, lambda group: _turn(provider, params, owns, group, stream))


def _turn(provider: str, params: Parameters, owns: Owns, group: Group, stream: Stream) -> Turn:
    step, halves = turn(params, owns, group, keeps)
    leads = step.divider == params.providers.index(provider)
    if not step.candidates:
        return Turn(leads, False, 0)
    divider, other = owns[step.divider], owns[1 - step.divider]
    column = divider.spread(group.members)[1]
    values = divider.codes(column, group.members, group.path)
    cuts = score.candidates(params, values)
    upper = values[np.newaxis] >= cuts.codes[:, np.newaxis]
    theirs = ~other.member[group.members]
    count = 1 if params.alpha == 1 else len(cuts)
    if leads:
        scores = score.of_divider(params, divider, column, group.members, values, cuts) + score.of_other(
            params, len(values), cuts.upper, int(theirs.sum()), (upper & theirs).sum(axis=1)
        )
        return Turn(True, step.split, count, won=() if params.alpha == 1 else _knock_out(scores))
    numbers = [(int(cuts.upper[place]), int((upper[place] & ~theirs).sum())) for place in range(len(cuts))]
    shuffled = tuple(numbers[place] for place in stream.permutation(len(cuts)).tolist())
    ups = () if halves is None else tuple(np.isin(group.members, halves[1].members).tolist())
    return Turn(False, step.split, count, above=() if params.alpha == 1 else shuffled, upper=ups)


def _knock_out(scores: Longs) -> tuple[tuple[bool, ...], ...]:
    standing, rounds = list(range(len(scores))), []
    while len(standing) > 1:
        pairs = list(zip(standing[::2], standing[1::2], strict=False))
        won = tuple(bool(scores[a] >= scores[b]) for a, b in pairs)
        out = {b if first else a for (a, b), first in zip(pairs, won, strict=True)}
        standing = [place for place in standing if place not in out]
        rounds.append(won)
    return tuple(rounds)


# -- the party that is simulated to


@dataclass(frozen=True)
class Tape:
    """A provider's randomness: its keys, and its part of every comparison that it asks for."""

    provider: str
    seed: int

    def at(self, step: str) -> Rng:
        """Its randomness at a step."""
        return Rng(derive(seed_of(self.seed), self.provider)).child("step", step)

    def reading(self) -> ReadingKey:
        """Its key for comparisons."""
        return ReadingKey(self.at("federate/meet").stream("bit key"))

    def secret(self, bits: int) -> SecretKey:
        """Its key for numbers."""
        return SecretKey(bits, self.at("federate/enrol").stream("number key"), least_bits=bits)

    def coins(self, step: str, count: int) -> Bits:
        """Its coins where it asks who holds the smaller number."""
        return np.asarray(self.at(step).child("less").stream("coins").words(count) % np.uint64(2) == 1)

    def shares(self, step: str, widths: Longs) -> Bits:
        """Its shares of signs that it asks for."""
        stream = self.at(step).child("signs").stream("masks")
        masks = [stream.below(1 << (width + HIDING + 1)) for width in widths.tolist()]
        digit: Bits = np.array([mask >> width & 1 == 1 for mask, width in zip(masks, widths.tolist(), strict=True)])
        return self.coins(step, len(widths)) ^ digit


# -- the simulator


@dataclass
class Simulator:
    """The other provider, of whom it knows what the ledger says; `lengths` notes what was compared where."""

    params: Parameters
    learned: Learned
    tape: Tape
    lengths: dict[str, Longs] = field(default_factory=dict)
    rooms: dict[str, int] = field(default_factory=dict)
    reading: ReadingKey = field(init=False)
    secret: SecretKey = field(init=False)
    their_bits: Point = field(init=False)
    their_numbers: PublicKey = field(init=False)

    @property
    def to(self) -> str:
        """The provider that is simulated to."""
        return self.learned.provider

    async def play(self, channel: Channel) -> None:
        """Everything that the other provider would say."""
        params, at = self.params, channel.at("federate")
        await self._meet(at)
        together, everyone = tests_of(params), np.arange(len(params.population))
        widths = np.full(together, width_of(params, len(everyone)))
        root, verdict = at.at("divide", "root"), np.array([self.learned.feasible])
        is_first = self.to == params.first
        await (self._answer_tests if is_first else self._ask_tests)(root, widths, verdict)
        if not self.learned.feasible:
            return
        below, leaves = [Group("", everyone)], list[Group]()
        for depth, turns in enumerate(self.learned.levels):
            groups = divisible(params, below, leaves)
            uppers = await self._level(at.at("divide", depth), groups, turns)
            halves = [_halves(group, upper) for group, upper in zip(groups, uppers, strict=True)]
            leaves += [group for group, cut in zip(groups, halves, strict=True) if not cut]
            below = [half for cut in halves for half in cut]
        leaves += below
        leaves = await self._exact(at.at("exact"), sorted(leaves, key=lambda group: group.path))
        await at.at("ready").send(params.recipient, ClassCount(self.learned.classes))
        await self._release(at.at("release"), leaves)

    async def _meet(self, at: Channel) -> None:
        bits, meet, enrol = self.params.bits, at.at("meet"), at.at("enrol")
        self.reading = ReadingKey(meet.rng.stream("bit key"))
        await meet.send(self.to, BitKey(self.reading.public))
        self.their_bits = (await meet.receive(self.to, BitKey)).key
        self.secret = SecretKey(bits, enrol.rng.stream("number key"), least_bits=bits)
        roots = paillier_proof.prove_modulus(self.secret, *_context(enrol, enrol.me))
        await enrol.send(self.to, NumberKey(self.secret.public, roots))
        self.their_numbers = (await enrol.receive(self.to, NumberKey)).key
        membership, count = enrol.at("membership"), len(self.params.population)
        exponents = self.secret.public.exponents(count, membership.rng.stream("zeros"))
        zeros = self.secret.encrypt_with([0] * count, exponents)
        await ciphers.send(membership, self.to, MembershipBits, zeros)
        theirs = await ciphers.receive(membership, self.to, MembershipBits, self.their_numbers, count)
        await _prove(membership, self.to, self.secret, [0] * count, exponents, zeros)
        await _check(membership, self.to, theirs)

    async def _level(self, at: Channel, groups: Sequence[Group], turns: Sequence[Turn]) -> list[Bits | None]:
        mine = np.array([turn.mine for turn in turns])
        await self._dividers(at.at("range"), mine)
        theirs, ours = np.flatnonzero(mine).tolist(), np.flatnonzero(~mine).tolist()
        followed, led = await gather(
            self._follow(at.at("cut", self.to), [groups[p] for p in theirs], [turns[p] for p in theirs]),
            self._lead(at.at("cut", at.me), [groups[p] for p in ours], [turns[p] for p in ours]),
        )
        found = {**dict(zip(theirs, followed, strict=True)), **dict(zip(ours, led, strict=True))}
        return [found[place] for place in range(len(groups))]

    async def _dividers(self, at: Channel, mine: Bits) -> None:
        """Who divides, opened from two shares."""
        widths = np.full(len(mine), RANGE_BITS)
        if self.to == self.params.first:
            shares = await self._ask_less(at, widths)
            shorter = ~mine
        else:
            await self._answer_less(at, widths)
            shares = self.tape.coins(at.step, len(mine))
            shorter = mine
        await at.at("open").send(self.to, Flags(np.packbits(shares ^ shorter).tobytes()))
        await at.at("open").receive(self.to, Flags)

    async def _lead(self, at: Channel, groups: Sequence[Group], turns: Sequence[Turn]) -> list[Bits | None]:
        """Groups that the other provider divides."""
        if not groups:
            return []
        choose = at.at("choose")
        counts = [turn.cuts for turn in turns]
        told = [each for turn in turns for each in turn.above]
        above = np.array([members for members, _ in told], dtype=np.int64)
        await choose.at("candidates").send(self.to, Candidates(to_vector(np.array(counts)), to_vector(above)))
        if told:
            room = room_for([len(group.members) for group in groups])
            await self._send_numbers(choose.at("candidates"), Above, [users for _, users in told], room)
            await ciphers.receive(choose.at("scores"), self.to, Scores, self.their_numbers, len(told))
            for number, matches in enumerate(largest.matches([count for count in counts if count])):
                turn_at = choose.at("largest", number)
                await self._ask_signs(turn_at, np.full(matches, SCORE_BITS))
                await turn_at.receive(self.to, Flags)
        cut = [place for place, count in enumerate(counts) if count]
        kept = np.array([turns[place].kept for place in cut], dtype=bool)
        await self._ask_tests(at.at("verify"), self._widths([groups[place] for place in cut]), kept)
        uppers = [np.array(turn.upper) if turn.kept else None for turn in turns]
        told_halves = [upper for upper in uppers if upper is not None]
        if told_halves:
            await at.at("halves").send(self.to, Halves(to_words(np.concatenate(told_halves))))
        return uppers

    async def _follow(self, at: Channel, groups: Sequence[Group], turns: Sequence[Turn]) -> list[Bits | None]:
        """Groups that the provider divides which is simulated to."""
        if not groups:
            return []
        choose = at.at("choose")
        message = await choose.at("candidates").receive(self.to, Candidates)
        counts, asked = [turn.cuts for turn in turns], len(message.above)
        if asked:
            room = room_for([len(group.members) for group in groups])
            packs = -(-asked // ((self.params.bits - 1) // room))
            await ciphers.receive(choose.at("candidates"), self.to, Above, self.secret.public, packs)
            zeros = self.secret.encrypt([0] * asked, choose.rng.stream("zeros"))
            await ciphers.send(choose.at("scores"), self.to, Scores, zeros)
            for number, matches in enumerate(largest.matches([count for count in counts if count])):
                turn_at, widths = choose.at("largest", number), np.full(matches, SCORE_BITS)
                await self._answer_signs(turn_at, widths)
                won = np.array([bit for turn in turns if number < len(turn.won) for bit in turn.won[number]])
                shares = self.tape.shares(turn_at.step, widths)
                await turn_at.send(self.to, Flags(np.packbits(shares ^ won).tobytes()))
        cut = [place for place, count in enumerate(counts) if count]
        kept = np.array([turns[place].kept for place in cut], dtype=bool)
        await self._answer_tests(at.at("verify"), self._widths([groups[place] for place in cut]), kept)
        divided = [place for place in cut if turns[place].kept]
        uppers: list[Bits | None] = [None] * len(groups)
        if divided:
            said = await at.at("halves").receive(self.to, Halves)
            found = accept_halves(at, self.to, said, [len(groups[place].members) for place in divided])
            for place, upper in zip(divided, found, strict=True):
                uppers[place] = upper
        return uppers

    async def _exact(self, at: Channel, leaves: list[Group]) -> list[Group]:
        for number, good in enumerate(self.learned.joined):
            widths = np.repeat([width_of(self.params, len(group.members)) for group in leaves], self.params.width)
            tests = self._ask_tests if self.to == self.params.first else self._answer_tests
            await tests(at.at(number), widths, np.array(good))
            failing = [group for group, fine in zip(leaves, good, strict=True) if not fine]
            leaves = joined(leaves, failing) if failing else leaves
        return leaves

    async def _release(self, at: Channel, leaves: Sequence[Group]) -> None:
        room = room_for([len(group.members) for group in leaves]) + HIDING + 1
        count = len(leaves) * self.params.width
        packs = -(-count // ((self.params.bits - 1) // room))
        if self.to == self.params.first:
            await at.at("order").receive(self.to, ClassOrder)
            numbers, stream = at.at("numbers"), at.rng.stream("veiled")
            await self._send_numbers(numbers, Summed, [stream.below(1 << (room - 1)) for _ in range(count)], room)
        else:
            order = at.rng.stream("order").permutation(len(leaves))
            await at.at("order").send(self.to, ClassOrder(to_vector(order)))
            await ciphers.receive(at.at("numbers"), self.to, Summed, self.secret.public, packs)

    # -- comparisons in which nothing is compared

    def _widths(self, groups: Sequence[Group]) -> Longs:
        each = [width_of(self.params, len(group.members)) for group in groups]
        return np.repeat(np.array(each, dtype=np.int64), 2 * tests_of(self.params))

    async def _ask_tests(self, at: Channel, widths: Longs, verdicts: Bits) -> None:
        if not len(widths):
            return
        await self._ask_signs(at.at("signs"), widths)
        verdict = at.at("verdict")
        await lists.receive(verdict, self.to, Digits, columns=2, due=len(widths), distinct=False)
        await self._blinded(verdict, np.zeros(len(verdicts), dtype=np.int64), verdicts)
        await verdict.receive(self.to, Flags)

    async def _answer_tests(self, at: Channel, widths: Longs, verdicts: Bits) -> None:
        if not len(widths):
            return
        await self._answer_signs(at.at("signs"), widths)
        verdict = at.at("verdict")
        await self._digits(verdict, len(widths))
        await lists.receive(verdict, self.to, BlindedDigits, columns=2, due=len(verdicts), distinct=False)
        await verdict.send(self.to, Flags(np.packbits(verdicts).tobytes()))

    async def _ask_signs(self, at: Channel, widths: Longs) -> None:
        """Numbers that are nothing but masks."""
        stream = at.rng.stream("masks")
        masks = [stream.below(1 << (width + HIDING + 1)) for width in widths.tolist()]
        await self._send_numbers(at, MaskedCiphertexts, masks, slot_bits(widths))
        await self._ask_less(at, widths)

    async def _answer_signs(self, at: Channel, widths: Longs) -> None:
        slots = (self.params.bits - 1) // slot_bits(widths)
        await ciphers.receive(at, self.to, MaskedCiphertexts, self.secret.public, -(-len(widths) // slots))
        await self._answer_less(at, widths)

    async def _ask_less(self, at: Channel, widths: Longs) -> Bits:
        """A zero or none by a coin, and everything else random."""
        await lists.receive(at, self.to, Digits, columns=2, due=int(widths.sum()), distinct=False)
        coins = np.asarray(at.rng.stream("coins").words(len(widths)) % np.uint64(2) == 1)
        await self._blinded(at, widths, coins)
        return coins

    async def _answer_less(self, at: Channel, widths: Longs) -> None:
        await self._digits(at, int(widths.sum()))
        due = int(widths.sum()) + len(widths)
        await lists.receive(at, self.to, BlindedDigits, columns=2, due=due, distinct=False)

    async def _digits(self, at: Channel, count: int) -> None:
        coins = np.asarray(at.rng.stream("digits").words(count) % np.uint64(2) == 1)
        digits = self.reading.encrypt(coins, at.rng.stream("fresh"))
        await lists.send(at, self.to, Digits, [digits.first, digits.second])

    async def _blinded(self, at: Channel, widths: Longs, zero: Bits) -> None:
        self.lengths[at.step] = widths
        stream, lengths = at.rng.stream("blinded"), widths + 1
        noise = Pairs(*(generator_times(Scalars.draw(stream, int(lengths.sum()))) for _ in range(2)))
        zeros = elgamal.encrypt([0] * len(widths), self.their_bits, stream)
        order = np.arange(len(noise))
        for number in np.flatnonzero(zero).tolist():
            order[starts(lengths)[number] + stream.below(int(lengths[number]))] = len(noise) + number
        said = Pairs.join([noise, zeros]).take(order)
        await lists.send(at, self.to, BlindedDigits, [said.first, said.second])

    async def _send_numbers(self, at: Channel, kind: type[ciphers.C], numbers: Sequence[int], room: int) -> None:
        self.rooms[at.step] = room
        packs = packed(numbers, room, (self.params.bits - 1) // room)
        await ciphers.send(at, self.to, kind, self.their_numbers.encrypt(packs, at.rng.stream("packs")))


def packed(numbers: Sequence[int], room: int, slots: int) -> list[int]:
    """Numbers side by side, as `covey.crypto.packing` puts them."""
    return [
        sum(number << (room * place) for place, number in enumerate(numbers[first : first + slots]))
        for first in range(0, len(numbers), slots)
    ]


def _halves(group: Group, upper: Bits | None) -> list[Group]:
    if upper is None:
        return []
    return [Group(group.path + "0", group.members[~upper]), Group(group.path + "1", group.members[upper])]
