"""Figures of a release and cost estimates, on numbers that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from covey.errors import Unmet
from covey.protocols.shared import publish
from covey.protocols.shared.cost import CostEstimate
from covey.study import Study

STUDY = Study.parse(
    """
[study]
name = "hand"
[privacy]
k = 2
[utility]
suppression = 0.4
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 9, steps = [5] }
[columns.town]
role = "quasi"
values = ["a", "b"]
hierarchy = "flat"
[columns.ill]
role = "sensitive"
"""
)
TREES = tuple(column.tree() for column in STUDY.quasi)
AGE, TOWN = TREES


def nodes(*classes: tuple[str, str]) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    found = [[AGE.node(age), TOWN.node(town)] for age, town in classes]
    return np.array(found, dtype=np.int32)


def test_figures_are_what_a_hand_computes() -> None:
    boxes, sizes = nodes(("[0, 4]", "a"), ("*", "b")), np.array([3, 2])
    found = publish.figures(STUDY, TREES, boxes, sizes, withheld=1)
    assert (found.rows, found.classes, found.k_reached, found.withheld, found.suppressed_cells) == (5, 2, 2, 1, 2)
    assert found.loss["lm"] == pytest.approx((3 * (4 / 9 + 0) / 2 + 2 * (1 + 0) / 2 + 1) / 6)
    assert found.loss["dm"] == 9 + 4 + 6
    assert found.loss["c_avg"] == pytest.approx(5 / 2 / 2)


def test_more_suppressed_records_than_the_study_allows_are_refused_with_the_limit_that_would_do() -> None:
    boxes, sizes = nodes(("[0, 4]", "a"), ("*", "*")), np.array([3, 2])
    assert publish.fully_generalized(TREES, boxes, sizes) == 2
    publish.figures(STUDY, TREES, boxes, sizes)
    with pytest.raises(Unmet, match=r"3 of 6 records .* suppression = 0\.4 allows; 0\.5 would do"):
        publish.figures(STUDY, TREES, boxes, sizes, withheld=1)


def test_the_least_diverse_class_counts_and_a_table_without_sensitive_columns_has_no_l() -> None:
    klass = np.array([0, 0, 0, 2, 2])
    assert publish.diversity(STUDY, klass, {"ill": ["x", "x", "y", "x", "y"]}) == pytest.approx(1.5)
    assert publish.diversity(STUDY, klass, {"ill": ["x", "x", "x", "x", "y"]}) == 1.0


def test_rounds_follow_the_longest_chain_and_what_goes_on_beside_does_not_add_up() -> None:
    cost = CostEstimate()
    cost.exchange(("a", "b", "c"), 6, 600)
    cost.send("a", "b", 2, 20)
    beside = [cost.beside(), cost.beside()]
    for part in beside:
        part.send("b", "c", 1, 1)
    cost.join(beside)
    assert (cost.rounds, cost.messages, cost.bytes) == (3, 10, 622)
    cost.broadcast_each(("a", "b"), 5)
    assert (cost.rounds, cost.messages, cost.bytes) == (3, 12, 632)


def test_a_person_sees_the_smallest_classes_and_of_these_the_most_exact() -> None:
    sizes = np.full(400, 50)
    sizes[[3, 111, 222, 333]] = 10
    blurred = np.zeros(400)
    blurred[3] = 0.5
    shown = publish.some(sizes, blurred)
    assert len(shown) == publish.SHOWN
    assert {111, 222, 333} <= set(shown.tolist())
    assert publish.some(np.array([7]), np.zeros(1)).tolist() == [0]
