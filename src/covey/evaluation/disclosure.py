"""Disclosure of attributes: what a class tells of its members' sensitive values; one value in it tells all."""

from __future__ import annotations

import numpy as np

from covey.evaluation.findings import Disclosure
from covey.judge.released import Released
from covey.judge.tuples import Cells

_NEARLY = 0.9


def disclosure(released: Released) -> tuple[Disclosure, ...]:
    """The figures of every sensitive column."""
    return tuple(_of_column(released, cells) for cells in released.sensitive)


def _of_column(released: Released, cells: Cells) -> Disclosure:
    counts = released.table.counts
    pair, where = np.unique(released.class_of * len(cells.labels) + cells.codes, return_inverse=True)
    together = np.bincount(where, weights=counts)
    most = np.zeros(released.classes)
    np.maximum.at(most, pair // len(cells.labels), together)
    share = most / released.sizes
    rows = released.rows
    whole = np.bincount(cells.codes, weights=counts, minlength=len(cells.labels))
    return Disclosure(
        column=cells.column.name,
        homogeneous_rows=float(released.sizes[share >= 1].sum() / rows),
        guessed=float(most.sum() / rows),
        guessed_before=float(whole.max() / rows),
        nearly_certain=float(released.sizes[share >= _NEARLY].sum() / rows),
        worst_class=float(share.max()),
        value=cells.labels[int(np.argmax(whole))],
    )
