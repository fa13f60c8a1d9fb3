"""Records that are left over join the cheapest classes: what the class's records lose by wider labels, and they.

Where a class may be one party's alone, a record joins only classes in which its owner has records already: then nobody
who saw no record of others in a class sees one afterwards. A record whose owner has none in any class stays out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Ints, Longs
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.study import Study

STAYS = -1


@dataclass(frozen=True)
class Joined:
    """Some records: the class that each joins, or STAYS, and the labels that cover both."""

    klass: Longs
    boxes: Ints  # records x columns

    def of_each(self, counts: Longs | None) -> Joined:
        """The same, where each of these stands for so many records, or for one."""
        return self if counts is None else Joined(np.repeat(self.klass, counts), np.repeat(self.boxes, counts, axis=0))


def cheapest(
    study: Study, trees: Sequence[Hierarchy], published: PublishedClasses, codes: Ints, among: Bits | None = None
) -> Joined:
    """For each record (columns x records) the class that is cheapest to join, and the labels that it takes.

    Only classes `among` which it may choose count, where these are given.
    """
    costs, _ = integer_costs(trees, "lm", None, [column.weight for column in study.quasi])
    klass = np.full(codes.shape[1], STAYS, dtype=np.int64)
    boxes = np.zeros((codes.shape[1], len(trees)), dtype=np.int32)
    places = np.arange(len(published.sizes)) if among is None else np.flatnonzero(among)
    if not len(places):
        return Joined(klass, boxes)
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
        price = (after - before) * published.sizes + after
        klass[row] = places[np.argmin(price[places])]
        boxes[row] = wide[klass[row]]
    return Joined(klass, boxes)


def cheapest_of_owners(
    study: Study, trees: Sequence[Hierarchy], published: PublishedClasses, codes: Ints, klass: Longs, owner: Longs
) -> Joined:
    """The same for all records without a class (STAYS), where each may join classes that have its owner's records."""
    left = np.flatnonzero(klass == STAYS)
    joined = Joined(np.full(len(left), STAYS, dtype=np.int64), np.zeros((len(left), len(trees)), dtype=np.int32))
    for party in np.unique(owner[left]).tolist():
        here = owner[left] == party
        own = cheapest(study, trees, published, codes[:, left[here]], published.count(klass[owner == party]) > 0)
        joined.klass[here], joined.boxes[here] = own.klass, own.boxes
    return joined


def cheapest_to_lift(
    trees: Sequence[Hierarchy], weights: Sequence[float], boxes: Sequence[Ints], sizes: Sequence[int]
) -> Longs:
    """The classes, first those whose records lose least if they are published without labels."""
    costs, _ = integer_costs(trees, "lm", None, weights)
    stacked = np.array(boxes, dtype=np.int64).reshape(-1, len(trees))
    lost = sum(cost[tree.root] - cost[stacked[:, c]] for c, (tree, cost) in enumerate(zip(trees, costs, strict=True)))
    return np.argsort(lost * np.array(sizes, dtype=np.int64), kind="stable")


def doublings(number: int) -> Iterator[int]:
    """The numbers 1, 2, 4 … up to this one; 0 alone where it is 0."""
    taken = min(1, number)
    yield taken
    while taken < number:
        taken = min(2 * taken, number)
        yield taken


def widened(published: PublishedClasses, trees: Sequence[Hierarchy], joined: Joined) -> PublishedClasses:
    """The classes with those who joined; `number` says what became of each class."""
    boxes, sizes = published.boxes.copy(), published.sizes + published.count(joined.klass)
    inside = joined.klass != STAYS
    for klass, box in zip(joined.klass[inside].tolist(), joined.boxes[inside], strict=True):
        for column, tree in enumerate(trees):
            boxes[klass, column] = tree.common_ancestor(boxes[klass, column], box[column])
    return PublishedClasses.of(len(trees), list(boxes), sizes.tolist())
