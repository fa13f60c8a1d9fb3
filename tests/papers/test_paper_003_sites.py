"""Paper 003, section 6.2: the hospitals of Table 1, and what may be said of where patients come from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.harness import harness
from tests.harness.hospitals import stream_of
from tests.harness.trial import Trial, of_study

from covey.arrays import Ints
from covey.errors import Unmet
from covey.party.session.data import load_table
from covey.protocols import find
from covey.protocols.as_printed.cluster_rows import exact, ideal, sites
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.as_printed.cluster_rows.state import State, write_state
from covey.study import Study

TOWNS = {"San Francisco": "1 2 3", "Oakland": "3 4 5", "Palo Alto": "6 7", "San Jose": "7 8"}
INCOMES = {"100K-200K": "1 2 3 4 5 6", "200K-300K": "2 3 6 7", "300K-400K": "7 8", "400K-500K": "7 8"}
STUDY = """
[study]
name = "bay"
protocol = "cluster"
partition = "horizontal"
[privacy]
k = 2
site_l = {sites}
[protocol]
as_printed = true
calls = "turn"
[columns.location]
role = "quasi"
hierarchy = "flat"
values = [{towns}]
site = true
[columns.income]
role = "quasi"
hierarchy = "income.csv"
site = true
"""


def study_of(home: Path, sites: int) -> Study:
    (home / "income.csv").write_text("".join(f"{income};100K-500K;*\n" for income in INCOMES))
    towns = ", ".join(f'"{town}"' for town in TOWNS)
    parties = "".join(f"[parties.H{number}]\n" for number in range(1, 9))
    return Study.parse(STUDY.format(sites=sites, towns=towns) + parties, home)


def trial_of(study: Study) -> Trial:
    """Every hospital has one patient of each of its towns with each of its incomes, and a twin."""
    tables = {}
    for party in study.parties:
        number = party.name[1:]
        towns = [town for town, hospitals in TOWNS.items() if number in hospitals.split()]
        incomes = [income for income, hospitals in INCOMES.items() if number in hospitals.split()]
        pairs = [(town, income) for town in towns for income in incomes] * 2
        frame = pa.table({"location": [town for town, _ in pairs], "income": [income for _, income in pairs]})
        table = load_table(study, party.name, frame)
        assert table is not None
        tables[party.name] = table
    return of_study(study, find("cluster", "horizontal"), tables)


def problem_of(trial: Trial) -> tuple[ClusterProblem, dict[str, Ints]]:
    tables = {name: table for name, table in trial.tables.items() if table is not None}
    trees = next(iter(tables.values())).trees
    hands = {name: table.codes for name, table in tables.items()}
    whole, asked = ClusterProblem.of(trial.study, trees, None), trial.study.privacy.site_l or 0
    found = ideal.run(hands, lambda at: sites.prune(at, trial.study, whole, hands[at.me], asked))
    return next(iter(found.values())), hands


def published(problem: ClusterProblem, hands: Mapping[str, Ints], study: Study, town: str, income: str) -> str:
    """The income that a class of this town and this income may publish."""
    place, money = problem.trees
    nodes = np.array([[place.node(town), money.node(income)]], dtype=np.int32)
    clusters, asked = PublicClusters(np.array([2]), problem.flat(nodes)), study.privacy.site_l or 0
    found = ideal.run(hands, lambda at: sites.raise_together(at, study, problem, hands[at.me], clusters, asked))
    raised = next(iter(found.values()))
    return str(money.labels[problem.local(raised.boxes)[0, 1]])


def test_table_1_says_which_combinations_may_be_published(tmp_path: Path) -> None:
    trial = trial_of(study_of(tmp_path, 2))
    problem, hands = problem_of(trial)
    assert published(problem, hands, trial.study, "Palo Alto", "300K-400K") == "100K-500K"
    assert published(problem, hands, trial.study, "Palo Alto", "200K-300K") == "100K-500K"  # its siblings forbid it
    assert published(problem, hands, trial.study, "Palo Alto", "100K-500K") == "100K-500K"
    assert published(problem, hands, trial.study, "San Francisco", "100K-200K") == "100K-200K"
    assert published(problem, hands, trial.study, "San Jose", "300K-400K") == "100K-500K"  # with 200K-300K it is H7


@pytest.mark.thorough
def test_every_published_combination_is_supported_by_two_sites(tmp_path: Path) -> None:
    trial = trial_of(study_of(tmp_path, 2))
    problem, hands = problem_of(trial)
    answers = harness.answers(trial, harness.run(trial))
    assert set(answers.values()) == {trial.ideal["H1"]}
    content = trial.ideal["H1"]
    assert isinstance(content, bytes)
    place, money = problem.trees
    for line in content.decode().splitlines()[1:]:
        town, income = line.split(",")
        nodes = [place.node(town), money.node(income)]
        flat = problem.flat(np.array([nodes], dtype=np.int32))[0]
        supporting = sum(sites.supported(problem, codes)[flat].all() for codes in hands.values())
        assert supporting >= 2


def test_pruning_lifts_what_too_few_sites_support_with_its_siblings(tmp_path: Path) -> None:
    trial = trial_of(study_of(tmp_path, 3))
    problem, _ = problem_of(trial)
    place, money = problem.trees
    for tree, column, label in ((place, 0, "San Francisco"), (money, 1, "100K-200K")):
        nodes = np.array([[place.root, money.root]], dtype=np.int32)
        node = tree.node(label)
        assert node is not None
        nodes[0, column] = node
        lifted = problem.local(problem.clamped(problem.flat(nodes)))[0, column]
        assert tree.labels[lifted] in ("*", "100K-500K")


def test_more_sites_than_there_are_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(Unmet, match="site_l = 9"):
        trial_of(study_of(tmp_path, 9))


QUARTERS = """
[study]
name = "quarters"
protocol = "cluster"
partition = "horizontal"
[privacy]
k = 4
site_l = 2
[protocol]
as_printed = true
calls = "{calls}"
[columns.town]
role = "quasi"
hierarchy = "town.csv"
site = true
[columns.age]
role = "quasi"
hierarchy = {{ min = 0, max = 15, steps = [2, 4, 8] }}
"""


def quarters(home: Path, calls: str, sites: int, seed: int, rows: int) -> Trial:
    """Most of a site's people come from its own three towns, of which some are nobody else's."""
    (home / "town.csv").write_text("".join(f"t{town};g{town // 3};*\n" for town in range(9)))
    names = ("east", "north", "south")[:sites]
    study = Study.parse(QUARTERS.format(calls=calls) + "".join(f"[parties.{name}]\n" for name in names), home)
    stream, tables = stream_of(seed, "quarters"), {}
    for place, name in enumerate(names):
        towns = [3 * place + stream.below(3) if stream.below(10) < 7 else stream.below(9) for _ in range(rows)]
        frame = pa.table({"town": [f"t{town}" for town in towns], "age": [str(stream.below(16)) for _ in towns]})
        table = load_table(study, name, frame)
        assert table is not None
        tables[name] = table
    return of_study(study, find("cluster", "horizontal"), tables)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("calls", "sites", "seed", "rows"),
    [*(("turn", 3, seed, 20) for seed in range(3)), ("turn", 2, 0, 20), ("ring", 3, 0, 8)],
)
def test_no_turn_says_a_label_that_too_few_sites_support(
    calls: str, sites: int, seed: int, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[Ints] = []

    def heard(problem: ClusterProblem, clusters: PublicClusters) -> State:
        said.append(clusters.boxes[clusters.sizes > 0])
        return write_state(problem, clusters)

    monkeypatch.setattr(exact, "write_state", heard)
    trial = quarters(tmp_path, calls, sites, seed, rows)
    (content,) = set(harness.answers(trial, harness.run(trial, seed=seed)).values())
    assert isinstance(content, bytes)
    problem, _ = problem_of(trial)
    assert said
    assert all(np.array_equal(problem.clamped(boxes), boxes) for boxes in said)
    town = problem.trees[0]
    shown = [[town.node(line.split(",")[0]), problem.trees[1].root] for line in content.decode().splitlines()[1:]]
    boxes = problem.flat(np.array(shown, dtype=np.int32))
    assert np.array_equal(problem.clamped(boxes), boxes)
