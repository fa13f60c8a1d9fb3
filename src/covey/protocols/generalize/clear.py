"""What a trusted party would answer: the same rounds in the clear, on both parties' people at once.

It shares the work on a party's own columns with the protocol, and none of its messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Bits, Longs
from covey.protocols.generalize.cells import Cells
from covey.protocols.generalize.local import Local
from covey.protocols.generalize.rounds import endless, first_moves
from covey.protocols.generalize.terms import Terms
from covey.table import Table, group


@dataclass
class Round:
    """What a round compared: people in the pool, each party's number of groups, and the cells."""

    people: int
    groups: tuple[int, int]
    cells: Cells


@dataclass
class Course:
    """All rounds of a run, and how both parties' columns ended."""

    locals: dict[str, Local]
    rounds: list[Round] = field(default_factory=list)

    @property
    def withheld(self) -> Bits:
        """Who is left out, fewer than k; the same people in both."""
        return next(iter(self.locals.values())).pool

    @property
    def label(self) -> Longs:
        """Each person's class by what is published of it; -1 where withheld."""
        nodes = [row for local in self.locals.values() for row in local.nodes]
        label, _ = group(nodes, len(self.withheld))
        return np.where(self.withheld, -1, label)


def follow(terms: Terms, tables: Mapping[str, Table]) -> Course:
    """The rounds of a run on aligned tables."""
    first, second = (Local.of(tables[name], terms) for name in terms.owners)
    course = Course({terms.observer: first, terms.partner: second})
    for _ in range(terms.cap):
        mine, theirs = first.groups(), second.groups()
        cells = Cells.of(mine, theirs)
        course.rounds.append(Round(len(mine), (int(mine.max()) + 1, int(theirs.max()) + 1), cells))
        if terms.variant == "finished-cells":
            done = cells.done(terms.k)
            first.settle(done)
            second.settle(done)
            if int(first.pool.sum()) < terms.k:
                return course
        elif cells.bad(terms.k) == 0:
            first.pool[:] = second.pool[:] = False
            return course
        move(terms, first, second)
    raise endless(terms)


def move(terms: Terms, first: Local, second: Local) -> None:
    """Who generalizes after a round that did not fit: both, or in the variant `datafly` one."""
    if terms.variant != "datafly":
        first.step()
        second.step()
    elif first_moves(terms, first.most_distinct()[1], second.most_distinct()[1]):
        first.step()
    else:
        second.step()
