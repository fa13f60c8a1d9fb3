"""Jiang and Clifton, "Privacy-preserving distributed k-anonymity": Table 1, made anonymous by one owner and by two.

Table 2 prints [11k, 30k] for the salaries of the research assistants beside [61k, 120k]: these stand on different
levels of the hierarchy, and full-domain recoding gives [11k, 60k].
"""

from __future__ import annotations

import numpy as np
import pytest

from covey.anonymizers.datafly import Ties, datafly
from covey.anonymizers.problem import Partition, Problem
from covey.hierarchy import Hierarchy
from covey.measures import integer_costs

AREAS = {
    "Database Systems": ["Data Mining", "Data Warehousing", "Query Processing"],
    "Information Security": ["Intrusion Detection", "Digital Forensics"],
    "Operating Systems": ["Distributed Systems", "Handhold Systems"],
}
POSITIONS = {
    "Professors": ["Assistant Professor", "Associate Professor", "Professor"],
    "Assistants": ["Teaching Assistant", "Research Assistant"],
}
SALARIES = {
    "[11k, 60k]": {"[11k, 30k]": [15000, 15500, 17000], "[31k, 60k]": []},
    "[61k, 120k]": {"[61k, 90k]": [78000, 90000], "[91k, 120k]": [91000, 95000, 100000]},
    "[121k, 180k]": {"[121k, 150k]": [135000, 145000, 150000], "[151k, 180k]": []},
}
ROWS = [
    ("Data Mining", "Associate Professor", 90000),
    ("Intrusion Detection", "Assistant Professor", 91000),
    ("Data Warehousing", "Associate Professor", 95000),
    ("Intrusion Detection", "Assistant Professor", 78000),
    ("Digital Forensics", "Professor", 150000),
    ("Distributed Systems", "Research Assistant", 15000),
    ("Handhold Systems", "Research Assistant", 17000),
    ("Handhold Systems", "Research Assistant", 15500),
    ("Query Processing", "Associate Professor", 100000),
    ("Digital Forensics", "Assistant Professor", 78000),
    ("Digital Forensics", "Professor", 135000),
    ("Intrusion Detection", "Professor", 145000),
]
TREES = {
    "AREA": Hierarchy.from_paths([(leaf, group, "*") for group, leaves in AREAS.items() for leaf in leaves]),
    "POSITION": Hierarchy.from_paths([(leaf, group, "*") for group, leaves in POSITIONS.items() for leaf in leaves]),
    "SALARY": Hierarchy.from_paths([
        (str(leaf), low, high, "*")
        for high, below in SALARIES.items()
        for low, leaves in below.items()
        for leaf in leaves
    ]),
}  # fmt: skip
NAMES = tuple(TREES)


def table(*columns: str, k: int = 3) -> Problem:
    """Some columns of Table 1, one item per record so that items are the paper's IDs less one."""
    trees = tuple(TREES[name] for name in columns)
    cells = [[str(row[NAMES.index(name)]) for row in ROWS] for name in columns]
    codes = np.stack([tree.encode(cell) for tree, cell in zip(trees, cells, strict=True)])
    costs, scale = integer_costs(trees)
    return Problem(trees, codes, np.ones(len(ROWS), dtype=np.int64), costs, scale, k)


def ids(partition: Partition) -> list[set[int]]:
    """The classes as sets of the paper's IDs, in order of their smallest."""
    sets = [set((partition.item[partition.group == own] + 1).tolist()) for own in range(partition.classes)]
    return sorted(sets, key=min)


def labels(problem: Problem, partition: Partition) -> dict[tuple[str, ...], int]:
    sizes = partition.sizes()
    return {
        tuple(tree.labels[node] for tree, node in zip(problem.trees, partition.nodes[own], strict=True)): int(
            sizes[own]
        )
        for own in range(partition.classes)
    }


def test_one_owner_lifts_salary_then_area_then_salary_and_publishes_table_2() -> None:
    problem = table("AREA", "POSITION", "SALARY")
    partition = datafly(problem, ties="last")
    assert partition.notes["trace"] == [2, 0, 2]
    assert labels(problem, partition) == {
        ("Database Systems", "Associate Professor", "[61k, 120k]"): 3,
        ("Information Security", "Assistant Professor", "[61k, 120k]"): 3,
        ("Information Security", "Professor", "[121k, 180k]"): 3,
        ("Operating Systems", "Research Assistant", "[11k, 60k]"): 3,
    }


def test_with_ties_to_the_first_column_position_is_lifted_too() -> None:
    problem = table("AREA", "POSITION", "SALARY")
    partition = datafly(problem, ties="first")
    assert partition.notes["trace"] == [2, 0, 1, 2]
    assert partition.loss(problem) > datafly(problem, ties="last").loss(problem)


@pytest.mark.parametrize("ties", ["first", "last"])
def test_the_first_party_of_table_3_lifts_area_alone(ties: Ties) -> None:
    partition = datafly(table("AREA", "POSITION"), ties=ties)
    assert partition.notes["levels"] == [1, 0]
    assert ids(partition) == [{1, 3, 9}, {2, 4, 10}, {5, 11, 12}, {6, 7, 8}]


def test_the_second_party_of_table_3_lifts_salary_once() -> None:
    problem = table("SALARY")
    partition = datafly(problem)
    assert ids(partition) == [{1, 4, 10}, {2, 3, 9}, {5, 11, 12}, {6, 7, 8}]
    assert set(labels(problem, partition)) == {("[61k, 90k]",), ("[91k, 120k]",), ("[121k, 150k]",), ("[11k, 30k]",)}


def test_at_k_4_the_parties_go_further() -> None:
    assert datafly(table("AREA", "POSITION", k=4)).sizes().min() >= 4
    assert datafly(table("SALARY", k=4)).notes["levels"] != [1]
