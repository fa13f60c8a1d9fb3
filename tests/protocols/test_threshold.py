"""Threshold tests: as the ideal at every bound, at the declared cost, and what is opened says nothing more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.parties import run_parties
from tests.harness.spent import heard, spent
from tests.harness.tiers import examples

from covey.arrays import Longs, Words
from covey.crypto.factorial import field_for, shape
from covey.crypto.field import F31, Field
from covey.errors import InputError, PeerError
from covey.secure import coin, threshold_test
from covey.secure.threshold_test import Prepared
from covey.wire import Channel


def words(*numbers: int) -> Words:
    return np.array(numbers, dtype=np.uint64)


def opened(
    inputs: dict[str, Words] | dict[str, Longs],
    bound: int,
    seed: int = 0,
    together: int = 1,
    field: Field | None = None,
) -> list[Words]:
    """What each party saw."""

    async def role(channel: Channel) -> Words:
        mine = inputs[channel.me]
        prepared = await threshold_test.prepare(channel.at("before"), bound, len(mine), field)
        return await threshold_test.open_products(channel.at("test"), prepared, mine, together=together)

    return [outcome.unwrap() for outcome in run_parties(dict.fromkeys(inputs, role), seed=seed).values()]


@pytest.mark.parametrize("bound", [1, 2, 3, 4, 5, 7, 10, 12, 50, 64, 65, 130])
def test_a_product_is_zero_exactly_below_the_bound(bound: int) -> None:
    totals = np.arange(2 * bound + 3, dtype=np.uint64)
    inputs = {"a": totals // np.uint64(2), "b": totals - totals // np.uint64(2), "c": np.zeros_like(totals)}
    for seen in opened(inputs, bound):
        assert np.array_equal(seen == 0, totals < bound)


@settings(max_examples=examples(10), deadline=None)
@given(st.integers(3, 7), st.integers(1, 20), st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(0, 99))
def test_every_party_learns_the_ideal_answer(size: int, bound: int, numbers: list[int], seed: int) -> None:
    inputs = {f"p{i}": words(*((number * (i + 1)) % 7 for number in numbers)) for i in range(size)}
    answers = opened(inputs, bound, seed)
    assert all(np.array_equal(seen != 0, threshold_test.ideal(inputs, bound)) for seen in answers)
    assert all(np.array_equal(seen, answers[0]) for seen in answers)


def test_the_notes_vectors() -> None:
    inputs = {"a": words(1, 1, 0), "b": words(1, 1, 0), "c": words(0, 1, 3)}
    assert (opened(inputs, 3)[0] != 0).tolist() == [False, True, True]


def spread(words: Words, values: int) -> bool:
    """Whether numbers from 0 to values - 1 are spread as chance spreads them (a miss in about 10^6)."""
    due = len(words) / values
    chi = float(np.sum((np.bincount(words.astype(np.int64), minlength=values) - due) ** 2 / due))
    return abs(chi - values + 1) < 5 * math.sqrt(2 * values - 2)


@pytest.mark.parametrize("field", [None, F31], ids=["small", "31 bits"])
def test_what_is_opened_above_the_bound_is_uniform_whatever_the_number(field: Field | None) -> None:
    width = 20_000
    for total in (10, 11, 4000):
        inputs = {"a": np.full(width, total - 2, np.uint64), "b": np.full(width, 2, np.uint64)}
        inputs["c"] = np.zeros(width, np.uint64)
        seen = opened(inputs, 10, seed=total, field=field)[0]
        assert seen.all()
        if field is None:
            assert spread(seen - np.uint64(1), 60)  # a factor is never 0, and so no outcome is
        else:
            assert spread(seen >> np.uint64(23), 256)


def test_masked_numbers_and_parts_are_uniform_to_the_others() -> None:
    width = 20_000
    inputs = {name: np.zeros(width, np.uint64) for name in "abc"}

    async def role(channel: Channel) -> None:
        prepared = await threshold_test.prepare(channel.at("before"), 10, width)
        await threshold_test.reaches(channel.at("test"), prepared, inputs[channel.me])

    outcomes = run_parties(dict.fromkeys("abc", role))
    packed = [message.numbers for message in heard(outcomes["a"], "b", threshold_test.MaskedNumbers)]
    packed += [message.parts for message in heard(outcomes["a"], "b", threshold_test.Part)]
    packed += [message.parts for message in heard(outcomes["a"], "b", threshold_test.FactorPart)]
    packed += [message.shares for message in heard(outcomes["a"], "b", threshold_test.Dealt)]
    packed += [message.shares for message in heard(outcomes["b"], "a", threshold_test.Dealt)]
    field = field_for(3, 10)
    assert len(packed) > 5
    assert all(spread(field.unpack(each), field.prime) for each in packed)


def test_numbers_that_are_tested_together_show_only_whether_all_lie_below() -> None:
    inputs = {"a": words(3, 0, 9, 1, 4, 0), "b": words(1, 0, 0, 1, 0, 0), "c": words(0, 4, 0, 1, 1, 1)}
    seen = opened(inputs, 5, together=2, field=F31)[0]
    assert len(seen) == 3
    assert (seen == 0).tolist() == [True, False, False]


@pytest.mark.parametrize("together", [1, 2, 3, 5])
def test_of_numbers_multiplied_together_shows_only_whether_none_lies_below(together: int) -> None:
    totals = np.arange(20 * together, dtype=np.uint64).reshape(20, together) % np.uint64(13)
    inputs = {"a": totals.ravel(), "b": np.ones(20 * together, np.uint64), "c": np.zeros(20 * together, np.uint64)}

    async def role(channel: Channel) -> list[bool]:
        prepared = await threshold_test.prepare(channel.at("before"), 4, 20 * together)
        mine = inputs[channel.me]
        kept = await threshold_test.none_below(channel.at("test"), prepared, mine, together=together)
        return [bool(each) for each in kept]

    due = ((totals + np.uint64(1)) >= 4).all(axis=1).tolist()
    for outcome in run_parties(dict.fromkeys("abc", role)).values():
        assert outcome.unwrap() == due


def test_a_sum_below_zero_counts_as_beyond_the_bound() -> None:
    inputs = {"a": np.array([5, -3, 0]), "b": np.array([-4, 1, 0]), "c": np.array([0, 1, 0])}
    assert (opened(inputs, 4, field=F31)[0] == 0).tolist() == [True, False, True]
    one_less = {"a": np.array([-1, -1, -1, 4]), "b": np.array([0, 4, 9, 0]), "c": np.array([0, 0, 0, 0])}
    assert (opened(one_less, 4, field=field_for(3, 5))[0] == 0).tolist() == [False, True, False, False]
    with pytest.raises(InputError, match="negative"):
        opened(inputs, 4)


def test_a_count_far_above_the_bound_is_not_taken_for_a_small_one() -> None:
    field = field_for(3, 10)
    high = words(field.prime, 2 * field.prime + 3, field.prime - 1, 9)
    inputs = {"a": high, "b": words(0, 0, 1, 0), "c": words(0, field.prime, 1, 0)}
    assert (opened(inputs, 10)[0] == 0).tolist() == [False, False, False, True]


@pytest.mark.few(5)
@pytest.mark.parametrize("names", ["abc", "abcd", "abcdefg"])
@pytest.mark.parametrize(("bound", "width"), [(1, 400), (3, 1), (4, 90), (10, 700), (50, 300)])
@pytest.mark.parametrize("lots", [False, True])
def test_the_cost_is_as_declared(
    names: str, bound: int, width: int, lots: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_lots(monkeypatch, lots)

    async def before(channel: Channel) -> Prepared:
        return await threshold_test.prepare(channel.at("before"), bound, width)

    async def role(channel: Channel) -> None:
        await threshold_test.reaches(channel.at("test"), await before(channel), np.zeros(width, np.uint64))

    prepared, whole = spent(run_parties(dict.fromkeys(names, before))), spent(run_parties(dict.fromkeys(names, role)))
    m = len(names)
    assert prepared.rounds == threshold_test.PREPARATION_COST.rounds(m, bound, width)
    assert prepared.messages == threshold_test.PREPARATION_COST.messages(m, bound, width)
    assert prepared.bytes == pytest.approx(threshold_test.PREPARATION_COST.bytes(m, bound, width), rel=0.02)
    assert whole.rounds - prepared.rounds == threshold_test.COST.rounds(m, bound, width)
    assert whole.messages - prepared.messages == threshold_test.COST.messages(m, bound, width)
    assert whole.bytes - prepared.bytes == pytest.approx(threshold_test.COST.bytes(m, bound, width), rel=0.02)


@pytest.mark.parametrize("names", ["abc", "abcde"])
@pytest.mark.parametrize("lots", [False, True])
def test_one_party_alone_may_get_the_outcome_at_the_declared_cost(
    names: str, lots: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_lots(monkeypatch, lots)
    width, m = 300, len(names)

    async def before(channel: Channel) -> Prepared:
        return await threshold_test.prepare(channel.at("before"), 2, width)

    async def role(channel: Channel) -> list[bool] | None:
        mine = np.arange(width) % 4 if channel.me == "a" else np.zeros(width, np.int64)
        found = await threshold_test.reaches_for("b", channel.at("test"), await before(channel), mine)
        return None if found is None else [bool(each) for each in found]

    ends = run_parties(dict.fromkeys(names, role))
    assert {name: end.unwrap() for name, end in ends.items()} == {
        name: [place % 4 >= 2 for place in range(width)] if name == "b" else None for name in names
    }
    prepared, whole = spent(run_parties(dict.fromkeys(names, before))), spent(ends)
    assert whole.rounds - prepared.rounds == threshold_test.COST.rounds(m, 2, width, None, True)
    assert whole.messages - prepared.messages == threshold_test.COST.messages(m, 2, width, None, True)
    declared = threshold_test.COST.bytes(m, 2, width, None, True)
    assert whole.bytes - prepared.bytes == pytest.approx(declared, rel=0.02)


@pytest.mark.few(4)
@pytest.mark.parametrize("size", [3, 4, 6, 7])
@pytest.mark.parametrize("bound", [1, 2, 5, 10])
def test_numbers_that_are_opened_in_lots_give_the_same_answers(
    size: int, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_lots(monkeypatch, True)
    totals = np.arange(2 * bound + 3, dtype=np.uint64)
    inputs = {f"p{i}": totals // np.uint64(size) for i in range(size)}
    inputs["p1"] = totals - np.uint64(size - 1) * (totals // np.uint64(size))
    for seen in opened(inputs, bound):
        assert np.array_equal(seen != 0, totals >= bound)


def in_lots(monkeypatch: pytest.MonkeyPatch, lots: bool) -> None:
    """Opens all numbers in lots, or none."""
    for name in ("IN_LOTS", "PRODUCTS_IN_LOTS"):
        monkeypatch.setattr(threshold_test, name, 1 if lots else 1 << 40)


@pytest.mark.parametrize(
    ("parties", "k", "most"), [(3, 10, 6.2), (3, 50, 16.1), (5, 10, 12.1), (10, 10, 17.9), (10, 50, 46.8)]
)
def test_what_a_test_costs_hardly_grows_with_the_parties(parties: int, k: int, most: float) -> None:
    """A party's bytes for each of many tests; it were 48, 76, 94, 231 and 412 with every share in four bytes."""
    width = 1 << 16
    before, test = threshold_test.PREPARATION_COST, threshold_test.COST
    both = before.bytes(parties, k, width) + test.bytes(parties, k, width)
    assert both / parties / width == pytest.approx(most, rel=0.01)


