"""Findings on a release, from it and the study alone: the judge's verdict, each column's loss, the classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from covey.arrays import Floats, Longs
from covey.judge import Risks, Verdict
from covey.judge.diversity import histogram
from covey.judge.released import Released, is_root, read_release, shares, with_range
from covey.judge.risk import judge_risk
from covey.judge.tuples import Cells
from covey.judge.verification import judge
from covey.sources import Data, connect
from covey.study import Study
from covey.table import Table

_SAMPLE, _WORST = 12, 5


@dataclass(frozen=True)
class ColumnLoss:
    """The loss of one quasi column, with the shares of exact and of suppressed rows."""

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
class ClassShown:
    """A class of the release: its labels, its rows, and the values that its people share."""

    labels: tuple[str, ...]
    rows: int
    shared: Mapping[str, float]
    """By sensitive column: the part of the rows that have the most frequent value."""


@dataclass(frozen=True)
class ReleaseFindings:
    """The findings on a release."""

    verdict: Verdict
    released: Released
    columns: tuple[ColumnLoss, ...]
    """The costliest first."""
    sizes: tuple[SizeRange, ...]
    """The smallest first."""
    shared: Mapping[str, Floats]
    """By sensitive column: for each class the part of its rows that have the most frequent value."""

    def worst(self) -> tuple[ClassShown, ...]:
        """The classes that tell most: values that most people share, then small classes."""
        shares = np.max([*self.shared.values(), np.zeros(self.released.classes)], axis=0)
        return tuple(self._shown(index) for index in np.lexsort((self.released.sizes, -shares))[:_WORST].tolist())

    def _shown(self, index: int) -> ClassShown:
        row, released = int(self.released.example[index]), self.released
        labels = tuple(cells.labels[cells.codes[row]] for cells in released.quasi)
        shared = {name: float(part[index]) for name, part in self.shared.items()}
        return ClassShown(labels, int(released.sizes[index]), shared)

    def sample(self) -> list[tuple[str, ...]]:
        """A dozen rows from all over the release, in its quasi and sensitive columns."""
        cells = (*self.released.quasi, *self.released.sensitive)
        order = np.lexsort([np.argsort(np.argsort(column.labels))[column.codes] for column in reversed(cells)])
        ends = np.cumsum(self.released.table.counts[order])
        positions = np.linspace(0, ends[-1] - 1, min(_SAMPLE, int(ends[-1])))
        rows = order[np.searchsorted(ends, positions, side="right")]
        return [tuple(column.labels[column.codes[row]] for column in cells) for row in rows.tolist()]

    def unasked(self) -> tuple[str, ...]:
        """The sensitive columns of which neither l nor t is asked."""
        protected = {
            requirement.column for requirement in self.verdict.requirements if requirement.name.startswith(("l (", "t"))
        }
        return tuple(name for name in self.shared if name not in protected)


def examine(release: Data, study: Study, withheld: int, verdict: Verdict | None = None) -> ReleaseFindings:
    """Judges the release, unless it has been judged, and looks at its columns and classes.

    Raises InputError if the release does not fit the study.
    """
    source = connect(release, counted=True)
    released = read_release(source, study, with_plain=False)
    verdict = judge(source, released, study) if verdict is None else verdict
    costs = sorted((_cost(cells, released, withheld) for cells in released.quasi), key=lambda cost: -cost.loss)
    shared = {cells.column.name: _shared(cells, released) for cells in released.sensitive}
    return ReleaseFindings(verdict, released, tuple(costs), class_sizes(released.sizes, study.privacy.k), shared)


def _shared(cells: Cells, released: Released) -> Floats:
    """For each class the part of its rows that have its most frequent value."""
    counts = histogram(released.class_of, cells.codes, released.table.counts, released.sizes)
    largest = np.zeros(released.classes, dtype=np.int64)
    np.maximum.at(largest, counts.klass, counts.count)
    return np.asarray(largest / released.sizes, dtype=np.float64)


def class_sizes(sizes: Longs, k: int) -> tuple[SizeRange, ...]:
    """Classes of k to 2k - 1 rows, of 2k to 4k - 1 and so on, and below k."""
    step = np.floor(np.log2(np.maximum(sizes / k, 0.5))).astype(np.int64)
    step = np.where(sizes < k, -1, step)
    ranges = []
    for exponent in np.unique(step).tolist():
        members = sizes[step == exponent]
        low, high = (1, k - 1) if exponent < 0 else (k << exponent, (k << (exponent + 1)) - 1)
        ranges.append(SizeRange(low, high, len(members), int(members.sum())))
    return tuple(ranges)


def risk_before(records: Table) -> Risks:
    """The risks if the records were published as they are; equal rows hide each other."""
    class_of, first = records.distinct()
    sizes = np.bincount(class_of, minlength=len(first)).astype(np.int64)
    return judge_risk(sizes, records.study.privacy.k, None)


def _cost(cells: Cells, released: Released, withheld: int) -> ColumnLoss:
    part = np.array(shares(with_range(cells, None), cells.labels)[0])
    root = np.array([is_root(cells.column, label) for label in cells.labels])
    codes, sizes = cells.codes[released.example], released.sizes
    rows = int(sizes.sum()) + withheld
    return ColumnLoss(
        name=cells.column.name,
        loss=(float(part[codes] @ sizes) + withheld) / rows,
        exact=int(sizes[(part == 0)[codes] & ~root[codes]].sum()) / rows,
        suppressed=(int(sizes[root[codes]].sum()) + withheld) / rows,
    )
