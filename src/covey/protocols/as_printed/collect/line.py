"""The cut of the line into classes: k or more neighbours each, as near to each other as can be.

Source    Xue and others, section 4.4: FALL's and Hansen and Mukherjee's costs, both cut in O(k x) after sorting
          (`covey.anonymizers.hilbert`). Positions may be shifted and scaled without changing the cut.
Merging   is ours: a class that is not diverse joins the neighbour that is nearer on the line, again and again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.anonymizers.hilbert import Cost, cut
from covey.anonymizers.problem import Problem
from covey.arrays import Ints, Longs
from covey.errors import Unmet
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs


def cut_line(places: Longs, k: int, cost: Cost = "fall") -> Longs:
    """The class of each place of a sorted line. Raises Unmet below k places."""
    if len(places) < k:
        raise Unmet(f"fewer than k = {k} respondents took part; nothing can be released")
    tree = Hierarchy.from_paths([("a", "*")])
    costs, scale = integer_costs((tree,))
    records = len(places)
    problem = Problem((tree,), np.zeros((1, 1), np.int32), np.array([records]), costs, scale, k)
    near = (places - places.min()).astype(np.float64)
    return cut(problem, near, np.zeros(records, dtype=np.int64), cost=cost)


def merge(places: Longs, group: Longs, failed: Sequence[int]) -> Longs:
    """The classes after each that failed has joined the nearer of its neighbours, numbered along the line anew.

    Raises Unmet if a class failed that has no neighbour: then the whole table does not keep what is asked for.
    """
    classes = int(group.max()) + 1
    if failed and classes == 1:
        raise Unmet("not even the whole table is as diverse as the study asks for; lower l")
    starts = np.searchsorted(group, np.arange(classes))
    ends = np.append(starts[1:], len(group)) - 1
    joined = np.zeros(classes, dtype=bool)  # marks the classes that are one with the class before them
    for own in failed:
        before = places[starts[own]] - places[ends[own - 1]] if own else None
        after = places[starts[own + 1]] - places[ends[own]] if own + 1 < classes else None
        if after is None or (before is not None and before <= after):
            joined[own] = True
        else:
            joined[own + 1] = True
    number = np.cumsum(~joined) - 1
    return number[group].astype(np.int64)


def boxes(trees: Sequence[Hierarchy], codes: Ints, group: Longs) -> Ints:
    """Each class's nodes, classes x columns; members stand beside each other."""
    starts = np.searchsorted(group, np.arange(int(group.max()) + 1))
    columns = [
        tree.common_ancestor(np.minimum.reduceat(own, starts), np.maximum.reduceat(own, starts))
        for tree, own in zip(trees, codes, strict=True)
    ]
    return np.stack(columns, axis=1)
