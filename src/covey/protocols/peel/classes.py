"""Tuples that may become classes, the classes that were published, and counts of what was opened on the way."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.compiled import jit
from covey.protocols.peel.diversity import DiversityOpenings
from covey.protocols.peel.tuples import Lattice


@dataclass(frozen=True)
class FrequentTuples:
    """Tuples with k or more records: a lattice node of the list and a box each, in the order of the list."""

    node: Longs
    boxes: Ints  # candidates x columns
    diverse: Bits
    """Which are known to be as diverse as is asked for."""
    borrows: Bits
    """Which have spare records of earlier classes among theirs."""

    @classmethod
    def of(cls, columns: int, found: list[FrequentTuples]) -> FrequentTuples:
        """All of these, in an order that everybody finds."""
        node = np.concatenate([np.zeros(0, np.int64), *(each.node for each in found)])
        boxes = np.concatenate([np.zeros((0, columns), np.int32), *(each.boxes for each in found)])
        known = np.concatenate([np.zeros(0, bool), *(each.diverse for each in found)])
        borrows = np.concatenate([np.zeros(0, bool), *(each.borrows for each in found)])
        return cls(node, boxes, known, borrows).take(np.lexsort((*boxes.T[::-1], node)))

    @classmethod
    def at(cls, node: int, boxes: Ints, *, diverse: bool, borrows: bool = False) -> FrequentTuples:
        """Tuples of one node."""
        number = len(boxes)
        return cls(np.full(number, node, np.int64), boxes, np.full(number, diverse), np.full(number, borrows))

    def __len__(self) -> int:
        return len(self.node)

    def take(self, which: Bits | Longs) -> FrequentTuples:
        """Some of them."""
        return FrequentTuples(self.node[which], self.boxes[which], self.diverse[which], self.borrows[which])

    def blocked(self, lattice: Lattice) -> Bits:
        """The ones that share a possible record with an earlier one."""
        if not len(self) or self.node[0] == self.node[-1]:
            return np.zeros(len(self), dtype=bool)
        return _meet_earlier(*self._ends(lattice))

    def touched(self, lattice: Lattice, others: FrequentTuples) -> Bits:
        """The ones that share a possible record with one of the others."""
        return _meet_others(*self._ends(lattice), *others._ends(lattice))

    def _ends(self, lattice: Lattice) -> tuple[Ints, Ints]:
        low, high = np.empty_like(self.boxes), np.empty_like(self.boxes)
        for column, tree in enumerate(lattice.trees):
            low[:, column] = tree.first[self.boxes[:, column]]
            high[:, column] = tree.last[self.boxes[:, column]]
        return low, high


@jit
def _meet_earlier(low: Ints, high: Ints) -> Bits:
    """The boxes that meet one before them; each is a row of first and last leaves."""
    answer = np.zeros(len(low), np.bool_)
    for place in range(len(low)):
        answer[place] = _meets(low[place], high[place], low[:place], high[:place])
    return answer


@jit
def _meet_others(low: Ints, high: Ints, lows: Ints, highs: Ints) -> Bits:
    answer = np.zeros(len(low), np.bool_)
    for place in range(len(low)):
        answer[place] = _meets(low[place], high[place], lows, highs)
    return answer


@jit
def _meets(low: Ints, high: Ints, lows: Ints, highs: Ints) -> bool:
    """True if a box meets one of the others: if their leaves overlap in every column."""
    for other in range(len(lows)):
        column = 0
        while column < len(low) and lows[other, column] <= high[column] and low[column] <= highs[other, column]:
            column += 1
        if column == len(low):
            return True
    return False


@dataclass
class Openings:
    """Counts of what was opened in a run; every party counts the same."""

    tests: int = 0
    """Bits: whether a bucket or a tuple has k or more records."""
    heavy: int = 0
    """Hashed buckets with k or more records, of each of which is known whether it is pure."""
    impure: int = 0
    tuples: int = 0
    """Tuples with k or more records that were named."""
    alone: int = 0
    """Tuples that one of two parties named because it has enough of their records by itself."""
    visits: int = 0
    taken: int = 0
    """Classes that were taken back, because what was left over had to be released with them."""
    diversity: DiversityOpenings = field(default_factory=DiversityOpenings)
    beside: DiversityOpenings = field(default_factory=DiversityOpenings)
    """Of tests of diversity without each party's own records."""
    split: DiversityOpenings = field(default_factory=DiversityOpenings)
    """Of tests of how much one party has."""


@dataclass
class PeeledClasses:
    """The classes that were published; sizes are known a little later than boxes."""

    node: list[int] = field(default_factory=list)
    boxes: list[Ints] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.boxes)

    def drop(self, numbers: Longs) -> Longs:
        """Takes some classes back; returns each class's number from now on, or -1."""
        stay = ~np.isin(np.arange(len(self)), numbers)
        places = np.flatnonzero(stay).tolist()
        self.node = [self.node[place] for place in places]
        self.boxes = [self.boxes[place] for place in places]
        self.sizes = [self.sizes[place] for place in places]
        return np.where(stay, np.cumsum(stay) - 1, -1)

    def add(self, candidates: FrequentTuples) -> Longs:
        """Publishes these; returns their numbers."""
        first = len(self)
        self.node += candidates.node.tolist()
        self.boxes += list(candidates.boxes)
        return first + np.arange(len(candidates))
