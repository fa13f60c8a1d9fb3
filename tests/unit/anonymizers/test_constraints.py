from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import entropy as scipy_entropy
from tests.harness.tiers import examples

from covey.anonymizers.constraints import (
    distance,
    histograms,
    kept,
    limits_of,
    require_feasible,
)
from covey.anonymizers.problem import Distance, Diversity, Partition, Problem, Sensitive
from covey.arrays import Floats, Longs
from covey.errors import InputError, Unmet
from covey.hierarchy import Hierarchy
from covey.measures import diversity_of

TREE = Hierarchy.from_paths(
    [
        ("flu", "lung", "*"),
        ("asthma", "lung", "*"),
        ("ulcer", "gut", "*"),
        ("colitis", "gut", "*"),
        ("acne", "skin", "*"),
    ]
)


def table(
    values: list[int],
    *,
    k: int = 1,
    l: float | None = None,  # noqa: E741
    diversity: Diversity = "frequency",
    t: float | None = None,
    kind: Distance = "equal",
    domain: int = 5,
) -> Problem:
    """A table without quasi-identifiers to speak of, one record per sensitive value."""
    tree = Hierarchy.from_paths([("a", "*")])
    sensitive = Sensitive(np.array(values, dtype=np.int32), domain, kind, TREE if kind == "hierarchy" else None)
    return Problem(
        trees=(tree,),
        codes=np.zeros((1, len(values)), dtype=np.int32),
        counts=np.ones(len(values), dtype=np.int64),
        costs=(np.array([0, 1], dtype=np.int64),),
        scale=1,
        k=k,
        sensitive=(sensitive,),
        l=l,
        diversity=diversity,
        t=t,
    )


def counted(*counts: int) -> Longs:
    return np.array(counts, dtype=np.int64)


def distance_to_whole(values: list[int], histogram: Longs, kind: Distance) -> float:
    return distance(limits_of(table(values, t=0.5, kind=kind)), histogram, 0, int(histogram.sum()))


def moved_by_linear_program(whole: Longs, own: Longs, cost: Floats) -> float:
    """The earth mover's distance from its definition: the cheapest flow between two distributions."""
    size = len(whole)
    rows = np.kron(np.eye(size), np.ones(size))
    columns = np.kron(np.ones(size), np.eye(size))
    given_, wanted = own / own.sum(), whole / whole.sum()
    flow = linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([given_, wanted]))
    assert flow.fun is not None, flow.message
    return float(flow.fun)


SMALL = st.lists(st.integers(0, 4), min_size=1, max_size=12)


def test_frequency_l_allows_a_value_exactly_size_over_l_records() -> None:
    problem = table([0, 1, 2], l=3)
    assert kept(limits_of(problem), counted(2, 2, 2, 0, 0), 6)
    assert not kept(limits_of(problem), counted(3, 2, 2, 0, 0), 7)


def test_distinct_l_counts_the_values_that_occur() -> None:
    problem = table([0, 1, 2], l=3, diversity="distinct")
    assert kept(limits_of(problem), counted(9, 1, 0, 1, 0), 11)
    assert not kept(limits_of(problem), counted(9, 2, 0, 0, 0), 11)


def test_entropy_l_of_equal_counts_is_their_number() -> None:
    problem = table([0, 1, 2], l=3, diversity="entropy")
    assert kept(limits_of(problem), counted(4, 4, 4, 0, 0), 12)
    assert not kept(limits_of(problem), counted(4, 4, 3, 0, 0), 11)


def test_c_asks_that_the_top_value_is_rarer_than_c_times_the_values_from_the_lth_on() -> None:
    problem = replace(table([0, 1, 2], l=2, diversity="distinct"), c=2.0)
    assert kept(limits_of(problem), counted(5, 2, 1, 0, 0), 8)
    assert not kept(limits_of(problem), counted(6, 2, 1, 0, 0), 9)


@pytest.mark.thorough
def test_a_c_that_the_whole_table_does_not_keep_is_refused() -> None:
    with pytest.raises(Unmet, match="c = 2 with l = 2 cannot be kept"):
        require_feasible(replace(table([0, 0, 1], l=2, diversity="distinct"), c=2.0))


def test_k_is_looked_at_beside_l() -> None:
    assert not kept(limits_of(table([0, 1], k=5, l=2)), counted(2, 2, 0, 0, 0), 4)
    assert kept(limits_of(table([0, 1], k=4, l=2)), counted(2, 2, 0, 0, 0), 4)


def test_every_sensitive_column_must_hold() -> None:
    problem = table([0, 1, 2, 3], l=2)
    other = Sensitive(np.array([0, 0, 0, 1], dtype=np.int32), 2)
    both = replace(problem, sensitive=(*problem.sensitive, other))
    assert kept(limits_of(both), counted(1, 1, 0, 0, 0, 1, 1), 2)
    assert not kept(limits_of(both), counted(1, 1, 1, 0, 0, 2, 1), 3)


