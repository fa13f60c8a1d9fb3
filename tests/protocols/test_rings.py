"""The paper's rings compute what they should, at the paper's cost, and refuse what does not belong in them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.harness.network import FaultyNetwork, Weather
from tests.harness.parties import Role, run_parties
from tests.harness.spent import heard, said, shapes, spent

from covey.arrays import Bits, Words
from covey.errors import InputError, PeerError
from covey.protocols.as_printed.cluster_rows import rings
from covey.protocols.as_printed.cluster_rows.rings import (
    AND_COST,
    LEAKAGE,
    LEAKAGE_OF_AND,
    SUM_COST,
    Added,
    Counted,
)
from covey.wire import Channel
from covey.wire.chunks import CHUNK_BYTES, WORD_BYTES

CHUNK = CHUNK_BYTES // WORD_BYTES


def sums(inputs: Mapping[str, Words]) -> dict[str, Role[Words]]:
    """Every party brings its numbers."""

    def role(mine: Words) -> Role[Words]:
        return lambda channel: rings.total(channel, mine)

    return {name: role(mine) for name, mine in inputs.items()}


def ands(inputs: Mapping[str, Bits]) -> dict[str, Role[Bits]]:
    """Every party brings its bits."""

    def role(mine: Bits) -> Role[Bits]:
        return lambda channel: rings.conjoin(channel, mine)

    return {name: role(mine) for name, mine in inputs.items()}


def numbers(names: str, width: int) -> dict[str, Words]:
    generator = np.random.default_rng(width)
    return {name: generator.integers(0, 1 << 64, width, dtype=np.uint64) for name in names}


def bits(names: str, width: int) -> dict[str, Bits]:
    generator = np.random.default_rng(width)
    return {name: generator.random(width) < 0.8 for name in names}


@settings(deadline=None)
@given(st.sampled_from(["ab", "abc", "abcde"]), st.integers(0, 20), st.integers(0, 1000))
def test_the_ring_sum_is_the_ideal_total(names: str, width: int, seed: int) -> None:
    inputs = numbers(names, width)
    for outcome in run_parties(sums(inputs), seed=seed).values():
        assert np.array_equal(outcome.unwrap(), rings.ideal_total(inputs))


def test_the_papers_example() -> None:
    inputs = {name: np.array([value], dtype=np.uint64) for name, value in zip("abcd", (7, 1, 9, 4), strict=True)}
    assert [int(o.unwrap()[0]) for o in run_parties(sums(inputs)).values()] == [21] * 4


@settings(deadline=None)
@given(st.sampled_from(["abc", "abcd", "abcde"]), st.integers(0, 20), st.integers(0, 1000))
def test_the_ring_and_is_the_ideal_one(names: str, width: int, seed: int) -> None:
    inputs = bits(names, width)
    for outcome in run_parties(ands(inputs), seed=seed).values():
        assert np.array_equal(outcome.unwrap(), rings.ideal_and(inputs))


@pytest.mark.parametrize("names", ["abc", "abcd", "abcde"])
def test_the_whole_truth_table_also_where_the_papers_modulus_would_be_too_short(names: str) -> None:
    """With ceil(log 4) = 2 bits four set bits would be none."""
    rows = np.array(list(product([False, True], repeat=len(names))))
    inputs = {name: rows[:, column] for column, name in enumerate(names)}
    for outcome in run_parties(ands(inputs)).values():
        assert outcome.unwrap().tolist() == [False] * (2 ** len(names) - 1) + [True]


@pytest.mark.parametrize("names", ["ab", "abc", "abcde"])
@pytest.mark.parametrize("width", [0, 1, 100, 2 * CHUNK + 17])
def test_the_sums_cost_is_as_declared(names: str, width: int) -> None:
    cost = spent(run_parties(sums(numbers(names, width))))
    assert cost.rounds == SUM_COST.rounds(len(names), width)
    assert cost.messages == SUM_COST.messages(len(names), width)
    assert cost.bytes == pytest.approx(SUM_COST.bytes(len(names), width), rel=0.02)


@pytest.mark.parametrize(
    ("names", "width"), [("abc", 0), ("abc", 1), ("abcd", 100), ("abcde", 999), ("abc", CHUNK + 9)]
)
def test_the_ands_cost_is_as_declared(names: str, width: int) -> None:
    cost = spent(run_parties(ands(bits(names, width))))
    assert cost.rounds == AND_COST.rounds(len(names), width)
    assert cost.messages == AND_COST.messages(len(names), width)
    assert cost.bytes == pytest.approx(AND_COST.bytes(len(names), width), rel=0.02)


def test_the_same_bytes_are_sent_however_the_network_interleaves() -> None:
    added, joined = numbers("abcd", CHUNK + 3), bits("abcd", 50)
    calm = [said(run_parties(sums(added), seed=7)), said(run_parties(ands(joined), seed=7))]
    for weather in range(3):
        network = [FaultyNetwork("abcd", Weather(delay=5), weather) for _ in range(2)]
        assert said(run_parties(sums(added), seed=7, network=network[0])) == calm[0]
        assert said(run_parties(ands(joined), seed=7, network=network[1])) == calm[1]


def test_lengths_and_order_do_not_depend_on_the_bits() -> None:
    ones, zeros = ({name: np.full(40, value) for name in "abcd"} for value in (True, False))
    assert shapes(run_parties(ands(ones))) == shapes(run_parties(ands(zeros)))


def test_what_is_passed_on_looks_uniform_until_the_first_player_has_the_total() -> None:
    width = 20_000
    zeros = run_parties(sums({name: np.zeros(width, dtype=np.uint64) for name in "abcd"}))
    ones = run_parties(ands({name: np.ones(width, dtype=bool) for name in "abcd"}))
    for before, me in ("ab", "bc", "cd", "da"):
        hops = heard(zeros[me], before, Added)
        for hop in hops[:1] if me == "a" else hops:
            low = (hop.values.words & np.uint64(255)).astype(np.int64)
            assert chisquare(np.bincount(low, minlength=256)).pvalue > 1e-6
        for count in heard(ones[me], before, Counted):
            assert chisquare(np.bincount(np.frombuffer(count.values, dtype=np.uint8), minlength=5)).pvalue > 1e-6


def test_an_and_of_two_is_refused() -> None:
    assert isinstance(run_parties(ands(bits("ab", 3)))["a"].error, InputError)


def test_a_residue_above_the_modulus_is_refused() -> None:
    async def liar(channel: Channel) -> Bits:
        channel.pairwise_seeds()
        await channel.at("add").send("b", Counted(bytes([4])))
        return np.zeros(1, dtype=bool)

    roles = ands(bits("abc", 1)) | {"a": liar}
    error = run_parties(roles)["b"].error
    assert isinstance(error, PeerError)
    assert "a residue of 4 or more" in str(error)


def test_vectors_of_unequal_length_are_refused() -> None:
    errors = [o.error for o in run_parties(sums(numbers("abc", 3) | numbers("c", 4))).values()]
    assert any(isinstance(error, PeerError) and "expected" in str(error) for error in errors)


def test_the_ledger_says_what_neighbours_can_read() -> None:
    for leakage in (LEAKAGE, LEAKAGE_OF_AND):
        assert "two neighbours" in leakage.sentences(parties=3, width=5)[0]
