"""Comparisons of shared numbers: right at the ends of what can be compared, at the declared cost, opened to whom."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness.harness import answers, run, spent
from tests.harness.parties import run_parties
from tests.harness.several_cases import draw_largest, verdicts
from tests.harness.trial import Trial

from covey.arrays import Words
from covey.errors import InputError
from covey.protocols.as_printed.federate import shared_numbers
from covey.protocols.as_printed.federate.checking import Notes
from covey.protocols.as_printed.federate.shared_numbers import MOST
from covey.wire import Channel

ENDS = np.array([[MOST], [-MOST], [0], [-1], [1], [1 << 30], [-(1 << 30)]])


@pytest.mark.parametrize(
    "trial",
    [verdicts(ENDS, ("a", "b", "c")), verdicts(ENDS, ("a", "b", "c", "d")), draw_largest(0), draw_largest(1)],
    ids=["signs of three", "signs of four", "largest", "largest again"],
)
def test_real_equals_ideal_at_the_declared_cost(trial: Trial) -> None:
    ends = run(trial)
    assert answers(trial, ends) == trial.ideal
    assert trial.cost is not None
    real = spent(ends)
    assert (real.rounds, real.messages) == (trial.cost.rounds, trial.cost.messages)
    assert real.bytes == pytest.approx(trial.cost.bytes, rel=0.02)


def test_numbers_are_opened_to_those_for_whom_they_are_and_bits_are_bits() -> None:
    async def role(channel: Channel) -> tuple[Words, Words]:
        mine = np.array([ord(channel.me)], dtype=np.uint64)
        dealt = await shared_numbers.deal(channel.at("deal"), mine, dict.fromkeys(channel.parties, 1))
        swapped = {"a": dealt["b"], "b": np.zeros(0, dtype=np.uint64), "c": np.concatenate([dealt["a"], dealt["c"]])}
        found = await shared_numbers.opened_to_each(channel.at("open"), swapped)
        bits = await shared_numbers.random_bits(channel.at("bits"), 400, Notes())
        return found, await shared_numbers.opened(channel.at("all"), bits)

    ends = {name: end.unwrap() for name, end in run_parties(dict.fromkeys("abc", role)).items()}
    assert {name: found.tolist() for name, (found, _) in ends.items()} == {"a": [98], "b": [], "c": [97, 99]}
    for _, bits in ends.values():
        assert set(bits.tolist()) == {0, 1}
        assert 140 < bits.sum() < 260


def test_two_parties_cannot_share() -> None:
    async def role(channel: Channel) -> Words:
        return await shared_numbers.random_bits(channel, 1, Notes())

    with pytest.raises(InputError, match="between two parties"):
        next(iter(run_parties(dict.fromkeys("ab", role)).values())).unwrap()