@given(SMALL)
def test_entropy_l_is_the_exponential_of_the_entropy(values: list[int]) -> None:
    counts = np.bincount(values, minlength=5)
    assert diversity_of(counts, "entropy") == pytest.approx(math.exp(scipy_entropy(counts)))


@settings(deadline=None)
@given(SMALL, st.data())
def test_equal_distance_is_half_the_l1_distance(values: list[int], data: st.DataObject) -> None:
    own = np.bincount(data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=8)), minlength=5)
    whole = np.bincount(values, minlength=5)
    expected = np.abs(own / own.sum() - whole / whole.sum()).sum() / 2
    assert distance_to_whole(values, own, "equal") == pytest.approx(expected)


@settings(deadline=None, max_examples=examples(50))
@given(SMALL, st.data())
def test_ordered_distance_is_the_cheapest_flow_over_the_values_that_occur(
    values: list[int], data: st.DataObject
) -> None:
    own = np.bincount(data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=8)), minlength=5)
    whole = np.bincount(values, minlength=5)
    place = np.cumsum(whole > 0) - 1
    steps = np.abs(place[:, None] - place[None, :])[np.ix_(whole > 0, whole > 0)] / max((whole > 0).sum() - 1, 1)
    expected = moved_by_linear_program(whole[whole > 0], own[whole > 0], steps)
    assert distance_to_whole(values, own, "ordered") == pytest.approx(expected, abs=1e-7)


@settings(deadline=None, max_examples=examples(50))
@given(SMALL, st.data())
def test_hierarchy_distance_is_the_cheapest_flow_over_the_tree(values: list[int], data: st.DataObject) -> None:
    own = np.bincount(data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=8)), minlength=5)
    leaves = np.arange(5, dtype=np.int32)
    apart = TREE.level[TREE.common_ancestor(leaves[:, None], leaves[None, :])] / TREE.height
    expected = moved_by_linear_program(np.bincount(values, minlength=5), own, apart)
    assert distance_to_whole(values, own, "hierarchy") == pytest.approx(expected, abs=1e-7)


def test_a_class_farther_than_t_is_refused_and_one_at_t_is_not() -> None:
    problem = table([0, 0, 1, 1], t=0.25)
    assert kept(limits_of(problem), counted(3, 1, 0, 0, 0), 4)
    assert not kept(limits_of(problem), counted(4, 1, 0, 0, 0), 5)


@settings(deadline=None)
@given(
    st.sampled_from(["frequency", "distinct", "entropy"]),
    st.floats(1, 4),
    st.floats(0.05, 1),
    st.sampled_from([None, 1.0, 3.0]),
    SMALL,
    SMALL,
    SMALL,
)
def test_merging_two_classes_that_hold_gives_one_that_holds(
    kind: Diversity, least: float, t: float, c: float | None, a: list[int], b: list[int], rest: list[int]
) -> None:
    limits = limits_of(replace(table(a + b + rest, k=1, l=least, diversity=kind, t=t), c=c))
    first, second = np.bincount(a, minlength=5), np.bincount(b, minlength=5)
    if kept(limits, first, len(a)) and kept(limits, second, len(b)):
        assert kept(limits, first + second, len(a) + len(b))


def test_histograms_count_records_per_class_and_value() -> None:
    problem = table([0, 1, 1], l=1, domain=2)
    partition = Partition(
        item=counted(0, 1, 2), group=counted(0, 0, 1), count=counted(1, 1, 1), nodes=np.zeros((2, 1), dtype=np.int32)
    )
    assert histograms(problem, partition.group, 2, partition.item, partition.count).tolist() == [[1, 1], [0, 1]]


def test_too_few_records_for_k_says_the_largest_k() -> None:
    with pytest.raises(Unmet, match="k can be 3 at most"):
        require_feasible(table([0, 1, 2], k=4))


@pytest.mark.parametrize(("kind", "reached"), [("frequency", "1.5"), ("distinct", "2"), ("entropy", "1.88")])
def test_an_l_beyond_the_table_says_the_largest_l(kind: Diversity, reached: str) -> None:
    with pytest.raises(Unmet, match=f"the whole table reaches {reached};"):
        require_feasible(table([0, 0, 1], l=2.5, diversity=kind))


def test_an_l_that_the_whole_table_reaches_is_feasible() -> None:
    require_feasible(table([0, 0, 1, 1], l=2, t=0.0))


def test_l_without_a_sensitive_column_is_refused() -> None:
    with pytest.raises(InputError, match="no column is sensitive"):
        require_feasible(replace(table([0, 1], l=2), sensitive=()))
