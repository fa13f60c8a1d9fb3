"""The released table as the study reads it: every label checked, rows that look alike counted as one class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from covey.arrays import Longs
from covey.cells import MISSING, SUPPRESSED
from covey.errors import InputError
from covey.hierarchy import Flat, Hierarchy, Interval
from covey.judge.tuples import Cells, Tuples, alike, is_missing, refuse_not_finite, refuse_unlisted, tuples
from covey.schema import Column, Role
from covey.sources import Source
from covey.study import Study


@dataclass(frozen=True)
class Released:
    """The distinct released rows, and the class of each: rows with one generalized quasi tuple.

    Whoever reads the file can tell `[20, 29]` from `[20, 29] `: such rows do not hide among each other.
    """

    table: Tuples
    quasi: tuple[Cells, ...]
    sensitive: tuple[Cells, ...]
    carried: tuple[Cells, ...]  # sensitive and plain
    class_of: Longs  # each distinct row's class
    example: Longs  # one distinct row of each class
    sizes: Longs  # rows per class

    @property
    def rows(self) -> int:
        return self.table.rows

    @property
    def classes(self) -> int:
        return len(self.sizes)

    @property
    def suppressed(self) -> Longs:
        """Per class, how many of its quasi cells are `*`."""
        cells = np.zeros(self.classes, dtype=np.int64)
        for column in self.quasi:
            cells += _suppressed(column)[self.example]
        return cells


def read_release(source: Source, study: Study, *, with_plain: bool) -> Released:
    """The release. Raises InputError for a column that is lacking, or a cell that the study does not know.

    Plain columns take part only where rows are to be matched; without that they are looked at one by one.
    """
    source.require([column.name for column in study.released])
    plain = [column.published for column in study.of_role(Role.PLAIN)]
    columns = [*(column.published for column in (*study.quasi, *study.sensitive)), *(plain if with_plain else ())]
    table = _checked(tuples(source, columns))
    for column in () if with_plain else plain:
        if column.missing != "value" or column.values is not None:
            _checked(tuples(source, [column]))
    quasi = tuple(_one_spelling(cells) for cells in table.of(study.quasi))
    class_of, example = alike([cells.written for cells in quasi], len(table.counts))
    return Released(
        table=table,
        quasi=quasi,
        sensitive=table.of(study.sensitive),
        carried=table.of([column for column in columns if column.role is not Role.QUASI]),
        class_of=class_of,
        example=example,
        sizes=np.bincount(class_of, weights=table.counts).astype(np.int64),
    )


def _checked(table: Tuples) -> Tuples:
    refuse_not_finite(table)
    refuse_unlisted(table)
    for cells in table.cells:
        _refuse_missing(table, cells)
        if cells.column.role is Role.QUASI:
            _refuse_strange_labels(table, cells)
    return table


def _refuse_missing(table: Tuples, cells: Cells) -> None:
    policy = cells.column.missing
    if policy != "value" and (bad := table.rows_where(cells, is_missing)):
        raise InputError(
            f"{table.name}: column {cells.column.name!r} has no value in {bad:,} rows, "
            f'and the study says missing = "{policy}"; release the table anew'
        )


def _refuse_strange_labels(table: Tuples, cells: Cells) -> None:
    if bad := table.rows_where(cells, lambda label: not is_label(cells.column, label)):
        raise InputError(
            f"{table.name}: column {cells.column.name!r} has a cell in {bad:,} rows that is no label of its hierarchy; "
            "is this the study that it was released under?"
        )


def is_label(column: Column, label: str) -> bool:
    """True if a released quasi cell is a node of the column's hierarchy."""
    tree = column.hierarchy
    if label == MISSING:
        return column.missing == "value"
    if isinstance(tree, Hierarchy):
        return tree.node(label) is not None
    if isinstance(tree, Interval):
        return label == SUPPRESSED or _within(tree, label)
    return tree is not None and tree.level(label) is not None


def _within(tree: Interval, label: str) -> bool:
    ends = tree.ends(label)
    if ends is None:
        return False
    limits = tree.whole()
    return limits is None or (limits[0] <= ends[0] and ends[1] <= limits[1])


def off_steps(released: Released) -> int:
    """The number of rows with an interval whose ends are not public steps of its column."""
    bad = np.zeros(len(released.table.counts), dtype=bool)
    for cells in released.quasi:
        tree = cells.column.hierarchy
        if isinstance(tree, Interval):
            bad |= np.array([not tree.on_steps(label) for label in cells.labels], dtype=bool)[cells.codes]
    return int(released.table.counts[bad].sum())


def _one_spelling(cells: Cells) -> Cells:
    """One label for an interval in several spellings: `[20, 39.0]` and `[20, 39]`."""
    tree = cells.column.hierarchy
    if not isinstance(tree, Interval):
        return cells
    code_of: dict[tuple[Decimal, Decimal] | str, int] = {}
    keys = [tree.ends(label) or label for label in cells.labels]
    lookup = np.array([code_of.setdefault(key, len(code_of)) for key in keys], dtype=np.int32)
    labels = [""] * len(code_of)
    for key, label in zip(keys, cells.labels, strict=True):
        labels[code_of[key]] = label
    return replace(cells, codes=lookup[cells.codes], labels=tuple(labels))


def with_range(cells: Cells, original: Sequence[str] | None) -> Column:
    """The column with a range for its intervals: its own, the original's values', or the release's."""
    tree = cells.column.hierarchy
    if not isinstance(tree, Interval) or (tree.low is not None and tree.high is not None):
        return cells.column
    ends = [end for label in (cells.labels if original is None else original) for end in tree.ends(label) or ()]
    return replace(cells.column, hierarchy=replace(tree, low=min(ends), high=max(ends))) if ends else cells.column


def shares(column: Column, labels: Sequence[str]) -> tuple[list[float], list[float]]:
    """Each label's part of the domain (LM) and of the tree's height (precision).

    An interval has no levels of its own: its width stands for both.
    """
    tree = column.hierarchy
    if isinstance(tree, Hierarchy):
        domain = column.tree()
        nodes = [node for label in labels if (node := domain.node(label)) is not None]
        levels = (domain.level[nodes] / max(domain.height, 1)).tolist()
        return [_part(domain, node) for node in nodes], levels
    parts = [0.0 if label == MISSING or tree is None else min(tree.share(label) or 0.0, 1.0) for label in labels]
    if tree is None or isinstance(tree, Interval | Flat):
        return parts, parts
    return parts, [0.0 if label == MISSING else (tree.level(label) or 0) / tree.height for label in labels]


def _part(tree: Hierarchy, node: int) -> float:
    """LM: a leaf has lost nothing, the root everything."""
    if node < tree.codes or node == tree.root:
        return float(node >= tree.codes)
    return float((tree.sizes[node] - 1) / max(tree.sizes[tree.root] - 1, 1))


def _suppressed(cells: Cells) -> Longs:
    root = np.array([is_root(cells.column, label) for label in cells.labels], dtype=np.int64)
    return root[cells.codes]


def is_root(column: Column, label: str) -> bool:
    """True if a released label says nothing of the value: `*`, or the hierarchy's root."""
    tree = column.hierarchy
    return label == SUPPRESSED or (isinstance(tree, Hierarchy) and label == tree.top and tree.nodes > 1)
