"""The secure sum keeps its promises: equals the ideal, is deterministic, costs what it declares, hides its inputs."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.harness.clock import on_real_clock
from tests.harness.network import FaultyNetwork, Weather, seed_of
from tests.harness.parties import Outcome, Role, run_parties
from tests.harness.town import Town

from covey.arrays import Words
from covey.crypto.rng import Rng
from covey.errors import Aborted, CoveyError, PeerError
from covey.secure import sum as secure_sum
from covey.secure.sum import COST, leakage
from covey.wire import Channel, gather
from covey.wire.chunks import CHUNK_BYTES, WORD_BYTES

CHUNK = CHUNK_BYTES // WORD_BYTES


def roles_for(inputs: Mapping[str, Words]) -> dict[str, Role[Words]]:
    """Every party brings its vector."""

    def role(mine: Words) -> Role[Words]:
        return lambda channel: secure_sum.total(channel, mine)

    return {name: role(mine) for name, mine in inputs.items()}


def draw(names: str, width: int, seed: int = 0) -> dict[str, Words]:
    """Random vectors."""
    return {name: Rng(seed_of(seed)).stream(name).words(width) for name in names}


def sent(outcomes: Mapping[str, Outcome[Words]]) -> dict[str, list[tuple[str, str, int, bytes]]]:
    """What each party said, by step: enough to tell two runs apart by a single bit."""
    return {
        name: sorted(
            (e.header.recipient, e.header.step, e.header.number, e.digest) for e in outcome.notebook.sent_entries
        )
        for name, outcome in outcomes.items()
    }


@st.composite
def parties(draw: st.DrawFn) -> dict[str, Words]:
    """Two to five parties with vectors of equal length."""
    names = draw(st.lists(st.text("abcdefgh-", min_size=1, max_size=6), min_size=2, max_size=5, unique=True))
    width = draw(st.integers(0, 20))
    words = st.lists(st.integers(0, 2**64 - 1), min_size=width, max_size=width)
    return {name: np.array(draw(words), dtype=np.uint64) for name in names}


@given(parties(), st.integers(0, 1000))
def test_every_party_learns_the_ideal_total(inputs: dict[str, Words], seed: int) -> None:
    ideal = secure_sum.ideal(inputs)
    for outcome in run_parties(roles_for(inputs), seed=seed).values():
        assert np.array_equal(outcome.unwrap(), ideal)


@on_real_clock
async def test_every_party_learns_the_ideal_total_over_tls(tmp_path: Path) -> None:
    inputs = draw("abc", CHUNK + 5)
    for outcome in (await Town.found("abc", tmp_path).play_all(roles_for(inputs))).values():
        assert np.array_equal(outcome.unwrap(), secure_sum.ideal(inputs))


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(parties())
def test_random_inputs_over_tls_equal_the_ideal(inputs: dict[str, Words]) -> None:
    @on_real_clock
    async def over_tls() -> None:
        with tempfile.TemporaryDirectory() as folder:
            outcomes = await Town.found(sorted(inputs), Path(folder)).play_all(roles_for(inputs))
        for outcome in outcomes.values():
            assert np.array_equal(outcome.unwrap(), secure_sum.ideal(inputs))

    over_tls()


def test_the_papers_example() -> None:
    inputs = {name: np.array([value], dtype=np.uint64) for name, value in zip("abcd", (7, 1, 9, 4), strict=True)}
    assert [int(o.unwrap()[0]) for o in run_parties(roles_for(inputs)).values()] == [21] * 4


def test_the_same_bytes_are_sent_however_the_network_interleaves() -> None:
    inputs = draw("abcd", 2 * CHUNK + 1)
    calm = sent(run_parties(roles_for(inputs), seed=7))
    for weather in range(5):
        rough = FaultyNetwork("abcd", Weather(delay=20), weather)
        assert sent(run_parties(roles_for(inputs), seed=7, network=rough)) == calm
    assert sent(run_parties(roles_for(inputs), seed=8)) != calm


@on_real_clock
async def test_the_same_bytes_are_sent_over_tls_as_over_memory(tmp_path: Path) -> None:
    inputs = draw("abc", 100)

    async def role(channel: Channel) -> Words:
        return await secure_sum.total(channel, inputs[channel.me])

    tls = await Town.found("abc", tmp_path).play_all(dict.fromkeys("abc", role), seed=3)
    memory = await asyncio.to_thread(run_parties, dict.fromkeys("abc", role), seed=3)
    assert sent(tls) == sent(memory)


@pytest.mark.parametrize("names", ["ab", "abc", "abcde"])
@pytest.mark.parametrize("width", [0, 1, 100, CHUNK, 2 * CHUNK + 17])
def test_the_cost_is_as_declared(names: str, width: int) -> None:
    outcomes = run_parties(roles_for(draw(names, width)))
    messages: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes.values():
        outcome.unwrap()
        assert outcome.tally.rounds == COST.rounds(len(names), width)
        messages |= outcome.tally.messages
        sizes |= outcome.tally.bytes
    assert messages.total() == COST.messages(len(names), width)
    assert sizes.total() == pytest.approx(COST.bytes(len(names), width), rel=0.02)


def test_two_inputs_with_one_total_give_messages_of_equal_shape() -> None:
    one = {"a": [5, 0], "b": [1, 9], "c": [4, 4]}
    other = {"a": [0, 13], "b": [10, 0], "c": [0, 0]}
    shapes = []
    for inputs in (one, other):
        vectors = {name: np.array(values, dtype=np.uint64) for name, values in inputs.items()}
        outcomes = run_parties(roles_for(vectors))
        shapes.append([[(e.header, e.size) for e in o.notebook.sent_entries] for o in outcomes.values()])
    assert shapes[0] == shapes[1]


def test_what_is_sent_looks_uniform_and_two_sums_of_one_input_share_no_mask() -> None:
    async def role(channel: Channel) -> list[bytes]:
        zeros = np.zeros(4096, dtype=np.uint64)
        heard = [await secure_sum.total(channel, zeros) for _ in range(2)]
        assert not np.any(heard)
        return []

    letters = run_parties(dict.fromkeys("abc", role))["a"].notebook.letters["b"]
    first, second = (np.frombuffer(letter[-8 * 4096 :], dtype="<u8") for letter in letters[1:])
    for masked in (first, second, first - second):
        counts = np.bincount(masked.view(np.uint8), minlength=256)
        chi = float(np.sum((counts - 128) ** 2 / 128))
        assert 150 < chi < 380  # 255 degrees of freedom


def test_a_second_sum_in_the_same_step_uses_fresh_masks() -> None:
    async def role(channel: Channel) -> list[int]:
        mine = np.array([ord(channel.me)], dtype=np.uint64)
        return [int((await secure_sum.total(channel, mine))[0]) for _ in range(2)]

    outcomes = run_parties(dict.fromkeys("abc", role))
    assert outcomes["a"].unwrap() == [294, 294]
    letters = outcomes["a"].notebook.letters["b"]
    assert len(letters) == 3
    assert letters[1][-8:] != letters[2][-8:]


def test_sums_side_by_side_do_not_mix() -> None:
    async def role(channel: Channel) -> list[int]:
        vectors = [np.array([turn], dtype=np.uint64) for turn in range(4)]
        totals = await gather(*(secure_sum.total(channel.at(turn), mine) for turn, mine in enumerate(vectors)))
        return [int(total[0]) for total in totals]

    for seed in range(5):
        network = FaultyNetwork("abc", Weather(delay=5), seed)
        outcomes = run_parties(dict.fromkeys("abc", role), network=network)
        assert all(outcome.unwrap() == [0, 3, 6, 9] for outcome in outcomes.values())
        assert {outcome.tally.rounds for outcome in outcomes.values()} == {1}


def test_a_party_with_a_vector_of_another_length_is_refused() -> None:
    inputs = {"a": np.zeros(3, dtype=np.uint64), "b": np.zeros(3, dtype=np.uint64), "c": np.zeros(4, dtype=np.uint64)}
    outcomes = run_parties(roles_for(inputs))
    assert isinstance(outcomes["a"].error, PeerError)
    assert "4 values, expected 3" in str(outcomes["a"].error)


@pytest.mark.thorough
def test_bad_weather_ends_in_the_total_or_in_a_typed_abort() -> None:
    inputs = draw("abcd", 50)
    ideal = secure_sum.ideal(inputs)
    ends: Counter[str] = Counter()
    for seed in range(200):
        weather = Weather(delay=30, loss=6, repeat=6, swap=6, cut_at=seed if seed % 5 == 0 else None)
        outcomes = run_parties(roles_for(inputs), seed=seed, network=FaultyNetwork("abcd", weather, seed))
        for outcome in outcomes.values():
            if outcome.error is None:
                assert np.array_equal(outcome.unwrap(), ideal), f"seed {seed}"
                ends["total"] += 1
            else:
                assert isinstance(outcome.error, (Aborted, PeerError)), f"seed {seed}"
                ends["stopped"] += 1
    assert min(ends["total"], ends["stopped"]) > 50


def test_the_ledger_says_what_two_parties_learn_of_each_other() -> None:
    assert "the other party's number" in leakage(2).sentences(parties=2, width=5)[0]
    (sentence,) = leakage(3).sentences(parties=3, width=5)
    assert sentence.startswith("the total of all 3 parties in each of 5 places")
    with pytest.raises(CoveyError, match="width"):
        leakage(3).sentences(parties=3)
