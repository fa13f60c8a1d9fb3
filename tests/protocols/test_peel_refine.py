"""Refining, unless a study says `refine = false`: labels are narrowed as far as records allow, and tell all answers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness.columns_cases import draw_people as draw_joined
from tests.harness.columns_cases import stream_of
from tests.harness.peel_columns_cases import study_of as columns_of
from tests.protocols.peelers import draw_people, ends_of, study_of, tables_of
from tests.protocols.test_peel import agrees
from tests.protocols.test_peel_columns import FIVE, released, rows_split

from covey.arrays import Ints, Longs
from covey.errors import InputError
from covey.hierarchy import Hierarchy
from covey.protocols import peel
from covey.protocols.peel.parameters import Parameters
from covey.protocols.shared.peeling import narrowing
from covey.protocols.shared.peeling.classes import peel as peel_clear
from covey.protocols.shared.peeling.narrowing import Narrowing, narrowed
from covey.protocols.shared.script import load, settings

FEW = "nodes = 2\nbuckets = 1"
"""A list of two nodes and the root: labels are much wider than they need to be."""


@pytest.mark.parametrize(("parties", "privacy", "mode"), [(3, "", "visit"), (2, "k_insider = 1", "wave")])
def test_refined_releases_are_a_trusted_partys_and_lose_less(parties: int, privacy: str, mode: str) -> None:
    people = draw_people(parties, 40, 3)
    plain = study_of(parties, k=3, privacy=privacy, options=f'{FEW}\nmode = "{mode}"\nrefine = false')
    study = study_of(parties, k=3, privacy=privacy, options=f'{FEW}\nmode = "{mode}"')
    real = agrees(study, people)
    before = peel.ideal(plain, tables_of(plain, people)).figures
    assert before is not None
    assert (real.figures.loss["lm"] or 0.0) < (before.loss["lm"] or 0.0)
    assert real.figures.k_reached is not None
    assert real.figures.k_reached >= 3
    assert any("narrowest label that holds all its records" in line for line in real.ledger["p0"])


def test_holders_of_columns_narrow_the_same_labels() -> None:
    people = draw_joined(stream_of(3, "refine"), 60)
    options = "nodes = 2"
    assert released(columns_of(FIVE, k=3, options=options), people) == rows_split(people, 3, "", options)
    assert rows_split(people, 3, "", options) != rows_split(people, 3, "", "nodes = 2\nrefine = false")


def draw_classes(seed: int) -> tuple[tuple[Hierarchy, ...], Ints, Longs, Ints]:
    """Hierarchies, records (columns x records), the class of each, and the classes' labels, wider than they need be."""
    study = study_of(3, k=3)
    tables = list(tables_of(study, draw_people(3, 30, seed)).values())
    trees, codes = tables[0].trees, np.concatenate([table.codes for table in tables], axis=1)
    top = np.array([[tree.height for tree in trees]], dtype=np.int32)
    boxes, _, klass = peel_clear(trees, np.concatenate([top // 2, top]), codes, 3, lambda rows, place, size: size >= 3)
    return trees, codes, klass, np.stack(boxes)


@pytest.mark.parametrize("seed", range(4))
def test_the_labels_of_a_release_tell_every_answer(seed: int) -> None:
    """Nobody learns more than the narrowed labels: from these alone all that was opened can be said."""
    trees, codes, klass, wide = draw_classes(seed)
    narrow = narrowed(wide, trees, codes, klass)
    again, opened = Narrowing(wide, trees), 0
    owner = np.arange(codes.shape[1]) % 3
    while len(asked := again.questions()):
        each = [again.inside(asked, codes[:, owner == party], klass[owner == party]) for party in range(3)]
        answers = np.logical_and.reduce(each)
        told = [
            trees[column].first[node] <= trees[column].first[narrow[own, column]]
            and trees[column].last[narrow[own, column]] <= trees[column].last[node]
            for own, column, node in zip(asked.klass, asked.column, asked.node, strict=True)
        ]
        assert answers.tolist() == told
        again.narrow(asked, answers)
        opened += len(asked)
    assert opened
    assert np.array_equal(again.boxes, narrow)
    for own in range(len(wide)):
        for column, tree in enumerate(trees):
            inside = codes[column, klass == own]
            assert narrow[own, column] == tree.common_ancestor(inside.min(), inside.max())


def test_one_of_two_reads_from_the_answers_what_its_own_records_and_the_labels_tell() -> None:
    """An attack between two: where a party's own bit is set, the answer is the other's bit.

    The attacker writes down all such bits, once of the other's records and once of made-up ones, of which it knows no
    more than the labels. It finds no difference. With the other's bits in the clear it would.
    """
    read: dict[str, list[bool]] = {"real": [], "made up": []}
    clear: dict[str, list[bool]] = {"real": [], "made up": []}
    for seed in range(4):
        trees, codes, klass, wide = draw_classes(seed)
        mine = np.arange(codes.shape[1]) % 2 == 0
        narrow = narrowed(wide, trees, codes, klass)
        others = {"real": (codes[:, ~mine], klass[~mine]), "made up": ends_of(narrow, trees)}
        for world, theirs in others.items():
            again = Narrowing(wide, trees)
            while len(asked := again.questions()):
                own, other = again.inside(asked, codes[:, mine], klass[mine]), again.inside(asked, *theirs)
                read[world] += other[own].tolist()
                clear[world] += other.tolist()
                again.narrow(asked, own & other)
            assert np.array_equal(again.boxes, narrow)
    assert read["real"] == read["made up"]
    assert set(read["real"]) == {True, False}
    assert clear["real"] != clear["made up"]


def test_a_node_with_many_children_is_not_narrowed(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(3, k=3)
    tables = list(tables_of(study, draw_people(3, 30, 1)).values())
    trees, codes = tables[0].trees, np.concatenate([table.codes for table in tables], axis=1)
    roots = np.array([[tree.root for tree in trees]], dtype=np.int32)
    alone = np.where(np.arange(codes.shape[1]) == 0, 0, -1)
    assert narrowed(roots, trees, codes, alone).tolist() == [codes[:, 0].tolist()]
    monkeypatch.setattr(narrowing, "CHILDREN", 0)
    assert narrowed(roots, trees, codes, alone).tolist() == roots.tolist()


def test_with_t_labels_stay_and_refine_and_t_are_refused_together() -> None:
    assert Parameters.of(study_of(3, k=3)).refine
    assert not Parameters.of(study_of(3, k=3, privacy="t = 0.5")).refine
    with pytest.raises(InputError, match="refine = true is not for t"):
        Parameters.of(study_of(3, k=3, privacy="t = 0.5", options="refine = true"))


@pytest.mark.parametrize("parties", [2, 3])
def test_the_script_of_an_audit_knows_the_questions_and_only_where_they_were_asked_for(parties: int) -> None:
    needs = {"refine=True", "two parties" if parties == 2 else "three parties or more"}
    lines = [line for line in load("covey.protocols.peel") if line.step.startswith("refine/")]
    assert any(set(line.needs) == needs for line in lines)
    assert "refine=False" in settings(study_of(parties, k=3, options="refine = false"))
    assert needs <= settings(study_of(parties, k=3))
