"""Turns a table into a problem, and a partition back into the released table with its figures.

All are pure functions. Every summary has these figures; a withheld record is lost in full.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import msgspec
import numpy as np
import pyarrow as pa

from covey.anonymizers.problem import FARTHEST, Distance, Partition, Problem, Sensitive, boxes
from covey.arrays import Floats, Ints, Longs
from covey.cells import MISSING, SUPPRESSED, number
from covey.errors import InputError
from covey.hierarchy import Hierarchy, Interval
from covey.hierarchy.numbers import label as interval_label
from covey.measures import average_class, discernibility, integer_costs, lm
from covey.schema import Column
from covey.table import Table, Values, group, labelled


@dataclass(frozen=True)
class Built:
    """A problem, and the item of each row of its table."""

    table: Table
    problem: Problem
    item_of_row: Longs


def build(table: Table, *, k: int | None = None) -> Built:
    """The study's problem over a table, rows that look alike counted once. `k` replaces the study's."""
    study, privacy = table.study, table.study.privacy
    if not table.trees:
        raise InputError("no column has the role quasi: there is nothing to generalize")
    sensitive = [values for values in table.carried if values.column in study.sensitive]
    watched = any(limit is not None for field in study.sensitive for limit in (study.l_of(field), study.t_of(field)))
    columns = [_sensitive(values) for values in sensitive] if watched else []
    item_of_row, first = group([*table.codes, *(column.codes for column in columns)], table.rows)
    counts = table.tally(item_of_row, len(first))
    leaf_counts = [table.often(column) for column in range(len(table.trees))]
    weights = [column.weight for column in table.quasi]
    if not any(weights):
        raise InputError("every quasi column has weight = 0: give one that matters a weight above 0")
    costs, scale = integer_costs(table.trees, study.measure, leaf_counts, weights)
    problem = Problem(
        trees=table.trees,
        codes=np.ascontiguousarray(table.codes[:, first]),
        counts=counts,
        costs=costs,
        scale=scale,
        k=privacy.k if k is None else k,
        sensitive=tuple(replace(column, codes=column.codes[first]) for column in columns),
        l=privacy.l,
        diversity=privacy.diversity,
        c=privacy.c,
        t=privacy.t,
        suppression=study.suppression,
        spacing=tuple(_spacing(column, tree) for column, tree in zip(table.quasi, table.trees, strict=True)),
    )
    return Built(table, problem, item_of_row)


def _sensitive(values: Values) -> Sensitive:
    """A sensitive column's rows in the order, or on the tree, that its distance needs."""
    column = values.column
    if column.distance == "hierarchy" and column.hierarchy is not None:
        tree = column.tree(values.labels).with_missing()
        codes = tree.encode(values.labels)[values.codes]
        return Sensitive(codes, tree.codes, "hierarchy", tree, column.l, column.t, column.name)
    positions = np.array(_places(column, values.labels), dtype=np.int32)
    distance: Distance = "ordered" if column.distance == "ordered" else "equal"
    return Sensitive(positions[values.codes], len(positions), distance, None, column.l, column.t, column.name)


def _places(column: Column, labels: Sequence[str]) -> list[int]:
    """Each label's place: as the study lists them, by number, else by spelling. A missing value comes last."""
    order = {label: position for position, label in enumerate(column.values or ())}

    def key(label: str) -> tuple[bool, int, Decimal, str]:
        value = number(label) if column.kind == "number" else None
        return label == MISSING, order.get(label, len(order)), value or Decimal(0), label

    position_of = {label: position for position, label in enumerate(sorted(labels, key=key))}
    return [position_of[label] for label in labels]


def _spacing(column: Column, tree: Hierarchy) -> Ints | None:
    """The position of each value of a column of intervals in its range. A missing value lies at the far end."""
    if not isinstance(column.hierarchy, Interval):
        return None
    values = [number(label) for label in tree.labels[: tree.leaves]]
    numbers = [value for value in values if value is not None] or [Decimal(0)]
    low = min(numbers) if column.hierarchy.low is None else column.hierarchy.low
    high = max(numbers) if column.hierarchy.high is None else column.hierarchy.high
    span = (high - low) or Decimal(1)
    positions = [int(((low if value is None else value) - low) / span * (FARTHEST - 1)) for value in values]
    return np.array(positions + [FARTHEST] * (tree.missing is not None), dtype=np.int32)


def class_of_row(built: Built, partition: Partition) -> Longs:
    """The class of each row, -1 where it is withheld. An item's rows fill its classes in the order of both."""
    order = np.argsort(built.item_of_row, kind="stable")
    pieces = np.lexsort((partition.group, partition.item))
    item, count = partition.item[pieces], partition.count[pieces]
    first_row = np.concatenate([[0], np.cumsum(built.problem.counts)])[item]
    offsets = np.cumsum(count) - count
    of_item = np.concatenate([[True], item[1:] != item[:-1]]) if len(item) else np.zeros(0, dtype=bool)
    own_before = offsets - np.maximum.accumulate(np.where(of_item, offsets, 0)) if len(item) else offsets
    starts = first_row + own_before
    positions = np.repeat(starts - offsets, count) + np.arange(int(count.sum()))
    result = np.full(len(built.item_of_row), -1, dtype=np.int64)
    result[order[positions]] = np.repeat(partition.group[pieces], count)
    return result


