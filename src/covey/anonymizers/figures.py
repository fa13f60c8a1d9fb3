"""The figures of a partition that every summary has; a withheld record is lost in full."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from decimal import Decimal

import msgspec
import numpy as np

from covey.anonymizers.build import Built
from covey.anonymizers.closure import boxes
from covey.anonymizers.problem import Partition
from covey.arrays import Floats, Ints, Longs
from covey.cells import number
from covey.hierarchy import Hierarchy, Interval
from covey.hierarchy.numbers import label as interval_label
from covey.measures import average_class, discernibility, lm
from covey.table import group


class PartitionLoss(msgspec.Struct, frozen=True):
    """The measures of a summary: see `covey.measures`."""

    lm: float
    em: float
    dm: int
    c_avg: float


class PartitionFigures(msgspec.Struct, frozen=True):
    """The figures of a release; classes are counted as a reader sees them, by their labels."""

    rows: int
    withheld: int
    k_reached: int
    classes: int
    suppressed_cells: int
    loss: PartitionLoss


def figures(built: Built, partition: Partition) -> PartitionFigures:
    """Computes all figures from the classes alone."""
    problem, sizes = built.problem, partition.sizes()
    withheld = problem.records - int(sizes.sum())
    low, high = published_ends(built, partition)
    label, first = group([*low.T, *high.T], partition.classes)
    seen = np.bincount(label, weights=sizes, minlength=len(first)).astype(np.int64)
    lost_lm, lost_em, suppressed = 0.0, 0.0, 0
    for column, tree in enumerate(problem.trees):
        share = _share(built, partition, column, low[:, column], high[:, column])
        unknown, at_root = _unknown(built, column, low[:, column], high[:, column])
        lost_lm += float(share @ sizes) + withheld
        lost_em += float(unknown @ sizes) + at_root * withheld
        whole = (high[:, column] - low[:, column] == tree.codes - 1) & (tree.codes > 1)
        if is_interval(built, column):  # the whole range is no `*`: that is for classes with missing values
            whole &= tree.missing is not None
        suppressed += int(sizes[whole].sum())
    cells = problem.columns * max(problem.records, 1)
    return PartitionFigures(
        rows=int(sizes.sum()),
        withheld=withheld,
        k_reached=int(seen.min(initial=problem.records)),
        classes=len(seen),
        suppressed_cells=suppressed,
        loss=PartitionLoss(
            lost_lm / cells, lost_em / cells, discernibility(seen, withheld), average_class(seen, problem.k)
        ),
    )


def published_ends(built: Built, partition: Partition) -> tuple[Ints, Ints]:
    """The lowest and highest leaf code that each class's label stands for, classes x columns."""
    problem = built.problem
    low, high = boxes(problem, partition.item, partition.group, partition.classes)
    for column, tree in enumerate(problem.trees):
        hierarchy, nodes = built.table.quasi[column].hierarchy, partition.nodes[:, column]
        if isinstance(hierarchy, Interval):
            low[:, column], high[:, column] = _widened(tree, hierarchy, low[:, column], high[:, column])
        else:
            low[:, column], high[:, column] = tree.first[nodes], tree.last[nodes]
    return low, high


def _widened(tree: Hierarchy, hierarchy: Interval, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """The leaf codes between the steps that each class's interval ends at; all of them if it has missing values too."""
    values = _decimals(tree)
    box, of_class = _distinct(low, high, tree.codes)
    found = np.array(box, dtype=np.int32).reshape(-1, 2)
    for place, (first, last) in enumerate(box):
        if last != tree.missing:
            start, stop = hierarchy.outward(values[first], values[last])
            found[place] = bisect_left(values, start), bisect_right(values, stop) - 1
        elif first != last:
            found[place] = 0, tree.codes - 1
    return found[of_class, 0], found[of_class, 1]


def _distinct(low: Ints, high: Ints, codes: int) -> tuple[list[tuple[int, int]], Longs]:
    """The distinct pairs, and each class's place among them."""
    pairs, place = np.unique(low.astype(np.int64) * codes + high, return_inverse=True)
    return [divmod(pair, codes) for pair in pairs.tolist()], place.astype(np.int64)


def is_interval(built: Built, column: int) -> bool:
    """True if the column publishes each class's own interval."""
    return isinstance(built.table.quasi[column].hierarchy, Interval)


def _share(built: Built, partition: Partition, column: int, low: Ints, high: Ints) -> Floats:
    """The part of the domain that each class's label stands for: LM."""
    tree, hierarchy = built.problem.trees[column], built.table.quasi[column].hierarchy
    if not isinstance(hierarchy, Interval):
        return lm(tree)[partition.nodes[:, column]]
    values = _decimals(tree)
    ranged = hierarchy if hierarchy.whole() else replace(hierarchy, low=values[0], high=values[-1])
    box, of_class = _distinct(low, high, tree.codes)
    shares = [
        float(first != last) if last == tree.missing else _part(ranged, values[first], values[last])
        for first, last in box
    ]
    return np.array(shares or [0.0])[of_class]


def _part(hierarchy: Interval, low: Decimal, high: Decimal) -> float:
    return min(hierarchy.share(interval_label(*hierarchy.outward(low, high))) or 0.0, 1.0)


def _decimals(tree: Hierarchy) -> list[Decimal]:
    """The number of each leaf, in their order; the missing leaf has none."""
    return [number(label) or Decimal(0) for label in tree.labels[: tree.leaves]]


def _unknown(built: Built, column: int, low: Ints, high: Ints) -> tuple[Floats, float]:
    """H(X | B) in bits for each class's label B, and for the root: EM."""
    often = built.table.often(column)
    total = np.concatenate([[0.0], np.cumsum(often)])
    known = np.concatenate([[0.0], np.cumsum(often * np.log2(np.maximum(often, 1)))])

    def entropy(first: Longs | Ints, last: Longs | Ints) -> Floats:
        inside = np.maximum(total[last + 1] - total[first], 1.0)
        return np.asarray(np.maximum(np.log2(inside) - (known[last + 1] - known[first]) / inside, 0.0))

    whole = entropy(np.array([0]), np.array([len(often) - 1]))
    return entropy(low, high), float(whole[0])
