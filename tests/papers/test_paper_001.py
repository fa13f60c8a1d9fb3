"""Xue and others, "Distributed privacy preserving data collection": its one-dimensional cut and its Figure 1."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from covey import table
from covey.anonymizers.build import Built, build, figures, released
from covey.anonymizers.hilbert import Cost, cut, hilbert
from covey.anonymizers.problem import Partition, Problem, closed
from covey.hierarchy import Hierarchy, numbers
from covey.measures import integer_costs
from covey.study import Study

FIGURE_1 = [
    [(35, 50), (40, 55), (45, 60), (45, 65)],
    [(55, 65), (60, 60), (60, 55), (65, 50)],
    [(55, 75), (60, 75), (65, 85), (70, 80)],
]


PATIENTS = [(str(age), str(weight)) for group in FIGURE_1 for age, weight in group]


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


STUDY = """[study]
name = "Fig. 1"
[privacy]
k = 4
[columns.age]
role = "quasi"
hierarchy = "interval"
step = 5
[columns.weight]
role = "quasi"
hierarchy = "interval"
step = 5
"""


def figure_1() -> Built:
    """The patients of Figure 1 (a), in its order."""
    ages, weights = zip(*PATIENTS, strict=True)
    cells = pa.table({"age": ages, "weight": weights})
    study = Study.parse(STUDY)
    return build(table.build(table.read(cells.to_batches(), study.columns, "Figure 1"), study))


def test_the_groups_of_figure_1_publish_its_intervals_at_a_gcp_of_0_357143() -> None:
    built = figure_1()
    groups = np.repeat(np.arange(3), 4)
    ones = np.ones(12, dtype=np.int64)
    order = np.argsort(built.item_of_row)
    partition = closed(built.problem, built.item_of_row[order], groups[order], ones)
    assert figures(built, partition).loss.lm == pytest.approx(0.357143, abs=5e-7)
    assert labels(built, partition) == {("[35, 45]", "[50, 65]"), ("[55, 65]", "[50, 65]"), ("[55, 70]", "[75, 85]")}


def labels(built: Built, partition: Partition) -> set[tuple[str, str]]:
    published = released(built, partition)
    return set(zip(published.column("age").to_pylist(), published.column("weight").to_pylist(), strict=True))


def test_on_the_eight_by_eight_grid_of_figure_2_the_curve_finds_the_groups_of_figure_1() -> None:
    on_grid = [numbers(Decimal(low), Decimal(low + 35), [], Decimal(5)) for low in (35, 50)]
    codes = [tree.encode(cells) for tree, cells in zip(on_grid, zip(*PATIENTS, strict=True), strict=True)]
    costs, scale = integer_costs(on_grid)
    problem = Problem(tuple(on_grid), np.stack(codes), np.ones(12, dtype=np.int64), costs, scale, k=4)
    partition = hilbert(problem)
    found = {frozenset(partition.item[partition.group == own].tolist()) for own in range(partition.classes)}
    assert found == {frozenset(range(0, 4)), frozenset(range(4, 8)), frozenset(range(8, 12))}


def test_intervals_are_placed_on_the_curve_by_their_values_and_give_figure_1_as_well() -> None:
    built = figure_1()
    partition = hilbert(built.problem)
    assert labels(built, partition) == {("[35, 45]", "[50, 65]"), ("[55, 65]", "[50, 65]"), ("[55, 70]", "[75, 85]")}
