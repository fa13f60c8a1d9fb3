"""Runs a role on both backends, and holds results, ledgers and costs of one against the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import numpy as np
from tests.harness.parties import Outcome, run_parties
from tests.harness.spent import spent

from covey.arrays import Words
from covey.crypto.secret import Secret
from covey.mpc import Box, Checked, Clear, Sealed
from covey.mpc.quicksort import PIVOTS
from covey.wire import Channel

T = TypeVar("T")
Role = Callable[[Box, int], Awaitable[T]]
"""What a party computes, by its place; in the open the place is -1, and it gives every holder's values."""

Backends = Sequence[type[Sealed]]

PARTIES = ("north", "south", "helper")
EVERYBODY = -1


def seeds_of(number: int) -> list[Secret]:
    """Returns the three parties' seeds."""
    return [Secret((3 * number + place).to_bytes(32, "big")) for place in range(3)]


def holds(place: int, holder: int, values: Words) -> Words | None:
    """Returns the values where the party at that place is the holder, or is everybody."""
    return values if place in (holder, EVERYBODY) else None


def sealed(
    channel: Channel, number: int = 0, pivots: int = PIVOTS, attempt: int = 1, backend: type[Sealed] = Sealed
) -> Sealed:
    """Returns a party's box under known seeds."""
    seeds, place = seeds_of(number), PARTIES.index(channel.me)
    return backend(channel.at("box"), PARTIES, (seeds[place], seeds[(place + 1) % 3]), attempt=attempt, pivots=pivots)


def among_three(
    role: Role[T], number: int = 0, pivots: int = PIVOTS, attempt: int = 1, backend: type[Sealed] = Sealed
) -> tuple[dict[str, Outcome[T]], list[Sealed]]:
    """Returns each party's outcome, and the boxes."""
    boxes: dict[str, Sealed] = {}

    async def play(channel: Channel) -> T:
        boxes[channel.me] = sealed(channel, number, pivots, attempt, backend)
        return await role(boxes[channel.me], boxes[channel.me].number)

    outcomes = run_parties(dict.fromkeys(PARTIES, play), seed=number)
    return outcomes, [boxes[party] for party in PARTIES if party in boxes]


def run(role: Role[T], number: int = 0, pivots: int = PIVOTS, backends: Backends = (Sealed, Checked)) -> T:
    """Returns what a role computes, the same on all backends, at the declared cost and with the same openings."""
    for backend in backends:
        checked = backend is Checked
        clear = Clear(seeds_of(number), pivots=pivots, checked=checked)
        answer = asyncio.run(_awaited(role(clear, EVERYBODY)))
        outcomes, boxes = among_three(role, number, pivots, backend=backend)
        for outcome, box in zip(outcomes.values(), boxes, strict=True):
            np.testing.assert_equal(outcome.unwrap(), answer)
            assert box.ledger == clear.ledger
            assert box.rounds == clear.rounds
            assert box.soundness_bits == clear.soundness_bits
        cost = spent(outcomes)
        assert (cost.messages, cost.bytes) == (clear.messages, clear.bytes)
        assert cost.rounds <= clear.rounds
    return answer


async def _awaited(work: Awaitable[T]) -> T:
    return await work
