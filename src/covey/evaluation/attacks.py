"""Attacks on a release: what others learn of a class's sensitive values, and a record-linkage attack, carried out.

For each of some people drawn from the original, the attacker takes the released rows that are nearest: rows whose
labels cover the known values before rows that do not, the narrowest labels first. One of them is picked at random, and
the sensitive values are guessed by the majority of the k nearest. A pick counts as right if the row could be the
person's own (it covers the person and has its sensitive values), so that the figure is an upper bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Floats, Longs
from covey.evaluation.axes import Axis, sensitive_only
from covey.evaluation.findings import Disclosure, Linkage
from covey.judge.released import Released
from covey.judge.tuples import Cells
from covey.schema import Role

_NEARLY = 0.9


def disclosure(released: Released) -> tuple[Disclosure, ...]:
    """The figures of every sensitive column."""
    return tuple(_of_column(released, cells) for cells in released.sensitive)


def _of_column(released: Released, cells: Cells) -> Disclosure:
    counts = released.table.counts
    pair, pair_of = np.unique(released.class_of * len(cells.labels) + cells.codes, return_inverse=True)
    pair_rows = np.bincount(pair_of, weights=counts)
    largest = np.zeros(released.classes)
    np.maximum.at(largest, pair // len(cells.labels), pair_rows)
    share = largest / released.sizes
    rows = released.rows
    totals = np.bincount(cells.codes, weights=counts, minlength=len(cells.labels))
    return Disclosure(
        column=cells.column.name,
        homogeneous_rows=float(released.sizes[share >= 1].sum() / rows),
        guessed=float(largest.sum() / rows),
        guessed_before=float(totals.max() / rows),
        nearly_certain=float(released.sizes[share >= _NEARLY].sum() / rows),
        worst_class=float(share.max()),
        value=cells.labels[int(np.argmax(totals))],
    )


_PEOPLE = 500


def link(axes: Sequence[Axis], released: Longs, original: Longs, k: int, seed: int) -> Linkage:
    """The attack on up to 500 people; counts of the distinct rows of both tables."""
    draws = np.random.default_rng(seed)
    tried = min(_PEOPLE, int(original.sum()))
    people = draws.choice(len(original), tried, p=original / original.sum())
    quasi = [axis for axis in axes if axis.column.role is Role.QUASI]
    secret = sensitive_only(axes)
    narrow = sum(
        (np.log(np.maximum(axis.last - axis.first + 1, 1))[axis.released] for axis in quasi), np.zeros(len(released))
    )
    right, picked = 0.0, 0
    hits = {axis.name: 0 for axis in secret}
    for person in people.tolist():
        distance = _distances(quasi, person, len(released))
        order = np.lexsort((narrow, distance))
        first = order[0]
        closest = (distance == distance[first]) & (narrow == narrow[first])
        picked += int(released[closest].sum())
        matches = closest & (distance == 0)
        for axis in secret:
            matches &= axis.first[axis.released] == axis.original[person]
        # one row is the person's own, if any of those near can be
        right += bool(matches.any()) / int(released[closest].sum())
        nearest = order[: int(np.searchsorted(np.cumsum(released[order[: 4 * k]]), k)) + 1]
        for axis in secret:
            votes = np.bincount(axis.first[axis.released[nearest]], weights=released[nearest], minlength=axis.width)
            hits[axis.name] += int(np.argmax(votes) == axis.original[person])
    baseline = {
        axis.name: float(np.bincount(axis.original, weights=original).max() / original.sum()) for axis in secret
    }
    guessed = {name: number / tried for name, number in hits.items()}
    return Linkage(tried, right / tried, picked / tried, guessed, baseline)


def _distances(quasi: Sequence[Axis], person: int, rows: int) -> Floats:
    """The distance of each released row from a person; 0 if it covers the person."""
    distance = np.zeros(rows)
    for axis in quasi:
        position = int(axis.original[person])
        gap = np.maximum(np.maximum(axis.first - position, position - axis.last), 0).astype(float)
        gap = gap / max(axis.width - 1, 1) if axis.ordered else (gap > 0).astype(float)
        distance += gap[axis.released]
    return distance
