"""Turns a table into a problem, and a partition back into the released table; both are pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa

from covey.anonymizers.closure import boxes
from covey.anonymizers.problem import FARTHEST, Distance, Partition, Problem, Sensitive
from covey.arrays import Ints, Longs
from covey.cells import MISSING, SUPPRESSED, number
from covey.errors import InputError
from covey.hierarchy import Hierarchy, Interval
from covey.hierarchy.numbers import label as interval_label
from covey.measures import integer_costs
from covey.schema import Column
from covey.table import Table, Values, group, labelled


@dataclass(frozen=True)
class Built:
    """A problem, and the item of each row of the table that it was made from."""

    table: Table
    problem: Problem
    item_of_row: Longs


def build(table: Table, *, k: int | None = None) -> Built:
    """The study's problem over a table, rows that look alike counted once; `k` replaces the study's."""
    study, privacy = table.study, table.study.privacy
    if not table.trees:
        raise InputError("no column has the role quasi: there is nothing to generalize")
    sensitive = [values for values in table.carried if values.column in study.sensitive]
    watched = any(asked is not None for each in study.sensitive for asked in (study.l_of(each), study.t_of(each)))
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
    place = np.array(_places(column, values.labels), dtype=np.int32)
    distance: Distance = "ordered" if column.distance == "ordered" else "equal"
    return Sensitive(place[values.codes], len(place), distance, None, column.l, column.t, column.name)


def _places(column: Column, labels: Sequence[str]) -> list[int]:
    """Each label's place: as the study lists them, by number, else by spelling; a missing value comes last."""
    listed = {label: place for place, label in enumerate(column.values or ())}

    def key(label: str) -> tuple[bool, int, Decimal, str]:
        value = number(label) if column.kind == "number" else None
        return label == MISSING, listed.get(label, len(listed)), value or Decimal(0), label

    place = {label: position for position, label in enumerate(sorted(labels, key=key))}
    return [place[label] for label in labels]


def _spacing(column: Column, tree: Hierarchy) -> Ints | None:
    """The position of each value of a column of intervals in its range; a missing value lies at the far end."""
    if not isinstance(column.hierarchy, Interval):
        return None
    values = [number(label) for label in tree.labels[: tree.leaves]]
    known = [value for value in values if value is not None] or [Decimal(0)]
    low = min(known) if column.hierarchy.low is None else column.hierarchy.low
    high = max(known) if column.hierarchy.high is None else column.hierarchy.high
    span = (high - low) or Decimal(1)
    places = [int(((low if value is None else value) - low) / span * (FARTHEST - 1)) for value in values]
    return np.array(places + [FARTHEST] * (tree.missing is not None), dtype=np.int32)


def class_of_row(built: Built, partition: Partition) -> Longs:
    """The class of each row, -1 where it is withheld; an item's rows fill its classes in the order of both."""
    order = np.argsort(built.item_of_row, kind="stable")
    pieces = np.lexsort((partition.group, partition.item))
    item, count = partition.item[pieces], partition.count[pieces]
    first_row = np.concatenate([[0], np.cumsum(built.problem.counts)])[item]
    before = np.cumsum(count) - count
    of_item = np.concatenate([[True], item[1:] != item[:-1]]) if len(item) else np.zeros(0, dtype=bool)
    own_before = before - np.maximum.accumulate(np.where(of_item, before, 0)) if len(item) else before
    starts = first_row + own_before
    places = np.repeat(starts - before, count) + np.arange(int(count.sum()))
    result = np.full(len(built.item_of_row), -1, dtype=np.int64)
    result[order[places]] = np.repeat(partition.group[pieces], count)
    return result


def released(built: Built, partition: Partition) -> pa.Table:
    """The table to publish, rows in no particular order: a node's label per quasi cell, the rest as it is."""
    group_of_row = class_of_row(built, partition)
    rows = np.flatnonzero(group_of_row >= 0)
    own = group_of_row[rows]
    table = built.table.published(np.ascontiguousarray(partition.nodes[own].T), rows)
    for column, (labels, code) in zip(built.table.quasi, class_labels(built, partition), strict=True):
        if isinstance(column.hierarchy, Interval):
            place = table.column_names.index(column.name)
            table = table.set_column(place, column.name, labelled(code[own].astype(np.int32), labels))
    return table


def class_labels(built: Built, partition: Partition) -> list[tuple[Sequence[str], Ints | Longs]]:
    """For each quasi column its labels, and each class's place among them."""
    found: list[tuple[Sequence[str], Ints | Longs]] = []
    for position, (column, tree) in enumerate(zip(built.table.quasi, built.table.trees, strict=True)):
        if isinstance(column.hierarchy, Interval):
            found.append(_intervals(built.problem, partition, position, tree, column.hierarchy))
        else:
            found.append((tree.labels, partition.nodes[:, position]))
    return found


def _intervals(
    problem: Problem, partition: Partition, column: int, tree: Hierarchy, hierarchy: Interval
) -> tuple[list[str], Longs]:
    """Each class's own interval: labels, and each class's place among them."""
    low, high = boxes(problem, partition.item, partition.group, partition.classes)
    span = tree.codes
    ends, code = np.unique(low[:, column].astype(np.int64) * span + high[:, column], return_inverse=True)
    texts = [_interval(tree, hierarchy, int(end) // span, int(end) % span) for end in ends]
    place = {text: number for number, text in enumerate(sorted(set(texts)))}
    return list(place), np.array([place[text] for text in texts] or [0], dtype=np.int64)[code]


def _interval(tree: Hierarchy, hierarchy: Interval, low: int, high: int) -> str:
    """The label of the values from `low` to `high`, whose ends are public steps."""
    first, last = number(tree.labels[low]), number(tree.labels[high])
    if first is None or last is None:
        return tree.labels[low] if low == high else SUPPRESSED
    return interval_label(*hierarchy.outward(first, last))
