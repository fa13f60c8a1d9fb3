"""The open rows: their classes, the exact values paired anew within each, and what the release is like."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from covey import measures
from covey.anonymizers.constraints import diversity_of
from covey.arrays import Ints, Longs
from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import Aborted
from covey.hierarchy import Hierarchy
from covey.protocols.protocol import Figures
from covey.protocols.shared.columns.ownership import exact_columns, exact_holders
from covey.study import Study
from covey.table import group, labelled

Cells: TypeAlias = tuple[str, ...]
"""A row's exact values of one holder, in the study's order of its columns."""


def pairing(study: Study) -> str:
    """What the ledger says of exact values of different holders; nothing where there is one such holder at most."""
    names = exact_holders(study)
    if len(names) < 2:
        return ""
    return f"; the exact values of {', '.join(names)} are permuted within each class, so that no row shows two together"


def paired(lanes: Sequence[tuple[Longs, Sequence[Cells]]]) -> tuple[Longs, list[list[Cells]]]:
    """The class of each released row, and for each holder of exact values its cells, row by row.

    A lane has the classes and cells of one holder's rows. Within a class each holder's rows stand in an order drawn
    from a hash of all that is published: the same for everyone, and independent of who belongs together. With one
    lane nothing is drawn.
    """
    ordered = []
    for classes, cells in lanes:
        order = sorted(range(len(cells)), key=lambda row: (int(classes[row]), cells[row]))
        ordered.append((classes[order], [cells[row] for row in order]))
    if len(lanes) < 2:
        return ordered[0][0], [ordered[0][1]]
    content = hashlib.sha256()
    for classes, cells in ordered:
        content.update(classes.astype("<i8").tobytes() + msgspec.msgpack.encode(cells))
    draws = Rng(Secret(content.digest()))
    shuffled = []
    for lane, (classes, cells) in enumerate(ordered):
        anew = np.lexsort((draws.stream("pairing", lane).words(len(cells)), classes))
        shuffled.append([cells[row] for row in anew.tolist()])
    return ordered[0][0], shuffled


@dataclass(frozen=True)
class Opened:
    """The released rows: each one's class, each class's nodes in the study's quasi columns, and the exact cells."""

    klass: Longs
    nodes: Ints  # classes x quasi columns, nodes of each column's own tree
    cells: dict[str, list[str]]

    @property
    def sizes(self) -> Longs:
        return np.bincount(self.klass, minlength=len(self.nodes)).astype(np.int64)

    def table(self, study: Study, trees: Sequence[Hierarchy]) -> pa.Table:
        """The release."""
        columns: dict[str, pa.Array] = {}
        for place, (column, tree) in enumerate(zip(study.quasi, trees, strict=True)):
            columns[column.name] = labelled(np.ascontiguousarray(self.nodes[self.klass, place]), tree.labels)
        columns.update({name: pa.array(cells, pa.string()).dictionary_encode() for name, cells in self.cells.items()})
        return pa.table({column.name: columns[column.name] for column in study.released})


def opened(study: Study, lanes: Sequence[tuple[Ints, Sequence[Cells]]]) -> Opened:
    """The released rows from each join's nodes (rows x the study's quasi columns) and exact cells.

    Rows with equal nodes are one class. Raises Aborted where the joins do not have the same classes.
    """
    numbered = [group([*nodes.T], len(nodes)) for nodes, _ in lanes]
    shown = [nodes[first] for (nodes, _), (_, first) in zip(lanes, numbered, strict=True)]
    sizes = [np.bincount(number) for number, _ in numbered]
    for other, size in zip(shown[1:], sizes[1:], strict=True):
        if not np.array_equal(other, shown[0]) or not np.array_equal(size, sizes[0]):
            raise Aborted(
                "the joins of the exact columns do not have the same classes: a party did not keep to the protocol",
                resumable=False,
            )
    klass, parts = paired([(number, cells) for (number, _), (_, cells) in zip(numbered, lanes, strict=True)])
    cells: dict[str, list[str]] = {}
    for holder, rows in zip(exact_holders(study), parts, strict=False):
        for place, column in enumerate(exact_columns(study, holder)):
            cells[column.name] = [row[place] for row in rows]
    return Opened(klass, shown[0], cells)


def figures(study: Study, trees: Sequence[Hierarchy], opened: Opened) -> Figures:
    """What the open release is like. Raises Aborted where a class has fewer than k rows: then nothing is published."""
    sizes, nodes = opened.sizes, opened.nodes
    rows, columns, k = int(sizes.sum()), len(trees), study.privacy.k
    if sizes.min(initial=k) < k:
        raise Aborted(f"a class has fewer than k = {k} rows: a party did not keep to the protocol", resumable=False)
    lost = sum(float(measures.lm(tree)[nodes[:, place]] @ sizes) for place, tree in enumerate(trees))
    roots = np.array([tree.root if tree.nodes > 1 else -1 for tree in trees])
    return Figures(
        rows=rows,
        classes=len(sizes),
        k_reached=int(sizes.min()),
        l_reached=diversity(study, opened),
        suppressed_cells=int(((nodes == roots).sum(axis=1) * sizes).sum()),
        loss={
            "lm": lost / (rows * columns),
            "em": None,
            "dm": float(measures.discernibility(sizes)),
            "c_avg": measures.average_class(sizes, k),
        },
    )


def diversity(study: Study, opened: Opened) -> float | None:
    """The l that every class reaches in every sensitive column; None where there is none."""
    reached = math.inf
    for column in study.sensitive:
        values = np.unique(np.array(opened.cells[column.name], dtype=object).astype(str), return_inverse=True)[1]
        counts = np.zeros((len(opened.nodes), int(values.max(initial=0)) + 1), dtype=np.int64)
        np.add.at(counts, (opened.klass, values), 1)
        reached = min([reached, *(diversity_of(row, study.privacy.diversity) for row in counts)])
    return reached if study.sensitive else None
