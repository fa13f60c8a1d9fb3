"""Joint numbers against bounds: right answers, for any number of parties, and nothing but answers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest
from tests.harness.parties import Role, run_parties
from tests.harness.spent import heard, said, shapes, spent

from covey.arrays import Words
from covey.crypto.factorial import field_for
from covey.crypto.field import Field
from covey.protocols.as_printed.cluster_rows.range_tests import AHEAD, RangeTests
from covey.secure import conjunction, shares
from covey.secure.threshold_test import Part
from covey.wire import Channel, Chunk

Numbers = Mapping[str, list[int]]
Answers = dict[str, list[bool]]


def role_of(mine: list[int], k: int) -> Role[Answers]:
    async def role(channel: Channel) -> Answers:
        tests = RangeTests(channel.at("ranges"))
        return {
            "none or many": (await tests.none_or_many(np.array(mine), k)).tolist(),
        }

    return role


def played(numbers: Numbers, k: int) -> Answers:
    ends = run_parties({name: role_of(own, k) for name, own in numbers.items()})
    answers = [end.unwrap() for end in ends.values()]
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


@pytest.mark.parametrize("names", ["abc", "abcd", "abcde"])
@pytest.mark.parametrize("k", [2, 3, 7, 10])
def test_three_or_more_parties_learn_which_totals_are_none_or_reach_k(names: str, k: int) -> None:
    random = np.random.default_rng(k)
    numbers = {name: random.integers(0, 2 * k, 24).tolist() for name in names}
    numbers[names[0]][:3] = [0, k, k - 1]
    for name in names[1:]:
        numbers[name][:3] = [0, 0, 0]
    total = np.sum(list(numbers.values()), axis=0)
    answers = played(numbers, k)
    assert answers["none or many"] == ((total == 0) | (total >= k)).tolist()


def test_two_parties_say_yes_only_where_both_have_half() -> None:
    answers = played({"a": [5, 4, 3, 0, 0, 9], "b": [5, 5, 2, 0, 1, 9]}, 9)
    assert answers["none or many"] == [True, False, False, True, False, True]


@pytest.mark.parametrize("names", ["ab", "abc", "abcde"])
def test_negative_totals_are_found_whatever_their_depth(names: str) -> None:
    depth = np.array([0, 1, 1, 2, 3, 4, 5, 30, 64, 65, 200, 200])
    totals = np.array([7, -1, 0, -2, -3, -4, 5, -30, -64, -65, 199, -200])

    async def role(channel: Channel) -> list[bool]:
        place = channel.parties.index(channel.me)
        mine = np.full(len(totals), 11 * (place + 1))
        if place == len(channel.parties) - 1:
            mine = totals - sum(11 * (other + 1) for other in range(place))
        return [bool(each) for each in await RangeTests(channel.at("ranges")).not_negative(mine, -depth)]

    for end in run_parties(dict.fromkeys(names, role)).values():
        assert end.unwrap() == (totals >= 0).tolist()


def test_tests_are_prepared_ahead_so_that_most_take_two_rounds() -> None:
    async def role(channel: Channel) -> None:
        tests = RangeTests(channel.at("ranges"))
        for _ in range(AHEAD):
            await tests.none_or_many(np.arange(40), 10)

    async def once(channel: Channel) -> None:
        await RangeTests(channel.at("ranges")).none_or_many(np.arange(40), 10)

    rounds = [spent(run_parties(dict.fromkeys("abc", each))).rounds for each in (once, role)]
    assert rounds[1] == rounds[0] + 2 * (AHEAD - 1)


def test_equal_answers_give_messages_of_equal_shape_and_other_seeds_other_bytes() -> None:
    one = {"a": [4, 0, 9, 0], "b": [0, 0, 0, 0], "c": [0, 1, 1, 0]}
    other = {"a": [0, 1, 0, 0], "b": [3, 0, 2, 0], "c": [2, 0, 5, 0]}
    runs = [run_parties({name: role_of(own, 3) for name, own in each.items()}) for each in (one, other)]
    assert shapes(runs[0]) == shapes(runs[1])
    again = run_parties({name: role_of(own, 3) for name, own in one.items()})
    assert said(runs[0]) == said(again)


def test_what_is_opened_is_zero_or_uniform_and_does_not_tell_by_how_much_a_count_falls_short() -> None:
    width = 9000

    async def role(channel: Channel) -> None:
        mine = np.arange(width) % 3 if channel.me == "a" else np.full(width, 4)
        await RangeTests(channel.at("ranges")).none_or_many(mine, 5)

    ends = run_parties(dict.fromkeys("abc", role))
    (first,), (second,) = (heard(ends["a"], peer, Part) for peer in "bc")
    field = field_for(3, 5)
    one, other = (field.unpack(each.parts)[:width] for each in (first, second))
    for parts in (one, other, field.add(one, other)):
        for short in range(3):
            counts = np.bincount(parts[short::3].astype(np.int64), minlength=field.prime)
            expected = counts.sum() / field.prime
            assert 20 < float(((counts - expected) ** 2 / expected).sum()) < 120  # 60 degrees of freedom


@pytest.mark.parametrize("names", ["ab", "abc", "abcd", "abcde"])
@pytest.mark.parametrize("receiver", [None, "b"])
def test_an_and_is_set_where_nobodys_bit_is_missing(names: str, receiver: str | None) -> None:
    rows = list(product([False, True], repeat=len(names)))

    async def role(channel: Channel) -> list[bool] | None:
        mine = np.array([row[names.index(channel.me)] for row in rows])
        found = await RangeTests(channel.at("ranges")).conjoin(mine, receiver)
        return None if found is None else [bool(each) for each in found]

    for name, end in run_parties(dict.fromkeys(names, role)).items():
        assert end.unwrap() == ([all(row) for row in rows] if receiver in (None, name) else None)


def test_the_outcome_of_an_and_goes_to_its_receiver_and_does_not_tell_how_many_bits_are_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    width, seen, open_to = 9000, list[Words](), shares.open_to

    async def noted(
        channel: Channel, receiver: str, kind: type[Chunk[bytes]], field: Field, mine: Words
    ) -> Words | None:
        opened = await open_to(channel, receiver, kind, field, mine)
        seen.extend([] if opened is None else [opened])
        return opened

    async def role(channel: Channel) -> None:
        mine = np.arange(width) % 3 < "abc".index(channel.me)  # one bit is missing, two or all three
        await RangeTests(channel.at("ranges")).conjoin(mine, "a")

    monkeypatch.setattr(shares, "open_to", noted)
    ends = run_parties(dict.fromkeys("abc", role))
    assert all(heard(ends["a"], peer, Part) for peer in "bc")
    assert not any(heard(ends[me], peer, Part) for me, peer in ("ba", "bc", "ca", "cb"))
    (opened,), prime = seen, field_for(3, 1).prime
    for missing in range(3):
        counts = np.bincount(opened[missing::3].astype(np.int64), minlength=prime)
        expected = counts.sum() / (prime - 1)
        assert counts[0] == 0
        assert 20 < float(((counts[1:] - expected) ** 2 / expected).sum()) < 120  # 59 degrees of freedom


@pytest.mark.parametrize(("names", "receiver"), [("abc", None), ("abc", "a"), ("abcde", None)])
def test_an_and_of_many_bits_takes_a_fifth_of_the_bytes_of_shares_in_a_large_field(
    names: str, receiver: str | None
) -> None:
    width = 20_000

    async def role(channel: Channel) -> None:
        tests = RangeTests(channel.at("ranges"))
        for _ in range(AHEAD):
            await tests.conjoin(np.ones(width, dtype=bool), receiver)

    before = AHEAD * conjunction.COST.bytes(len(names), width, receiver is not None)
    assert spent(run_parties(dict.fromkeys(names, role))).bytes < before / 5
