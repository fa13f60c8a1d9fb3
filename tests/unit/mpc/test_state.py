"""A run that was cut off goes on from the parties' shares, in an attempt with masks of its own."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from tests.unit.mpc.boxes import PARTIES, among_three, holds, run, seeds_of

from covey.arrays import Words
from covey.errors import InputError, PeerError
from covey.mpc import Box, Clear, Disclosure, freeze, thaw

TEST = Disclosure("test")
X = np.random.default_rng(2).integers(0, 1 << 20, 70).astype(np.uint64)


async def first_part(box: Box, place: int) -> bytes:
    """Shuffles a column, and returns the party's state."""
    value, _ = await box.shuffle(await box.share(holds(place, 0, X), 20, 70, 0))
    return freeze(value, value.bits([0]), box.zeros(0, 3))


def test_what_was_frozen_is_thawed_in_another_attempt() -> None:
    outcomes, _ = among_three(first_part)
    states = [outcomes[party].unwrap() for party in PARTIES]

    async def second_part(box: Box, place: int) -> list[Words]:
        value, top, nothing = thaw(box, states[place])
        await box.compare(value, top, nothing)
        return [await box.open(column, says=TEST) for column in (value, await (value & top), nothing)]

    resumed, boxes = among_three(second_part, attempt=2)
    for outcome in resumed.values():
        value, both, nothing = outcome.unwrap()
        np.testing.assert_array_equal(np.sort(value), np.sort(X))
        np.testing.assert_array_equal(both, np.where(value >> np.uint64(19), value, 0))
        assert nothing.tolist() == [0, 0, 0]
    assert boxes[0].rounds == 4


def test_a_comparison_costs_what_is_declared() -> None:
    async def role(box: Box, place: int) -> Words:
        value, again = thaw(box, freeze(box.public(X, 20), box.public(X, 20)))
        await box.compare(value, again)
        return await box.open(value ^ again, says=TEST)

    assert not np.any(run(role))


def test_parties_with_states_of_different_windows_stop_before_an_opening() -> None:
    states = [[among_three(first_part, number)[0][party].unwrap() for party in PARTIES] for number in (1, 2)]
    opened = []

    async def second_part(box: Box, place: int) -> None:
        columns = thaw(box, states[place == 1][place])
        await box.compare(*columns)
        opened.append(await box.open(columns[0], says=TEST))

    outcomes, _ = among_three(second_part, attempt=2)
    errors = [outcome.error for outcome in outcomes.values()]
    assert any(isinstance(error, PeerError) and "state of the run" in str(error) for error in errors)
    assert not opened


@pytest.mark.parametrize("change", [lambda raw: raw[:-1], lambda raw: raw + b"x", lambda raw: b"", lambda raw: b"\x90"])
def test_a_state_that_was_changed_is_refused(change: Callable[[bytes], bytes]) -> None:
    box = Clear(seeds_of(0))
    with pytest.raises(InputError, match="state of the run"):
        thaw(box, change(freeze(box.public(X, 20))))


@pytest.mark.parametrize("part", [[1, 20, 70, b"short"], [1, 20, -70, b""], [1, -1, 1, b""], [1, 20, 70]])
def test_a_state_whose_sizes_do_not_fit_is_refused(part: list[object]) -> None:
    with pytest.raises(InputError, match="state of the run"):
        thaw(Clear(seeds_of(0)), msgspec.msgpack.encode([part]))


def test_a_state_of_another_backend_is_refused() -> None:
    outcomes, _ = among_three(first_part)
    with pytest.raises(InputError, match="another kind"):
        thaw(Clear(seeds_of(0)), outcomes["north"].unwrap())
