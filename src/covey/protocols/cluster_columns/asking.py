"""What a holder asks the others on its way, as values: the search is a generator that yields these and gets answers.

So the same search is driven over a channel, by the pivot or by an evaluator, and in the clear by a trusted party.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from covey.arrays import Longs, Words32
from covey.compiled import jit
from covey.protocols.cluster_columns.course import Batch
from covey.protocols.cluster_columns.terms import Shares

Totals = Words32


@dataclass(frozen=True)
class Least:
    """In each row, which candidate costs least, all holders' shares added; of equal ones the first. Answer: places."""

    starts: Longs
    shares: Shares
    phase: str
    done: int = 0
    batch: Batch | None = None
    """Whom the rows are about, in a batch of moves: what every holder knows, and nobody else."""


@dataclass(frozen=True)
class Say:
    """Numbers that the pivot decides on and the other holders hear. Answer: the numbers."""

    due: int
    bound: int
    """Every number is below this."""
    mine: Longs | None


@dataclass(frozen=True)
class Tell:
    """Each part comes from the holder whose place among the holders is given. Answer: all parts, one after another."""

    by: Longs
    lengths: Longs
    bound: int
    fewest: int
    """How many records of each part have the same number, at the least; and there are two numbers or more."""
    mine: tuple[Longs | None, ...]


Question = Least | Say | Tell
Search = Generator[Question, Longs, Longs]


@jit
def least_of(starts: Longs, total: Totals) -> Longs:
    """Each row's first least place."""
    answer = np.zeros(len(starts) - 1, np.int64)
    for row in range(len(starts) - 1):
        best = starts[row]
        for place in range(starts[row] + 1, starts[row + 1]):
            if total[place] < total[best]:
                best = place
        answer[row] = best - starts[row]
    return answer
