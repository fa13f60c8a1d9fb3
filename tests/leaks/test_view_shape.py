"""Two inputs that leak the same look the same from outside; a toy that branches on a secret does not."""

from __future__ import annotations

import pytest
from tests.harness.cases import CASES
from tests.harness.leaks import differing_shapes
from tests.harness.tiers import some
from tests.harness.trial import Case, Trial, of_block

from covey.wire import Channel, Message


@pytest.mark.parametrize("name", some(CASES, 0))
def test_equal_leakage_gives_equal_sequences_and_sizes(name: str) -> None:
    assert differing_shapes(CASES[name]) == []


class Note(Message, tag="toy.note"):
    """Padding that should not depend on anything."""

    padding: bytes


def branching(secrets: dict[str, int]) -> Trial:
    """A toy that says more when its secret is odd."""

    async def role(channel: Channel, mine: int) -> object:
        await channel.exchange(Note(bytes(16 + mine % 2)))
        return None

    return of_block("toy", secrets, role, dict.fromkeys(secrets))


def test_a_toy_that_branches_on_a_secret_is_caught() -> None:
    toy = Case("toy", lambda seed: branching({"a": 1, "b": 2}), lambda: branching({"a": 1, "b": 2}),
               lambda: (branching({"a": 2, "b": 2}), branching({"a": 3, "b": 2})))  # fmt: skip
    assert differing_shapes(toy)
    same = Case("toy", toy.draw, toy.smallest, lambda: (branching({"a": 2, "b": 2}), branching({"a": 4, "b": 8})))
    assert differing_shapes(same) == []
