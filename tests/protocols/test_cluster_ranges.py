"""Joint counts against forbidden ranges: right answers, for any number of parties, and nothing but answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from covey.crypto.field import F61
from covey.protocols.cluster.ranges import COST, Counts, Opened, Table
from covey.testing.parties import Role, run_parties
from covey.testing.spent import heard, said, shapes, spent
from covey.wire import Channel

Numbers = Mapping[str, list[int]]
Answers = dict[str, list[bool]]


def role_of(mine: list[int], k: int) -> Role[Answers]:
    async def role(channel: Channel) -> Answers:
        table = Table(channel.at("ranges"))
        counts = await table.count(np.array(mine))
        pairs = counts.grouped(np.array([place // 2 if place else -1 for place in range(len(mine))]), len(mine) // 2)
        return {
            "reaches": (await table.reaches(counts, k)).tolist(),
            "none or many": (await table.none_or_many(counts, k)).tolist(),
            "together": (await table.reaches(pairs, k)).tolist(),
        }

    return role


def played(numbers: Numbers, k: int) -> Answers:
    ends = run_parties({name: role_of(own, k) for name, own in numbers.items()})
    answers = [end.unwrap() for end in ends.values()]
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


@pytest.mark.parametrize("names", ["abc", "abcd", "abcde"])
@pytest.mark.parametrize("k", [1, 2, 3, 7, 10])
def test_three_or_more_parties_learn_which_totals_reach_k(names: str, k: int) -> None:
    random = np.random.default_rng(k)
    numbers = {name: random.integers(0, 2 * k, 24).tolist() for name in names}
    numbers[names[0]][:3] = [0, k, k - 1]
    for name in names[1:]:
        numbers[name][:3] = [0, 0, 0]
    total = np.sum(list(numbers.values()), axis=0)
    pairs = np.array([total[1], *(total[place : place + 2].sum() for place in range(2, 24, 2))])
    answers = played(numbers, k)
    assert answers["reaches"] == (total >= k).tolist()
    assert answers["none or many"] == ((total == 0) | (total >= k)).tolist()
    assert answers["together"] == (pairs >= k).tolist()


def test_two_parties_say_yes_only_where_both_have_half() -> None:
    answers = played({"a": [5, 4, 3, 0, 0, 9], "b": [5, 5, 2, 0, 1, 9]}, 9)
    assert answers["reaches"] == [True, False, False, False, False, True]
    assert answers["none or many"] == [True, False, False, True, False, True]


def test_a_multiple_that_goes_below_zero_is_found() -> None:
    async def role(channel: Channel) -> list[bool]:
        table = Table(channel.at("ranges"))
        counts = await table.count(np.array([1, 2, 3]))
        difference = counts.difference(np.array([10, 10, 10]), 2, np.arange(3))
        return [bool(answer) for answer in await table.among(difference, range(-10, 0))]

    assert run_parties(dict.fromkeys("abc", role))["a"].unwrap() == [False, True, True]  # 10 - 2 x 3, 6, 9


def test_the_cost_is_as_declared() -> None:
    async def role(channel: Channel) -> None:
        table = Table(channel.at("ranges"))
        await table.among(Counts(np.zeros(50, np.int64), np.ones(50, np.uint64)), range(9))

    for names in ("abc", "abcde"):
        cost = spent(run_parties(dict.fromkeys(names, role)))
        assert cost.rounds == COST.rounds(len(names), 50, 9)
        assert cost.messages == COST.messages(len(names), 50, 9)
        assert cost.bytes == pytest.approx(COST.bytes(len(names), 50, 9), rel=0.02)


def test_equal_answers_give_messages_of_equal_shape_and_other_seeds_other_bytes() -> None:
    one = {"a": [4, 0, 9, 0], "b": [0, 0, 0, 0], "c": [0, 1, 1, 0]}
    other = {"a": [0, 1, 0, 0], "b": [3, 0, 2, 0], "c": [2, 0, 5, 0]}
    runs = [run_parties({name: role_of(own, 3) for name, own in each.items()}) for each in (one, other)]
    assert shapes(runs[0]) == shapes(runs[1])
    again = run_parties({name: role_of(own, 3) for name, own in one.items()})
    assert said(runs[0]) == said(again)


def test_what_is_opened_is_zero_or_uniform_and_does_not_tell_by_how_much_a_count_falls_short() -> None:
    width = 3000

    async def role(channel: Channel) -> None:
        table = Table(channel.at("ranges"))
        mine = np.arange(width) % 3 if channel.me == "a" else np.full(width, 4)
        await table.reaches(await table.count(mine), 5)

    ends = run_parties(dict.fromkeys("abc", role))
    (first,), (second,) = (heard(ends["a"], peer, Opened) for peer in "bc")
    for parts in (first.parts.words, second.parts.words, F61.add(first.parts.words, second.parts.words)):
        for short in range(3):
            octets = np.ascontiguousarray(parts[short::3]).view(np.uint8).reshape(-1, 8)[:, :7]
            counts = np.bincount(octets.ravel(), minlength=256)
            expected = counts.sum() / 256
            assert 150 < float(((counts - expected) ** 2 / expected).sum()) < 380  # 255 degrees of freedom
