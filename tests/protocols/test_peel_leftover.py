"""What peel does with the fewer than k records that are left over, and with a column that tells a site."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from tests.harness.joint import outcomes_of
from tests.harness.parties import run_parties
from tests.harness.tiers import few_first
from tests.protocols.peelers import Person, draw_people, frame_of, names_of, study_of, tables_of

import covey
from covey.errors import InputError, PeerError, Unmet
from covey.protocols import of_study, peel
from covey.protocols.peel import leftover, site
from covey.protocols.peel.parameters import Parameters
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.protocols.shared.peeling.leftover import cheapest, widened
from covey.sources.release import arrange, canonical_csv
from covey.study import Study
from covey.wire import Channel

MERGE = 'leftover = "merge"\n'


def agrees(study: Study, people: dict[str, list[Person]]) -> covey.Release:
    real = covey.simulate(study, {name: frame_of(study, own) for name, own in people.items()}, seed=1)
    ideal = peel.ideal(study, tables_of(study, people))
    assert canonical_csv(arrange(real.table)) == canonical_csv(arrange(ideal.release))
    assert all(outcome.finished.figures == ideal.figures for outcome in outcomes_of(real).values())
    return real


def with_strays(parties: int, rows: int, seed: int) -> dict[str, list[Person]]:
    """People of whom two are like nobody else, so that they are left over."""
    people = {name: [(7, "F", "a", "flu")] * rows for name in names_of(parties)}
    people["p0"] = [*people["p0"], (33, "M", "d", "ulcer")]
    people["p1"] = [*people["p1"], (21, "F", "c", "none")]
    return {name: own + draw_people(parties, seed, seed)[name] for name, own in people.items()}


@pytest.mark.parametrize(
    ("parties", "mode", "note"), few_first([(3, "visit", False), (5, "wave", True), (2, "wave", False)])
)
def test_every_record_is_released_where_the_owners_let_the_leftover_join(parties: int, mode: str, note: bool) -> None:
    for seed in (0, 3):
        people = with_strays(parties, 6, seed)
        options = f'mode = "{mode}"\n'
        held = agrees(study_of(parties, k=4, options=options, note=note), people)
        merged = agrees(study_of(parties, k=4, options=MERGE + options, note=note), people)
        records = sum(map(len, people.values()))
        assert merged.summary["rows"] == records
        assert merged.summary["withheld"] == 0
        assert merged.summary["insider_k"] >= 2  # type: ignore[operator]
        assert merged.summary["k_reached"] >= 4  # type: ignore[operator]
        said = [line for line in merged.ledger["p0"] if "left over at the end: which class it joins" in line]
        assert len(said) == 1
        assert ("whose it is: what is not ours" in said[0]) == (parties == 2)
        assert any(
            "narrowest label" in line and "before records that are left over" in line for line in merged.ledger["p0"]
        )
        assert not any("which class it joins" in line for line in held.ledger["p0"])


def test_some_run_has_a_leftover() -> None:
    held = agrees(study_of(3, k=4), with_strays(3, 6, 0))
    assert 0 < int(str(held.summary["withheld"])) < 4


def test_a_record_joins_the_class_in_which_it_costs_least() -> None:
    study = study_of(3, k=4)
    trees = tables_of(study, draw_people(3, 2, 0))["p0"].trees
    age, sex, town = trees
    near = [age.up[1, 0], sex.up[0, 0], town.up[0, 0]]
    far = [age.up[1, 35], sex.up[0, 1], town.up[0, 3]]
    classes = PublishedClasses.of(3, [np.array(near, np.int32), np.array(far, np.int32)], [5, 5])
    codes = np.array([[1], [0], [1]], dtype=np.int32)  # as old as the first class's people, from another town
    joined = cheapest(study, trees, classes, codes)
    assert classes.boxes[joined.klass[0]].tolist() == near
    assert joined.boxes[0].tolist() == [near[0], near[1], town.root]
    wide = widened(classes, trees, joined)
    assert sorted(wide.sizes.tolist()) == [5, 6]
    many = PublishedClasses.of(3, [np.array(near, np.int32), np.array(far, np.int32)], [5000, 4])
    assert many.boxes[cheapest(study, trees, many, codes).klass[0]].tolist() == far


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ((7, [0, 0, 0]), "no class"),
        ((0, [0, 0]), "no class"),
        ((0, [10**6, 0, 0]), "do not cover"),
        ((0, [3, 0, 0]), "do not cover"),
        ("nonsense", "no class"),
    ],
)
def test_a_row_that_joins_no_class_is_refused(row: object, reason: str) -> None:
    study = study_of(3, k=4)
    trees = tables_of(study, draw_people(3, 2, 0))["p0"].trees
    box = np.array([trees[0].up[1, 20], 0, 0], dtype=np.int32)
    classes = PublishedClasses.of(3, [box], [9])

    async def role(channel: Channel) -> object:
        return leftover._read(channel, msgspec.msgpack.encode(row), classes, trees)

    error = run_parties(dict.fromkeys(names_of(3), role))["p0"].error
    assert isinstance(error, PeerError)
    assert reason in str(error)


@pytest.mark.parametrize(
    ("study", "named"),
    [
        (study_of(3, k=4, privacy="l = 2", options=MERGE), "could undo a class's l"),
    ],
)
def test_what_merging_could_undo_is_refused(study: Study, named: str) -> None:
    with pytest.raises(InputError, match=named):
        of_study(study)


def test_another_word_for_the_leftover_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match="leftover must be one of withhold, merge"):
        study_of(3, k=4, options='leftover = "spread"')


def site_study(parties: int = 3, sites: int = 2, options: str = "", also: str = "") -> Study:
    study = study_of(parties, k=3, options=options)
    columns = tuple(replace(column, site=column.name in ("town", also)) for column in study.columns)
    return replace(study, columns=columns, privacy=replace(study.privacy, site_l=sites))


def at_sites(seed: int = 1) -> dict[str, list[Person]]:
    """Town `d` is p0's alone; the others have people in all of a, b and c."""
    people = draw_people(3, 40, seed)
    people["p0"] = [(age, sex, "d", ill) for age, sex, _, ill in people["p0"]]
    return {name: [p for p in own if p[2] != "d" or name == "p0"] for name, own in people.items()}


