"""The public state of a search: each record's cluster, the records to examine next, and the moves that are made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.rng import Rng
from covey.protocols.cluster_columns.own_columns import row_starts

MOST = 1 << 21
"""Prices of one batch at the most: eight mebibytes of each holder."""
_FEW, _MANY = 0.25, 0.5


@dataclass(frozen=True)
class CandidateClusters:
    """Records to examine, and for each its candidates: its own cluster and the others that it is compared with."""

    records: Longs
    starts: Longs
    candidates: Longs
    share: dict[int, int]
    """The number of these records in each block."""


class Clustering:
    """The clusters so far; all holders have the same.

    A clock counts changes. `changed` has the time of each cluster's last change, `seen` the time at which each record
    was last examined: a record needs another look only at clusters that changed since.
    """

    def __init__(self, label: Longs, blocks: Longs, k: int, order: Longs) -> None:
        self.label, self.k, self.order = label, k, order
        self.record_block = blocks
        self.blocks = int(blocks.max(initial=0)) + 1
        clusters = int(label.max(initial=0)) + 1
        self.block = np.zeros(clusters, dtype=np.int64)
        self.block[label] = blocks
        self.size = np.bincount(label, minlength=clusters).astype(np.int64)
        self.clock = 0
        self.changed = np.zeros(clusters, dtype=np.int64)
        self.seen = np.full(len(label), -1, dtype=np.int64)
        self.active = np.ones(self.blocks, dtype=bool)
        self.narrow = np.array([max(8, len(self.alive(each)) // 16) for each in range(self.blocks)])
        self.width = 4 * self.narrow
        self.waiting: list[Longs] = []

    @classmethod
    def of(cls, label: Longs, blocks: Longs, k: int, draws: Rng) -> Clustering:
        """The state after the first labels; records are examined in a drawn order."""
        return cls(label.copy(), blocks, k, draws.stream("order").permutation(len(label)))

    @property
    def records(self) -> int:
        return len(self.label)

    def alive(self, block: int) -> Longs:
        """The clusters of a block that have records, in their order."""
        return np.flatnonzero((self.block == block) & (self.size > 0))

    def begin(self) -> None:
        """Begins a sweep: every record of an active block waits."""
        self.compact()
        own = self.record_block[self.order]
        self.waiting = [
            self.order[own == block] if self.active[block] else np.zeros(0, np.int64) for block in range(self.blocks)
        ]

    def next_batch(self) -> CandidateClusters | None:
        """The next records to examine, some of each block; None when nobody waits any more."""
        parts: list[tuple[Longs, Longs, Longs]] = []
        share: dict[int, int] = {}
        room = MOST
        for block in range(self.blocks):
            if not len(self.waiting[block]) or room <= 0:
                continue
            alive = self.alive(block)
            latest = int(self.changed[alive].max())
            due = self.seen[self.waiting[block]] < latest  # the others' surroundings are as they were
            self.waiting[block] = self.waiting[block][due]
            most = min(int(self.width[block]), max(1, room // len(alive)))
            records = self.waiting[block][:most]
            if not len(records) or len(alive) < 2:
                self.waiting[block] = self.waiting[block][:0]
                continue
            self.waiting[block] = self.waiting[block][most:]
            widths, candidates = self.compare(records, alive)
            parts.append((records, widths, candidates))
            share[block] = len(records)
            room -= len(candidates)
        if not parts:
            return None
        records, widths, candidates = (np.concatenate(each) for each in zip(*parts, strict=True))
        return CandidateClusters(records, row_starts(widths), candidates, share)

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
        late: dict[int, list[int]] = {}
        for record, to in zip(batch.records.tolist(), target.tolist(), strict=True):
            own = int(self.label[record])
            if to == own:
                self.seen[record] = began
            elif own in touched or to in touched:
                late.setdefault(int(self.block[own]), []).append(record)
            else:
                touched |= {own, to}
                self.clock += 1
                self.label[record] = to
                self.size[own] -= 1
                self.size[to] += 1
                self.changed[[own, to]] = self.clock
                self.seen[record] = began
                yield record, to
        for block, examined in batch.share.items():  # wide batches save rounds, narrow ones save put-off moves
            again = late.get(block, [])
            self.waiting[block] = np.concatenate([np.array(again, dtype=np.int64), self.waiting[block]])
            if len(again) > _MANY * examined:
                self.width[block] = max(self.narrow[block], self.width[block] // 2)
            elif len(again) < _FEW * examined:
                self.width[block] = min(2 * self.width[block], self.records)

    def large(self) -> Longs:
        """The clusters above 1.5 k of active blocks."""
        return np.flatnonzero((2 * self.size > 3 * self.k) & self.active[self.block])

    def split(self, large: Longs, leaving: Longs) -> list[int]:
        """Splits large clusters: records that leave become a new one. Returns the blocks of those that were split."""
        found = []
        fresh: list[tuple[int, Bits]] = []
        for cluster in large.tolist():
            gone = (self.label == cluster) & (leaving == 1)
            if gone.any():
                fresh.append((cluster, gone))
        self.clock += 1
        for cluster, gone in fresh:
            self.label[gone] = len(self.size)
            number = int(gone.sum())
            self.size[cluster] -= number
            self.changed[cluster] = self.clock
            self.size = np.append(self.size, number)
            self.block = np.append(self.block, self.block[cluster])
            self.changed = np.append(self.changed, self.clock)
            found.append(int(self.block[cluster]))
        return found

    def settle_blocks(self, moved: Longs, splits: Longs, tail: int) -> None:
        """Ends the search in blocks where nothing was split and next to nothing moved."""
        sizes = np.bincount(self.record_block, minlength=self.blocks)
        self.active &= (splits > 0) | (moved * tail >= np.maximum(sizes, 1))

    def compact(self) -> None:
        """Renumbers the clusters without the empty ones, in their order."""
        alive = self.size > 0
        number = np.cumsum(alive) - 1
        self.label = number[self.label]
        self.size, self.block, self.changed = self.size[alive], self.block[alive], self.changed[alive]

    def small_ones(self) -> tuple[Longs, Longs, Longs]:
        """The clusters below k, and the candidates of each: small ones of its block, or any cluster if it is alone."""
        rows, widths, candidates = [], [], []
        for block in range(self.blocks):
            alive = self.alive(block)
            small = alive[self.size[alive] < self.k]
            others = small if len(small) > 1 else alive
            for cluster in small.tolist() if len(others) > 1 else []:
                rows.append(cluster)
                mates = others[others != cluster]
                widths.append(len(mates))
                candidates.append(mates)
        if not rows:
            return np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64)
        return np.array(rows), row_starts(widths), np.concatenate(candidates)

    def merge(self, rows: Longs, nearest: Longs) -> None:
        """Merges where each is the other's nearest; in a block without such a pair, the first with its nearest."""
        near = dict(zip(rows.tolist(), nearest.tolist(), strict=True))
        merged: set[int] = set()
        for one, other in near.items():
            if one < other and near.get(other) == one:
                self._join(one, other)
                merged.add(int(self.block[one]))
        for one, other in near.items():
            if int(self.block[one]) not in merged:
                self._join(other, one)
                merged.add(int(self.block[one]))

    def _join(self, one: int, other: int) -> None:
        self.label[self.label == other] = one
        self.size[one] += self.size[other]
        self.size[other] = 0
