from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from tests.harness.problems import faults, problems
from tests.harness.tiers import examples

from covey.anonymizers.mondrian import mondrian
from covey.anonymizers.problem import Problem, boxes
from covey.errors import Aborted, Unmet
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs


def plane(points: list[tuple[int, int]], k: int, side: int = 8) -> Problem:
    """Points of a square grid, each column a flat hierarchy; equal points are one item."""
    tree = Hierarchy.from_paths([(str(value), "*") for value in range(side)])
    costs, scale = integer_costs((tree, tree))
    distinct, counts = np.unique(np.array(points, dtype=np.int32), axis=0, return_counts=True)
    return Problem((tree, tree), np.ascontiguousarray(distinct.T), counts.astype(np.int64), costs, scale, k)


def classes(problem: Problem, *, relaxed: bool = False) -> list[list[tuple[int, ...]]]:
    partition = mondrian(problem, relaxed=relaxed)
    return sorted(
        sorted(
            tuple(problem.codes[:, item].tolist())
            for item, count in zip(
                partition.item[partition.group == own], partition.count[partition.group == own], strict=True
            )
            for _ in range(count)
        )
        for own in range(partition.classes)
    )


def test_the_widest_column_is_halved_first() -> None:
    points = [(0, 0), (2, 7), (1, 1), (2, 6)]
    assert classes(plane(points, 2)) == [[(0, 0), (1, 1)], [(2, 6), (2, 7)]]


def test_a_part_whose_halves_would_break_k_is_a_class() -> None:
    assert len(classes(plane([(0, 0), (7, 7), (3, 3)], 2))) == 1


def test_the_next_widest_column_is_tried_where_the_widest_cannot_be_cut() -> None:
    points = [(0, 0), (0, 0), (0, 4), (7, 4)]
    assert classes(plane(points, 2)) == [[(0, 0), (0, 0)], [(0, 4), (7, 4)]]


def test_strict_never_parts_equal_codes_and_relaxed_cuts_at_exactly_half() -> None:
    points = [(0, 0)] * 5 + [(7, 0)]
    assert classes(plane(points, 3)) == [points]
    assert classes(plane(points, 3), relaxed=True) == [[(0, 0)] * 3, [(0, 0)] * 2 + [(7, 0)]]


@given(problems(diverse=False))
@settings(max_examples=examples(60), deadline=None)
def test_strict_boxes_do_not_overlap(problem: Problem) -> None:
    problem = replace(problem, k=min(problem.k, problem.records), sensitive=())
    partition = mondrian(problem)
    low, high = boxes(problem, partition.item, partition.group, partition.classes)
    for a in range(partition.classes):
        for b in range(a):
            apart = (high[a] < low[b]) | (high[b] < low[a])
            assert apart.any()


def test_aligned_cuts_only_between_children_of_the_closing_node() -> None:
    """Half of the records lie below 3, but a cut there would leave both halves at the root."""
    tree = Hierarchy.from_paths([(str(v), "low" if v < 6 else "high", "*") for v in range(8)])
    costs, scale = integer_costs((tree,))
    problem = Problem((tree,), np.array([[0, 1, 4, 7]], np.int32), np.array([2, 2, 2, 2]), costs, scale, k=2)
    assert mondrian(problem).nodes[:, 0].tolist() == [0, 1, 4, 7]
    problem = replace(problem, k=3)
    assert mondrian(problem).sizes().tolist() == [4, 4]
    assert sorted(mondrian(replace(problem, k=2), aligned=True).sizes().tolist()) == [2, 2, 2, 2]
    assert mondrian(problem, aligned=True).sizes().tolist() == [8]


@pytest.mark.parametrize("option", ["relaxed", "aligned"])
@given(problem=problems())
@settings(max_examples=examples(100), deadline=None)
def test_other_cuts_keep_what_was_asked_or_the_request_is_refused(option: str, problem: Problem) -> None:
    try:
        partition = mondrian(problem, relaxed=option == "relaxed", aligned=option == "aligned")
    except Unmet:
        return
    assert faults(problem, partition) == []
    assert partition.count.sum() == problem.records


def test_a_caller_can_stop_it() -> None:
    with pytest.raises(Aborted, match="cancelled during cutting"):
        mondrian(plane([(0, 0), (7, 7)], 1), cancel=lambda: True)
