"""The list of nodes from exact frequencies: how long it is, and which nodes stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.protocols.peelers import draw_people, study_of, tables_of

from covey.anonymizers.peel import lattice
from covey.protocols.shared.peeling import marginals
from covey.protocols.shared.peeling import nodes as listing
from covey.protocols.shared.peeling.gains import published_at
from covey.protocols.shared.peeling.synthetic import distinct


def test_the_list_ends_where_the_next_nodes_would_save_little(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(3, k=4)
    tables = tables_of(study, draw_people(3, 300, 1))
    trees, known = next(iter(tables.values())).trees, marginals.ideal(study, list(tables.values()), True)
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
    trees, known = next(iter(tables.values())).trees, marginals.ideal(study, list(tables.values()), True)
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
        ruled_out = published_at(problem, k, nodes)
        each = published_at(problem, k, np.concatenate([nodes, nodes[-1:]]))  # no whole lattice: all are visited
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
