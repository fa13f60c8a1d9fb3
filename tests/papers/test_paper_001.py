"""Xue and others, "Distributed privacy preserving data collection": its one-dimensional cut and its Figure 1."""

from __future__ import annotations

import numpy as np
import pytest

from covey.anonymize.hilbert import Cost, cut
from covey.anonymize.problem import Problem
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs

FIGURE_1 = [
    [(35, 50), (40, 55), (45, 60), (45, 65)],
    [(55, 65), (60, 60), (60, 55), (65, 50)],
    [(55, 75), (60, 75), (65, 85), (70, 80)],
]


def groups_of(images: list[int], k: int, cost: Cost = "fall") -> list[list[int]]:
    """The cut of a line of images, as the images' positions from 1."""
    tree = Hierarchy.from_paths([("a", "*")])
    costs, scale = integer_costs((tree,))
    records = len(images)
    problem = Problem((tree,), np.zeros((1, 1), np.int32), np.array([records]), costs, scale, k)
    group = cut(problem, np.array(images, dtype=np.float64), np.zeros(records, dtype=np.int64), cost=cost)
    return [(np.flatnonzero(group == own) + 1).tolist() for own in range(int(group.max()) + 1)]


def fall(images: list[int], groups: list[list[int]]) -> int:
    return sum(len(group) * (images[group[-1] - 1] - images[group[0] - 1]) for group in groups)


def squares(images: list[int], groups: list[list[int]]) -> float:
    parts = [np.array([images[position - 1] for position in group]) for group in groups]
    return float(sum(((part - part.mean()) ** 2).sum() for part in parts))


def test_six_respondents_are_cut_into_pairs_and_into_halves() -> None:
    images = [114, 114, 140, 230, 260, 324]
    pairs, halves = groups_of(images, 2), groups_of(images, 3)
    assert pairs == [[1, 2], [3, 4], [5, 6]]
    assert fall(images, pairs) == 308
    assert halves == [[1, 2, 3], [4, 5, 6]]
    assert fall(images, halves) == 360


@pytest.mark.parametrize(
    ("images", "k", "expected", "by_fall", "by_squares"),
    [
        ([0, 1, 10, 11, 12, 13, 30], 2, [[1, 2], [3, 4, 5], [6, 7]], 42, 147),
        ([10, 12, 13, 30, 31, 33, 34, 60, 61], 3, [[1, 2, 3], [4, 5, 6], [7, 8, 9]], 99, 478),
    ],
)
def test_both_costs_cut_the_notes_lines_alike(
    images: list[int], k: int, expected: list[list[int]], by_fall: int, by_squares: int
) -> None:
    assert groups_of(images, k) == expected
    assert groups_of(images, k, "hansen-mukherjee") == expected
    assert fall(images, expected) == by_fall
    assert round(squares(images, expected)) == by_squares
