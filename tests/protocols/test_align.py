"""Alignment keeps its promises: each learns which of its own ids are common to all, and nothing about some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.clock import on_real_clock
from tests.harness.network import FaultyNetwork, Weather
from tests.harness.parties import Outcome, Role, run_parties
from tests.harness.spent import heard, said, shapes, spent
from tests.harness.tiers import examples
from tests.harness.town import Town

from covey.crypto import keyvalue
from covey.crypto.commutative import BlindingKey
from covey.crypto.group import hash_to_group
from covey.errors import Aborted, InputError, PeerError
from covey.secure import align as block
from covey.secure import lists
from covey.secure.align import COST, LEAKAGE, ideal
from covey.wire import Channel, Vector

Ids = Mapping[str, Sequence[str]]


def roles(inputs: Ids) -> dict[str, Role[list[int]]]:
    """Every party brings its ids."""

    def role(mine: Sequence[str]) -> Role[list[int]]:
        async def aligned(channel: Channel) -> list[int]:
            found = await block.align(channel.at("align"), mine)
            assert len(found) == len(found.rows)
            return [int(row) for row in found.rows]

        return aligned

    return {name: role(mine) for name, mine in inputs.items()}


def play(inputs: Ids, seed: int = 0) -> dict[str, Outcome[list[int]]]:
    """One run."""
    return run_parties(roles(inputs), seed=seed)


@st.composite
def parties(draw: st.DrawFn) -> dict[str, list[str]]:
    """Two to four parties whose ids overlap."""
    names = draw(st.lists(st.text("abcdef-", min_size=1, max_size=5), min_size=2, max_size=4, unique=True))
    pool = st.lists(st.sampled_from(["", "1", "2", "3", "4", "5", "é", "z" * 40]), max_size=8, unique=True)
    return {name: draw(pool) for name in names}


@settings(max_examples=examples(40), deadline=None)
@given(parties(), st.integers(0, 1000))
def test_every_party_learns_its_part_of_the_ideal(inputs: dict[str, list[str]], seed: int) -> None:
    assert {name: outcome.unwrap() for name, outcome in play(inputs, seed).items()} == ideal(inputs)


@on_real_clock
async def test_every_party_learns_its_part_of_the_ideal_over_tls(tmp_path: Path) -> None:
    inputs = {
        name: [str(number) for number in range(low, low + 90)] for name, low in zip("abc", (0, 20, 10), strict=True)
    }
    outcomes = await Town.found("abc", tmp_path).play_all(roles(inputs))
    assert {name: outcome.unwrap() for name, outcome in outcomes.items()} == ideal(inputs)


def test_the_rows_of_all_parties_are_in_the_same_order() -> None:
    inputs = {"a": ["x", "b", "q"], "b": ["q", "x", "n"], "c": ["m", "q", "o", "x"]}
    answers = {name: [inputs[name][row] for row in outcome.unwrap()] for name, outcome in play(inputs).items()}
    assert list(answers.values()) == [["q", "x"]] * 3


def test_the_same_bytes_are_sent_however_the_network_interleaves() -> None:
    inputs = {"a": ["1", "2", "3"], "b": ["2", "3"], "c": ["3", "4", "2", "5"]}
    calm = said(play(inputs, seed=7))
    for weather in range(3):
        network = FaultyNetwork("abc", Weather(delay=20), weather)
        assert said(run_parties(roles(inputs), seed=7, network=network)) == calm
    assert said(play(inputs, seed=8)) != calm


@pytest.mark.parametrize("sizes", [(0, 0), (1, 5), (50, 20, 30), (3, 3, 3, 300)])
def test_the_cost_is_as_declared(sizes: tuple[int, ...]) -> None:
    inputs = {name: [str(number) for number in range(size)] for name, size in zip("abcd", sizes, strict=False)}
    cost = spent(play(inputs))
    assert cost.rounds == COST.rounds(sizes, min(sizes))
    assert cost.messages == COST.messages(sizes, min(sizes))
    assert cost.bytes == pytest.approx(COST.bytes(sizes, min(sizes)), rel=0.02)


def test_ids_that_only_some_hold_leave_no_trace_in_the_messages() -> None:
    """Among three, what two of them share must not show: neither in any size, nor in what the leader computes."""
    apart = {"a": ["1", "2", "3"], "b": ["1", "7", "8"], "c": ["1", "9", "0"]}
    pairs = {"a": ["1", "2", "3"], "b": ["1", "2", "8"], "c": ["1", "3", "8"]}
    assert shapes(play(apart)) == shapes(play(pairs))


def test_the_leader_cannot_tell_who_lacks_an_id() -> None:
    """What the leader gets of each member for its own id is no share that it could recognise, held or not."""
    seen: dict[str, list[np.uint64]] = {"held by b": [], "held by none": []}
    for seed in range(40):
        for case, theirs in (("held by b", ["1"]), ("held by none", ["2"])):
            inputs = {"a": ["1"], "b": theirs, "c": ["9"]}
            [cells] = heard(play(inputs, seed)["a"], "b", block.StoreCells)
            seen[case].extend(cells.values.words)
    for words in seen.values():
        counts = np.bincount(np.array(words, dtype=np.uint64).view(np.uint8), minlength=256)
        expected = 8 * len(words) / 256
        assert 150 < float(np.sum((counts - expected) ** 2 / expected)) < 380  # 255 degrees of freedom


def test_a_repeated_id_is_refused_at_home_without_being_quoted() -> None:
    error = play({"a": ["patient-77", "patient-77"], "b": ["1"]})["a"].error
    assert isinstance(error, InputError)
    assert "1 ids occur more than once" in str(error)
    assert "patient-77" not in str(error)


def lying_leader(found: int, words: Sequence[int]) -> Role[list[int]]:
    """A leader that asks properly, and then reports tags of its own making."""

    async def lie(channel: Channel) -> list[int]:
        channel = channel.at("align")
        rng = channel.rng.child("lie")
        asked = BlindingKey(rng.stream("key")).blind(hash_to_group([b"1", b"2"], "lie"))
        await lists.send(channel, "b", block.LeaderIds, [asked])
        await lists.receive(channel, "b", block.Answered, due=2)
        store = await channel.receive("b", block.Store)
        await channel.receive_all("b", block.StoreCells, 2 * keyvalue.cells(store.keys))
        await channel.send("b", block.Found(found))
        await channel.send("b", block.Tags(Vector(np.array(words, dtype=np.uint64))))
        return []

    return lie


@pytest.mark.parametrize(
    ("found", "words", "reason"),
    [(3, [], "3 common ids, of at most 2"), (1, [1, 2], "an id that we do not hold"), (1, [1], "expected 2")],
)
def test_a_leader_that_reports_what_is_not_there_is_refused(found: int, words: list[int], reason: str) -> None:
    outcomes = run_parties({**roles({"a": [], "b": ["1", "2"]}), "a": lying_leader(found, words)})
    error = outcomes["b"].error
    assert isinstance(error, PeerError)
    assert (error.party, reason in error.reason) == ("a", True)


def test_bad_weather_ends_in_the_ideal_or_in_a_typed_abort() -> None:
    inputs = {"a": ["1", "2"], "b": ["2", "3"], "c": ["2"]}
    for seed in range(60):
        weather = Weather(delay=30, loss=20, repeat=20, swap=20, cut_at=seed if seed % 5 == 0 else None)
        outcomes = run_parties(roles(inputs), seed=seed, network=FaultyNetwork("abc", weather, seed))
        for name, outcome in outcomes.items():
            if outcome.error is None:
                assert outcome.unwrap() == ideal(inputs)[name]
            else:
                assert isinstance(outcome.error, (Aborted, PeerError))


def test_the_ledger_states_what_leader_and_members_learn() -> None:
    numbers = {"parties": 3, "common": 5, "member_sizes": "7, 9", "leader_size": 8}
    assert LEAKAGE.sentences("leader", **numbers)[1] == "how many ids each other party holds (7, 9)"
    assert LEAKAGE.sentences("member", **numbers)[1] == "how many ids the leader holds (8)"
