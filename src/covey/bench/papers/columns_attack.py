"""The attack of a pivot: from the prices it opens, it reads which people share the others' values, with no key.

Two people with the same values elsewhere cost every cluster the same there. So whoever sees prices, and knows whom they
are about, subtracts its own part and compares rows: equal rows are people with equal values (section 9 of Tassa &
Gudes's vertical case calls such an attack useless; it is nearly always right). Noise does not help: it averages out
over the clusters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from covey.arrays import Longs
from covey.protocols.as_printed.cluster_columns.parameters import Shares

Pairs = set[tuple[int, int]]


@dataclass(frozen=True)
class Sight:
    """One batch as an onlooker has it: whom the rows are about, their candidates, and what is left of the prices."""

    records: Longs
    starts: Longs
    candidates: Longs
    prices: Longs

    @classmethod
    def of(cls, records: Longs, starts: Longs, candidates: Longs, total: Shares, own: Shares) -> Sight:
        """The pivot's view of the others: the sums without its own share."""
        return cls(records, starts, candidates, total.astype(np.int64) - own.astype(np.int64))

    def row(self, place: int) -> dict[int, int]:
        """A record's prices by candidate, its own cluster left out: that one was priced without it."""
        inside = slice(int(self.starts[place]) + 1, int(self.starts[place + 1]))
        return dict(zip(self.candidates[inside].tolist(), self.prices[inside].tolist(), strict=True))


def alike(sights: Iterable[Sight], fewest: int = 4) -> tuple[Pairs, Pairs]:
    """Pairs of records that look alike elsewhere, and all pairs that were compared.

    Records of one batch are compared over the clusters that both were compared with, so many of them at the least; a
    pair that looked different once is different.
    """
    claimed: Pairs = set()
    compared: Pairs = set()
    refuted: Pairs = set()
    for sight in sights:
        rows = [sight.row(place) for place in range(len(sight.records))]
        names = sight.records.tolist()
        for one in range(len(rows)):
            for other in range(one):
                common = rows[one].keys() & rows[other].keys()
                if len(common) >= fewest:
                    pair = (min(names[one], names[other]), max(names[one], names[other]))
                    compared.add(pair)
                    equal = all(rows[one][each] == rows[other][each] for each in common)
                    (claimed if equal else refuted).add(pair)
    return claimed - refuted, compared


@dataclass(frozen=True)
class ClaimScore:
    """The quality of claims: the share of them that is true, the share of the truth that they find, and a guess's."""

    precision: float
    recall: float
    base: float
    claims: int


def score(claimed: Pairs, compared: Pairs, truth: Longs) -> ClaimScore:
    """Judges claims about pairs; `truth` numbers each record's values elsewhere."""
    true = {pair for pair in compared if truth[pair[0]] == truth[pair[1]]}
    right = len(claimed & true)
    return ClaimScore(
        right / len(claimed) if claimed else 0.0,
        right / len(true) if true else 0.0,
        len(true) / len(compared) if compared else 0.0,
        len(claimed),
    )