def test_factors_are_never_zero() -> None:
    """In a field of 61 one in thirty would be, or the number with which it is looked at: those tests are gone."""
    width = 4_000
    inputs = {name: np.full(width, 5, np.uint64) for name in "abc"}
    assert opened(inputs, 10)[0].all()


def test_a_preparation_that_falls_short_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threshold_test, "_made", lambda width, field: width)
    inputs = {name: np.arange(400, dtype=np.uint64) % np.uint64(3) for name in "abc"}
    assert np.array_equal(opened(inputs, 4)[0] != 0, 3 * inputs["a"] >= 4)


def test_a_test_costs_far_fewer_products_than_its_bound() -> None:
    assert [shape(bound).products for bound in (10, 50, 1000)] == [5, 13, 62]


def test_prepared_tests_can_be_cut_and_joined() -> None:
    async def role(channel: Channel) -> list[bool]:
        first = await threshold_test.prepare(channel.at("one"), 3, 5)
        second = await threshold_test.prepare(channel.at("two"), 3, 4)
        front, back = Prepared.join([first, second]).split(7)
        mine = words(0, 1, 2, 3, 0, 1, 2)
        heavy = await threshold_test.reaches(channel.at("a"), front, mine)
        return [*heavy.tolist(), *(await threshold_test.reaches(channel.at("b"), back, words(1, 0))).tolist()]

    for outcome in run_parties(dict.fromkeys("abc", role)).values():
        assert outcome.unwrap() == [False, True, True, True, False, True, True, True, False]


