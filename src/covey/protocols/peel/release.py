"""The release and its figures, from the classes and their rows: the same for the parties and for a trusted one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from covey import measures
from covey.anonymizers.constraints import diversity_of
from covey.arrays import Ints, Longs
from covey.errors import Unmet
from covey.hierarchy import Hierarchy
from covey.protocols.protocol import Figures, Result
from covey.protocols.shared.rows import Rows
from covey.study import Study
from covey.table import group, labelled


@dataclass(frozen=True)
class Published:
    """The classes as a reader sees them: boxes that differ, and how many records each has."""

    boxes: Ints
    sizes: Longs
    number: Longs
    """The class that each class of the run became."""

    @classmethod
    def of(cls, columns: int, boxes: list[Ints], sizes: list[int]) -> Published:
        """Classes with the same labels are one."""
        stacked = np.stack(boxes) if boxes else np.zeros((0, columns), dtype=np.int32)
        number, first = group([*stacked.T], len(stacked))
        total = np.bincount(number, weights=np.array(sizes, dtype=np.float64), minlength=len(first))
        return cls(stacked[first], total.astype(np.int64), number)


def figures(study: Study, trees: tuple[Hierarchy, ...], published: Published, records: int) -> Figures:
    """What is known before the rows are opened. Raises Unmet where too much is suppressed or nothing is published."""
    sizes, boxes = published.sizes, published.boxes
    rows, columns = int(sizes.sum()), len(trees)
    if not rows:
        raise Unmet("no class keeps what the study asks for, not even the whole table; lower k, l or k_insider")
    withheld = records - rows
    roots = np.array([tree.root if tree.nodes > 1 else -1 for tree in trees])
    lost = int(sizes[(boxes == roots).all(axis=1)].sum()) + withheld
    if lost > study.suppression * records:
        raise Unmet(
            f"{lost:,} of {records:,} records would be suppressed, more than suppression = {study.suppression:g} allows"
        )
    lm = sum(float(measures.lm(tree)[boxes[:, column]] @ sizes) for column, tree in enumerate(trees)) / columns
    return Figures(
        rows=rows,
        classes=len(sizes),
        k_reached=int(sizes.min()),
        withheld=withheld,
        suppressed_cells=int(((boxes == roots).sum(axis=1) * sizes).sum()),
        loss={
            "lm": (lm + withheld) / records,
            "em": None,
            "dm": float(measures.discernibility(sizes, withheld)),
            "c_avg": measures.average_class(sizes, study.privacy.k),
        },
    )


def result(study: Study, trees: tuple[Hierarchy, ...], published: Published, known: Figures, rows: Rows) -> Result:
    """The released table."""
    nodes = published.boxes[rows.klass]
    cells: dict[str, pa.Array] = {
        column.name: labelled(np.ascontiguousarray(nodes[:, position]), tree.labels)
        for position, (column, tree) in enumerate(zip(study.quasi, trees, strict=True))
    }
    cells |= {name: pa.array(texts, pa.string()).dictionary_encode() for name, texts in rows.cells.items()}
    table = pa.table({column.name: cells[column.name] for column in study.released})
    return Result(table, replace(known, l_reached=_diversity(study, rows)))


def _diversity(study: Study, rows: Rows) -> float | None:
    """The smallest l of a class and a sensitive column."""
    reached = math.inf
    for column in study.sensitive:
        code = {text: place for place, text in enumerate(dict.fromkeys(rows.cells[column.name]))}
        values = np.array([code[text] for text in rows.cells[column.name]], dtype=np.int64)
        counts = np.zeros((int(rows.klass.max()) + 1, len(code)), dtype=np.int64)
        np.add.at(counts, (rows.klass, values), 1)
        reached = min(reached, *(diversity_of(row, study.privacy.diversity) for row in counts))
    return reached if study.sensitive else None
