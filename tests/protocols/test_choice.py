"""The threshold test between two: as the ideal, at the declared cost, and pads that nobody guesses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.parties import run_parties
from tests.harness.spent import heard, spent
from tests.harness.tiers import examples

from covey.errors import InputError, PeerError
from covey.protocols.peel import choice
from covey.protocols.peel.choice import WIDTH, ObliviousTests
from covey.wire import Channel
from covey.wire.chunks import CHUNK_BYTES

Words = np.ndarray[tuple[int], np.dtype[np.uint64]]


def both(numbers: dict[str, list[int]], bound: int, seed: int = 0) -> list[list[bool]]:
    async def role(channel: Channel) -> list[bool]:
        pair = await ObliviousTests.meet(channel.at("meet"))
        mine = np.array(numbers[channel.me], dtype=np.uint64)
        first = await pair.reaches(channel.at("one"), mine, bound)
        again = await pair.reaches(channel.at("two"), mine, bound)
        assert np.array_equal(first, again)
        return [bool(each) for each in first]

    return [outcome.unwrap() for outcome in run_parties(dict.fromkeys(numbers, role), seed=seed).values()]


@settings(max_examples=examples(10), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=40), st.integers(1, 20))
def test_both_learn_the_ideal_answer(pairs: list[tuple[int, int]], bound: int) -> None:
    numbers = {"a": [first for first, _ in pairs], "b": [second for _, second in pairs]}
    due = [first + second >= bound for first, second in pairs]
    assert both(numbers, bound) == [due, due]


def test_the_largest_bound_and_numbers_beyond_it() -> None:
    numbers = {"a": [255, 254, 0, 10**9, 127], "b": [0, 0, 255, 0, 128]}
    assert both(numbers, 255)[0] == [True, False, True, True, True]


def test_the_cost_is_as_declared() -> None:
    width = CHUNK_BYTES * 8 // WIDTH + 10

    async def meet(channel: Channel) -> ObliviousTests:
        return await ObliviousTests.meet(channel.at("meet"))

    async def role(channel: Channel) -> None:
        pair = await meet(channel)
        await pair.reaches(channel.at("test"), np.zeros(width, dtype=np.uint64), 3)

    before, whole = spent(run_parties(dict.fromkeys("ab", meet))), spent(run_parties(dict.fromkeys("ab", role)))
    assert whole.messages - before.messages == choice.COST.messages(3, width)
    assert whole.rounds - before.rounds == choice.COST.rounds(3, width)
    assert whole.bytes - before.bytes == pytest.approx(choice.COST.bytes(3, width), rel=0.02)


def test_what_travels_looks_random_whatever_the_numbers_are() -> None:
    async def role(channel: Channel) -> None:
        pair = await ObliviousTests.meet(channel.at("meet"))
        await pair.reaches(channel.at("test"), np.zeros(4000, dtype=np.uint64), 7)

    outcomes = run_parties(dict.fromkeys("ab", role))
    for raw in (
        heard(outcomes["b"], "a", choice.Columns)[0].columns,
        heard(outcomes["a"], "b", choice.SealedAnswers)[0].bits,
    ):
        ones = np.unpackbits(np.frombuffer(raw, dtype=np.uint8)).mean()
        assert abs(ones - 0.5) < 4 / (8 * len(raw)) ** 0.5


def test_code_words_differ_in_half_of_their_places() -> None:
    words = choice._CODE.astype(int)
    apart = [(words[a] != words[b]).sum() for a in range(20) for b in range(a)]
    assert set(apart) == {128}


def test_three_parties_large_bounds_and_short_messages_are_refused() -> None:
    async def meet(channel: Channel) -> object:
        return await ObliviousTests.meet(channel.at("meet"))

    assert isinstance(run_parties(dict.fromkeys("abc", meet))["a"].error, InputError)

    async def large(channel: Channel) -> object:
        pair = await ObliviousTests.meet(channel.at("meet"))
        return await pair.reaches(channel.at("test"), np.zeros(3, dtype=np.uint64), 256)

    assert isinstance(run_parties(dict.fromkeys("ab", large))["a"].error, InputError)

    async def short(channel: Channel) -> object:
        pair = await ObliviousTests.meet(channel.at("meet"))
        return await pair.reaches(channel.at("test"), np.zeros(3 if channel.me == "a" else 90, dtype=np.uint64), 5)

    errors = [outcome.error for outcome in run_parties(dict.fromkeys("ab", short)).values()]
    assert any(isinstance(error, PeerError) for error in errors)
