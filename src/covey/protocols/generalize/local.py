"""One party's own columns: made k-anonymous by themselves, then one step more general at a time.

Datafly lifts whole columns. The other anonymizers recode locally, so that a column has nodes of several levels; one
step more general is then the same where it matters: in the column with the most distinct values, the nodes of the
lowest level rise by one. Groups only grow together, and after as many steps as there are levels all is at the roots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from covey.anonymizers import anonymize
from covey.anonymizers.build import build, class_of_row
from covey.anonymizers.datafly import Ties
from covey.anonymizers.problem import Partition
from covey.arrays import Bits, Ints, Longs
from covey.errors import Unmet
from covey.hierarchy import Hierarchy
from covey.protocols.generalize.terms import Terms
from covey.table import Table, group

MOST_DISTINCT = (1 << 47) - 1
"""What a column without weight counts for, and none for more: it is lifted first."""


@dataclass
class Local:
    """A party's people with their present levels, columns x people, and who is still in the pool."""

    trees: tuple[Hierarchy, ...]
    codes: Ints
    weights: tuple[float, ...]
    ties: Ties
    levels: Longs
    pool: Bits

    @classmethod
    def of(cls, table: Table, terms: Terms) -> Local:
        """The party's own columns, k-anonymous by themselves. Raises Unmet for fewer than k people."""
        if table.rows < terms.k:
            raise Unmet(f"the parties have fewer than k = {terms.k} people in common; nothing can be released")
        return cls(
            trees=table.trees,
            codes=table.codes,
            weights=tuple(column.weight for column in table.quasi),
            ties=terms.ties,
            levels=anonymized(table, terms),
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
        """The column to be lifted next and how many distinct values it counts for; (-1, 0) where all are at the root.

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
        return int(tied[0] if self.ties == "first" else tied[-1]), int(score.max())

    def step(self) -> bool:
        """One step more general; False where there is none."""
        column, _ = self.most_distinct()
        if column < 0:
            return False
        own = self.levels[column]
        lowest = own[self.pool].min()
        own[self.pool & (own == lowest)] += 1
        return True

    def settle(self, done: Bits) -> None:
        """These people of the pool keep their levels and leave it."""
        self.pool[np.flatnonzero(self.pool)[done]] = False


def _counts_for(distinct: int, weight: float) -> int:
    """What so many distinct values count for, in 1,024ths; 0 is for a column at its root, whatever the weight."""
    if not weight:
        return MOST_DISTINCT
    return max(1, int(min(distinct / weight * 1024, MOST_DISTINCT)))


def anonymized(table: Table, terms: Terms) -> Longs:
    """The levels, columns x people, at which the party's own columns are k-anonymous.

    Where none of them has weight they are at their roots, by which nothing is lost.
    """
    if not any(column.weight for column in table.quasi):
        heights = np.array([tree.height for tree in table.trees], dtype=np.int64)
        return np.repeat(heights[:, np.newaxis], table.rows, axis=1)
    built = build(table)
    problem = replace(built.problem, suppression=1.0)
    options: dict[str, object] = {"ties": terms.ties} if terms.local == "datafly" else {}
    partition = anonymize(problem, terms.local, threads=1, options=options)
    if terms.local == "datafly":
        levels = np.array(partition.notes["levels"], dtype=np.int64)
        return np.repeat(levels[:, np.newaxis], table.rows, axis=1)
    own = _with_all(class_of_row(built, partition), partition, terms.k)
    roots = np.array([[tree.height for tree in table.trees]])
    lowest = [tree.level[partition.nodes[:, place]] for place, tree in enumerate(table.trees)]
    of_class = np.concatenate([np.stack(lowest, axis=1), roots])  # the last is what -1 stands for
    return np.ascontiguousarray(of_class[own].T.astype(np.int64))


def _with_all(own: Longs, partition: Partition, k: int) -> Longs:
    """Each person's class; those whom the anonymizer withheld are suppressed, with the smallest classes (-1).

    Nobody may be left out here: the other party does not know whom. They look like all that reached the roots.
    """
    out = int((own < 0).sum())
    sizes = partition.sizes()
    for smallest in np.argsort(sizes, kind="stable"):
        if not 0 < out < k:
            break
        out += int(sizes[smallest])
        own = np.where(own == smallest, -1, own)
    return own
