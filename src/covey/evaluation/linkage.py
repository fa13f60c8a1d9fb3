"""A record-linkage attack, carried out: an attacker who knows people's quasi values looks for their released rows.

For each of some people drawn from the original, the attacker takes the released rows that are nearest: rows whose
labels cover the known values before rows that do not, the narrowest labels first. One of them is picked at random, and
the sensitive values are guessed by the majority of the k nearest. A pick counts as right if the row could be the
person's own (it covers the person and has its sensitive values), so that the figure is an upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Floats, Longs
from covey.evaluation.axes import Axis, sensitive_only
from covey.evaluation.findings import Linkage
from covey.schema import Role

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
        far = _distances(quasi, person, len(released))
        order = np.lexsort((narrow, far))
        first = order[0]
        near = (far == far[first]) & (narrow == narrow[first])
        picked += int(released[near].sum())
        own = near & (far == 0)
        for axis in secret:
            own &= axis.first[axis.released] == axis.original[person]
        # one row is the person's own, if any of those near can be
        right += bool(own.any()) / int(released[near].sum())
        nearest = order[: int(np.searchsorted(np.cumsum(released[order[: 4 * k]]), k)) + 1]
        for axis in secret:
            votes = np.bincount(axis.first[axis.released[nearest]], weights=released[nearest], minlength=axis.width)
            hits[axis.name] += int(np.argmax(votes) == axis.original[person])
    before = {axis.name: float(np.bincount(axis.original, weights=original).max() / original.sum()) for axis in secret}
    guessed = {name: number / tried for name, number in hits.items()}
    return Linkage(tried, right / tried, picked / tried, guessed, before)


def _distances(quasi: Sequence[Axis], person: int, rows: int) -> Floats:
    """The distance of each released row from a person, 0 if it covers them; a wrong text adds 1, a number its gap."""
    far = np.zeros(rows)
    for axis in quasi:
        place = int(axis.original[person])
        gap = np.maximum(np.maximum(axis.first - place, place - axis.last), 0).astype(float)
        gap = gap / max(axis.width - 1, 1) if axis.ordered else (gap > 0).astype(float)
        far += gap[axis.released]
    return far
