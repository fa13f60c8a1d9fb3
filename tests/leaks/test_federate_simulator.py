"""What a provider of `federate` sees follows from its own table and what the ledger declares: a simulator shows it.

The simulator (`federate_simulator`) plays the other provider without the other's table. Whatever the real role hears
from it has the shapes of a real run, leads to the same groups, and says under the role's own keys what a real run says:
the declared numbers and bits, and otherwise uniform numbers, coins and random elements. What is under the other's key
is compared by nobody: it is encryptions of zero here, and hides by semantic security.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz
from tests.harness.federate_cases import (
    CURIOUS,
    GYM,
    INSURER,
    Users,
    draw_users,
    lasting_of,
    owns_of,
    study_of,
    tables_of,
)
from tests.harness.network import seed_of
from tests.harness.parties import Outcome, Role, run_parties
from tests.leaks.federate_simulator import Learned, Simulator, Tape, declared

from covey.crypto import packing
from covey.crypto.elgamal import Ciphertexts as Pairs
from covey.crypto.group import powers
from covey.crypto.paillier import Ciphertexts, PublicKey, SecretKey
from covey.crypto.rng import Rng
from covey.errors import Unmet
from covey.protocols.as_printed.federate import score
from covey.protocols.as_printed.federate.comparison import HIDING, BlindedDigits, Flags, MaskedCiphertexts, starts
from covey.protocols.as_printed.federate.cutting import Above, Candidates, Scores
from covey.protocols.as_printed.federate.delivery import ClassCount, ClassLabels, ClassOrder, Summed, Veiled, Veils
from covey.protocols.as_printed.federate.ideal import divide
from covey.protocols.as_printed.federate.meeting import MembershipBits, NumberKey, room_for
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.role import provider, recipient
from covey.protocols.as_printed.federate.thresholds import by_value
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.protocols.protocol import Proposal, Result, Seat
from covey.secure.ciphers import Ciphers
from covey.secure.declare import Leakage
from covey.study import Study
from covey.wire import Channel, Message
from covey.wire.frame import Letter, read
from covey.wire.message import decode, tag_of

M = TypeVar("M", bound=Message)
PEOPLE, RUNS = 30, 2
ROOT = "/root/"
GOLDEN = 0.6180339887  # spreads spots within their place, so that few places do not count as uneven
OPTIONS = ("candidates = 3", 'candidates = 2\npresence = "sensitive"', "alpha = 1")
SMALL = set(powers([number for number in range(-64, 65) if number]))
UNDER_A_KEY: dict[str, type[Ciphers]] = {
    tag_of(kind): kind for kind in (MembershipBits, Scores, Above, MaskedCiphertexts, Summed)
}


class Quiet:
    """Neither progress nor a ledger."""

    def phase(self, name: str, of: int = 1) -> None: ...

    def reach(self, done: int) -> None: ...

    def learns(self, leakage: Leakage, **numbers: object) -> None: ...


async def agree(proposal: Proposal) -> None:
    """Votes carry nothing."""


def seat_of(study: Study, party: str, users: Users, channel: Channel) -> Seat:
    table = tables_of(study, users).get(party)
    return Seat(study, table, channel, Quiet(), Quiet(), agree, lasting_of(party))


def real_run(study: Study, users: Users, seed: int) -> dict[str, Outcome[Result]]:
    def role(party: str) -> Role[Result]:
        play = recipient if party == CURIOUS else provider
        return lambda channel: play(seat_of(study, party, users, channel))

    return run_parties({party: role(party) for party in (GYM, INSURER, CURIOUS)}, seed=seed)


def simulated_run(study: Study, own: Users, learned: Learned, seed: int) -> tuple[Outcome[Result], Simulator]:
    """The provider in the ledger, on its own users, against the simulator."""
    me, params = learned.provider, Parameters.of(study)
    simulator = Simulator(params, learned, Tape(me, seed))

    async def whole(channel: Channel) -> Result:
        return await provider(seat_of(study, me, own, channel))

    async def made_up(channel: Channel) -> Result:
        await simulator.play(channel)
        return Result()

    async def reader(channel: Channel) -> Result:
        if learned.feasible:
            at = channel.at("federate")
            for name in (params.first, params.second):
                await at.at("ready").receive(name, ClassCount)
            await at.at("release", "numbers").receive(me, Veiled if me == params.first else Veils)
            await at.at("release", "boxes").receive(me, ClassLabels)
        return Result()

    roles = {me: whole, params.other(me): made_up, params.recipient: reader}
    ends = run_parties(roles, seed=seed)
    ends[params.other(me)].unwrap()
    return ends[me], simulator


@dataclass
class View:
    """What a provider heard: shapes, and all that it can read under its own keys."""

    shape: list[tuple[str, str, str, int, int]] = field(default_factory=list)
    masked: list[float] = field(default_factory=list)
    """Numbers under masks, as parts of the largest."""
    zeros: dict[str, list[int]] = field(default_factory=dict)
    """How many zeros each comparison showed, by step."""
    spots: list[float] = field(default_factory=list)
    """Where a zero stood, from 0 to 1."""
    verdicts: dict[str, list[int]] = field(default_factory=dict)
    above: dict[str, list[int]] = field(default_factory=dict)
    flags: dict[str, bytes] = field(default_factory=dict)
    small: int = 0
    """Things under its key that are no zeros and could be looked up."""
    bare: int = 0
    """Ciphertexts that everyone can read, whoever's key they are under."""


