from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.problems import faults, problems
from tests.harness.tiers import examples

from covey.anonymizers.datafly import Ties, datafly
from covey.anonymizers.problem import Problem
from covey.errors import Aborted, Unmet
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs


@given(problems(), st.sampled_from(["first", "last"]), st.sampled_from([0, -1, 3]))
@settings(max_examples=examples(200), deadline=None)
def test_classes_keep_what_was_asked_or_the_request_is_refused(problem: Problem, ties: Ties, tolerated: int) -> None:
    try:
        partition = datafly(problem, ties=ties, tolerated=tolerated)
    except Unmet:
        return
    assert faults(problem, partition) == []
    assert partition.count.sum() == problem.records


@given(problems(diverse=False))
@settings(max_examples=examples(60), deadline=None)
def test_strict_recodes_the_full_domain_of_every_column_to_one_level(problem: Problem) -> None:
    problem = replace(problem, k=min(problem.k, problem.records))
    partition = datafly(problem)
    levels = partition.notes["levels"]
    assert isinstance(levels, list)
    for column, tree in enumerate(problem.trees):
        published = partition.nodes[partition.group, column]
        assert np.array_equal(published, tree.up[levels[column]][problem.codes[column, partition.item]])


@given(problems(diverse=False))
@settings(max_examples=examples(60), deadline=None)
def test_strict_stops_at_the_first_levels_that_keep_k(problem: Problem) -> None:
    problem = replace(problem, k=min(problem.k, problem.records))
    trace, levels = datafly(problem).notes["trace"], [0] * problem.columns
    assert isinstance(trace, list)
    for column in trace:
        nodes = [
            tree.up[level][problem.codes[c]] for c, (tree, level) in enumerate(zip(problem.trees, levels, strict=True))
        ]
        _, label = np.unique(np.stack(nodes), axis=1, return_inverse=True)
        assert np.bincount(label.ravel(), weights=problem.counts).min() < problem.k
        levels[column] += 1


def letters(*counts: int, k: int) -> Problem:
    """One flat column with that many records of each letter."""
    tree = Hierarchy.from_paths([(letter, "*") for letter in "abcdefg"[: len(counts)]])
    costs, scale = integer_costs((tree,))
    codes = np.arange(len(counts), dtype=np.int32)[None, :]
    return Problem((tree,), codes, np.array(counts, dtype=np.int64), costs, scale, k)


def published(problem: Problem, tolerated: int) -> dict[str, int]:
    partition = datafly(problem, tolerated=tolerated)
    sizes = partition.sizes().tolist()
    return {problem.trees[0].labels[node]: size for node, size in zip(partition.nodes[:, 0], sizes, strict=True)}


def test_strict_suppresses_nothing() -> None:
    assert published(letters(4, 3, 2, k=3), tolerated=0) == {"*": 9}


def test_with_suppression_up_to_k_records_may_fall_short_and_the_smallest_class_fills_them_up() -> None:
    assert published(letters(5, 4, 3, 2, k=3), tolerated=-1) == {"a": 5, "b": 4, "*": 5}


def test_suppressed_records_that_reach_k_by_themselves_take_no_other_class() -> None:
    assert published(letters(5, 4, 2, 1, k=3), tolerated=-1) == {"a": 5, "b": 4, "*": 3}


def test_more_than_is_tolerated_is_generalized() -> None:
    assert published(letters(5, 4, 2, 2, k=3), tolerated=-1) == {"*": 13}


def test_a_caller_can_stop_it() -> None:
    with pytest.raises(Aborted, match="cancelled during generalizing"):
        datafly(letters(1, 1, k=2), cancel=lambda: True)
