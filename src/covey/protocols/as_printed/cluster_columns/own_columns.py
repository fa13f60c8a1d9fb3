"""A holder's own columns: the cost of each cluster's closure there, and of a change to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from covey.anonymizers.clusters import Clusters, close, clusters_of, distance, holds_diversity
from covey.anonymizers.constraints import Limits, flat_codes, limits_of
from covey.anonymizers.kernels import Forest, forest
from covey.anonymizers.problem import Problem, Sensitive
from covey.anonymizers.sequential import may_part
from covey.anonymizers.sweeping import joining, move, stands
from covey.arrays import Ints, Longs
from covey.compiled import jit
from covey.errors import Unmet
from covey.protocols.as_printed.cluster_columns.parameters import CAP, Parameters, Shares
from covey.table import Table


@dataclass
class OwnColumns:
    """A holder's records in its own columns; `keeps` marks the holder that keeps every cluster l-diverse."""

    parameters: Parameters
    table: Table
    trees: Forest
    limits: Limits
    codes: Ints
    places: Longs
    keeps: bool
    pivot: bool
    state: Clusters | None = None

    @classmethod
    def of(cls, parameters: Parameters, table: Table, party: str) -> OwnColumns:
        """The columns of one holder. A holder without quasi columns gets one that costs nothing."""
        study, trees, codes, costs = parameters.study, table.trees, table.codes, parameters.costs(table)
        if not trees:
            trees, codes = (study.quasi[0].tree(),), np.zeros((1, table.rows), dtype=np.int32)
            costs = (np.zeros(trees[0].nodes, dtype=np.int64),)
        keeps = study.privacy.l is not None and party == parameters.pivot
        sensitive = tuple(
            Sensitive(values.codes, len(values.labels))
            for values in (table.values(column.name) for column in (study.sensitive if keeps else ()))
        )
        privacy = study.privacy
        problem = Problem(
            trees, codes, np.ones(table.rows, dtype=np.int64), costs, 1, privacy.k, sensitive,
            privacy.l if keeps else None, privacy.diversity,
        )  # fmt: skip
        places = flat_codes(problem)
        return cls(
            parameters, table, forest(problem), limits_of(problem), np.ascontiguousarray(codes), places, keeps,
            party == parameters.pivot,
        )  # fmt: skip

    @property
    def records(self) -> int:
        return int(self.codes.shape[1])

    def group(self, label: Longs) -> None:
        """Forms the clusters of these labels."""
        self.state = clusters_of(self.trees, self.limits, self.codes, self.places, label)

    def require_diverse(self) -> None:
        """Raises Unmet, with what would be feasible, if all common records as one class do not keep l."""
        if self.keeps_diversity(np.zeros(self.records, dtype=np.int64), 1):
            return
        study = self.parameters.study
        reached = min(self.records / int(self.table.values(each.name).counts().max()) for each in study.sensitive)
        raise Unmet(
            f"l = {study.privacy.l:g} cannot be kept: all common records together reach "
            f"{np.floor(reached * 100) / 100:g}; lower l to that, or merge sensitive values"
        )

    def move(self, record: int, target: int) -> None:
        """Moves a record to another cluster."""
        state, source = self._clusters, int(self._clusters.label[record])
        move(state, self.trees, record, target)
        if state.size[source] > 0:
            state.cost[source] = close(state, self.trees, source, -1, state.box[source])

    def prices(self, records: Longs, starts: Longs, candidates: Longs) -> Shares:
        """Our share of the price of each record in each of its candidates, its own cluster taken without it."""
        shares = np.zeros(len(candidates), dtype=np.uint32)
        state = self._clusters
        price_rows(state, self.trees, records, starts, candidates, self.parameters.share - 1, shares)
        if self.keeps:
            forbid_rows(state, self.limits, records, starts, candidates, CAP, shares)
        elif self.pivot:  # a cluster of one is always dissolved
            alone = state.size[state.label[records]] == 1
            shares[starts[:-1][alone]] += np.uint32(CAP)
        return shares

    def distances(self, rows: Longs, starts: Longs, candidates: Longs) -> Shares:
        """Our share of the cost that merging each row's cluster with each of its candidates would add."""
        shares = np.zeros(len(candidates), dtype=np.uint32)
        distance_rows(self._clusters, self.trees, rows, starts, candidates, self.parameters.share - 1, shares)
        return shares

    def nodes(self, label: Longs) -> Ints:
        """The nodes that each of these clusters publishes in our quasi columns, clusters x columns."""
        self.group(label)
        boxes = self._clusters.box - self.trees.offsets.astype(np.int32)
        return boxes[:, : len(self.table.trees)]

    def keeps_diversity(self, label: Longs, clusters: int) -> bool:
        """Returns True if all clusters of these labels keep l."""
        return not self.keeps or holds_diversity(self.limits, self.places, label, clusters)

    def may_part(self, members: Longs, leaving: Longs) -> bool:
        """Returns True if a cluster keeps l on both sides of this split."""
        return may_part(self.limits, self.places, members, leaving)

    @property
    def _clusters(self) -> Clusters:
        return cast("Clusters", self.state)


@jit
def price_rows(
    state: Clusters, trees: Forest, records: Longs, starts: Longs, candidates: Longs, most: int, out: Shares
) -> None:
    """Writes the price of each record in each candidate; the own cluster stands first in a row."""
    without = np.zeros(state.box.shape[1], np.int32)
    first, last, parent, cost = trees.first, trees.last, trees.parent, trees.cost
    for row in range(len(records)):
        record = records[row]
        own = state.label[record]
        for place in range(starts[row], starts[row + 1]):
            number = candidates[place]
            if number == own:
                size = state.size[own]
                rest = close(state, trees, own, record, without)
                price = size * state.cost[own] - (size - 1) * rest
            else:
                price = joining(
                    first, last, parent, cost, state.box, state.codes, number, record, state.size, state.cost, most
                )
            out[place] = min(max(price, 0), most)


@jit
def forbid_rows(
    state: Clusters, limits: Limits, records: Longs, starts: Longs, candidates: Longs, fine: int, out: Shares
) -> None:
    """Adds a fine wherever a move would leave a cluster without l."""
    for row in range(len(records)):
        record = records[row]
        bound = not stands(state, limits, state.label[record], record, -1)
        for place in range(starts[row] + 1, starts[row + 1]):
            if bound or not stands(state, limits, candidates[place], record, 1):
                out[place] += np.uint32(fine)


@jit
def distance_rows(
    state: Clusters, trees: Forest, rows: Longs, starts: Longs, candidates: Longs, most: int, out: Shares
) -> None:
    """Writes the cost that each merger adds to the total."""
    for row in range(len(rows)):
        for place in range(starts[row], starts[row + 1]):
            out[place] = min(max(distance(state, trees, rows[row], candidates[place]), 0), most)


def row_starts(widths: Sequence[int] | Longs) -> Longs:
    """The place where each row begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
