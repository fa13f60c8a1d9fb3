"""Several views of one table: the paper's examples, and the search for every table that could lie behind them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.bench.findings import Setting
from covey.bench.papers import possible_worlds as worlds


def test_example_1_has_four_edges_and_the_fourth_is_no_record() -> None:
    found = set(worlds.edges(worlds.EXAMPLE_1))
    assert found == {(0, 0, 0), (1, 1, 1), (2, 2, 2), (0, 1, 2)}
    artifact = worlds.intersection([worlds.EXAMPLE_1[0][0], worlds.EXAMPLE_1[1][1], worlds.EXAMPLE_1[2][2]])
    assert artifact == (frozenset("a"), frozenset("x"), frozenset("2"))
    assert list(worlds.matchings(worlds.EXAMPLE_1)) == [((0, 0, 0), (1, 1, 1), (2, 2, 2))]


def test_example_2_has_every_matching_and_the_worlds_of_table_4() -> None:
    assert len(list(worlds.matchings(worlds.EXAMPLE_2))) == 24
    shown = [worlds.world(worlds.EXAMPLE_2, each) for each in (worlds.TRUE, worlds.ARTIFACT)]
    assert tuple(shown) == worlds.TABLE_4
    assert worlds.tables_in(shown[1]) == 324


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=4), st.data())
def test_a_table_lies_behind_a_view_if_some_order_fits(table: list[int], data: st.DataObject) -> None:
    sets = st.frozensets(st.integers(0, 7), max_size=5)
    view = data.draw(st.lists(sets, min_size=len(table), max_size=len(table)))
    truth = any(all(cell in own for cell, own in zip(order, view, strict=True)) for order in permutations(table))
    assert worlds.lies_behind(tuple(table), view) == truth


def test_every_table_lies_behind_its_own_views_and_more_views_leave_fewer() -> None:
    for seed in range(2):
        seen = worlds._look(4, seed)
        assert 1 <= seen.every <= seen.last
        assert 1 <= seen.same <= seen.published
        assert seen.certain_last <= seen.certain_every


def test_boxes_cover_the_cells_below_them() -> None:
    roots = np.array([[tree.root for tree in worlds._TREES]], dtype=np.int32)
    assert worlds.covers(roots) == [frozenset(range(16))]
    assert worlds.covers(np.array([[0, 1, 0]], dtype=np.int32)) == [frozenset({2})]


@pytest.mark.thorough
def test_the_experiment_judges_what_it_counted() -> None:
    findings = worlds.run(Setting(quick=True, adult=None))
    verdicts = [claim.holds for claim in findings.claims]
    assert verdicts[:2] == ["yes", "yes"]
    assert len(verdicts) == 4
