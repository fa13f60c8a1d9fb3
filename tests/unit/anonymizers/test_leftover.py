from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.problems import faults, problems, withheld
from tests.harness.tiers import examples

from covey.anonymizers import anonymize
from covey.anonymizers.leftover import settled
from covey.anonymizers.problem import Partition, Problem, Sensitive
from covey.errors import Unmet
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs

TREE = Hierarchy.from_paths([("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")])
A, B, C, D = range(4)


def letters(k: int) -> Problem:
    """Three records of each letter, one of each of three illnesses."""
    costs, scale = integer_costs((TREE,))
    codes = np.repeat([A, B, C, D], 3).astype(np.int32)[None, :]
    ill = Sensitive(np.tile([0, 1, 2], 4).astype(np.int32), 3)
    return Problem((TREE,), codes, np.ones(12, dtype=np.int64), costs, scale, k, (ill,))


def keeping(*groups: list[int]) -> Partition:
    """The partition with these classes of letters, all their records in it; other letters are withheld."""
    item = [letter * 3 + record for group in groups for letter in group for record in range(3)]
    label = [number for number, group in enumerate(groups) for _ in range(3 * len(group))]
    nodes = [[TREE.common_ancestor(np.array([min(g)]), np.array([max(g)]))[0]] for g in groups]
    ones = np.ones(len(item), dtype=np.int64)
    return Partition(np.array(item), np.array(label), ones, np.array(nodes, dtype=np.int32).reshape(-1, 1))


def labels(partition: Partition) -> list[str]:
    return sorted(TREE.labels[node] for node in partition.nodes[:, 0])


def test_fewer_than_k_stay_withheld() -> None:
    partition = keeping([A], [B], [C])
    assert settled(letters(4), partition) is partition


def test_k_or_more_that_can_stand_alone_are_a_class() -> None:
    assert labels(settled(letters(3), keeping([A], [B], [C]))) == ["a", "b", "c", "d"]


def test_those_that_cannot_take_in_the_class_that_costs_least() -> None:
    problem = letters(3)
    alike = replace(problem.sensitive[0], codes=np.where(problem.codes[0] == D, 0, problem.sensitive[0].codes))
    problem = replace(problem, sensitive=(alike,), l=1.5)
    partition = settled(problem, keeping([A], [B], [C]))
    assert labels(partition) == ["a", "b", "cd"]
    assert faults(problem, partition) == []
    assert withheld(problem, partition) == 0


@given(problems(), st.data())
@settings(max_examples=examples(100), deadline=None)
def test_whatever_was_left_out_fewer_than_k_are_and_every_class_holds(problem: Problem, data: st.DataObject) -> None:
    try:
        whole = anonymize(problem, "hilbert")
    except Unmet:
        return
    stay = np.array(data.draw(st.lists(st.booleans(), min_size=whole.classes, max_size=whole.classes)), dtype=bool)
    kept = stay[whole.group]
    number = np.cumsum(stay) - 1
    partition = Partition(whole.item[kept], number[whole.group[kept]], whole.count[kept], whole.nodes[stay])
    result = settled(problem, partition)
    assert faults(problem, result) == []
    assert withheld(problem, result) < problem.k
