from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.strategies import hierarchies

from covey import measures
from covey.errors import InputError
from covey.hierarchy import Hierarchy

TREE = Hierarchy.from_paths([["a", "x", "*"], ["b", "y", "*"], ["c", "y", "*"]])


@given(hierarchies())
def test_leaves_lose_nothing_and_the_root_everything(tree: Hierarchy) -> None:
    tree = tree.with_missing()
    cost = measures.lm(tree)
    assert (cost[: tree.codes] == 0).all()
    assert cost[tree.root] == 1
    assert (cost[tree.parent] >= cost).all()
    assert measures.precision(tree)[tree.root] == 1


def test_lm_counts_leaves() -> None:
    node = TREE.node("y")
    assert node is not None
    assert measures.lm(TREE)[node] == pytest.approx(1 / 2)


def test_plain_em_can_fall_on_the_way_up_and_monotone_em_cannot() -> None:
    counts = np.array([1000, 1, 1])
    y = TREE.node("y")
    assert y is not None
    plain, monotone = measures.em(TREE, counts), measures.em_monotone(TREE, counts)
    assert plain[y] == pytest.approx(1.0)
    assert plain[TREE.root] < plain[y]
    assert monotone[TREE.root] > monotone[y]


@given(hierarchies(), st.data())
def test_em_is_the_entropy_of_what_lies_below(tree: Hierarchy, data: st.DataObject) -> None:
    counts = np.array(data.draw(st.lists(st.integers(0, 50), min_size=tree.codes, max_size=tree.codes)))
    found = measures.em(tree, counts)
    for node in range(tree.nodes):
        below = counts[tree.first[node] : tree.last[node] + 1]
        total = below.sum()
        shares = [n / total for n in below if n] if total else []
        assert found[node] == pytest.approx(-sum(p * math.log2(p) for p in shares), abs=1e-9)


def test_lm_in_integers_is_exact() -> None:
    sizes = (73, 6, 15, 6, 4, 2, 41)
    trees = [Hierarchy.from_paths([[f"v{i}", "*"] for i in range(size + 1)]) for size in sizes]
    (first, *_), scale = measures.integer_costs(trees)
    assert scale == math.lcm(*sizes)
    assert first[trees[0].root] == scale


def test_weights_keep_the_mean_cost_of_a_fully_general_record_at_one() -> None:
    costs, scale = measures.integer_costs([TREE, TREE], weights=[3.0, 1.0])
    roots = [int(cost[TREE.root]) / scale for cost in costs]
    assert roots == pytest.approx([1.5, 0.5])


def test_discernibility_charges_a_withheld_record_the_whole_table() -> None:
    assert measures.discernibility(np.array([2, 2, 2])) == 12
    assert measures.discernibility(np.array([8] * 150)) == 9600
    assert measures.discernibility(np.array([1200])) == 1_440_000
    assert measures.discernibility(np.array([3]), withheld=2) == 9 + 2 * 5


def test_average_class() -> None:
    assert measures.average_class(np.array([5, 15]), k=5) == 2


def test_an_unknown_measure_and_em_without_frequencies_are_refused() -> None:
    with pytest.raises(InputError, match="choose one of"):
        measures.node_costs(TREE, "beauty")
    with pytest.raises(InputError, match="frequencies"):
        measures.node_costs(TREE, "em")
