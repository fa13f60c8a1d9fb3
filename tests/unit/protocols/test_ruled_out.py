"""What public numbers say of the records that remain is never less than the truth, and rules out what it can."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.protocols.peelers import draw_people, marginals_of, study_of, tables_of

from covey.anonymizers.peel import lattice
from covey.protocols.peel.ruled_out import RemainingAtMost
from covey.protocols.shared.peeling import nodes as listing
from covey.protocols.shared.peeling.synthetic import distinct


@pytest.mark.parametrize("seed", range(4))
def test_the_numbers_bound_what_remains_while_classes_leave(seed: int) -> None:
    study = study_of(3, k=4)
    tables = tables_of(study, draw_people(3, 40, seed))
    trees = next(iter(tables.values())).trees
    codes = np.concatenate([table.codes for table in tables.values()], axis=1)
    most = RemainingAtMost.of(trees, marginals_of(study, tables))
    random, left = np.random.default_rng(seed), np.ones(codes.shape[1], dtype=bool)
    for _ in range(6):
        for column, tree in enumerate(trees):
            for node in range(tree.nodes):
                there = (tree.up[:, codes[column]] == node).any(axis=0)
                assert most.most[column][node] >= int((there & left).sum())
        if not left.any():
            break
        row = random.choice(np.flatnonzero(left))
        levels = [int(random.integers(tree.levels)) for tree in trees]
        box = np.array(
            [tree.up[level, codes[c, row]] for c, (tree, level) in enumerate(zip(trees, levels, strict=True))]
        )
        gone = left.copy()
        for column, tree in enumerate(trees):
            gone &= (tree.up[:, codes[column]] == box[column]).any(axis=0)
        most.leave(box[np.newaxis].astype(np.int32), np.array([gone.sum()]))
        left &= ~gone


def test_a_value_of_which_too_few_remain_is_in_no_tuple_that_is_tested() -> None:
    study = study_of(3, k=4)
    tables = tables_of(study, draw_people(3, 40, 1))
    trees = next(iter(tables.values())).trees
    most = RemainingAtMost.of(trees, marginals_of(study, tables))
    levels = [0] * len(trees)
    before = most.domain(levels), most.records(levels)
    leaf = int(np.argmax(most.most[1][: trees[1].codes]))
    box = np.array([[trees[0].root, leaf, trees[2].root]], dtype=np.int32)
    most.leave(box, np.array([int(most.most[1][leaf]) - 3]))
    assert most.domain(levels) < before[0]
    assert most.records(levels) < before[1]
    assert leaf not in trees[1].up[0][most.frequent(1, trees[1].up[0])]


def test_the_list_ends_where_the_next_nodes_would_save_little(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(3, k=4)
    tables = tables_of(study, draw_people(3, 300, 1))
    trees, known = next(iter(tables.values())).trees, marginals_of(study, tables)
    monkeypatch.setattr(listing, "WHOLE", 0)
    monkeypatch.setattr(listing, "FEW", 0)
    lengths = []
    for saves in (0.0, 4e-4, 4e-2):
        monkeypatch.setitem(listing.EFFORTS, "normal", listing.Effort(saves, 2))
        found = listing.list_nodes(study, trees, known, 2000)
        assert found[-1].tolist() == [tree.height for tree in trees]
        lengths.append(len(found))
    assert lengths[0] >= lengths[1] > lengths[2] > 1
    assert len(listing.list_nodes(study, trees, known, 3)) == 4


def test_more_effort_makes_a_longer_list_but_not_of_few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(3, k=4)
    tables = tables_of(study, draw_people(3, 300, 1))
    trees, known = next(iter(tables.values())).trees, marginals_of(study, tables)
    monkeypatch.setattr(listing, "WHOLE", 0)
    monkeypatch.setattr(listing, "FEW", 0)

    def lengths() -> list[int]:
        asked = [replace(study, effort=effort) for effort in (None, "quick", "normal", "thorough")]
        return [len(listing.list_nodes(each, trees, known, 2000)) for each in asked]

    unsaid, quick, normal, thorough = lengths()
    assert quick < normal == unsaid == thorough
    monkeypatch.setattr(listing, "MANY", 1)
    assert lengths()[:3] == [unsaid, quick, normal]
    assert lengths()[3] > normal


def test_nodes_are_ruled_out_by_coarser_ones_and_nothing_else_changes() -> None:
    study = study_of(3, k=4)
    tables = tables_of(study, draw_people(3, 300, 1))
    trees = next(iter(tables.values())).trees
    codes, counts = distinct(np.concatenate([table.codes for table in tables.values()], axis=1))
    problem = listing._problem(study, trees, codes, counts)
    nodes = lattice.whole(problem)
    for k in (2, 4, 9, 1000):
        ruled_out = listing._peel(problem, k, nodes)
        each = listing._peel(problem, k, np.concatenate([nodes, nodes[-1:]]))  # no whole lattice: all are visited
        assert np.array_equal(each[:-1], ruled_out)
        assert each[-1] == 0


def test_a_node_is_struck_out_for_the_records_that_it_saves_little_on() -> None:
    nodes = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.int32)
    costs, price = np.array([0.0, 0.2, 0.5, 1.0]), np.ones(4)
    stays = listing._worth(nodes, costs, np.array([10.0, 10.0, 1.0, 0.0]), price, 2.5, 9)
    assert stays.tolist() == [False, True, False, True], "a node's own records, and those passed on to it, count"
    assert listing._worth(nodes, costs, np.array([10.0, 10.0, 1.0, 0.0]), price, 0.0, 9).all()
    cheap = np.array([0.1, 1.0, 0.1, 1.0])
    assert listing._worth(nodes, costs, np.array([10.0, 10.0, 1.0, 0.0]), cheap, 2.5, 9).all()
    assert listing._worth(nodes, costs, np.array([10.0, 10.0, 1.0, 0.0]), price, 0.0, 1).sum() == 2
