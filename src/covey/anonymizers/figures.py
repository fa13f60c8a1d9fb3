"""The figures of a partition that every summary has; a withheld record is lost in full."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import numpy as np

from covey.anonymizers.build import Built
from covey.anonymizers.closure import boxes
from covey.anonymizers.problem import Partition
from covey.arrays import Floats, Ints, Longs
from covey.cells import number
from covey.hierarchy import Hierarchy, Interval
from covey.measures import average_class, discernibility, lm
from covey.table import group


class Loss(msgspec.Struct, frozen=True):
    """The measures of a summary: see `covey.measures`."""

    lm: float
    em: float
    dm: int
    c_avg: float


class Figures(msgspec.Struct, frozen=True):
    """The figures of a release; classes are counted as a reader sees them, by their labels."""

    rows: int
    withheld: int
    k_reached: int
    classes: int
    suppressed_cells: int
    loss: Loss


def figures(built: Built, partition: Partition) -> Figures:
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
        suppressed += int(sizes[(high[:, column] - low[:, column] == tree.codes - 1) & (tree.codes > 1)].sum())
    cells = problem.columns * max(problem.records, 1)
    return Figures(
        rows=int(sizes.sum()),
        withheld=withheld,
        k_reached=int(seen.min(initial=problem.records)),
        classes=len(seen),
        suppressed_cells=suppressed,
        loss=Loss(lost_lm / cells, lost_em / cells, discernibility(seen, withheld), average_class(seen, problem.k)),
    )


def published_ends(built: Built, partition: Partition) -> tuple[Ints, Ints]:
    """The lowest and highest leaf code that each class's label stands for, classes x columns."""
    problem = built.problem
    low, high = boxes(problem, partition.item, partition.group, partition.classes)
    for column, tree in enumerate(problem.trees):
        nodes = partition.nodes[:, column]
        boxed = is_interval(built, column)
        whole = (high[:, column] == tree.missing) & (low[:, column] != tree.missing)
        keep = boxed & ~whole
        low[:, column] = np.where(keep, low[:, column], np.where(boxed, 0, tree.first[nodes]))
        high[:, column] = np.where(keep, high[:, column], np.where(boxed, tree.codes - 1, tree.last[nodes]))
    return low, high


def is_interval(built: Built, column: int) -> bool:
    """True if the column publishes each class's own interval."""
    return isinstance(built.table.quasi[column].hierarchy, Interval)


def _share(built: Built, partition: Partition, column: int, low: Ints, high: Ints) -> Floats:
    """The part of the domain that each class's label stands for: LM."""
    tree, hierarchy = built.problem.trees[column], built.table.quasi[column].hierarchy
    if not isinstance(hierarchy, Interval):
        return lm(tree)[partition.nodes[:, column]]
    values = _values(tree)
    known = values[: tree.leaves]
    start = known.min() if hierarchy.low is None else float(hierarchy.low)
    stop = known.max() if hierarchy.high is None else float(hierarchy.high)
    whole = (low != high) & (high == tree.codes - 1) & (tree.missing is not None)
    width = (values[high] - values[low]) / (stop - start) if stop > start else np.zeros(len(low))
    return np.where(whole, 1.0, np.clip(np.nan_to_num(width), 0.0, 1.0))


def _values(tree: Hierarchy) -> Floats:
    """The number of each leaf code; none for the missing leaf."""
    found: list[Decimal | None] = [number(label) for label in tree.labels[: tree.codes]]
    return np.array([np.nan if value is None else float(value) for value in found])


def _unknown(built: Built, column: int, low: Ints, high: Ints) -> tuple[Floats, float]:
    """H(X | B) in bits for each class's label B, and for the root: EM."""
    often: Longs = np.bincount(built.table.codes[column], minlength=built.problem.trees[column].codes)
    total = np.concatenate([[0.0], np.cumsum(often)])
    known = np.concatenate([[0.0], np.cumsum(often * np.log2(np.maximum(often, 1)))])

    def entropy(first: Longs | Ints, last: Longs | Ints) -> Floats:
        inside = np.maximum(total[last + 1] - total[first], 1.0)
        return np.asarray(np.maximum(np.log2(inside) - (known[last + 1] - known[first]) / inside, 0.0))

    whole = entropy(np.array([0]), np.array([len(often) - 1]))
    return entropy(low, high), float(whole[0])
