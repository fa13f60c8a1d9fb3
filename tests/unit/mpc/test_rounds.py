"""Rounds: strands in lock-step, one message a neighbour, public decisions compared, and misuse refused."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable

import numpy as np
import pytest
from tests.harness.spent import spent
from tests.unit.mpc.boxes import among_three, run, seeds_of

from covey.arrays import Words
from covey.errors import Aborted, InputError, PeerError
from covey.mpc import Box, Clear, Disclosure, Sealed, Shared, joined, stacked, totals

TEST = Disclosure("test")


async def chain(box: Box, value: Shared, length: int) -> Shared:
    """Returns the value after so many ANDs with itself."""
    for _ in range(length):
        value = await (value & value)
    return value


def test_strands_side_by_side_take_one_message_a_neighbour_and_round() -> None:
    async def role(box: Box, place: int) -> list[Words]:
        value = box.public(np.arange(100), 7)
        inner = [box.together(chain(box, value, 3), chain(box, value, 4)), box.together(chain(box, value, 2))]
        many = [*await box.together(*inner), await box.together(*(chain(box, value, length) for length in range(7)))]
        return [await box.open(strand, says=TEST) for strands in many for strand in strands]

    answers = run(role)
    assert all(np.array_equal(answer, np.arange(100)) for answer in answers)
    outcomes, boxes = among_three(role)
    assert boxes[0].rounds == 4 + 6 + len(answers)
    assert spent(outcomes).messages == 3 * boxes[0].rounds


def test_sorts_side_by_side_share_their_rounds() -> None:
    x = np.random.default_rng(3).integers(0, 50, 300).astype(np.uint64)

    async def role(box: Box, place: int) -> list[Words]:
        value = box.public(x, 6)
        await box.together(*(box.sort(value.bits(slice(0, width))) for width in range(1, 7)))
        return [await box.open(value, says=TEST)]

    run(role)
    outcomes, boxes = among_three(role)
    assert spent(outcomes).messages <= 6 * boxes[0].rounds
    assert boxes[0].rounds < 60


def test_a_strand_that_waits_for_something_else_is_refused_and_the_others_are_closed() -> None:
    closed = []

    async def sleeps(box: Box) -> None:
        await asyncio.sleep(0)

    async def works(box: Box) -> None:
        try:
            await chain(box, box.public([1], 1), 9)
        finally:
            closed.append(box)

    box = Clear(seeds_of(0))
    with pytest.raises(TypeError, match="wait for rounds of their box"):
        asyncio.run(box.together(works(box), sleeps(box)))
    assert closed == [box]


def test_equal_decisions_pass_with_the_next_round_and_take_one_of_their_own_before_an_opening() -> None:
    async def role(box: Box, place: int) -> list[int]:
        value = box.public([1, 2, 3], 2)
        box.decide(b"first")
        value = await (value & value)
        before = box.rounds
        await box.open(value, says=TEST)
        box.decide(b"second")
        await box.open(value, says=TEST)
        return [before, box.rounds]

    assert run(role, backends=[Sealed]) == [1, 4]


def test_parties_that_decide_otherwise_stop_before_anything_is_opened() -> None:
    opened = []

    async def role(box: Box, place: int) -> None:
        value = box.public([1, 2, 3], 2)
        box.decide(b"other" if place == 1 else b"same")
        await box.open(value, says=TEST)
        opened.append(place)

    outcomes, boxes = among_three(role)
    errors = [outcome.error for outcome in outcomes.values()]
    assert all(isinstance(error, PeerError | Aborted) for error in errors)
    assert any("public decisions differ" in str(error) for error in errors)
    assert not opened
    assert not any(box.ledger for box in boxes)


def test_a_message_of_another_size_names_its_sender() -> None:
    async def role(box: Box, place: int) -> None:
        value = box.public(np.arange(200 if place == 1 else 100), 8)
        await (value & value)

    outcomes, _ = among_three(role)
    assert "party 'south' broke the protocol" in str(outcomes["north"].error)
    assert "expected 16" in str(outcomes["north"].error)


def test_a_long_message_travels_in_chunks_at_the_declared_cost() -> None:
    async def role(box: Box, place: int) -> int:
        value = box.positions(300_000)
        value = await (joined(value, value) & joined(value, value))
        return int((await box.open(value.bits(slice(19, None)), says=TEST)).sum())

    assert run(role) == 300_000 * 299_999 // 2
    assert spent(among_three(role)[0]).messages > 6


def test_the_ledger_adds_up_by_key() -> None:
    async def role(box: Box, place: int) -> list[int]:
        value = box.public(np.arange(100), 7)
        await box.open(value, says=Disclosure("numbers", {"windows": 1}))
        await box.open_bit(value.bits([0]), says=Disclosure("bits"))
        await box.open(value.at(np.arange(5)), says=Disclosure("numbers", {"windows": 2}))
        first, second = totals(box.ledger)
        assert (first.key, first.numbers) == ("numbers", {"windows": 2})
        return [first.times, first.records, first.bits, second.times, second.bits]

    assert run(role) == [2, 105, 735, 1, 100]


MISUSES: tuple[Callable[[Shared], object], ...] = (
    bool,
    int,
    float,
    list,
    hash,
    np.asarray,
    copy.deepcopy,
    lambda value: value == 1,
    lambda value: value != 1,
    lambda value: value[0],  # type: ignore[index]
    lambda value: [0, 1][value],
)


@pytest.mark.parametrize("misuse", MISUSES)
def test_a_secret_cannot_be_looked_at(misuse: Callable[[Shared], object]) -> None:
    with pytest.raises(TypeError):
        misuse(Clear(seeds_of(0)).constant(1, 1, 3))


def test_a_secret_is_printed_by_its_size_alone() -> None:
    assert repr(Clear(seeds_of(0)).constant(5, 3, 70)) == "Shared(70 records of 3 bits)"


def test_an_opening_without_a_disclosure_is_refused() -> None:
    box = Clear(seeds_of(0))
    with pytest.raises(TypeError, match="says="):
        asyncio.run(box.open(box.constant(1, 1, 3), says="why not"))  # type: ignore[arg-type]
    assert not box.rounds


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda box: box.public([4], 2), "does not fit 2 bits"),
        (lambda box: box.constant(4, 2, 1), "does not fit 2 bits"),
        (lambda box: joined(box.zeros(1, 3), box.zeros(1, 4)), "same number of records"),
        (lambda box: stacked(box.zeros(1, 3), box.zeros(2, 3)), "same width"),
        (lambda box: box.zeros(3, 3) ^ box.zeros(2, 3), "do not go together"),
        (lambda box: box.zeros(3, 3) ^ box.zeros(3, 4), "do not go together"),
        (lambda box: box.zeros(3, 3).at(np.array([3])), "none of 3 records"),
        (lambda box: box.zeros(3, 3).at(np.array([-2])), "none of 3 records"),
        (lambda box: box.zeros(3, 3).padded(2), "do not fit"),
        (lambda box: asyncio.run(box.open_bit(box.zeros(2, 3), says=TEST)), "more than one bit"),
        (lambda box: asyncio.run(box.both(box.zeros(2, 3), box.zeros(3, 3))), "do not go together"),
        (lambda box: asyncio.run(box.less(box.zeros(2, 3), box.zeros(2, 4))), "do not go together"),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Callable[[Box], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        wrong(Clear(seeds_of(0)))
