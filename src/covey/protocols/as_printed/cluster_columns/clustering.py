"""The public state of a search: each record's cluster, the records to examine next, and the moves that are made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from covey.arrays import Longs
from covey.crypto.rng import Rng
from covey.protocols.as_printed.cluster_columns.own_columns import row_starts

MOST = 1 << 21
"""Prices of one batch at the most: eight mebibytes of each holder."""
_FEW, _MANY = 0.25, 0.5


@dataclass(frozen=True)
class CandidateClusters:
    """Records to examine, and for each its candidates: its own cluster and the others that it is compared with."""

    records: Longs
    starts: Longs
    candidates: Longs


class Clustering:
    """The clusters so far; all holders have the same.

    A clock counts changes. `changed` has the time of each cluster's last change, `seen` the time at which each record
    was last examined: a record needs another look only at clusters that changed since.
    """

    def __init__(self, label: Longs, k: int, order: Longs) -> None:
        self.label, self.k, self.order = label, k, order
        self.size = np.bincount(label).astype(np.int64)
        self.clock = 0
        self.changed = np.zeros(len(self.size), dtype=np.int64)
        self.seen = np.full(len(label), -1, dtype=np.int64)
        self.narrow = max(8, len(self.alive()) // 16)
        self.width = 4 * self.narrow
        self.waiting = np.zeros(0, dtype=np.int64)

    @classmethod
    def of(cls, label: Longs, k: int, draws: Rng) -> Clustering:
        """The state after the first labels; records are examined in a drawn order."""
        return cls(label.copy(), k, draws.stream("order").permutation(len(label)))

    @property
    def records(self) -> int:
        return len(self.label)

    def alive(self) -> Longs:
        """The clusters that have records, in their order."""
        return np.flatnonzero(self.size > 0)

    def begin(self) -> None:
        """Begins a sweep: every record waits."""
        self.compact()
        self.waiting = self.order

    def next_batch(self) -> CandidateClusters | None:
        """The next records to examine; None when nobody waits any more."""
        alive = self.alive()
        due = self.seen[self.waiting] < int(self.changed[alive].max())  # the others' surroundings are as they were
        self.waiting = self.waiting[due]
        most = min(self.width, max(1, MOST // len(alive)))
        records, self.waiting = self.waiting[:most], self.waiting[most:]
        if not len(records) or len(alive) < 2:
            return None
        widths, candidates = self.compare(records, alive)
        return CandidateClusters(records, row_starts(widths), candidates)

    def compare(self, records: Longs, alive: Longs) -> tuple[Longs, Longs]:
        """The number of each record's candidates, and these: its own cluster first, then those that changed."""
        own, seen = self.label[records], self.seen[records]
        since = np.where(self.changed[own] > seen, -1, seen)  # whose own cluster changed is compared with all
        wanted = self.changed[alive][np.newaxis, :] > since[:, np.newaxis]
        wanted[np.arange(len(records)), np.searchsorted(alive, own)] = False
        row, column = np.nonzero(wanted)
        widths = 1 + wanted.sum(axis=1)
        candidates = np.empty(len(row) + len(records), dtype=np.int64)
        heads = row_starts(widths)[:-1]
        candidates[heads] = own
        rest = np.ones(len(candidates), dtype=bool)
        rest[heads] = False
        candidates[rest] = alive[column]
        return widths, candidates

    def accept(self, batch: CandidateClusters, target: Longs) -> Iterator[tuple[int, int]]:
        """Makes the moves of a batch that can be made, in its order, and yields them; the other records wait again."""
        began = self.clock
        touched: set[int] = set()
        late: list[int] = []
        for record, to in zip(batch.records.tolist(), target.tolist(), strict=True):
            source = int(self.label[record])
            if to == source:
                self.seen[record] = began
            elif source in touched or to in touched:
                late.append(record)
            else:
                touched |= {source, to}
                self.clock += 1
                self.label[record] = to
                self.size[source] -= 1
                self.size[to] += 1
                self.changed[[source, to]] = self.clock
                self.seen[record] = began
                yield record, to
        self.waiting = np.concatenate([np.array(late, dtype=np.int64), self.waiting])
        if len(late) > _MANY * len(batch.records):  # wide batches save rounds, narrow ones save put-off moves
            self.width = max(self.narrow, self.width // 2)
        elif len(late) < _FEW * len(batch.records):
            self.width = min(2 * self.width, self.records)

    def large(self) -> Longs:
        """The clusters above 1.5 k."""
        return np.flatnonzero(2 * self.size > 3 * self.k)

    def split(self, large: Longs, leaving: Longs) -> int:
        """Splits large clusters: records that leave become a new one. Returns the number of splits."""
        halves = [(cluster, (self.label == cluster) & (leaving == 1)) for cluster in large.tolist()]
        halves = [(cluster, gone) for cluster, gone in halves if gone.any()]
        self.clock += 1
        for cluster, gone in halves:
            self.label[gone] = len(self.size)
            number = int(gone.sum())
            self.size[cluster] -= number
            self.changed[cluster] = self.clock
            self.size = np.append(self.size, number)
            self.changed = np.append(self.changed, self.clock)
        return len(halves)

    def compact(self) -> None:
        """Renumbers the clusters without the empty ones, in their order."""
        alive = self.size > 0
        number = np.cumsum(alive) - 1
        self.label = number[self.label]
        self.size, self.changed = self.size[alive], self.changed[alive]

    def small_ones(self) -> tuple[Longs, Longs, Longs]:
        """The clusters below k, and the candidates of each: the other small ones, or any cluster if it is alone."""
        alive = self.alive()
        small = alive[self.size[alive] < self.k]
        others = small if len(small) > 1 else alive
        if not len(small) or len(others) < 2:
            return np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64)
        mates = [others[others != cluster] for cluster in small.tolist()]
        return small, row_starts([len(each) for each in mates]), np.concatenate(mates)

    def merge(self, rows: Longs, nearest: Longs) -> None:
        """Merges where each is the other's nearest; without such a pair, the first with its nearest."""
        near = dict(zip(rows.tolist(), nearest.tolist(), strict=True))
        pairs = [(one, other) for one, other in near.items() if one < other and near.get(other) == one]
        for one, other in pairs or [(other, one) for one, other in [next(iter(near.items()))]]:
            self.label[self.label == other] = one
            self.size[one] += self.size[other]
            self.size[other] = 0
