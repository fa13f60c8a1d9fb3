"""Questions of a search to the other holders: the search is a generator that yields them and gets answers.

So the same search runs over a channel, and in the clear for a trusted party.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from covey.arrays import Longs, Words32
from covey.compiled import jit
from covey.protocols.as_printed.cluster_columns.clustering import CandidateClusters
from covey.protocols.as_printed.cluster_columns.parameters import Shares

Totals = Words32


@dataclass(frozen=True)
class ArgMin:
    """Asks for the cheapest candidate of each row, all shares added up. Answer: its place.

    On equal terms the first is taken: a record stays where it is."""

    starts: Longs
    shares: Shares
    phase: str
    done: int = 0
    batch: CandidateClusters | None = None
    """The records that the rows are about, in a batch of moves: known to every holder, and to nobody else."""


@dataclass(frozen=True)
class Decision:
    """Asks the pivot for numbers that it decides on. Answer: the numbers."""

    due: int
    bound: int
    """Every number is below this."""
    mine: Longs | None


Question = ArgMin | Decision
Search = Generator[Question, Longs, Longs]


@jit
def row_argmin(starts: Longs, total: Totals) -> Longs:
    """The place of the least number in each row, the first of ties."""
    answer = np.zeros(len(starts) - 1, np.int64)
    for row in range(len(starts) - 1):
        best = starts[row]
        for place in range(starts[row] + 1, starts[row + 1]):
            if total[place] < total[best]:
                best = place
        answer[row] = best - starts[row]
    return answer
