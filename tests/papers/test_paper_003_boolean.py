"""Section 3.2 of Tassa and Gudes: OR, the threshold function and the union of sets, from the protocol for AND.

No study asks for them: what parties count with are `covey.secure`'s blocks, which stand collusion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.parties import Role, run_parties
from tests.harness.spent import heard

from covey.arrays import Bits
from covey.errors import InputError
from covey.protocols.as_printed.cluster_rows import rings
from covey.protocols.as_printed.cluster_rows.rings import HASH, Hashed
from covey.wire import Channel


async def disjoin(channel: Channel, mine: Bits) -> Bits:
    """OR: where one bit is set or more."""
    return await rings.reach(channel, mine, 1)


async def union(channel: Channel, mine: set[str], domain: Sequence[str]) -> set[str]:
    """The elements of a public domain that one player has or more."""
    found = await disjoin(channel, np.array([each in mine for each in domain]))
    return {each for each, there in zip(domain, found.tolist(), strict=True) if there}


def roles(inputs: Mapping[str, Bits], least: int) -> dict[str, Role[Bits]]:
    def role(mine: Bits) -> Role[Bits]:
        return lambda channel: rings.reach(channel, mine, least)

    return {name: role(mine) for name, mine in inputs.items()}


def drawn(names: str, width: int, seed: int) -> dict[str, Bits]:
    random = np.random.default_rng(seed)
    return {name: random.random(width) < 0.5 for name in names}


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(["abc", "abcde"]), st.integers(0, 12), st.integers(0, 1000), st.data())
def test_the_threshold_function_counts_set_bits(names: str, width: int, seed: int, data: st.DataObject) -> None:
    least, inputs = data.draw(st.integers(1, len(names))), drawn(names, width, seed)
    truth = np.stack(list(inputs.values())).sum(axis=0) >= least
    for outcome in run_parties(roles(inputs, least), seed=seed).values():
        assert np.array_equal(outcome.unwrap(), truth)


def test_or_and_and_are_the_thresholds_one_and_all() -> None:
    inputs = drawn("abcd", 40, 3)
    whole = np.stack(list(inputs.values()))
    for least, truth in ((1, whole.any(axis=0)), (4, whole.all(axis=0))):
        for outcome in run_parties(roles(inputs, least)).values():
            assert np.array_equal(outcome.unwrap(), truth)


def test_the_union_of_private_sets() -> None:
    sets = {"a": {"ulcer"}, "b": {"flu", "ulcer"}, "c": set[str]()}
    domain = ("asthma", "flu", "gout", "ulcer")

    def role(mine: set[str]) -> Role[set[str]]:
        return lambda channel: union(channel, mine, domain)

    outcomes = run_parties({name: role(own) for name, own in sets.items()})
    assert [outcome.unwrap() for outcome in outcomes.values()] == [{"flu", "ulcer"}] * 3


def test_where_the_fitting_hash_stands_does_not_say_how_many_bits_are_set() -> None:
    """Were the last player's hashes in order, their place would be the number of set bits, less the threshold."""
    width = 300
    inputs = {name: np.ones(width, dtype=bool) for name in "abcd"}
    first = run_parties(roles(inputs, 2))["a"]
    by_player = {name: b"".join(each.tags for each in heard(first, name, Hashed)) for name in "cd"}
    single = np.frombuffer(by_player["c"], dtype=f"V{HASH}")
    several = np.frombuffer(by_player["d"], dtype=f"V{HASH}").reshape(width, 3)
    places = np.argmax(several == single[:, np.newaxis], axis=1)
    assert (np.bincount(places, minlength=3) > width / 5).all()


@pytest.mark.parametrize("least", [0, 4])
def test_a_threshold_beyond_the_players_is_refused(least: int) -> None:
    outcomes = run_parties(roles(drawn("abc", 3, 1), least))
    for outcome in outcomes.values():
        with pytest.raises(InputError, match="between 1 and the number of players"):
            outcome.unwrap()
