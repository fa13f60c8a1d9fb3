"""A party of `generalize` that does not keep to the protocol is named, and the run ends before it publishes."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.harness.generalize_cases import draw_people, stream_of, study_of, tables_of
from tests.harness.network import seed_of
from tests.harness.parties import run_parties
from tests.hostile.test_elements import POINTS
from tests.protocols.generalizers import run_rounds

from covey.crypto.elgamal import KeyShare, encrypt
from covey.crypto.group import Points, Scalars, generator_times, hash_to_group
from covey.errors import Aborted, CoveyError, PeerError
from covey.party.session.progress import Progress
from covey.protocols import Proposal, Seat
from covey.protocols.as_printed.generalize import matrix, role, rounds, threshold
from covey.protocols.as_printed.generalize.local import Generalization
from covey.protocols.as_printed.generalize.matrix import (
    Done,
    Grouped,
    Regrouped,
    Resized,
    RoundInput,
    RoundOutcome,
    RoundVerdict,
    Sizes,
)
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.protocols.as_printed.generalize.rounds import Distinct, GroupNumbers
from covey.protocols.shared.columns import meeting
from covey.secure import lists
from covey.secure.declare import Leakage
from covey.wire import Channel, Count, Message, Vector, while_sending

PEOPLE = 12
IDS = [b"%02d" % number for number in range(PEOPLE)]
LABEL = np.repeat(np.arange(4), 3)
HAND = RoundInput(IDS, LABEL, 4, 4, 3)
Liar = Callable[[Channel], Awaitable[object]]


def points(count: int, seed: str = "any") -> Points:
    return hash_to_group([b"%d" % number for number in range(count)], seed)


def words(*numbers: int) -> Vector:
    return Vector(np.array(numbers, dtype=np.uint64))


def against(liar: Liar, honest: Callable[[Channel], Awaitable[RoundOutcome]] | None = None) -> CoveyError:
    """What an honest party says of a liar."""

    async def fair(channel: Channel) -> object:
        if honest is not None:
            return await honest(channel)
        return await matrix.compare(channel.at("round", 1), "liar", HAND, 3)

    async def lie(channel: Channel) -> object:
        await liar(channel.at("round", 1))
        return await channel.at("until the end").receive("fair", GroupNumbers)  # a liar that left would be no liar

    outcomes = run_parties({"fair": fair, "liar": lie})
    error = outcomes["fair"].error
    assert error is not None, "it was believed"
    return error


def names(error: CoveyError, *parts: str) -> None:
    assert isinstance(error, PeerError), error
    assert "liar" in str(error)
    for part in parts:
        assert part in str(error), str(error)


class RawGrouped(Message, tag="generalize.grouped"):
    """The same message without the checks of its type."""

    total: Count
    points: bytes


async def send_list(channel: Channel, sizes: Vector, own: Points) -> None:
    await channel.at("groups").send("fair", Sizes(sizes))
    await lists.send(channel.at("groups"), "fair", Grouped, [own])


# -- lists


@pytest.mark.parametrize(("why", "bad"), POINTS[::9], ids=[why for why, _ in POINTS[::9]])
def test_what_is_no_point_is_refused(why: str, bad: bytes) -> None:
    async def liar(channel: Channel) -> None:
        await channel.at("groups").send("fair", Sizes(words(3, 3, 3, 3)))
        await channel.at("groups").send("fair", RawGrouped(PEOPLE, points(PEOPLE - 1).data + bad))

    names(against(liar), "round/1/groups")


def test_a_person_who_stands_in_a_list_twice_is_refused() -> None:
    async def liar(channel: Channel) -> None:
        twice = Points.join([points(PEOPLE - 1), points(1)])
        await send_list(channel, words(3, 3, 3, 3), twice)

    names(against(liar), "an element is repeated")


def test_a_list_of_more_or_fewer_people_is_refused() -> None:
    async def liar(channel: Channel) -> None:
        await send_list(channel, words(3, 3, 3, 3), points(PEOPLE + 1))

    names(against(liar), "a list of 13 rows, expected 12")


@pytest.mark.parametrize("sizes", [(3, 3, 3, 4), (12, 0, 0, 0), (2**63, 2**63, 6, 6), (13, 3, 3, 3)])
def test_sizes_that_are_not_of_the_people_are_refused(sizes: tuple[int, ...]) -> None:
    async def liar(channel: Channel) -> None:
        await send_list(channel, words(*sizes), points(PEOPLE))

    names(against(liar), "sizes of groups that are not of 12 people")


def test_more_sizes_than_groups_are_refused() -> None:
    async def liar(channel: Channel) -> None:
        await send_list(channel, words(3, 3, 3, 2, 1), points(PEOPLE))

    names(against(liar), "5 values, expected 4")


def test_a_group_of_fewer_than_k_is_refused() -> None:
    async def liar(channel: Channel) -> None:
        await send_list(channel, words(4, 3, 3, 2), points(PEOPLE))

    names(against(liar), "a group of fewer than 3 people")


def test_our_groups_must_come_back_with_their_sizes() -> None:
    async def liar(channel: Channel) -> None:
        await send_list(channel, words(3, 3, 3, 3), points(PEOPLE))
        await channel.at("back").send("fair", Resized(words(4, 4, 2, 2)))
        await lists.send(channel.at("back"), "fair", Regrouped, [points(PEOPLE, "other")])

    names(against(liar), "our groups came back with other sizes")


def test_lists_of_other_people_end_the_run() -> None:
    """Unequal record sets: what comes back is not what the other list stands for."""

    async def liar(channel: Channel) -> object:
        others = [b"%02d" % number for number in range(1, PEOPLE + 1)]
        return await matrix.compare(channel, "fair", replace(HAND, ids=others), 3)

    error = against(liar)
    assert isinstance(error, Aborted)
    assert not error.resumable
    assert "do not stand for the same people" in str(error)


def test_verdicts_that_differ_end_the_run() -> None:
    async def liar(channel: Channel) -> object:
        return await matrix.compare(channel, "fair", HAND, 4)  # it holds the counts against another k

    names(against(liar), "its verdict on the round is not ours")


def test_equal_verdicts_on_other_counts_end_the_run_too() -> None:
    """A party that computed something else is noticed although it says the same word."""

    async def liar(channel: Channel) -> object:
        swapped = await matrix._swap(channel, "fair", HAND)
        again = matrix._anew(channel, swapped.theirs)
        at = channel.at("back")
        back = await while_sending(
            matrix._send_back(at, "fair", again), matrix._receive_back(at, "fair", swapped.sizes)
        )
        cells = matrix._cells(swapped.theirs, back)
        await channel.at("verdict").send("fair", RoundVerdict(cells.bad(3) == 0, bytes(32)))
        return None

    names(against(liar), "its verdict on the round is not ours")


def test_bits_of_the_wrong_length_are_refused() -> None:
    async def liar(channel: Channel) -> object:
        found = await matrix.compare(channel, "fair", HAND, 3)
        await channel.at("done").send("fair", Done(bytes(1)))
        return found

    async def finishing(channel: Channel) -> RoundOutcome:
        return await matrix.compare(channel.at("round", 1), "liar", HAND, 3, finishing=True)

    names(against(liar, finishing), "1 bytes, expected 2")


# -- shapes


def shaped(shape: GroupNumbers) -> CoveyError:
    async def liar(channel: Channel) -> None:
        await channel.at("shape").send("fair", shape)

    async def fair(channel: Channel) -> RoundOutcome:
        await rounds._shape(channel.at("round", 1).at("shape"), "liar", PEOPLE, 4, 3)
        return RoundOutcome(compatible=True)

    return against(liar, fair)


def test_other_people_than_ours_are_refused() -> None:
    names(shaped(GroupNumbers(PEOPLE + 1, 4)), "it compares 13 people, and we 12")


@pytest.mark.parametrize("groups", [0, 5])
def test_more_groups_than_can_have_k_people_are_refused(groups: int) -> None:
    names(shaped(GroupNumbers(PEOPLE, groups)), f"{groups} groups of 12 people; each is to have 3 or more")


def test_a_party_that_never_agrees_is_given_up_after_the_cap() -> None:
    study = study_of(k=2, options='variant = "datafly"')
    parameters = replace(Parameters.of(study), observer="liar", partner="fair", cap=3)
    tables = tables_of(study, draw_people(stream_of(2), 30))

    async def fair(channel: Channel) -> RoundOutcome:
        local = Generalization.of(tables["clinic"], parameters)
        ids = [b"%02d" % number for number in range(30)]
        await rounds.agree(channel, parameters, local, ids, lambda done: None)
        return RoundOutcome(compatible=True)

    async def observer(channel: Channel) -> object:
        label = np.repeat(np.arange(2), 15)
        for number in range(1, 4):
            at = channel.at("round", number)
            theirs = (await at.at("shape").exchange(GroupNumbers(30, 2)))["fair"].groups
            hand = RoundInput([b"%02d" % n for n in range(30)], label, 2, theirs, 2)
            swapped = await matrix._swap(at, "fair", hand)
            assert len(swapped.theirs.points) == 30
            at_back = at.at("back")
            anew = matrix._anew(at_back, swapped.theirs)
            sent, received = (
                matrix._send_back(at_back, "fair", anew),
                matrix._receive_back(at_back, "fair", swapped.sizes),
            )
            back = await while_sending(sent, received)
            cells = matrix._cells(swapped.theirs, back)
            counts = hashlib.sha256(cells.spell()).digest()
            await at.at("verdict").exchange(RoundVerdict(cells.bad(2) == 0, counts))
            await at.at("distinct").exchange(Distinct(1 << 40))  # it says that it moves, and does not
        return None

    outcomes = run_parties({"fair": fair, "liar": observer})
    error = outcomes["fair"].error
    assert isinstance(error, Aborted)
    assert "no agreement after 3 rounds" in str(error)


# -- threshold


def hidden_against(liar: Liar) -> CoveyError:
    async def fair(channel: Channel) -> RoundOutcome:
        return await threshold.encryptor(channel.at("round", 1), "liar", HAND, 3)

    return against(liar, fair)


async def take_bits(channel: Channel) -> Points:
    key = (await channel.at("key").receive("fair", threshold.RoundKey)).public
    await lists.receive(channel.at("bits"), "fair", threshold.Bits, columns=2, due=PEOPLE * 3)
    return key


DUE = threshold.due_tests(PEOPLE, 4, 4)


@pytest.mark.parametrize("hits", [15, 17])
def test_more_or_fewer_marks_than_pairs_of_groups_are_refused(hits: int) -> None:
    async def liar(channel: Channel) -> None:
        key = await take_bits(channel)
        marks = generator_times(Scalars.of(range(1000, 1032)))
        tests = encrypt([*range(1000, 1000 + hits), *range(1, DUE - hits + 1)], key, channel.rng.stream("tests"))
        await lists.send(channel.at("tests"), "fair", threshold.CountTests, [tests.first, tests.second])
        await lists.send(channel.at("marks"), "fair", threshold.Marks, [marks])

    names(hidden_against(liar), f"{hits} of its points are among the tests, expected one for each of 16")


def test_fewer_tests_than_are_due_are_refused() -> None:
    async def liar(channel: Channel) -> None:
        key = await take_bits(channel)
        tests = encrypt([5] * (DUE - 1), key, channel.rng.stream("tests"))
        await lists.send(channel.at("tests"), "fair", threshold.CountTests, [tests.first, tests.second])

    names(hidden_against(liar), f"a list of {DUE - 1} rows, expected {DUE}")


@pytest.mark.parametrize("count", [31, 33])
def test_more_or_fewer_marks_than_two_for_each_pair_are_refused(count: int) -> None:
    async def liar(channel: Channel) -> None:
        key = await take_bits(channel)
        tests = encrypt([5] * DUE, key, channel.rng.stream("tests"))
        await lists.send(channel.at("tests"), "fair", threshold.CountTests, [tests.first, tests.second])
        await lists.send(
            channel.at("marks"), "fair", threshold.Marks, [generator_times(Scalars.of(range(1, count + 1)))]
        )

    names(hidden_against(liar), f"a list of {count} rows, expected 32")


def test_a_mark_that_stands_twice_is_refused() -> None:
    async def liar(channel: Channel) -> None:
        key = await take_bits(channel)
        tests = encrypt([5] * DUE, key, channel.rng.stream("tests"))
        await lists.send(channel.at("tests"), "fair", threshold.CountTests, [tests.first, tests.second])
        await lists.send(channel.at("marks"), "fair", threshold.Marks, [generator_times(Scalars.of([7] * 32))])

    names(hidden_against(liar), "an element is repeated")


def test_an_encryptor_that_sends_fewer_bits_is_refused() -> None:
    async def liar(channel: Channel) -> None:
        share = KeyShare(channel.rng.stream("key"))
        bits = encrypt([0] * 35, share.public, channel.rng.stream("bits"))
        await channel.at("key").send("fair", threshold.RoundKey(share.public))
        await lists.send(channel.at("bits"), "fair", threshold.Bits, [bits.first, bits.second])

    async def fair(channel: Channel) -> RoundOutcome:
        return await threshold.adder(channel.at("round", 1), "liar", HAND, 3)

    names(against(liar, fair), "a list of 35 rows, expected 36")


def test_a_key_that_is_the_identity_is_refused() -> None:
    class RawKey(Message, tag="generalize.key"):
        public: bytes

    async def liar(channel: Channel) -> None:
        await channel.at("key").send("fair", RawKey(bytes(32)))

    async def fair(channel: Channel) -> RoundOutcome:
        return await threshold.adder(channel.at("round", 1), "liar", HAND, 3)

    names(against(liar, fair), "generalize.key")


# -- a party at its root


@pytest.mark.parametrize("mode", ["matrix", "threshold"])
def test_a_party_at_its_root_needs_no_comparison_and_the_run_ends(mode: str) -> None:
    study = study_of(k=2, options=f'compare = "{mode}"')
    people = {f"P{n}": (n % 2 * 15, "FM"[n // 2 % 2], "flu", 15 * (n % 3 == 0), "a") for n in range(6)}
    lonely = {**people, "P6": (7, "F", "flu", 3, "b")}  # one of a kind at both: both climb to the root
    outcomes = run_rounds(study, tables_of(study, lonely))
    played, local = outcomes["clinic"].unwrap()
    assert min(played[-1].groups) == 1
    assert played[-1].mode is None
    assert not local.pool.any()


def test_a_party_at_its_root_stays_there() -> None:
    study = study_of(k=2)
    local = Generalization.of(tables_of(study, draw_people(stream_of(4), 20))["clinic"], Parameters.of(study))
    while local.step():
        pass
    assert (local.nodes == np.array([[tree.root] for tree in local.trees])).all()
    assert local.most_distinct() == (-1, 0)
    assert not local.step()
    assert set(local.groups().tolist()) == {0}


# -- the release


class Notes:
    """A ledger that keeps what it is told."""

    def __init__(self) -> None:
        self.numbers: list[object] = []

    def learns(self, leakage: Leakage, **numbers: object) -> None:
        self.numbers.append(numbers)


async def nobody_asks(proposal: Proposal) -> None:
    raise TypeError(f"nothing is to be approved here: {proposal}")


def test_a_party_that_says_it_loses_more_than_there_is_is_refused() -> None:
    study = study_of(k=2)
    tables = tables_of(study, draw_people(stream_of(4), 20))

    async def fair(channel: Channel) -> RoundOutcome:
        local = Generalization.of(tables["clinic"], Parameters.of(study))
        local.pool[:] = False
        seat = Seat(study, None, channel, Progress("clinic", ()), Notes(), nobody_asks, seed_of(9))
        await role.preview(seat, channel.at("round", 1), local)
        return RoundOutcome(compatible=True)

    async def liar(channel: Channel) -> None:
        await channel.send("fair", role.Lost(20 * len(study.quasi) * role.UNIT + 1))

    names(against(liar, fair), "it says that it loses more than there is")


@pytest.mark.parametrize("told", [{"clinic": 1, "billing": 0}, {"clinic": 3, "billing": 3}])
def test_owners_who_differ_in_whom_they_left_out_or_leave_out_k_are_refused(told: dict[str, int]) -> None:
    study = study_of(k=3, recipient=True)

    def owner(name: str) -> Callable[[Channel], Awaitable[object]]:
        async def tell(channel: Channel) -> object:
            await channel.at("left").send("registry", role.LeftOver(told[name]))
            return await channel.at("until the end").receive("registry", GroupNumbers)

        return tell

    async def registry(channel: Channel) -> object:
        return await role.receive_left(channel.at("left"), Parameters.of(study))

    outcomes = run_parties({"clinic": owner("clinic"), "billing": owner("billing"), "registry": registry})
    error = outcomes["registry"].error
    assert isinstance(error, PeerError)
    assert f"the owners leave out {told['clinic']} and {told['billing']} people" in str(error)


def test_owners_who_differ_in_how_many_records_met_are_refused() -> None:
    study = study_of(k=3, recipient=True)

    def owner(common: int) -> Callable[[Channel], Awaitable[object]]:
        async def tell(channel: Channel) -> object:
            await channel.at("meet", "met").send("registry", meeting.Met(common))
            return await channel.at("until the end").receive("registry", GroupNumbers)

        return tell

    async def registry(channel: Channel) -> object:
        seat = Seat(study, None, channel, Progress("registry", ()), Notes(), nobody_asks, seed_of(9))
        return await meeting.meet(seat, channel.at("meet"), "observer", "partner")

    outcomes = run_parties({"clinic": owner(8), "billing": owner(7), "registry": registry})
    error = outcomes["registry"].error
    assert isinstance(error, PeerError)
    assert "the holders differ in how many records they have in common" in str(error)
