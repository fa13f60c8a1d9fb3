"""What all parties know before a record is looked at: trees, costs, k; and the clusters' public state."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.anonymizers.kernels import Forest, forest
from covey.anonymizers.problem import Problem
from covey.arrays import Ints, Longs
from covey.errors import InputError
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs
from covey.protocols.cluster_rows.descent import NOTHING
from covey.protocols.cluster_rows.kernels import Children
from covey.study import Study


@dataclass(frozen=True)
class Ground:
    """The trees with their integer costs, flat for compiled code and as hierarchies for the blocks."""

    trees: tuple[Hierarchy, ...]
    problem: Problem
    forest: Forest
    children: Children
    lift: Ints | None = None  # each node's lowest ancestor that may be shown, where not every node may

    @property
    def columns(self) -> int:
        return len(self.trees)

    @property
    def k(self) -> int:
        return self.problem.k

    @property
    def monotone(self) -> bool:
        """Whether no node costs less than a child of its: plain EM is not."""
        return bool((self.forest.cost[self.forest.parent] >= self.forest.cost).all())

    @property
    def shown(self) -> Ints:
        """For each node the lowest at or above it that may be shown."""
        return np.arange(len(self.forest.cost), dtype=np.int32) if self.lift is None else self.lift

    def local(self, boxes: Ints) -> Ints:
        """Boxes as nodes of each column's own tree; NOTHING stays."""
        return np.where(boxes == NOTHING, NOTHING, boxes - self.forest.offsets).astype(np.int32)

    def flat(self, nodes: Ints) -> Ints:
        """The inverse: nodes numbered through all columns."""
        return np.where(nodes == NOTHING, NOTHING, nodes + self.forest.offsets).astype(np.int32)

    def clamped_boxes(self, boxes: Ints) -> Ints:
        """Boxes at or above what may be shown; NOTHING stays."""
        if self.lift is None:
            return boxes
        return np.where(boxes == NOTHING, NOTHING, self.lift[boxes]).astype(np.int32)

    def clamped(self, nodes: Ints) -> Ints:
        """The same for nodes of each column's own tree."""
        return self.local(self.clamped_boxes(self.flat(nodes)))

    def costs(self, boxes: Ints) -> Longs:
        """What one record costs in each box."""
        return np.asarray(self.forest.cost[boxes].sum(axis=1), dtype=np.int64)

    def loss(self, clusters: Clusters) -> float:
        """The mean cost of a cell."""
        total = int((self.costs(clusters.boxes) * clusters.sizes).sum())
        return total / (self.problem.scale * self.columns * max(int(clusters.sizes.sum()), 1))


@dataclass(frozen=True)
class Clusters:
    """What everyone knows of the clusters: how many records each has, and a box that closes them."""

    sizes: Longs
    boxes: Ints  # clusters x columns, nodes numbered through all columns

    def __len__(self) -> int:
        return len(self.sizes)

    def digest(self) -> bytes:
        """What parties compare, so that they cannot drift apart."""
        return hashlib.sha256(self.sizes.astype("<i8").tobytes() + self.boxes.astype("<i4").tobytes()).digest()


def require_listed(study: Study) -> None:
    """Parties compute jointly only over domains that the study lists. Raises InputError with the first that is not."""
    if not any(column.weight for column in study.quasi):
        raise InputError("every quasi column has weight = 0: give one that matters a weight above 0")
    for column in study.quasi:
        if not column.closed:
            raise InputError(
                f"column {column.name!r}: protocol 'cluster' needs a hierarchy that lists the whole domain; "
                "give it a file, or min, max and steps"
            )


def lay_ground(study: Study, trees: Sequence[Hierarchy], counts: Sequence[Longs] | None) -> Ground:
    """The ground of a study; `counts` has the joint frequency of each leaf where the measure needs it."""
    weights = [column.weight for column in study.quasi]
    costs, scale = integer_costs(trees, study.measure, counts, weights)
    nobody = np.zeros((len(trees), 0), dtype=np.int32)
    none = np.zeros(0, dtype=np.int64)
    problem = Problem(tuple(trees), nobody, none, costs, scale, study.privacy.k)
    flat = forest(problem)
    return Ground(tuple(trees), problem, flat, Children.of(flat))
