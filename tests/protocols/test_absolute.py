"""Absolute values on shares: as the ideal, at the declared cost, and the coins that are opened say nothing of signs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.parties import Outcome, run_parties
from tests.harness.spent import heard, spent
from tests.harness.tiers import examples

from covey.arrays import Longs, Words
from covey.crypto.field import F31
from covey.secure import absolute, threshold_test
from covey.secure.absolute import Signs
from covey.wire import Channel

BOUND = 100


def play(inputs: dict[str, Longs], seed: int = 0) -> dict[str, Outcome[Longs]]:
    """Every party's summands."""

    async def role(channel: Channel) -> Longs:
        mine = inputs[channel.me]
        signs = await absolute.draw(channel.at("signs"), len(mine))
        prepared = await threshold_test.prepare(channel.at("before"), BOUND, len(mine), F31)
        return await absolute.absolutes(channel.at("test"), signs, prepared, mine)

    return run_parties(dict.fromkeys(inputs, role), seed=seed)


def dealt(joint: Longs, parties: int) -> dict[str, Longs]:
    """Numbers that add up to these; no party's own tells their sign."""
    random = np.random.default_rng(1)
    parts = [random.integers(-50, 50, len(joint)) for _ in range(parties - 1)]
    return {f"p{place}": part for place, part in enumerate([*parts, joint - np.sum(parts, axis=0)])}


@settings(max_examples=examples(6), deadline=None)
@given(st.integers(3, 7), st.lists(st.integers(-49, 48), min_size=1, max_size=9), st.integers(0, 99))
def test_the_summands_add_up_to_the_absolute_value(parties: int, halves: list[int], seed: int) -> None:
    inputs = dealt(np.array([2 * half + 1 for half in halves]), parties)
    found = np.sum([outcome.unwrap() for outcome in play(inputs, seed).values()], axis=0) % F31.prime
    assert np.array_equal(found, absolute.ideal(inputs))


@pytest.mark.parametrize("parties", [3, 5])
def test_the_cost_is_as_declared(parties: int) -> None:
    width = 12
    real = spent(play(dealt(np.full(width, 7), parties)))
    before = threshold_test.PREPARATION_COST
    assert real.messages == (
        absolute.SIGNS_COST.messages(parties, width)
        + before.messages(parties, BOUND, width, F31)
        + absolute.COST.messages(parties, BOUND, width)
    )
    assert real.rounds == (
        absolute.SIGNS_COST.rounds(parties, width)
        + before.rounds(parties, BOUND, width, F31)
        + absolute.COST.rounds(parties, BOUND, width)
    )
    assert real.bytes == pytest.approx(
        absolute.SIGNS_COST.bytes(parties, width)
        + before.bytes(parties, BOUND, width, F31)
        + absolute.COST.bytes(parties, BOUND, width),
        rel=0.02,
    )


def guessed(joint: Longs, monkeypatch: pytest.MonkeyPatch) -> float:
    """The part of the signs that whoever reads the opened coins as signs guesses rightly."""
    seen: list[Words] = []
    products = threshold_test.open_products

    async def noted(channel: Channel, prepared: threshold_test.Prepared, mine: Words | Longs) -> Words:
        found = await products(channel, prepared, mine)
        seen.append(found)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(threshold_test, "open_products", noted)
        play(dealt(joint, 3))
    return float(np.mean((seen[0] == 0) == (joint > 0)))


def test_an_attacker_who_reads_the_coins_learns_no_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    joint = np.where(np.arange(4000) % 4 == 0, 31, -17)
    assert abs(guessed(joint, monkeypatch) - 0.5) < 5 * 0.5 / math.sqrt(len(joint))
    draw = absolute.draw

    async def bare(channel: Channel, width: int) -> Signs:
        signs = await draw(channel, width)
        return Signs(np.ones_like(signs.sign), signs.mask, signs.mask)

    monkeypatch.setattr(absolute, "draw", bare)
    assert guessed(joint, monkeypatch) == 1.0, "without random signs the same attack reads every sign"


def test_all_that_a_party_hears_looks_random_whatever_the_numbers() -> None:
    width = 6000
    for joint in (np.full(width, 99), np.full(width, -1)):
        outcomes = play(dealt(joint, 3))
        packed = [message.numbers for message in heard(outcomes["p0"], "p1", threshold_test.MaskedNumbers)]
        packed += [message.parts for message in heard(outcomes["p0"], "p1", threshold_test.FactorPart)]
        packed += [message.parts for message in heard(outcomes["p0"], "p1", threshold_test.Part)]
        assert len(packed) == 4
        for raw in packed:
            counts = np.bincount((F31.unpack(raw) >> np.uint64(25)).astype(np.int64), minlength=64)
            chi = float(np.sum((counts - width / 64) ** 2 / (width / 64)))
            assert abs(chi - 63) < 5 * math.sqrt(2 * 63)
