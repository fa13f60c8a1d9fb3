"""Jiang and Clifton's worked example between two parties: Table 3, both rounds' partitions and counts, and the join."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from tests.papers.test_paper_002 import labels, table
from tests.protocols.generalizers import canonical, groups_of, incidence, lay_out, run_rounds, sent_back, table_1

from covey.anonymizers.datafly import datafly
from covey.errors import Unmet
from covey.party.simulate.deal import seed_of
from covey.party.simulate.processes import SimulationSetting, simulate
from covey.protocols.as_printed.generalize import ideal
from covey.protocols.as_printed.generalize.local import Generalization
from covey.protocols.as_printed.generalize.matrix import Contingency
from covey.protocols.as_printed.generalize.parameters import Parameters
from covey.study import Study

FIRST = [{1, 3, 9}, {2, 4, 10}, {5, 11, 12}, {6, 7, 8}], [{1, 4, 10}, {2, 3, 9}, {5, 11, 12}, {6, 7, 8}]
SECOND = [{1, 3, 9}, {2, 4, 5, 10, 11, 12}, {6, 7, 8}], [{1, 2, 3, 4, 9, 10}, {5, 11, 12}, {6, 7, 8}]
COUNTS = (
    np.array([[1, 2, 0, 0], [2, 1, 0, 0], [0, 0, 3, 0], [0, 0, 0, 3]]),
    np.array([[3, 0, 0], [3, 3, 0], [0, 0, 3]]),
)
CLASSES = {
    ("Database Systems", "Professors", "[61k, 120k]"): 3,
    ("Information Security", "Professors", "[61k, 120k]"): 3,
    ("Information Security", "Professors", "[121k, 180k]"): 3,
    ("Operating Systems", "Assistants", "[11k, 60k]"): 3,
}
TABLE_2 = {
    ("Database Systems", "Associate Professor", "[61k, 120k]"): 3,
    ("Information Security", "Assistant Professor", "[61k, 120k]"): 3,
    ("Information Security", "Professor", "[121k, 180k]"): 3,
    ("Operating Systems", "Research Assistant", "[11k, 60k]"): 3,
}


def classes_in(path: Path) -> Counter[tuple[str, ...]]:
    table = pyarrow.csv.read_csv(path)
    assert table.column_names == ["AREA", "POSITION", "SALARY"]  # neither ID nor SSN, which Table 2 prints
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def by_processes(folder: Path, options: str) -> Counter[tuple[str, ...]]:
    path = lay_out(folder / "study", options=options)
    data = {name: str(path.parent / f"{name}.csv") for name in ("p1", "p2")}
    simulate(Study.load(path), data, folder / "out", SimulationSetting(seed=seed_of(1)))
    assert (folder / "out" / "p1" / "release.csv").read_bytes() == (folder / "out" / "p2" / "release.csv").read_bytes()
    return classes_in(folder / "out" / "release.csv")


@pytest.mark.slow
def test_two_processes_publish_the_example_s_classes(tmp_path: Path) -> None:
    assert by_processes(tmp_path, "") == CLASSES


@pytest.mark.thorough
def test_simulating_datafly_with_ties_to_the_last_column_publishes_table_2(tmp_path: Path) -> None:
    assert by_processes(tmp_path, 'variant = "datafly"') == TABLE_2


def test_the_partitions_are_those_of_table_3_in_both_rounds(tmp_path: Path) -> None:
    study, tables = table_1(tmp_path)
    parties = [Generalization.of(tables[name], Parameters.of(study)) for name in ("p1", "p2")]
    assert tuple(groups_of(party.groups()) for party in parties) == FIRST
    for party in parties:
        party.step()
    assert tuple(groups_of(party.groups()) for party in parties) == SECOND


def test_the_counts_that_both_parties_see_are_the_paper_s_in_both_rounds(tmp_path: Path) -> None:
    study, tables = table_1(tmp_path)
    outcomes = run_rounds(study, tables)
    played, _ = outcomes["p1"].unwrap()
    assert [found.groups for found in played] == [(4, 4), (3, 3)]
    lists = zip(sent_back(outcomes["p1"], "p2"), sent_back(outcomes["p2"], "p1"), strict=True)
    for (mine, theirs), expected in zip(lists, COUNTS, strict=True):
        assert canonical(incidence(mine, theirs)) == canonical(expected)
    assert [each.bad(3) for each in ideal.follow(Parameters.of(study), tables).counts] == [4, 0]


def test_had_the_first_party_lifted_area_instead_the_second_round_would_fit_too(tmp_path: Path) -> None:
    study, tables = table_1(tmp_path)
    first, second = (Generalization.of(tables[name], Parameters.of(study)) for name in ("p1", "p2"))
    before = groups_of(first.groups())
    first.levels[0] += 1
    second.step()
    assert groups_of(first.groups()) == before
    assert Contingency.of(first.groups(), second.groups()).bad(3) == 0


def test_at_k_4_both_go_further_and_at_13_nothing_can_be_released(tmp_path: Path) -> None:
    study, tables = table_1(tmp_path, k=4)
    assert [min(np.bincount(Generalization.of(t, Parameters.of(study)).groups())) >= 4 for t in tables.values()] == [
        True,
        True,
    ]
    with pytest.raises(Unmet, match="fewer than k = 13"):
        table_1(tmp_path, k=13)


def test_what_the_parties_publish_is_more_general_than_what_one_owner_would() -> None:
    problem = table("AREA", "POSITION", "SALARY")
    assert labels(problem, datafly(problem, ties="last")) == TABLE_2
    assert CLASSES != TABLE_2
