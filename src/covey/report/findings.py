"""Findings on a release, from it and the study alone: the judge's verdict, each column's loss, the classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey.arrays import Longs
from covey.cells import SUPPRESSED
from covey.judge import Risks, Verdict, verify
from covey.judge.released import Released, read_release, shares, with_range
from covey.judge.risk import judge_risk
from covey.judge.tuples import Cells
from covey.sources import Data, connect
from covey.study import Study
from covey.table import Table


@dataclass(frozen=True)
class ColumnLoss:
    """The loss of one quasi column: LM, and the shares of rows that keep their value or have none left."""

    name: str
    loss: float
    exact: float
    suppressed: float


@dataclass(frozen=True)
class SizeRange:
    """The classes of some sizes, from `least` to `most` rows."""

    least: int
    most: int
    classes: int
    rows: int


@dataclass(frozen=True)
class ReleaseFindings:
    """The findings on a release."""

    verdict: Verdict
    released: Released
    columns: tuple[ColumnLoss, ...]
    """The costliest first."""
    sizes: tuple[SizeRange, ...]
    """The smallest first."""


def examine(release: Data, study: Study, withheld: int, verdict: Verdict | None = None) -> ReleaseFindings:
    """Judges the release, unless it has been judged, and looks at its columns and classes.

    Raises InputError if the release does not fit the study.
    """
    verdict = verdict or verify(release, study)
    released = read_release(connect(release), study, with_plain=False)
    costs = sorted((_cost(cells, released, withheld) for cells in released.quasi), key=lambda each: -each.loss)
    return ReleaseFindings(verdict, released, tuple(costs), class_sizes(released.sizes, study.privacy.k))


def class_sizes(sizes: Longs, k: int) -> tuple[SizeRange, ...]:
    """Classes of k to 2k - 1 rows, of 2k to 4k - 1, and so on; and those below k, of which there should be none."""
    step = np.floor(np.log2(np.maximum(sizes / k, 0.5))).astype(np.int64)
    step = np.where(sizes < k, -1, step)
    found = []
    for own in np.unique(step).tolist():
        chosen = sizes[step == own]
        least, most = (1, k - 1) if own < 0 else (k << own, (k << (own + 1)) - 1)
        found.append(SizeRange(least, most, len(chosen), int(chosen.sum())))
    return tuple(found)


def risk_before(records: Table) -> Risks:
    """The risks if the records were published as they are; rows that look alike hide each other even then."""
    class_of, first = records.distinct()
    sizes = np.bincount(class_of, minlength=len(first)).astype(np.int64)
    return judge_risk(sizes, records.study.privacy.k, None)


def _cost(cells: Cells, released: Released, withheld: int) -> ColumnLoss:
    part = np.array(shares(with_range(cells, None), cells.labels)[0])
    root = np.array([label == SUPPRESSED for label in cells.labels])
    codes, sizes = cells.codes[released.example], released.sizes
    rows = int(sizes.sum()) + withheld
    return ColumnLoss(
        name=cells.column.name,
        loss=(float(part[codes] @ sizes) + withheld) / rows,
        exact=int(sizes[(part == 0)[codes] & ~root[codes]].sum()) / rows,
        suppressed=(int(sizes[root[codes]].sum()) + withheld) / rows,
    )
