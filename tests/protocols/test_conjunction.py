"""The secure AND keeps its promises: equals the ideal, is deterministic, costs what it declares, hides its inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.harness.clock import on_real_clock
from tests.harness.network import FaultyNetwork, Weather
from tests.harness.parties import Outcome, Role, run_parties
from tests.harness.spent import heard, said, shapes, spent
from tests.harness.town import Town

from covey.arrays import Bits, Words
from covey.crypto.field import F61
from covey.errors import Aborted, InputError, PeerError
from covey.secure import conjunction
from covey.secure.conjunction import COST, Deal, Open, leakage
from covey.wire import Channel, gather
from covey.wire.chunks import CHUNK_BYTES, WORD_BYTES

CHUNK = CHUNK_BYTES // WORD_BYTES


def roles_for(inputs: Mapping[str, Bits], receiver: str | None = None) -> dict[str, Role[Bits | None]]:
    """Every party brings its bits."""

    def role(mine: Bits) -> Role[Bits | None]:
        return lambda channel: conjunction.conjoin(channel, mine, receiver=receiver)

    return {name: role(mine) for name, mine in inputs.items()}


def draw(names: str, width: int, seed: int = 0) -> dict[str, Bits]:
    """Random bits, mostly set, so that the AND is too now and then."""
    generator = np.random.default_rng(seed)
    return {name: generator.random(width) < 0.8 for name in names}


@st.composite
def parties(draw: st.DrawFn) -> dict[str, Bits]:
    """Two, three or five parties with vectors of equal length."""
    count = draw(st.sampled_from([2, 3, 5]))
    names = draw(st.lists(st.text("abcdefgh-", min_size=1, max_size=6), min_size=count, max_size=count, unique=True))
    width = draw(st.integers(0, 12))
    bits = st.lists(st.booleans(), min_size=width, max_size=width)
    return {name: np.array(draw(bits), dtype=bool) for name in names}


@settings(deadline=None)
@given(parties(), st.integers(0, 1000), st.data())
def test_the_receivers_learn_the_ideal_conjunction_and_others_nothing(
    inputs: dict[str, Bits], seed: int, data: st.DataObject
) -> None:
    receiver = data.draw(st.sampled_from([None, *inputs]))
    ideal = conjunction.ideal(inputs)
    for name, outcome in run_parties(roles_for(inputs, receiver), seed=seed).items():
        answer = outcome.unwrap()
        if receiver in (None, name):
            assert answer is not None
            assert np.array_equal(answer, ideal)
        else:
            assert answer is None


@pytest.mark.parametrize(("names", "width"), [("ab", 50), ("abc", 3 * CHUNK + 5), ("abcd", 1000)])
def test_the_receivers_learn_the_ideal_conjunction_over_tls(names: str, width: int, tmp_path: Path) -> None:
    inputs = draw(names, width)

    @on_real_clock
    async def over_tls() -> None:
        for outcome in (await Town.found(names, tmp_path).play_all(roles_for(inputs))).values():
            answer = outcome.unwrap()
            assert answer is not None
            assert np.array_equal(answer, conjunction.ideal(inputs))

    over_tls()


@pytest.mark.parametrize("names", ["ab", "abc", "abcd", "abcde"])
def test_the_whole_truth_table(names: str) -> None:
    rows = np.array(list(product([False, True], repeat=len(names))))
    inputs = {name: rows[:, column] for column, name in enumerate(names)}
    for outcome in run_parties(roles_for(inputs)).values():
        answer = outcome.unwrap()
        assert answer is not None
        assert answer.tolist() == [False] * (2 ** len(names) - 1) + [True]


@pytest.mark.thorough
@pytest.mark.parametrize("names", ["ab", "abc", "abcdef"])
def test_the_same_bytes_are_sent_however_the_network_interleaves(names: str) -> None:
    inputs = draw(names, 20 if len(names) == 2 else 2 * CHUNK + 1)
    calm = said(run_parties(roles_for(inputs), seed=7))
    for weather in range(3):
        rough = FaultyNetwork(names, Weather(delay=20), weather)
        assert said(run_parties(roles_for(inputs), seed=7, network=rough)) == calm
    assert said(run_parties(roles_for(inputs), seed=8)) != calm


@pytest.mark.few(5)
@pytest.mark.parametrize("receiver", [None, "a", "b"])
@pytest.mark.parametrize(
    ("names", "width"),
    [("ab", 0), ("ab", 1), ("ab", 300)]
    + [(names, width) for names in ("abc", "abcd", "abcde") for width in (0, 1, 100, CHUNK)]
    + [("abc", 2 * CHUNK + 17), ("abcdefghi", 10)],
)
def test_the_cost_is_as_declared(names: str, width: int, receiver: str | None) -> None:
    outcomes = run_parties(roles_for(draw(names, width), receiver))
    for outcome in outcomes.values():
        outcome.unwrap()
    cost = spent(outcomes)
    one = receiver is not None
    assert cost.rounds == COST.rounds(len(names), width, one)
    assert cost.messages == COST.messages(len(names), width, one)
    assert cost.bytes == pytest.approx(COST.bytes(len(names), width, one), rel=0.02)


def test_two_parties_chunk_long_vectors_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("covey.wire.chunks.CHUNK_BYTES", 8 * 32)
    inputs = draw("ab", 21)
    outcomes = run_parties(roles_for(inputs))
    for outcome in outcomes.values():
        answer = outcome.unwrap()
        assert answer is not None
        assert np.array_equal(answer, conjunction.ideal(inputs))
    cost = spent(outcomes)
    assert (cost.rounds, cost.messages) == (3, 7)


def opened_to(names: str, inputs: Mapping[str, Bits], receiver: str) -> Words:
    """What the receiver interpolates."""

    async def role(channel: Channel) -> Words | None:
        return await conjunction.open_products(channel, inputs[channel.me], receiver=receiver)

    opened = run_parties(dict.fromkeys(names, role))[receiver].unwrap()
    assert opened is not None
    return opened


@pytest.mark.parametrize("names", ["abc", "abcd", "abcde"])
def test_what_is_opened_is_zero_where_all_bits_are_set_and_uniform_elsewhere(names: str) -> None:
    """Also given how many bits are missing: one, or all."""
    width = 60_000
    inputs = {name: np.ones(width, dtype=bool) for name in names}
    inputs[names[0]][20_000:] = False
    for name in names[1:]:
        inputs[name][40_000:] = False
    opened = opened_to(names, inputs, receiver=names[-1])
    assert not opened[:20_000].any()
    for part in (opened[20_000:40_000], opened[40_000:]):
        for digits in (part & np.uint64(255), part >> np.uint64(53)):
            assert chisquare(np.bincount(digits.astype(np.int64), minlength=256)).pvalue > 1e-6


@pytest.mark.parametrize("names", ["abc", "abcd", "abcde"])
def test_every_message_looks_uniform_whatever_the_bits(names: str) -> None:
    width = 20_000
    outcomes = run_parties(roles_for({name: np.ones(width, dtype=bool) for name in names}))
    for me in names:
        for peer in names:
            if peer != me:
                (deal,), (opening,) = heard(outcomes[me], peer, Deal), heard(outcomes[me], peer, Open)
                for words in (deal.shares.words, opening.parts.words):
                    digits = np.concatenate([words & np.uint64(255), (words >> np.uint64(53)) & np.uint64(255)])
                    assert chisquare(np.bincount(digits.astype(np.int64), minlength=256)).pvalue > 1e-7


def test_what_a_party_that_is_no_receiver_hears_does_not_depend_on_the_conjunction() -> None:
    inputs = draw("abc", 50)
    outcomes = run_parties(roles_for(inputs, receiver="c"))
    assert heard(outcomes["c"], "a", Open)
    assert not heard(outcomes["a"], "b", Open)
    assert not heard(outcomes["a"], "c", Open)


@pytest.mark.parametrize("names", ["ab", "abcd"])
def test_lengths_and_order_do_not_depend_on_the_bits(names: str) -> None:
    ones, zeros, mixed = (
        shapes(run_parties(roles_for(inputs)))
        for inputs in (
            {name: np.ones(40, dtype=bool) for name in names},
            {name: np.zeros(40, dtype=bool) for name in names},
            draw(names, 40),
        )
    )
    assert ones == zeros == mixed


def test_two_calls_on_the_same_bits_share_no_share() -> None:
    async def role(channel: Channel) -> None:
        for _ in range(2):
            await conjunction.conjoin(channel, np.ones(1000, dtype=bool))

    view = run_parties(dict.fromkeys("abc", role))["a"]
    for kind, field in ((Deal, "shares"), (Open, "parts")):
        first, second = (getattr(message, field).words for message in heard(view, "b", kind))
        assert len(np.intersect1d(first, second)) == 0
        assert len(np.unique(F61.subtract(first, second))) == 1000


@pytest.mark.parametrize("names", ["ab", "abc"])
def test_conjunctions_side_by_side_do_not_mix(names: str) -> None:
    inputs = [draw(names, 30, seed) for seed in range(3)]

    async def role(channel: Channel) -> list[Bits | None]:
        return await gather(
            *(conjunction.conjoin(channel.at(turn), bits[channel.me]) for turn, bits in enumerate(inputs))
        )

    outcomes = run_parties(dict.fromkeys(names, role), network=FaultyNetwork(names, Weather(delay=5), 1))
    for outcome in outcomes.values():
        for answer, bits in zip(outcome.unwrap(), inputs, strict=True):
            assert answer is not None
            assert np.array_equal(answer, conjunction.ideal(bits))


@pytest.mark.parametrize("names", ["ab", "abc"])
def test_a_party_with_a_vector_of_another_length_is_refused(names: str) -> None:
    inputs = {name: np.zeros(3, dtype=bool) for name in names} | {names[-1]: np.zeros(4, dtype=bool)}
    errors = [outcome.error for outcome in run_parties(roles_for(inputs)).values()]
    refusals = [error for error in errors if isinstance(error, PeerError)]
    assert refusals
    assert "expected" in str(refusals[0])


def test_a_receiver_who_is_no_party_is_refused() -> None:
    for names in ("ab", "abc"):
        outcome = run_parties(roles_for(draw(names, 3), receiver="z"))["a"]
        assert isinstance(outcome.error, InputError)
        assert "no party of this session" in str(outcome.error)
        assert outcome.tally.messages.total() == 0


def test_numbers_are_not_taken_for_bits() -> None:
    inputs = {name: np.ones(3, dtype=np.uint8) for name in "abc"}
    assert isinstance(run_parties(roles_for(inputs))["a"].error, InputError)  # type: ignore[arg-type]


def test_shares_between_two_are_refused() -> None:
    async def role(channel: Channel) -> None:
        await conjunction.open_products(channel, np.ones(3, dtype=bool))

    assert isinstance(run_parties(dict.fromkeys("ab", role))["a"].error, InputError)


def ends(outcomes: Mapping[str, Outcome[Bits | None]], ideal: Bits) -> Counter[str]:
    found: Counter[str] = Counter()
    for outcome in outcomes.values():
        if outcome.error is None:
            answer = outcome.unwrap()
            assert answer is not None
            assert np.array_equal(answer, ideal)
            found["answered"] += 1
        else:
            assert isinstance(outcome.error, (Aborted, PeerError))
            found["stopped"] += 1
    return found


@pytest.mark.thorough
def test_bad_weather_ends_in_the_answer_or_in_a_typed_abort() -> None:
    inputs = draw("abcd", 50)
    found: Counter[str] = Counter()
    for seed in range(100):
        weather = Weather(delay=30, loss=6, repeat=6, swap=6, cut_at=seed if seed % 5 == 0 else None)
        outcomes = run_parties(roles_for(inputs), seed=seed, network=FaultyNetwork("abcd", weather, seed))
        found += ends(outcomes, conjunction.ideal(inputs))
    assert min(found["answered"], found["stopped"]) > 20


def test_the_ledger_says_what_a_receiver_learns() -> None:
    (_, learned) = leakage(3).sentences("receiver", parties=3, width=5)
    assert "not how many" in learned
    assert len(leakage(3).sentences(parties=3, width=5)) == 1
    assert "the other party's bit" in leakage(2).sentences("receiver", parties=2, width=5)[1]
