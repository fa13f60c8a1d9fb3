from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.harness.problems import faults, problems
from tests.harness.tiers import examples

from covey.anonymizers.problem import Problem, Sensitive
from covey.anonymizers.sequential import first_labels, first_number, sequential
from covey.errors import Aborted, Unmet
from covey.hierarchy import Hierarchy
from covey.measures import entropy, integer_costs


def letters(k: int, counts: list[int]) -> Problem:
    tree = Hierarchy.from_paths([("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")])
    costs, scale = integer_costs((tree,))
    codes = np.arange(len(counts), dtype=np.int32)[None, :]
    return Problem((tree,), codes, np.array(counts, dtype=np.int64), costs, scale, k)


@given(problem=problems())
@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
def test_what_comes_out_may_be_published_or_the_request_is_refused(problem: Problem) -> None:
    try:
        partition = sequential(problem)
    except Unmet as refusal:
        assert "cannot be kept" in str(refusal)
        return
    assert faults(problem, partition) == []
    assert partition.count.sum() == problem.records


def strangers(k: int, l: float | None = None) -> Problem:  # noqa: E741
    """Four hundred records, no two alike: each column's values are numbers with halves of halves above them."""
    random = np.random.default_rng(4)
    tree = Hierarchy.from_paths([[str(v), *(f"{v >> s}/{s}" for s in (1, 2, 3, 4)), "*"] for v in range(32)])
    costs, scale = integer_costs((tree,) * 4)
    codes = random.integers(32, size=(4, 400)).astype(np.int32)
    ill = Sensitive((np.arange(400) % 5).astype(np.int32), 5)
    return Problem((tree,) * 4, codes, np.ones(400, dtype=np.int64), costs, scale, k, (ill,), l)


@pytest.mark.parametrize(("k", "l"), [(40, None), (100, None), (40, 2.0)])
def test_where_the_papers_start_ends_in_one_class_smaller_first_clusters_do_not(k: int, l: float | None) -> None:  # noqa: E741
    problem = strangers(k, l)
    assert sequential(problem, start="paper").loss(problem) == 1
    fitted, small = sequential(problem), sequential(problem, start="small")
    for partition in (fitted, small):
        assert faults(problem, partition) == []
        assert partition.loss(problem) < 0.9


def test_first_clusters_that_do_differ_are_left_as_the_paper_has_them() -> None:
    problem = letters(10, [30, 40, 50, 60])
    fitted, paper = sequential(problem, seed=3), sequential(problem, seed=3, start="paper")
    assert np.array_equal(fitted.group, paper.group)
    assert np.array_equal(fitted.count, paper.count)


def test_records_that_are_alike_come_together() -> None:
    problem = letters(4, [8, 8])
    assert sequential(problem, seed=1).loss(problem) == 0


def test_the_same_seed_gives_the_same_classes_and_threads_change_nothing() -> None:
    problem = letters(3, [5, 4, 6, 7])
    one, two = sequential(problem, seed=2), sequential(problem, seed=2, threads=2)
    assert np.array_equal(one.group, two.group)
    assert np.array_equal(one.count, two.count)


def test_a_budget_buys_whole_sweeps() -> None:
    problem = letters(3, [50, 40, 60, 70])
    assert sequential(problem, budget=1).notes["sweeps"] == 1


def test_first_labels_are_as_even_as_can_be() -> None:
    from covey.anonymizers.constraints import limits_of

    label = first_labels(limits_of(letters(10, [3, 1])), np.empty((103, 0), np.int64), 103, np.random.default_rng(0))
    sizes = np.bincount(label)
    assert len(sizes) == 20  # n over k/2
    assert set(sizes) == {5, 6}


def test_cancel_stops_it() -> None:
    with pytest.raises(Aborted):
        sequential(letters(2, [5, 5]), cancel=lambda: True)


def test_the_best_of_several_starts_costs_no_more_than_the_first() -> None:
    problem = strangers(10)
    several = sequential(problem, seed=1, starts=4)
    assert several.loss(problem) < sequential(problem, seed=1).loss(problem)
    assert several.notes["starts"] == 4
    assert faults(problem, several) == []


@pytest.mark.parametrize("objective", ["lm", "em", "em-monotone", "entropy"])
def test_an_objective_is_what_the_search_lowers(objective: str) -> None:
    random = np.random.default_rng(2)
    tree = Hierarchy.from_paths([[str(v), f"{v // 4}+", "*"] for v in range(16)])
    codes = np.minimum(random.integers(16, size=(3, 300)), random.integers(16, size=(3, 300))).astype(np.int32)
    costs, scale = integer_costs((tree,) * 3)
    problem = Problem((tree,) * 3, codes, np.ones(300, dtype=np.int64), costs, scale, 5)
    leaves = [np.bincount(own, minlength=16).astype(np.int64) for own in codes]
    judged = {
        name: replace(problem, costs=own[0], scale=own[1])
        for name in ("lm", objective)
        for own in [integer_costs((tree,) * 3, name, leaves)]
    }
    by_objective = sequential(problem, seed=3, objective=objective, starts=3)
    by_lm = sequential(problem, seed=3, starts=3)
    assert by_objective.loss(judged[objective]) <= by_lm.loss(judged[objective])


def test_the_non_uniform_entropy_of_a_table_is_what_its_own_values_say() -> None:
    tree = Hierarchy.from_paths([("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")])
    counts = np.array([8, 2, 5, 1])
    node = {label: place for place, label in enumerate(tree.labels)}
    lost = entropy(tree, counts)
    by_hand = sum(n * np.log2(10 / n) for n in (8, 2)) + sum(n * np.log2(6 / n) for n in (5, 1))
    assert 10 * lost[node["ab"]] + 6 * lost[node["cd"]] == pytest.approx(by_hand)
    assert sum(n * lost[place] for place, n in enumerate(counts)) == pytest.approx(0)


def test_first_clusters_and_the_largest_follow_k0_and_k1() -> None:
    assert first_number(1000, 10) == 200
    assert first_number(1000, 10, 1.0) == 100
    problem = strangers(10)
    wide = sequential(problem, seed=1, start="paper", k0=1.0, k1=3.0)
    assert faults(problem, wide) == []
    assert wide.sizes().max() > sequential(problem, seed=1, start="paper").sizes().max()