def test_two_parties_and_misfits_are_refused() -> None:
    async def two(channel: Channel) -> Prepared:
        return await threshold_test.prepare(channel.at("x"), 3, 5)

    assert isinstance(run_parties(dict.fromkeys("ab", two))["a"].error, InputError)
    with pytest.raises(InputError, match="cannot be tested"):
        shape(0)

    async def short(channel: Channel) -> None:
        prepared = await threshold_test.prepare(channel.at("x"), 3, 5 if channel.me != "c" else 4)
        await threshold_test.reaches(channel.at("y"), prepared, np.zeros(5, np.uint64))

    errors = [outcome.error for outcome in run_parties(dict.fromkeys("abc", short)).values()]
    assert any(isinstance(error, PeerError) and "expected" in str(error) for error in errors)


def test_a_coin_is_the_same_for_all_and_another_at_every_step() -> None:
    async def role(channel: Channel) -> list[bytes]:
        return [(await coin.toss(channel.at("coin", turn))).reveal() for turn in range(2)]

    answers = [outcome.unwrap() for outcome in run_parties(dict.fromkeys("abc", role)).values()]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0] != answers[0][1]
    other = run_parties(dict.fromkeys("abc", role), seed=1)["a"].unwrap()
    assert other[0] != answers[0][0]


def test_a_coin_that_is_not_the_one_committed_to_is_refused() -> None:
    async def honest(channel: Channel) -> bytes:
        return (await coin.toss(channel.at("coin"))).reveal()

    async def cheat(channel: Channel) -> bytes:
        at = channel.at("coin")
        await at.exchange(coin.Commitment(coin.commit(at, at.me, bytes(32))))
        await at.exchange(coin.Opening(b"\1" + bytes(31)))
        return b""

    outcomes = run_parties({"a": honest, "b": honest, "c": cheat})
    for name in "ab":
        error = outcomes[name].error
        assert isinstance(error, PeerError)
        assert error.party == "c"
