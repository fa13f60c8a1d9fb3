"""Records that are left over join the cheapest classes: what the class's records lose by wider labels, and they."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Ints, Longs
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.study import Study


@dataclass(frozen=True)
class Joined:
    """Some records: the class that each joins, and the labels that cover both."""

    klass: Longs
    boxes: Ints  # records x columns


def cheapest(study: Study, trees: Sequence[Hierarchy], published: PublishedClasses, codes: Ints) -> Joined:
    """For each record (columns x records) the class that is cheapest to join, and the labels that it takes."""
    costs, _ = integer_costs(trees, "lm", None, [column.weight for column in study.quasi])
    klass = np.zeros(codes.shape[1], dtype=np.int64)
    boxes = np.zeros((codes.shape[1], len(trees)), dtype=np.int32)
    before = sum(costs[c][published.boxes[:, c]] for c in range(len(trees)))
    for row, record in enumerate(codes.T):
        wide = np.stack(
            [
                tree.common_ancestor(published.boxes[:, c], np.full(len(published.sizes), tree.up[0, record[c]]))
                for c, tree in enumerate(trees)
            ],
            axis=1,
        )
        after = sum(costs[c][wide[:, c]] for c in range(len(trees)))
        klass[row] = np.argmin((after - before) * published.sizes + after)
        boxes[row] = wide[klass[row]]
    return Joined(klass, boxes)


def widened(published: PublishedClasses, trees: Sequence[Hierarchy], joined: Joined) -> PublishedClasses:
    """The classes with those who joined; `number` says what became of each class."""
    boxes, sizes = published.boxes.copy(), published.sizes + np.bincount(joined.klass, minlength=len(published.sizes))
    for klass, box in zip(joined.klass.tolist(), joined.boxes, strict=True):
        for column, tree in enumerate(trees):
            boxes[klass, column] = tree.common_ancestor(boxes[klass, column], box[column])
    return PublishedClasses.of(len(trees), list(boxes), sizes.tolist())