def released(built: Built, partition: Partition) -> pa.Table:
    """The table to publish, rows in no order: labels of nodes, and the rest as it is."""
    group_of_row = class_of_row(built, partition)
    rows = np.flatnonzero(group_of_row >= 0)
    groups = group_of_row[rows]
    table = built.table.published(np.ascontiguousarray(partition.nodes[groups].T), rows)
    for column, (labels, code) in zip(built.table.quasi, class_labels(built, partition), strict=True):
        if isinstance(column.hierarchy, Interval):
            index = table.column_names.index(column.name)
            table = table.set_column(index, column.name, labelled(code[groups].astype(np.int32), labels))
    return table


def class_labels(built: Built, partition: Partition) -> list[tuple[Sequence[str], Ints | Longs]]:
    """For each quasi column its labels, and each class's place among them."""
    labels: list[tuple[Sequence[str], Ints | Longs]] = []
    for position, (column, tree) in enumerate(zip(built.table.quasi, built.table.trees, strict=True)):
        if isinstance(column.hierarchy, Interval):
            labels.append(_intervals(built.problem, partition, position, tree, column.hierarchy))
        else:
            labels.append((tree.labels, partition.nodes[:, position]))
    return labels


def _intervals(
    problem: Problem, partition: Partition, column: int, tree: Hierarchy, hierarchy: Interval
) -> tuple[list[str], Longs]:
    """Each class's own interval: labels, and each class's place among them."""
    low, high = boxes(problem, partition.item, partition.group, partition.classes)
    span = tree.codes
    ends, code = np.unique(low[:, column].astype(np.int64) * span + high[:, column], return_inverse=True)
    texts = [_interval(tree, hierarchy, int(end) // span, int(end) % span) for end in ends]
    code_of = {text: number for number, text in enumerate(sorted(set(texts)))}
    return list(code_of), np.array([code_of[text] for text in texts] or [0], dtype=np.int64)[code]


def _interval(tree: Hierarchy, hierarchy: Interval, low: int, high: int) -> str:
    """The label of the values from `low` to `high`, whose ends are public steps."""
    first, last = number(tree.labels[low]), number(tree.labels[high])
    if first is None or last is None:
        return tree.labels[low] if low == high else SUPPRESSED
    return interval_label(*hierarchy.outward(first, last))


class PartitionLoss(msgspec.Struct, frozen=True):
    """The measures of a summary: see `covey.measures`."""

    lm: float
    em: float
    dm: int
    c_avg: float


class PartitionFigures(msgspec.Struct, frozen=True):
    """The figures of a release. Classes are counted as a reader sees them, by their labels."""

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
    classes = np.bincount(label, weights=sizes, minlength=len(first)).astype(np.int64)
    lost_lm, lost_em, suppressed = 0.0, 0.0, 0
    for column, tree in enumerate(problem.trees):
        share = _share(built, partition, column, low[:, column], high[:, column])
        unknown, at_root = _unknown(built, column, low[:, column], high[:, column])
        lost_lm += float(share @ sizes) + withheld
        lost_em += float(unknown @ sizes) + at_root * withheld
        gaps = (high[:, column] - low[:, column] == tree.codes - 1) & (tree.codes > 1)
        if is_interval(built, column):  # the whole range is no `*`: that is for classes with missing values
            gaps &= tree.missing is not None
        suppressed += int(sizes[gaps].sum())
    cells = problem.columns * max(problem.records, 1)
    return PartitionFigures(
        rows=int(sizes.sum()),
        withheld=withheld,
        k_reached=int(classes.min(initial=problem.records)),
        classes=len(classes),
        suppressed_cells=suppressed,
        loss=PartitionLoss(
            lost_lm / cells, lost_em / cells, discernibility(classes, withheld), average_class(classes, problem.k)
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
    """The leaf codes between the steps that each class's interval ends at. All of them if it has missing values too."""
    values = _decimals(tree)
    box, of_class = _distinct(low, high, tree.codes)
    ends = np.array(box, dtype=np.int32).reshape(-1, 2)
    for index, (first, last) in enumerate(box):
        if last != tree.missing:
            start, stop = hierarchy.outward(values[first], values[last])
            ends[index] = bisect_left(values, start), bisect_right(values, stop) - 1
        elif first != last:
            ends[index] = 0, tree.codes - 1
    return ends[of_class, 0], ends[of_class, 1]


def _distinct(low: Ints, high: Ints, codes: int) -> tuple[list[tuple[int, int]], Longs]:
    """The distinct pairs, and each class's place among them."""
    pairs, index = np.unique(low.astype(np.int64) * codes + high, return_inverse=True)
    return [divmod(pair, codes) for pair in pairs.tolist()], index.astype(np.int64)


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
    counts = built.table.often(column)
    total = np.concatenate([[0.0], np.cumsum(counts)])
    sums = np.concatenate([[0.0], np.cumsum(counts * np.log2(np.maximum(counts, 1)))])

    def entropy(first: Longs | Ints, last: Longs | Ints) -> Floats:
        weight = np.maximum(total[last + 1] - total[first], 1.0)
        return np.asarray(np.maximum(np.log2(weight) - (sums[last + 1] - sums[first]) / weight, 0.0))

    prior = entropy(np.array([0]), np.array([len(counts) - 1]))
    return entropy(low, high), float(prior[0])
