"""A party's own columns: made k-anonymous by themselves, then generalized one step at a time.

Datafly is Algorithm 1, as printed: it lifts whole columns, the last of those that are equally distinct, and stops once
at most k people stand out. These are then at the roots of all columns, with as many others as make k, so that they are
a group like any other. The other anonymizers recode locally, so that a
column has nodes of several levels. Then a step lifts the nodes of the lowest level, in the column with the most
distinct values. Groups only merge, and after as many steps as there are levels everything is at the roots.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from covey.anonymizers import anonymize
from covey.anonymizers.build import build, class_of_row
from covey.anonymizers.problem import Partition
from covey.arrays import Bits, Ints, Longs
from covey.errors import Unmet
from covey.hierarchy import Hierarchy
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.table import Table, group

MOST_DISTINCT = (1 << 47) - 1
"""The count of a column without weight, and the largest of all: it is lifted first."""


@dataclass
class Generalization:
    """The present levels of a party's people (columns x people), and the pool of those whose class is not finished."""

    trees: tuple[Hierarchy, ...]
    codes: Ints
    weights: tuple[float, ...]
    levels: Longs
    pool: Bits
    finished: Longs = field(init=False)
    """The number of people who were left when each one's class was finished; -1 in the pool."""

    def __post_init__(self) -> None:
        self.finished = np.full(len(self.pool), -1, dtype=np.int64)

    @classmethod
    def of(cls, table: Table, parameters: Parameters) -> Generalization:
        """The party's own columns, k-anonymous by themselves. Raises Unmet for fewer than k people."""
        if table.rows < parameters.k:
            raise Unmet(f"the parties have fewer than k = {parameters.k} people in common; nothing can be released")
        return cls(
            trees=table.trees,
            codes=table.codes,
            weights=tuple(column.weight for column in table.quasi),
            levels=anonymized(table, parameters),
            pool=np.ones(table.rows, dtype=bool),
        )

    @property
    def nodes(self) -> Ints:
        """Each person's present nodes, columns x people."""
        found = [tree.up[own, codes] for tree, own, codes in zip(self.trees, self.levels, self.codes, strict=True)]
        return np.stack(found) if found else np.zeros((0, self.codes.shape[1]), dtype=np.int32)

    def groups(self) -> Longs:
        """The group of each person in the pool: numbered from 0, by equal nodes in all columns."""
        nodes = self.nodes[:, self.pool]
        return group([*nodes], nodes.shape[1])[0]

    def most_distinct(self) -> tuple[int, int]:
        """The column to lift next and its weighted number of distinct values; (-1, 0) where all are at the root.

        Only people in the pool count; a column that matters twice as much counts for half.
        """
        nodes = self.nodes[:, self.pool]
        score = np.zeros(len(self.trees), dtype=np.int64)
        for column, tree in enumerate(self.trees):
            if self.levels[column, self.pool].min(initial=tree.height) < tree.height:
                score[column] = _counts_for(len(np.unique(nodes[column])), self.weights[column])
        if not score.any():
            return -1, 0
        tied = np.flatnonzero(score == score.max())
        return int(tied[-1]), int(score.max())

    def step(self) -> bool:
        """Generalizes by one step. Returns False where there is none left."""
        column, _ = self.most_distinct()
        if column < 0:
            return False
        own = self.levels[column]
        lowest = own[self.pool].min()
        own[self.pool & (own == lowest)] += 1
        return True

    def settle(self, done: Bits) -> None:
        """Takes these people out of the pool; they keep their levels."""
        people = np.flatnonzero(self.pool)[done]
        self.finished[people] = self.pool.sum()
        self.pool[people] = False


def _counts_for(distinct: int, weight: float) -> int:
    """A number of distinct values over the weight, in 1,024ths; at least 1, as 0 stands for a column at its root."""
    if not weight:
        return MOST_DISTINCT
    return max(1, int(min(distinct / weight * 1024, MOST_DISTINCT)))


def anonymized(table: Table, parameters: Parameters) -> Longs:
    """The levels, columns x people, at which the party's own columns are k-anonymous.

    Columns without weight are at their roots, where nothing is lost.
    """
    if not any(column.weight for column in table.quasi):
        heights = np.array([tree.height for tree in table.trees], dtype=np.int64)
        return np.repeat(heights[:, np.newaxis], table.rows, axis=1)
    built = build(table)
    problem = replace(built.problem, suppression=1.0)
    options = {"ties": "last", "tolerated": "none"} if parameters.local == "datafly" else {}
    partition = anonymize(problem, parameters.local, threads=1, options=options)
    own = _with_all(class_of_row(built, partition), partition, parameters.k)
    roots = np.array([[tree.height for tree in table.trees]])
    lowest = [tree.level[partition.nodes[:, place]] for place, tree in enumerate(table.trees)]
    of_class = np.concatenate([np.stack(lowest, axis=1), roots])  # the last is what -1 stands for
    return np.ascontiguousarray(of_class[own].T.astype(np.int64))


def _with_all(own: Longs, partition: Partition, k: int) -> Longs:
    """Each person's class; -1 for those whom the anonymizer withheld, and for the smallest classes until k have it.

    Nobody may be left out here, because the other party does not know whom. Instead they are generalized to the roots.
    """
    out = int((own < 0).sum())
    sizes = partition.sizes()
    for smallest in np.argsort(sizes, kind="stable"):
        if not 0 < out < k:
            break
        out += int(sizes[smallest])
        own = np.where(own == smallest, -1, own)
    return own
