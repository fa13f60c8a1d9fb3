"""Lending: a class that has more records than it needs lends some of them to tuples that lack a few to reach k.

A record that a class does not need is *spare* and stays in play. At a visit a tuple counts, beside the remaining
records, some spare ones of earlier classes that lie in it. If it reaches k with them alone, they leave their classes
for it. The classes that lend keep k records, and for each party as many of others as the study asks for.

Each party decides by itself which of its records are counted and which are spare; only whether joint counts reach k is
asked. Of its spare records in a tuple it counts those first that lose least by the move. They take turns with the other
parties' on one line of 2k/5 places: the record at place y is counted if y records that lose as much as it does lose no
more than k - y others that find no class here, each of which is taken to lose a fifth of what it would lose here, and a
tenth of a column at most. Of a new class it keeps z records, and has k more spare at most; z is the smallest number on
a public list with which the class has k records if each party's count for z at most.

Sizes of classes are opened after the last visit only: nobody can subtract what a class had before it lent. Records
become spare at a few places of the list (`stages`), so that nodes between two of them may be visited at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.measures import integer_costs
from covey.protocols.peel.lending_rules import LATER, limits, places, stages
from covey.protocols.peel.parameters import Parameters
from covey.protocols.peel.records import OwnRecords
from covey.protocols.peel.tuples import Lattice
from covey.protocols.shared.peeling.marginals import measure_of
from covey.study import Study


@dataclass
class Lending:
    """The spare records of one party, or in a rehearsal of all; `owner` is the place of each item's party."""

    own: OwnRecords
    owner: Longs
    params: Parameters
    lattice: Lattice
    nodes: Ints
    costs: Sequence[Longs]
    scale: int

    def __post_init__(self) -> None:
        self.starts = stages(len(self.nodes))
        self.limits: Longs = np.array(limits(self.params.k, self.params.parties, self.params.none_or_many or 1))
        self._spare = np.zeros(len(self.own.counts), dtype=bool)
        self._ripe = self._spare.copy()
        self._paid = np.zeros(len(self.own.counts), dtype=np.int64)

    @classmethod
    def of(cls, study: Study, params: Parameters, own: OwnRecords, owner: Longs, lattice: Lattice, nodes: Ints) -> Self:
        """No record is spare before the first visit."""
        costs, scale = integer_costs(lattice.trees, measure_of(study), None, params.weights)
        return cls(own, owner, params, lattice, nodes, costs, scale)

    def begin_stage(self) -> None:
        """Lets the records that are spare now be counted."""
        self._ripe = self._spare.copy()

    def counted(self, node: int) -> Longs:
        """The items that are counted at a node, beside the remaining ones."""
        items, levels, codes = np.flatnonzero(self._spare & self._ripe), self.nodes[node], self.own.codes
        cost = np.zeros(len(items), dtype=np.int64)
        for column, (tree, own) in enumerate(zip(self.lattice.trees, self.costs, strict=True)):
            cost += own[tree.up[levels[column]][codes[column, items]]]
        loses, later = cost - self._paid[items], np.minimum(2 * cost, self.scale)
        first = LATER * loses <= later * (self.params.k - 1)
        items, loses, later = items[first], loses[first], later[first]
        owner, keys = self.owner[items], self.lattice.keys(levels, codes[:, items])
        order = np.lexsort((items, loses, *keys, owner))
        items, loses, later, owner, keys = items[order], loses[order], later[order], owner[order], keys[:, order]
        begins = np.append(True, (owner[1:] != owner[:-1]) | (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(items)]
        before = _ranks(begins) * self.own.counts[items]
        place = before * self.params.parties + (owner + node) % self.params.parties + 1
        pays = LATER * place * loses <= later * (self.params.k - place)
        return np.asarray(items[pays & (place <= places(self.params.k))])

    def move(self, items: Longs) -> None:
        """Notes that items have left for a new class: they are not counted again before the next stage.

        So what is counted at a node only grows less in a stage, however its visits are taken together.
        """
        self._spare[items] = False
        self._ripe[items] = False

    def clipped(self, items: Longs, place: Longs, classes: int) -> Longs:
        """The number of records of each class if each party's count for a limit at most (classes x limits)."""
        by_owner = np.zeros((classes, self.params.parties), dtype=np.int64)
        np.add.at(by_owner, (place, self.owner[items]), self.own.counts[items])
        return np.asarray(np.minimum(by_owner[:, np.newaxis], self.limits[:, np.newaxis]).sum(axis=2))

    def keep(self, items: Longs, place: Longs, boxes: Ints, enough: Bits) -> Longs:
        """The number of records that new classes keep in any case; the others are spare.

        `boxes` are the classes' labels, and `enough` says with which limits they have k records.
        """
        limit = self.limits[np.argmax(enough, axis=1)]
        cost = np.sum([cost[boxes[:, column]] for column, cost in enumerate(self.costs)], axis=0)
        order = np.lexsort((items, self.owner[items], place))
        items, place = items[order], place[order]
        owner, counts = self.owner[items], self.own.counts[items]
        begins = np.append(True, (owner[1:] != owner[:-1]) | (place[1:] != place[:-1]))[: len(items)]
        before = _ranks(begins) * counts
        spare = (before >= limit[place]) & (before < limit[place] + self.params.k)
        self._spare[items] = spare
        self._paid[items] = cost[place]
        kept = np.zeros(len(boxes), dtype=np.int64)
        np.add.at(kept, place[~spare], counts[~spare])
        return kept


def _ranks(begins: Bits) -> Longs:
    """The place of each item in its group, where a group's first item is marked."""
    starts = np.flatnonzero(begins)
    return np.arange(len(begins)) - np.repeat(starts, np.diff(np.append(starts, len(begins))))
