"""The public problem (trees, costs, k), known before a record is looked at, and the public state of the clusters."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.anonymizers.constraints import Limits, limits_of
from covey.anonymizers.kernels import Forest, forest
from covey.anonymizers.problem import Problem
from covey.arrays import Ints, Longs
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs
from covey.protocols.as_printed.cluster_rows.descent import NOTHING
from covey.protocols.as_printed.cluster_rows.kernels import Children
from covey.study import Study


@dataclass(frozen=True)
class ClusterProblem:
    """The trees with their integer costs, flat for compiled code and as hierarchies for the blocks."""

    trees: tuple[Hierarchy, ...]
    limits: Limits
    scale: int
    forest: Forest
    children: Children
    lift: Ints | None = None  # each node's lowest ancestor that may be shown, where not every node may

    @classmethod
    def of(cls, study: Study, trees: Sequence[Hierarchy], counts: Sequence[Longs] | None = None) -> ClusterProblem:
        """The problem of a study; `counts` has the joint frequency of each leaf where the measure needs it."""
        weights = [column.weight for column in study.quasi]
        costs, scale = integer_costs(trees, study.measure, counts, weights)
        nobody, none = np.zeros((len(trees), 0), dtype=np.int32), np.zeros(0, dtype=np.int64)
        alone = Problem(tuple(trees), nobody, none, costs, scale, study.privacy.k)
        flat = forest(alone)
        return cls(tuple(trees), limits_of(alone), scale, flat, Children.of(flat))

    @property
    def columns(self) -> int:
        return len(self.trees)

    @property
    def k(self) -> int:
        return self.limits.k

    @property
    def monotone(self) -> bool:
        """No node costs less than a child of its; plain EM does not have this property."""
        return bool((self.forest.cost[self.forest.parent] >= self.forest.cost).all())

    @property
    def shown(self) -> Ints:
        """For each node the lowest at or above it that may be shown."""
        return np.arange(len(self.forest.cost), dtype=np.int32) if self.lift is None else self.lift

    @property
    def roots(self) -> Ints:
        """The box of the whole domain, as nodes of each column's own tree."""
        return np.array([tree.root for tree in self.trees], dtype=np.int32)

    def local(self, boxes: Ints) -> Ints:
        """Boxes as nodes of each column's own tree; NOTHING stays."""
        return np.where(boxes == NOTHING, NOTHING, boxes - self.forest.offsets).astype(np.int32)

    def flat(self, nodes: Ints) -> Ints:
        """The inverse: nodes numbered through all columns."""
        return np.where(nodes == NOTHING, NOTHING, nodes + self.forest.offsets).astype(np.int32)

    def clamped(self, boxes: Ints) -> Ints:
        """Boxes at or above what may be shown; NOTHING stays."""
        if self.lift is None:
            return boxes
        return np.where(boxes == NOTHING, NOTHING, self.lift[boxes]).astype(np.int32)

    def costs(self, boxes: Ints) -> Longs:
        """The cost of one record in each box."""
        return np.asarray(self.forest.cost[boxes].sum(axis=1), dtype=np.int64)

    def total_cost(self, clusters: PublicClusters) -> int:
        """The loss of the whole table, as an integer."""
        return int((self.costs(clusters.boxes) * clusters.sizes).sum())

    def loss(self, clusters: PublicClusters) -> float:
        """The mean cost of a cell."""
        return self.total_cost(clusters) / (self.scale * self.columns * max(int(clusters.sizes.sum()), 1))


@dataclass(frozen=True)
class PublicClusters:
    """The public state of the clusters: how many records each has, and a box that closes them."""

    sizes: Longs
    boxes: Ints  # clusters x columns, nodes numbered through all columns

    def __len__(self) -> int:
        return len(self.sizes)

    def digest(self) -> bytes:
        """A hash that parties compare, so that they cannot drift apart."""
        return hashlib.sha256(self.sizes.astype("<i8").tobytes() + self.boxes.astype("<i4").tobytes()).digest()
