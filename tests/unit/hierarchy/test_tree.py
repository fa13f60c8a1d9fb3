from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.strategies import hierarchies

from covey.hierarchy import Hierarchy, Malformed, parse, write

PEOPLE = [
    ["nurse", "health", "*"],
    ["doctor", "health", "*"],
    ["farmer", "outdoors", "*"],
    ["retired", "retired", "*"],
]


def naive_ancestor(tree: Hierarchy, a: int, b: int) -> int:
    """Walk up from a until the node is above b as well."""

    def above(node: int) -> list[int]:
        chain = [node]
        while int(tree.parent[node]) != node:
            node = int(tree.parent[node])
            chain.append(node)
        return chain

    return next(node for node in above(a) if node in above(b))


@given(hierarchies())
def test_what_is_written_is_read_back_equal(tree: Hierarchy) -> None:
    assert parse(write(tree).encode(), "tree.csv") == tree


@given(hierarchies(), st.data())
def test_the_common_ancestor_is_the_naive_one(tree: Hierarchy, data: st.DataObject) -> None:
    tree = tree.with_missing()
    pair = st.integers(0, tree.nodes - 1)
    a, b = data.draw(pair), data.draw(pair)
    found = tree.common_ancestor(np.array([a], np.int32), np.array([b], np.int32))
    assert int(found[0]) == naive_ancestor(tree, a, b)


@given(hierarchies())
def test_every_node_covers_a_contiguous_run_of_leaves(tree: Hierarchy) -> None:
    for level in tree.up:
        for leaf, node in enumerate(level):
            assert tree.first[node] <= leaf <= tree.last[node]
    widths = tree.last - tree.first + 1
    for node in range(tree.nodes):
        members = {leaf for level in tree.up for leaf in np.flatnonzero(level == node)}
        assert len(members) == widths[node]


def test_leaves_come_first_and_the_root_last() -> None:
    tree = Hierarchy.from_paths(PEOPLE)
    assert tree.labels == ("nurse", "doctor", "farmer", "retired", "health", "outdoors", "*")
    assert tree.root == 6
    assert tree.sizes.tolist() == [1, 1, 1, 1, 2, 1, 4]


def test_a_label_repeated_for_the_same_leaves_is_one_node() -> None:
    tree = Hierarchy.from_paths(PEOPLE)
    retired = tree.node("retired")
    assert retired is not None
    assert tree.up[:, retired].tolist() == [retired, retired, tree.root]


def test_the_missing_leaf_hangs_below_the_root_and_is_no_part_of_the_domain() -> None:
    tree = Hierarchy.from_paths(PEOPLE).with_missing()
    assert tree.missing == 4
    assert tree.parent[4] == tree.root
    assert tree.leaves == 4
    assert tree.sizes[tree.root] == 4
    assert tree.encode([""]).tolist() == [4]
    assert tree.with_missing() is tree


def test_values_outside_the_tree_and_inner_labels_have_no_code() -> None:
    tree = Hierarchy.from_paths(PEOPLE)
    assert tree.encode(["nurse", "health", "baker", "", "*"]).tolist() == [0, -1, -1, -1, -1]


def test_rows_in_any_order_make_the_same_tree_for_the_hash() -> None:
    assert Hierarchy.from_paths(PEOPLE).digest == Hierarchy.from_paths(PEOPLE[::-1]).digest


@pytest.mark.parametrize(
    ("paths", "row", "label", "reason"),
    [
        ([["a", "x", "*"], ["b", "*"]], 1, "b", "levels"),
        ([["a", "x", "p", "*"], ["b", "x", "q", "*"]], 1, "x", "two parents"),
        ([["a", "x", "*"], ["a", "y", "*"]], 1, "a", "another path"),
        ([["a", "b", "*"], ["b", "x", "*"]], 0, "b", "different leaves"),
        ([["a", "b", "a", "*"], ["b", "b", "a", "*"]], 0, "b", "different leaves"),
        ([["*", "x", "*"]], 0, "*", "cannot be a leaf"),
        ([["a", "x", "*"], ["b", "x", "root"]], 1, "root", "root"),
        ([["a", "", "*"]], 0, "a", "empty"),
    ],
)
def test_paths_that_are_no_tree_are_refused(paths: list[list[str]], row: int, label: str, reason: str) -> None:
    with pytest.raises(Malformed) as refused:
        Hierarchy.from_paths(paths)
    assert (row, label) in [problem[:2] for problem in refused.value.problems]
    assert all(reason in problem.reason for problem in refused.value.problems)


def test_every_problem_is_told_not_the_first_alone() -> None:
    rows = [["a", "x", "p", "*"], ["b", "x", "q", "*"], ["c", "y", "*"], ["*", "y", "q", "*"], ["d", "", "q", "*"]]
    with pytest.raises(Malformed) as refused:
        Hierarchy.from_paths(rows)
    assert [problem.row for problem in refused.value.problems] == [1, 2, 3, 4]
