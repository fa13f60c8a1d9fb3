"""Rehearsals: the cost of a run is counted in the clear on a table like the parties', of a size that takes seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from covey.protocols.shared.cost import CostEstimate
from covey.study import Study

LEAST_K = 2
"""The smallest k that a rehearsal with fewer records takes in place of the study's."""


@dataclass(frozen=True)
class Rehearsal:
    """The cost of what was rehearsed, and the number of classes that came of it."""

    cost: CostEstimate = field(default_factory=CostEstimate)
    classes: int = 1


def carry_on(study: Study, play: Callable[[Study, int], Rehearsal], records: int, most: int) -> Rehearsal:
    """The rehearsal of a run over so many records; of a large table it plays `most` of them, for a k as much smaller.

    How fast messages and bytes then grow with the table is taken from a second rehearsal, with half as many records;
    rounds grow by as much with each doubling.
    """
    if records <= most:
        return play(study, records)

    def smaller(number: int) -> Rehearsal:
        k = min(study.privacy.k, max(LEAST_K, -(-study.privacy.k * number // records)))
        return play(with_k(study, k), number)

    whole, half, times = smaller(most), smaller(most // 2), records / most
    cost, less = whole.cost, half.cost
    rounds = cost.rounds + int(max(0, cost.rounds - less.rounds) * math.log2(times))
    return Rehearsal(
        CostEstimate(
            rounds=rounds,
            messages=_grown(cost.messages, less.messages, times),
            bytes=_grown(cost.bytes, less.bytes, times),
            floor=rounds,
        ),
        _grown(whole.classes, half.classes, times),
    )


def several(play: Callable[[int], Rehearsal], records: int, most: int) -> Rehearsal:
    """The mean of three rehearsals, or of two where the records are nearly as many as are ever played."""
    found = [play(turn) for turn in range(3 if 2 * records <= most else 2)]

    def mean(numbers: Sequence[int]) -> int:
        return round(sum(numbers) / len(numbers))

    rounds = mean([each.cost.rounds for each in found])
    cost = CostEstimate(
        rounds=rounds,
        messages=mean([each.cost.messages for each in found]),
        bytes=mean([each.cost.bytes for each in found]),
        floor=rounds,
    )
    return Rehearsal(cost, mean([each.classes for each in found]))


def with_k(study: Study, k: int) -> Study:
    """The study with another k."""
    return replace(study, privacy=replace(study.privacy, k=k))


def _grown(large: int, small: int, times: float) -> int:
    """A number as it is in so many times as large a table, from that of a table and of one half as large."""
    power = math.log2(max(large, 1) / max(small, 1))
    return int(large * times ** min(max(power, 0.0), 2.0))
