"""Two parties match their texts: the ideal's answer, at the declared cost, and points that say nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.parties import Role, run_parties
from tests.harness.spent import heard, said, shapes, spent

from covey.arrays import Bits
from covey.errors import InputError, PeerError
from covey.secure import match
from covey.secure.match import COST, LEAKAGE, Ask, Reply, Text
from covey.wire import Channel

texts = st.one_of(st.none(), st.sampled_from([b"", b"1", b"node", b"?"]))


def roles_for(inputs: Mapping[str, Sequence[Text]], receiver: str | None = None) -> dict[str, Role[Bits | None]]:
    """Both parties bring their texts."""

    def role(mine: Sequence[Text]) -> Role[Bits | None]:
        return lambda channel: match.matches(channel, mine, receiver=receiver)

    return {name: role(mine) for name, mine in inputs.items()}


@settings(deadline=None)
@given(st.lists(st.tuples(texts, texts), max_size=12), st.sampled_from([None, "a", "b"]))
def test_the_receivers_learn_where_texts_match(pairs: list[tuple[Text, Text]], receiver: str | None) -> None:
    inputs = {"a": [one for one, _ in pairs], "b": [other for _, other in pairs]}
    for name, outcome in run_parties(roles_for(inputs, receiver)).items():
        answer = outcome.unwrap()
        assert (answer is None) == (receiver not in (None, name))
        if answer is not None:
            assert np.array_equal(answer, match.ideal(inputs))


@pytest.mark.parametrize("receiver", [None, "a", "b"])
@pytest.mark.parametrize("width", [0, 1, 7, 8, 9, 200])
def test_the_cost_is_as_declared(width: int, receiver: str | None) -> None:
    outcomes = run_parties(
        roles_for({"a": [b"x"] * width, "b": [b"x", None] * (width // 2) + [b"y"] * (width % 2)}, receiver)
    )
    cost = spent(outcomes)
    one = receiver is not None
    assert cost.rounds == COST.rounds(width, one)
    assert cost.messages == COST.messages(width, one)
    assert cost.bytes == pytest.approx(COST.bytes(width, one), rel=0.02)


def test_equal_texts_at_two_places_or_in_two_calls_have_unrelated_points_and_tags() -> None:
    async def role(channel: Channel) -> None:
        for _ in range(2):
            await match.matches(channel, [b"x", b"x", None], receiver="a")

    outcomes = run_parties(dict.fromkeys("ab", role))
    asked = [point for ask in heard(outcomes["b"], "a", Ask) for point in ask.points]
    replies = heard(outcomes["a"], "b", Reply)
    tags = [reply.tags[start : start + match.TAG] for reply in replies for start in range(0, 3 * match.TAG, match.TAG)]
    assert len(set(asked)) == len(set(tags)) == 6


def test_a_party_that_holds_nothing_sends_as_much_as_one_that_holds_all() -> None:
    full, empty = (shapes(run_parties(roles_for({"a": held, "b": held}))) for held in ([b"x"] * 5, [None] * 5))
    assert full == empty


def test_runs_are_deterministic() -> None:
    inputs: dict[str, list[Text]] = {"a": [b"x", None, b"y"], "b": [b"x", b"x", None]}
    first, again, other = (said(run_parties(roles_for(inputs), seed=seed)) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(("mine", "theirs"), [(3, 4), (4, 3)])
def test_lists_of_unequal_length_are_refused(mine: int, theirs: int) -> None:
    outcomes = run_parties(roles_for({"a": [b"x"] * mine, "b": [b"x"] * theirs}))
    error = outcomes["b"].error
    assert isinstance(error, PeerError)
    assert f"{mine} points, expected {theirs}" in str(error)


def test_three_parties_are_refused() -> None:
    outcome = run_parties(roles_for({"a": [b"x"], "b": [b"x"], "c": [b"x"]}))["a"]
    assert isinstance(outcome.error, InputError)


def test_the_ledger_says_what_the_receiver_learns() -> None:
    assert (
        LEAKAGE.sentences("receiver", width=4)[1] == "at which of 4 places the other party holds what it holds itself"
    )
