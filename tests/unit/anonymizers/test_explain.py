from __future__ import annotations

import numpy as np
import pytest

from covey.anonymizers import anonymize
from covey.anonymizers.explain import Explanation, column_costs, explain, largest_classes
from covey.anonymizers.problem import Partition, Problem
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs

NAMES = ("age", "sex")
AGES = Hierarchy.from_paths([(str(age), f"{age // 10}0s", "*") for age in range(20, 60)])
SEXES = Hierarchy.from_paths([("F", "*"), ("M", "*")])


def people(k: int = 4) -> Problem:
    """Every age once with either sex."""
    ages = np.repeat(np.arange(40), 2)
    sexes = np.tile([0, 1], 40)
    costs, scale = integer_costs((AGES, SEXES))
    codes = np.stack([ages, sexes]).astype(np.int32)
    return Problem((AGES, SEXES), codes, np.ones(80, dtype=np.int64), costs, scale, k)


def by_decade() -> Partition:
    """One class per decade and sex, and the first man withheld."""
    item = np.delete(np.arange(80), 1)
    group = (item // 20) * 2 + item % 2
    nodes = np.array([[AGES.node(f"{decade}0s") or 0, sex] for decade in range(2, 6) for sex in (0, 1)], np.int32)
    return Partition(item, group, np.ones(79, dtype=np.int64), nodes)


@pytest.fixture(scope="module")
def answer() -> Explanation:
    problem = people()
    return explain(problem, anonymize(problem, "hilbert"), NAMES, "hilbert")


def test_the_costliest_column_comes_first_and_the_parts_add_up() -> None:
    age, sex = column_costs(people(), by_decade(), NAMES)
    assert (age.name, sex.name) == NAMES
    assert age.loss == pytest.approx((79 * 9 / 39 + 1) / 80)
    assert sex.loss == pytest.approx(1 / 80)
    assert age.part + sex.part == pytest.approx(1)
    assert sex.exact == pytest.approx(79 / 80)
    assert sex.suppressed == pytest.approx(1 / 80)


def test_the_columns_losses_average_to_the_tables() -> None:
    problem, partition = people(), by_decade()
    costs = column_costs(problem, partition, NAMES)
    assert sum(each.loss for each in costs) / 2 == pytest.approx(partition.loss(problem))


def test_the_largest_classes_are_shown_with_their_labels() -> None:
    shown = largest_classes(people(), by_decade())
    assert [each.records for each in shown] == [10, 10, 10, 10, 10]
    assert shown[0].labels == ("20s", "F")


def test_a_smaller_k_is_tried_and_saves(answer: Explanation) -> None:
    tried = {each.request: each for each in answer.alternatives}
    assert tried["k = 2 instead of 4"].saves > 0
    assert tried["k = 2 instead of 4"].loss == pytest.approx(anonymize(people(2), "hilbert").loss(people(2)))


def test_each_column_is_tried_without_its_finest_level_at_what_its_nodes_cost_before(answer: Explanation) -> None:
    tried = {each.request: each for each in answer.alternatives}
    coarse = tried["column 'age' without its finest level"]
    assert coarse.loss >= 9 / 39 / 2
    assert tried["column 'sex' suppressed throughout"].loss >= 0.5
    assert coarse.saves == pytest.approx(answer.trial - coarse.loss)


def test_the_most_helpful_request_comes_first(answer: Explanation) -> None:
    losses = [each.loss for each in answer.alternatives]
    assert losses == sorted(losses)
