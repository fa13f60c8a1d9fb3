"""Edits of a tree give the tree that a person would draw, or a sentence that says why there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import InputError
from covey.hierarchy import Hierarchy, editing

TREE = Hierarchy.from_paths([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "d", "*")])


def test_values_of_several_groups_are_put_under_a_new_one() -> None:
    assert editing.group(TREE, ["b", "c"], "new").paths() == [
        ("a", "x", "*"), ("b", "new", "*"), ("c", "new", "*"), ("d", "d", "*"),
    ]  # fmt: skip


def test_groups_are_grouped_on_a_level_of_their_own() -> None:
    assert editing.group(TREE, ["x", "y"], "new").paths() == [
        ("a", "x", "new", "*"), ("b", "x", "new", "*"), ("c", "y", "new", "*"), ("d", "d", "d", "*"),
    ]  # fmt: skip


def test_a_value_that_stands_for_itself_further_up_takes_the_group_along() -> None:
    tree = Hierarchy.from_paths([("a", "a", "a", "*"), ("b", "x", "z", "*"), ("c", "x", "z", "*")])
    assert editing.group(tree, ["a", "b"], "new").paths()[:2] == [("a", "new", "new", "*"), ("b", "new", "new", "*")]


def test_a_node_is_renamed_wherever_it_stands() -> None:
    assert ("e", "e", "*") in editing.rename(TREE, "d", "e").paths()


def test_values_move_to_another_group_and_others_are_left() -> None:
    moved = editing.move(TREE, ["a"], "y").paths()
    assert set(moved) == {("a", "y", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "d", "*")}


def test_chosen_ones_are_put_first() -> None:
    assert editing.put_first(TREE, ["y"]).paths()[0] == ("c", "y", "*")


def test_values_are_added_below_the_root_and_taken_out_with_their_group() -> None:
    assert ("e", "e", "*") in editing.with_values(TREE, ["e"]).paths()
    assert editing.without_values(TREE, ["x", "d"]).paths() == [("c", "y", "*")]


def test_a_level_is_taken_out() -> None:
    assert editing.without_level(TREE, 1).paths()[0] == ("a", "*")


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda: editing.group(TREE, ["a", "y"], "new"), "different levels"),
        (lambda: editing.group(TREE, [], "new"), "choose values"),
        (lambda: editing.group(TREE, ["a"], "y"), "already"),
        (lambda: editing.rename(TREE, "*", "all"), "root"),
        (lambda: editing.move(TREE, ["a"], "c"), "no group on the level above"),
        (lambda: editing.without_level(TREE, 2), "between the values"),
        (lambda: editing.without_values(TREE, ["x", "y", "d"]), "would leave none"),
    ],
)
def test_what_is_no_tree_is_refused_in_a_sentence(edit: object, sentence: str) -> None:
    assert callable(edit)
    with pytest.raises(InputError, match=sentence):
        edit()


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.sets(st.integers(0, 11), min_size=1))
def test_grouping_keeps_every_value_and_gives_a_tree(groups: list[int], places: set[int]) -> None:
    tree = Hierarchy.from_paths([(f"v{place}", f"g{group}", "*") for place, group in enumerate(groups)])
    chosen = [f"v{place}" for place in places if place < len(groups)]
    if chosen:
        made = editing.group(tree, chosen, "new")
        assert {path[0] for path in made.paths()} == {path[0] for path in tree.paths()}
        assert {path[0] for path in made.paths() if "new" in path} == set(chosen)
