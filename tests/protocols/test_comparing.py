"""Comparisons between two: as the ideal, at the declared cost, and neither sees more than which rows are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.parties import Outcome, run_parties
from tests.harness.spent import spent
from tests.harness.tiers import examples

from covey.arrays import Bits, Longs
from covey.protocols.peel import comparing
from covey.protocols.peel.choice import ObliviousTests
from covey.protocols.peel.comparing import MOST
from covey.wire import Channel

EDGES = [0, 1, -1, 255, 256, -256, 65_535, -65_536, 70_000, MOST // 2, -MOST // 2]


def play(first: Longs, second: Longs, seed: int = 0) -> dict[str, Outcome[Bits]]:
    async def role(channel: Channel) -> Bits:
        pair = await ObliviousTests.meet(channel.at("meet"))
        return await comparing.none_negative(channel.at("rows"), pair, first if channel.me == "a" else second)

    return run_parties({"a": role, "b": role}, seed=seed)


@settings(max_examples=examples(16), deadline=None)
@given(st.data(), st.integers(1, 5), st.integers(1, 4), st.integers(0, 99))
def test_both_learn_in_which_rows_no_sum_is_negative(data: st.DataObject, rows: int, width: int, seed: int) -> None:
    number = st.sampled_from(EDGES) | st.integers(-(1 << 20), 1 << 20)
    first = np.array(data.draw(st.lists(number, min_size=rows * width, max_size=rows * width))).reshape(rows, width)
    near = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=rows * width, max_size=rows * width)))
    second = -first + near.reshape(rows, width)
    for outcome in play(first, second, seed).values():
        assert outcome.unwrap().tolist() == (first + second >= 0).all(axis=1).tolist()


def test_numbers_too_large_to_be_compared_are_never_taken_to_be_kept() -> None:
    first = np.array([[4 * MOST], [3 * MOST], [-3 * MOST], [-4 * MOST]])
    second = np.array([[-3 * MOST], [-4 * MOST], [4 * MOST], [3 * MOST]])
    found = play(first, second)["a"].unwrap()
    assert not found[(first + second < 0).ravel()].any()


def test_the_cost_is_as_declared() -> None:
    rows, width = 7, 3
    numbers = np.arange(rows * width).reshape(rows, width)
    real, met = spent(play(numbers, numbers)), spent(play(numbers[:0], numbers[:0]))
    assert real.messages - met.messages == comparing.COST.messages(rows, width)
    assert real.rounds - met.rounds == comparing.COST.rounds(rows, width)
    assert real.bytes - met.bytes == pytest.approx(comparing.COST.bytes(rows, width), rel=0.03)


def test_neither_partys_bits_tell_which_number_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attacker who reads its own bits as the answers is right half of the time, wherever the failing number is."""
    seen: dict[str, Bits] = {}
    compare = comparing._compare

    async def noted(channel: Channel, pair: ObliviousTests, mine: Longs) -> Bits:
        seen[channel.me] = await compare(channel, pair, mine)
        return seen[channel.me]

    monkeypatch.setattr(comparing, "_compare", noted)
    numbers = np.where(np.arange(400) % 3 == 0, -5, 7)[:, np.newaxis]
    found = play(numbers, np.zeros_like(numbers))["a"].unwrap()
    assert found.tolist() == (numbers[:, 0] >= 0).tolist()
    for own in seen.values():
        assert abs(float(np.mean(own == found)) - 0.5) < 0.13
    assert ((seen["a"] ^ seen["b"]) == found).all()
