from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.problems import faults, problems
from tests.harness.tiers import examples

from covey.anonymizers.hilbert import Cost, cut, hilbert, spread
from covey.anonymizers.problem import Problem, Sensitive
from covey.errors import Aborted, Unmet
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs

COSTS: tuple[Cost, ...] = ("fall", "hansen-mukherjee", "loss")


def on_a_line(values: list[int], k: int) -> Problem:
    """Records with one numeric column in steps of one."""
    tree = Hierarchy.from_paths([(str(v), f"[{v - v % 4}]", "*") for v in range(max(values) + 2)])
    costs, scale = integer_costs((tree,))
    ones = np.ones(len(values), dtype=np.int64)
    return Problem((tree,), np.array([values], dtype=np.int32), ones, costs, scale, k)


def cuts(records: int, k: int) -> Iterator[list[range]]:
    """Every way to cut a line into groups of k or more."""
    for number in range(records // k):
        for ends in itertools.combinations(range(1, records), number):
            groups = [range(a, b) for a, b in itertools.pairwise([0, *ends, records])]
            if min(len(group) for group in groups) >= k:
                yield groups


def fall(places: list[int]) -> float:
    return len(places) * (max(places) - min(places))


def squares(places: list[int]) -> float:
    return float(((np.array(places) - np.mean(places)) ** 2).sum())


def cheapest(values: list[int], k: int, cost: Callable[[list[int]], float]) -> float:
    return min(sum(cost([values[i] for i in group]) for group in groups) for groups in cuts(len(values), k))


def spent(values: list[int], k: int, name: Cost, cost: Callable[[list[int]], float]) -> float:
    problem = on_a_line(values, k)
    groups = cut(problem, np.array(values, dtype=np.float64), np.arange(len(values)), cost=name)
    assert (np.bincount(groups) >= k).all()
    return sum(cost([values[i] for i in np.flatnonzero(groups == own)]) for own in range(groups.max() + 1))


LINES = st.lists(st.integers(0, 40), min_size=4, max_size=11).map(sorted)


@given(LINES, st.integers(1, 4))
@settings(max_examples=examples(100), deadline=None)
def test_the_cut_is_as_cheap_as_brute_force_finds(values: list[int], k: int) -> None:
    assert spent(values, k, "fall", fall) == cheapest(values, k, fall)
    assert spent(values, k, "hansen-mukherjee", squares) == pytest.approx(cheapest(values, k, squares), abs=1e-6)


@given(LINES, st.integers(1, 4))
@settings(max_examples=examples(60), deadline=None)
def test_by_loss_the_closed_groups_are_as_cheap_as_brute_force_finds(values: list[int], k: int) -> None:
    problem = on_a_line(values, k)
    tree, node_cost = problem.trees[0], problem.costs[0]

    def loss(members: list[int]) -> float:
        top = tree.common_ancestor(np.array([min(members)]), np.array([max(members)]))
        return float(len(members) * node_cost[top[0]])

    assert spent(values, k, "loss", loss) == cheapest(values, k, loss)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 60)), min_size=1, max_size=6), st.integers(1, 4))
@settings(max_examples=examples(60), deadline=None)
@pytest.mark.parametrize("cost", COSTS)
def test_counts_give_the_loss_that_single_records_give(cost: Cost, runs: list[tuple[int, int]], k: int) -> None:
    """A run of equal records is shortened inside; neither the groups' cost nor any record may be lost by that."""
    counts: dict[int, int] = dict(runs)
    values = sorted(value for value, count in counts.items() for _ in range(count))
    if len(values) < k:
        return
    single = on_a_line(values, k)
    distinct = np.array([sorted(counts)], dtype=np.int32)
    together = replace(single, codes=distinct, counts=np.array([counts[v] for v in sorted(counts)], dtype=np.int64))
    one, other = hilbert(single, cost=cost), hilbert(together, cost=cost)
    assert faults(together, other) == []
    assert other.count.sum() == len(values)
    if cost == "loss":
        assert other.loss(together) == one.loss(single)


@pytest.mark.parametrize("cost", COSTS)
@given(problem=problems())
@settings(max_examples=examples(100), deadline=None)
def test_classes_keep_what_was_asked_or_the_request_is_refused(cost: Cost, problem: Problem) -> None:
    try:
        partition = hilbert(problem, cost=cost)
    except Unmet:
        return
    assert faults(problem, partition) == []
    assert partition.count.sum() == problem.records


def test_records_at_one_place_are_interleaved_in_proportion() -> None:
    items = spread(np.array([1.0, 0.0, 0.0]), np.array([2, 4, 2]))
    assert items.tolist() == [1, 2, 1, 1, 2, 1, 0, 0]


def test_a_long_run_of_one_sensitive_value_is_bridged_where_l_must_hold() -> None:
    values = list(range(400))
    sick = np.zeros(400, dtype=np.int32)
    sick[300:] = np.arange(100) % 3 + 1
    problem = replace(on_a_line(values, 2), sensitive=(Sensitive(sick, 4),), l=1.25)
    partition = hilbert(problem)
    assert faults(problem, partition) == []


def test_a_caller_can_stop_it() -> None:
    with pytest.raises(Aborted, match="cancelled during cutting the curve"):
        hilbert(on_a_line([1, 2, 3], 1), cancel=lambda: True)