def view_of(outcome: Outcome[Result], simulator: Simulator) -> View:
    """Reads what the provider heard with its own keys; the simulator knows the lengths, which are public."""
    tape, params, view = simulator.tape, simulator.params, View()
    reading, secret = tape.reading(), tape.secret(params.bits)
    letters = [read(raw) for raws in outcome.notebook.letters.values() for raw in raws]
    theirs = key_in(letters)
    for letter in letters:
        header, payload = letter.header, bytes(letter.payload)
        view.shape.append((header.sender, header.step, header.tag, header.number, letter.size))
        if header.tag in UNDER_A_KEY:
            numbers = decode(UNDER_A_KEY[header.tag], payload).numbers
            mine = header.tag in (tag_of(Above), tag_of(MaskedCiphertexts), tag_of(Summed))
            values = (secret.public if mine else theirs).accept(numbers)
            view.bare += sum(int(value % values.key.n == 1) for value in values.values)
            if mine:
                room = simulator.rooms[header.step]
                slots = packing.slots(secret.public, room)
                opened = secret.decrypt(values)
                found = [pack >> (room * place) & ((1 << room) - 1) for pack in opened for place in range(slots)]
                if header.tag == tag_of(Above):
                    view.above[header.step] = found
                elif header.tag == tag_of(Summed):
                    view.masked += [number / 2 ** (room - 1) for number in found if number]
                else:
                    widths = simulator.lengths[header.step].tolist()
                    view.masked += [n / 2 ** (w + HIDING + 1) for n, w in zip(found, widths, strict=False)]
        elif header.tag == tag_of(BlindedDigits):
            points = decode(BlindedDigits, payload).points
            pairs = Pairs(points.slice(0, len(points) // 2), points.slice(len(points) // 2, len(points)))
            held = pairs.second.minus(pairs.first.times(reading._secret))  # a test may look
            view.small += sum(point in SMALL for point in held)
            note_zeros(view, header.step, held.identities().tolist(), simulator)
        elif header.tag == tag_of(Flags):
            view.flags[header.step] = decode(Flags, payload).bits
    view.shape.sort()
    return view


def note_zeros(view: View, step: str, zeros: Sequence[bool], simulator: Simulator) -> None:
    widths = simulator.lengths[step]
    if not widths.any():
        view.verdicts[step] = [int(zero) for zero in zeros]
        return
    for first, length in zip(starts(widths + 1).tolist(), (widths + 1).tolist(), strict=True):
        here = np.flatnonzero(zeros[first : first + length])
        view.zeros.setdefault(step, []).append(len(here))
        view.spots += [(spot + len(view.spots) * GOLDEN % 1) / length for spot in here.tolist()]


def key_in(letters: Sequence[Letter]) -> PublicKey:
    """The other provider's key for numbers."""
    [found] = [
        decode(NumberKey, bytes(letter.payload)).key for letter in letters if letter.header.tag == tag_of(NumberKey)
    ]
    return found


def both_views(options: str, me: str, seed: int) -> tuple[View, View]:
    """A real run's view and the simulator's, for the provider's own users."""
    study = study_of(PEOPLE, delta=0.95, options=options)
    users = draw_users(Rng(seed_of(seed)).stream("simulated"), PEOPLE, 12, 6)
    learned = declared(me, *owns_of(study, users), Rng(seed_of(seed)).stream("ledger", me))
    made_up, simulator = simulated_run(study, {me: users[me]}, learned, seed)
    real = real_run(study, users, seed)[me]
    assert said(real) == said(made_up)
    return view_of(real, simulator), view_of(made_up, simulator)


def said(outcome: Outcome[Result]) -> list[tuple[str, str, str, int, int]]:
    """The shapes of what a party said, and how it ended."""
    entries = outcome.notebook.sent_entries
    sent = [(e.header.recipient, e.header.step, e.header.tag, e.header.number, e.size) for e in entries]
    return [*sorted(sent), (type(outcome.error).__name__, "", "", 0, 0)]


def uneven(values: Sequence[float]) -> float:
    """Kolmogorov and Smirnov's distance from uniform, in parts of what one honest sample in a hundred exceeds."""
    seen = np.sort(np.array(values))
    distance = float(np.abs(seen - (np.arange(len(seen)) + 0.5) / len(seen)).max()) + 0.5 / len(seen)
    return distance * float(np.sqrt(len(seen))) / 1.63


@cache
def views(options: str, me: str) -> list[tuple[View, View]]:
    """Some runs of each kind."""
    return [both_views(options, me, RUNS * OPTIONS.index(options) + number) for number in range(RUNS)]


ONE_WORKER = "it keeps the runs"
CASES = pytest.mark.parametrize(("options", "me"), [(options, me) for options in OPTIONS for me in (GYM, INSURER)])


@pytest.mark.few(1)
@CASES
def test_a_simulator_with_the_ledger_alone_says_the_same_things_in_the_same_sizes(options: str, me: str) -> None:
    for real, made_up in views(options, me):
        assert real.shape == made_up.shape


@pytest.mark.few(1)
@CASES
def test_what_is_opened_to_a_provider_is_what_the_ledger_declares(options: str, me: str) -> None:
    """Verdicts, the other's numbers of its own users, and opened shares: as the simulator has them from the ledger."""
    for real, made_up in views(options, me):
        assert real.verdicts == made_up.verdicts
        assert {step: sorted(found) for step, found in real.above.items()} == {
            step: sorted(found) for step, found in made_up.above.items()
        }
        verdicts = [step for step in real.flags if step.endswith("verdict")]
        assert [real.flags[step] for step in verdicts] == [made_up.flags[step] for step in verdicts]


@CASES
def test_nothing_else_under_a_provider_s_key_can_be_read(options: str, me: str) -> None:
    for pair in views(options, me):
        for view in pair:
            assert all(count in (0, 1) for own in view.zeros.values() for count in own)
            assert view.small == 0
            assert view.bare == 0


@pytest.mark.thorough
@pytest.mark.parametrize("me", [GYM, INSURER])
def test_what_a_provider_decrypts_is_as_uniform_in_a_run_as_in_the_simulation(me: str) -> None:
    for place in (0, 1):
        seen = [pair[place] for options in OPTIONS for pair in views(options, me)]
        masked = [number for view in seen for number in view.masked]
        spots = [spot for view in seen for spot in view.spots]
        zeros = [count for view in seen for own in view.zeros.values() for count in own]
        assert len(masked) > 70
        assert uneven(masked) < 1
        assert len(set(masked)) == len(masked)
        assert uneven(spots) < 1
        assert abs(np.mean(zeros) - 0.5) < 2.6 * 0.5 / np.sqrt(len(zeros))


# -- one bit of the other's


def worlds(me: str) -> tuple[Study, Users, Users, Learned]:
    """Two populations that differ in one user of the other provider's, whom this one does not have; equal ledgers.

    The other's users are all alike, so that this provider divides every group.
    """
    study, other = study_of(PEOPLE, delta=0.95, options="candidates = 3"), INSURER if me == GYM else GYM
    alike = ("5", "80") if other == INSURER else ("9", "F")
    for seed in range(20):
        drawn = draw_users(Rng(seed_of(seed)).stream("worlds"), PEOPLE, 12, 6)
        users = {me: drawn[me], other: {uid: (*alike, *row[2:]) for uid, row in drawn[other].items()}}
        before = declared(me, *owns_of(study, users), Rng(seed_of(seed)).stream("ledger"))
        for uid in users[other]:
            if uid in users[me] or len(before.levels) < 3:
                continue
            fewer = {me: users[me], other: {each: row for each, row in users[other].items() if each != uid}}
            if declared(me, *owns_of(study, fewer), Rng(seed_of(seed)).stream("ledger")) == before:
                return study, users, fewer, before
    raise AssertionError("no such users")


@pytest.mark.thorough
@pytest.mark.parametrize("me", [GYM, INSURER])
def test_a_flipped_membership_bit_changes_nothing_that_the_divider_can_read(me: str) -> None:
    """The same random tapes twice: but for what is under the other's key, the divider's view is the same."""
    study, users, fewer, learned = worlds(me)
    assert all(turn.mine for level in learned.levels for turn in level if turn.cuts)
    _, simulator = simulated_run(study, {me: users[me]}, learned, 1)
    for seed in (1, 2):
        ends = [real_run(study, each, seed)[me] for each in (users, fewer)]
        bits = [membership(end) for end in ends]
        assert sum(a != b for a, b in zip(*bits, strict=True)) == 1
        taped = Simulator(simulator.params, learned, Tape(me, seed), simulator.lengths, simulator.rooms)
        one, two = (view_of(end, taped) for end in ends)
        assert one.shape == two.shape
        assert (one.flags, one.above, one.verdicts) == (two.flags, two.above, two.verdicts)
        assert (one.small, one.bare) == (two.small, two.bare) == (0, 0)
        assert one.masked == pytest.approx(two.masked, abs=2.0**-38)  # at the root the other may ask: masks hide it
        for step in one.zeros.keys() | two.zeros.keys():
            assert ROOT in step or one.zeros[step] == two.zeros[step]


def membership(outcome: Outcome[Result]) -> list[bytes]:
    """The other's ciphertexts."""
    letters = [read(raw) for raws in outcome.notebook.letters.values() for raw in raws]
    data = [
        decode(MembershipBits, bytes(each.payload)).numbers
        for each in letters
        if each.header.tag == tag_of(MembershipBits)
    ]
    return [each.data[at : at + each.width] for each in data for at in range(0, len(each.data), each.width)]


def test_an_infeasible_study_is_simulated_from_one_bit() -> None:
    study = study_of(PEOPLE, delta=0.5, options="candidates = 3")
    users = draw_users(Rng(seed_of(3)).stream("infeasible"), PEOPLE, 12, 6)
    for me in (GYM, INSURER):
        made_up, simulator = simulated_run(study, {me: users[me]}, Learned(me, feasible=False), 1)
        real = real_run(study, users, 1)[me]
        assert isinstance(real.error, Unmet)
        assert isinstance(made_up.error, Unmet)
        assert said(real) == said(made_up)
        assert view_of(real, simulator).shape == view_of(made_up, simulator).shape


# -- what could be traced, or put in order


def small() -> tuple[Study, Users]:
    """Twelve people whom the gym divides first, and some of them are divided."""
    study = study_of(12, delta=0.99, options="candidates = 3")
    return study, draw_users(Rng(seed_of(12)).stream("smallest"), 12, 6, 3)


def zero_parts(secret: SecretKey, values: Sequence[mpz]) -> list[mpz]:
    """Ciphertexts without their numbers: their randomness alone, which the key's holder can separate."""
    key = secret.public
    numbers = secret.decrypt(Ciphertexts(key, list(values)))
    return [
        value * gmpy2.invert(1 + number * key.n, key.square) % key.square
        for value, number in zip(values, numbers, strict=True)
    ]


def own_bits(me: str, own: OwnUsers, seed: int) -> tuple[SecretKey, Ciphertexts]:
    """A provider's key, and its membership bits as it sent them."""
    tape = Tape(me, seed)
    secret = tape.secret(own.params.bits)
    stream = tape.at("federate/enrol/membership").stream("membership")
    return secret, secret.encrypt(own.member.astype(int).tolist(), stream)


def heard_at(outcome: Outcome[Result], sender: str, kind: type[M], step: str) -> M:
    letters = [read(raw) for raw in outcome.notebook.letters[sender]]
    [found] = [each for each in letters if each.header.tag == tag_of(kind) and each.header.step == step]
    return decode(kind, bytes(found.payload))


def test_numbers_above_cuts_cannot_be_traced_to_the_membership_bits_they_are_sums_of() -> None:
    """The follower guesses the right sets: the sums of its own ciphertexts are not what it was sent."""
    study, users = small()
    params, (first, second) = owns_of(study, users)
    everyone = np.arange(12)
    values = first.codes(first.spread(everyone)[1], everyone, "")
    cuts = score.candidates(params, values)
    step = "federate/divide/0/cut/gym/choose"
    order = Tape(GYM, 1).at(step).stream("order", 0).permutation(len(cuts))
    secret, bits = own_bits(INSURER, second, 1)
    sums = bits.totals([everyone[values >= cuts.codes[place]].tolist() for place in order.tolist()])
    guess = packing.pack(sums, room_for([12]), packing.slots(secret.public, room_for([12])))
    message = heard_at(real_run(study, users, 1)[INSURER], GYM, Above, f"{step}/candidates")
    said = secret.public.accept(message.numbers)
    assert secret.decrypt(said) == secret.decrypt(guess)
    assert zero_parts(secret, said.values) != zero_parts(secret, guess.values)


def test_sums_for_the_recipient_cannot_be_traced_to_the_membership_bits_they_are_sums_of() -> None:
    study, users = small()
    params, (first, second) = owns_of(study, users)
    leaves = divide(params, (first, second)).leaves
    order = Tape(GYM, 1).at("federate/release/order").stream("order").permutation(len(leaves)).tolist()
    secret, bits = own_bits(GYM, first, 1)
    sums = bits.totals(cell for place in order for cell in by_value(second, leaves[place]))
    room = room_for([len(group.members) for group in leaves]) + HIDING + 1
    guess = packing.pack(sums, room, packing.slots(secret.public, room))
    message = heard_at(real_run(study, users, 1)[GYM], INSURER, Summed, "federate/release/numbers")
    said = secret.public.accept(message.numbers)
    assert len(said) == len(guess)
    assert not set(zero_parts(secret, said.values)) & set(zero_parts(secret, guess.values))


@pytest.mark.thorough
@pytest.mark.parametrize("schedule", ["level", "paper"])
def test_candidates_and_classes_come_in_an_order_that_says_nothing(schedule: str) -> None:
    study, users = small()
    study = study_of(12, delta=0.99, options=f'candidates = 3\nschedule = "{schedule}"')
    step = "federate/divide/0/cut/gym/choose/candidates" if schedule == "level" else "federate/divide/0/0/candidates"
    cuts, classes = set(), set()
    for seed in range(5):
        heard = real_run(study, users, seed)[INSURER]
        cuts.add(tuple(heard_at(heard, GYM, Candidates, step).above.words.tolist()))
        classes.add(tuple(heard_at(heard, GYM, ClassOrder, "federate/release/order").order.words.tolist()))
    assert len({tuple(sorted(each)) for each in cuts}) == 1
    assert len(cuts) > 1
    assert len(classes) > 1
