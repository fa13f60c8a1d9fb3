"""The release: each class's nodes with the records' own sensitive and plain values, and what is known of it before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from covey import measures
from covey.anonymizers.constraints import diversity_of
from covey.arrays import Ints, Longs
from covey.errors import Unmet
from covey.protocols.cluster_rows.ground import Clusters, Ground
from covey.protocols.protocol import Figures, Result, Seat
from covey.protocols.shared import rows
from covey.protocols.shared.diversity import require_diverse
from covey.study import Study
from covey.table import group, labelled


@dataclass(frozen=True)
class Classes:
    """What is published: boxes that differ, their sizes, and each own record's class."""

    sizes: Longs
    boxes: Ints
    label: Longs

    @classmethod
    def of(cls, clusters: Clusters, label: Longs) -> Classes:
        """Clusters with the same box are one class to whoever reads the release."""
        number, first = group([*clusters.boxes.T], len(clusters))
        sizes = np.bincount(number, weights=clusters.sizes, minlength=len(first)).astype(np.int64)
        return cls(sizes, clusters.boxes[first], number[label])


def figures(ground: Ground, classes: Classes, leaf_counts: Sequence[Longs] | None) -> Figures:
    """What is known of the release before it is opened."""
    nodes, sizes = ground.local(classes.boxes), classes.sizes
    rows, columns = int(sizes.sum()), ground.columns
    lost = sum(float(measures.lm(tree)[nodes[:, c]] @ sizes) for c, tree in enumerate(ground.trees))
    em = None
    if leaf_counts is not None:
        pairs = enumerate(zip(ground.trees, leaf_counts, strict=True))
        em = sum(float(measures.em(tree, own)[nodes[:, c]] @ sizes) for c, (tree, own) in pairs) / (rows * columns)
    roots = np.array([tree.root if tree.nodes > 1 else -1 for tree in ground.trees])
    return Figures(
        rows=rows,
        classes=len(sizes),
        k_reached=int(sizes.min()),
        suppressed_cells=int(((nodes == roots).sum(axis=1) * sizes).sum()),
        loss={
            "lm": lost / (rows * columns),
            "em": em,
            "dm": float(measures.discernibility(sizes)),
            "c_avg": measures.average_class(sizes, ground.k),
        },
    )


def require_little_suppressed(study: Study, ground: Ground, classes: Classes) -> None:
    """Raises Unmet where more records end at every root than the study allows."""
    roots = np.array([tree.root for tree in ground.trees])
    lost = int(classes.sizes[(ground.local(classes.boxes) == roots).all(axis=1)].sum())
    rows = int(classes.sizes.sum())
    if lost > study.suppression * rows:
        raise Unmet(
            f"{lost:,} of {rows:,} records would be suppressed, more than suppression = {study.suppression:g} allows; "
            f"{math.ceil(lost / rows * 1000) / 1000:g} would do, or a smaller k"
        )


async def publish(seat: Seat, ground: Ground, classes: Classes, known: Figures) -> Result:
    """Asks for approval, opens the release and returns it. Raises Unmet where too much would be suppressed."""
    require_little_suppressed(seat.study, ground, classes)
    opened = await rows.release(seat, classes.label, classes.sizes, known)
    found = result(seat.study, ground, classes, known, opened.klass, opened.cells)
    require_diverse(seat.study, found.figures)
    return found


def result(
    study: Study, ground: Ground, classes: Classes, known: Figures, number: Longs, cells: dict[str, list[str]]
) -> Result:
    """The release from each row's class and its carried cells."""
    nodes = ground.local(classes.boxes)[number]
    columns: dict[str, pa.Array] = {}
    for position, (column, tree) in enumerate(zip(study.quasi, ground.trees, strict=True)):
        columns[column.name] = labelled(np.ascontiguousarray(nodes[:, position]), tree.labels)
    columns.update({name: pa.array(values, pa.string()).dictionary_encode() for name, values in cells.items()})
    table = pa.table({column.name: columns[column.name] for column in study.released})
    return Result(table, replace(known, l_reached=_diversity(study, number, cells, len(classes.sizes))))


def _diversity(study: Study, number: Longs, cells: dict[str, list[str]], classes: int) -> float | None:
    reached = math.inf
    for column in study.sensitive:
        values = np.unique(np.array(cells[column.name], dtype=object).astype(str), return_inverse=True)[1]
        counts = np.zeros((classes, int(values.max(initial=0)) + 1), dtype=np.int64)
        np.add.at(counts, (number, values), 1)
        reached = min([reached, *(diversity_of(row, study.privacy.diversity) for row in counts)])
    return reached if study.sensitive else None
