"""Cardinality keeps its promises: the number and nothing else, whatever the network does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.clock import on_real_clock
from tests.harness.network import FaultyNetwork, Weather
from tests.harness.parties import Outcome, Role, run_parties
from tests.harness.spent import heard, said, shapes, spent
from tests.harness.tiers import examples
from tests.harness.town import Town

from covey.crypto.commutative import BlindingKey
from covey.crypto.group import hash_to_group
from covey.errors import Aborted, InputError, PeerError
from covey.protocols.as_printed.federate import cardinality
from covey.protocols.as_printed.federate.cardinality import COST, LEAKAGE, count_common, ideal
from covey.secure import lists
from covey.wire import Channel, chunks

ids = st.lists(st.text(max_size=5), max_size=12, unique=True)


def roles(first: Sequence[str], second: Sequence[str]) -> dict[str, Role[int]]:
    """Two parties with these sets."""
    return {
        "north": lambda channel: count_common(channel.at("count"), first),
        "south": lambda channel: count_common(channel.at("count"), second),
    }


def numbered(first: int, last: int) -> list[str]:
    """Ids from a range."""
    return [str(number) for number in range(first, last)]


def play(first: Sequence[str], second: Sequence[str], seed: int = 0) -> dict[str, Outcome[int]]:
    """One run."""
    return run_parties(roles(first, second), seed=seed)


@settings(max_examples=examples(40), deadline=None)
@given(ids, ids, st.integers(0, 1000))
def test_both_learn_the_ideal_number(first: list[str], second: list[str], seed: int) -> None:
    number = ideal({"north": first, "south": second})
    assert [outcome.unwrap() for outcome in play(first, second, seed).values()] == [number] * 2


@on_real_clock
async def test_both_learn_the_ideal_number_over_tls(tmp_path: Path) -> None:
    town = Town.found(["north", "south"], tmp_path)
    outcomes = await town.play_all(roles(numbered(0, 300), numbered(100, 500)))
    assert [outcome.unwrap() for outcome in outcomes.values()] == [200, 200]


def test_the_same_bytes_are_sent_however_the_network_interleaves() -> None:
    sets = numbered(0, 30), numbered(20, 60)
    calm = said(play(*sets, seed=7))
    for weather in range(3):
        network = FaultyNetwork(["north", "south"], Weather(delay=20), weather)
        assert said(run_parties(roles(*sets), seed=7, network=network)) == calm
    assert said(play(*sets, seed=8)) != calm


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 40), (40, 1), (300, 200)])
def test_the_cost_is_as_declared(first: int, second: int) -> None:
    cost = spent(play(numbered(0, first), numbered(0, second)))
    assert cost.rounds == COST.rounds(first, second)
    assert cost.messages == COST.messages(first, second)
    assert cost.bytes == pytest.approx(COST.bytes(first, second), rel=0.02)


def test_a_list_of_several_chunks_costs_what_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 7 * 32)
    outcomes = play(numbered(0, 30), numbered(10, 31))
    assert {outcome.unwrap() for outcome in outcomes.values()} == {20}
    assert spent(outcomes).messages == COST.messages(30, 21) == 2 * 5 + 3 + 1


def test_sets_with_equal_sizes_and_number_give_messages_of_equal_shape() -> None:
    assert shapes(play(numbered(0, 9), numbered(4, 12))) == shapes(play(numbered(90, 99), numbered(87, 95)))


def curious(found: list[int]) -> Role[int]:
    """A counter that asks in the order of its ids, and notes at which places of the echo a common element stands."""

    async def role(channel: Channel) -> int:
        channel = channel.at("count")
        key = BlindingKey(channel.rng.stream("key"))
        mine = hash_to_group([text.encode() for text in numbered(0, 20)], "cardinality", channel.session, channel.step)
        [theirs] = await lists.exchange(channel, "south", cardinality.BlindedIds, [key.blind(mine)])
        [echoed] = await lists.receive(channel, "south", cardinality.TwiceBlindedIds, due=20)
        common = set(key.blind(theirs))
        found.extend(place for place, element in enumerate(echoed) if element in common)
        await channel.send("south", cardinality.CommonCount(len(found)))
        return len(found)

    return role


@pytest.mark.parametrize("form", ["naive", "ours"])
def test_a_curious_counter_reads_its_common_ids_off_an_echo_in_order_but_not_off_ours(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order leak: an echo in the order received shows the intersection itself."""
    if form == "naive":
        monkeypatch.setattr(cardinality, "shuffled", lambda points, stream: points)
    hits = 0
    for seed in range(40):
        found: list[int] = []
        outcomes = run_parties({**roles([], numbered(10, 40)), "north": curious(found)}, seed=seed)
        assert {outcome.unwrap() for outcome in outcomes.values()} == {10}
        hits += len(set(found) & set(range(10, 20)))
    assert hits == 400 if form == "naive" else 150 < hits < 250  # by chance 200, with a standard deviation of 10


def test_two_calls_share_no_element() -> None:
    async def role(channel: Channel) -> list[int]:
        return [await count_common(channel.at(turn), numbered(0, 20)) for turn in range(2)]

    outcomes = run_parties({"north": role, "south": role})
    kinds = (cardinality.BlindedIds, cardinality.TwiceBlindedIds)
    elements = [
        element for kind in kinds for part in heard(outcomes["north"], "south", kind) for element in part.points
    ]
    assert len(elements) == len(set(elements)) == 80


def test_a_repeated_id_is_refused_at_home_without_being_quoted() -> None:
    error = play(["secret-id", "x", "secret-id"], ["x"])["north"].error
    assert isinstance(error, InputError)
    assert "secret-id" not in str(error)


def test_more_than_two_parties_are_refused() -> None:
    outcomes = run_parties(dict.fromkeys("abc", lambda channel: count_common(channel, ["x"])))
    assert all(isinstance(outcome.error, InputError) for outcome in outcomes.values())


def test_a_counter_that_claims_too_many_is_refused() -> None:
    async def liar(channel: Channel) -> int:
        channel = channel.at("count")
        key = BlindingKey(channel.rng.stream("key"))
        await lists.exchange(channel, "south", cardinality.BlindedIds, [key.blind(hash_to_group([b"x"], "y"))])
        await lists.receive(channel, "south", cardinality.TwiceBlindedIds, due=1)
        await channel.send("south", cardinality.CommonCount(2))
        return 0

    outcomes = run_parties({**roles(["x"], numbered(0, 5)), "north": liar})
    error = outcomes["south"].error
    assert isinstance(error, PeerError)
    assert error.party == "north"


def test_bad_weather_ends_in_the_number_or_in_a_typed_abort() -> None:
    sets = numbered(0, 6), numbered(3, 9)
    for seed in range(60):
        weather = Weather(delay=30, loss=30, repeat=30, swap=30, cut_at=seed if seed % 5 == 0 else None)
        network = FaultyNetwork(["north", "south"], weather, seed)
        for outcome in run_parties(roles(*sets), seed=seed, network=network).values():
            assert (outcome.error is None and outcome.answer == 3) or isinstance(outcome.error, (Aborted, PeerError))


def test_the_ledger_states_the_number_and_the_sizes() -> None:
    assert LEAKAGE.sentences(common=3, their_size=9)[0] == "how many ids both sets have in common (3)"