@pytest.mark.thorough
def test_a_town_that_only_one_site_has_is_never_published() -> None:
    people = at_sites()
    loose = covey.simulate(study_of(3, k=3), {n: frame_of(study_of(3, k=3), own) for n, own in people.items()}, seed=1)
    assert "d" in set(loose.arranged.column("town").to_pylist())
    for mode in ("visit", "wave"):
        kept = agrees(site_study(options=f'mode = "{mode}"'), people)
        assert set(kept.arranged.column("town").to_pylist()) == {"*"}  # one child that may not be shown hides them all
        assert any("'town'" in line and "2 parties or more" in line for line in kept.ledger["p2"])


def test_towns_that_enough_sites_have_are_published() -> None:
    people = draw_people(3, 60, 2)
    kept = agrees(site_study(), people)
    assert len(set(kept.arranged.column("town").to_pylist())) > 2


def test_what_may_be_shown_follows_the_papers_rule() -> None:
    study = study_of(3, k=3)
    age = tables_of(study, draw_people(3, 2, 0))["p0"].trees[0]  # 40 leaves, 8 fives, 4 tens, 2 twenties, the root
    fits = np.ones(age.nodes, dtype=bool)
    fits[12] = False  # a leaf of the third five
    shown = site.shown_nodes(age, fits)
    five = int(age.up[1, 12])
    assert [int(shown[leaf]) for leaf in range(10, 15)] == [five] * 5
    assert [int(shown[leaf]) for leaf in (*range(10), *range(15, 40))] == [*range(10), *range(15, 40)]
    fits[five] = False
    shown = site.shown_nodes(age, fits)
    ten = int(age.up[2, 12])
    assert {int(shown[leaf]) for leaf in range(10, 20)} == {ten}
    assert int(shown[five]) == ten


def test_fewer_sites_with_records_than_are_asked_for_end_the_run() -> None:
    table = tables_of(study_of(3), draw_people(3, 20, 1))["p0"]
    with pytest.raises(Unmet, match="fewer than site_l = 3 parties"):
        site.lifted(table, 2, np.zeros(table.trees[2].nodes, dtype=bool), 3)


@pytest.mark.parametrize(
    ("study", "named"),
    [
        (site_study(also="sex"), "2 \\(sex, town\\).*cluster"),
        (site_study(parties=2), "between two parties cannot keep site_l"),
        (site_study(sites=4), "there are 3 parties"),
    ],
)
def test_site_diversity_that_does_not_fit_is_refused_with_the_reason(study: Study, named: str) -> None:
    with pytest.raises(InputError, match=named):
        Parameters.of(study)
