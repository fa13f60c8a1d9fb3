"""A hierarchy's root may have a name: every protocol publishes it, and the judge counts it as lost."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.harness.tiers import few_first
from tests.protocols.small_studies import COLUMNS, EVERY, PEOPLE, RESPONDENTS, ROOT, data_of, study_of

from covey import anonymize, verify
from covey.errors import InputError
from covey.hierarchy import Hierarchy
from covey.hierarchy.tree import Malformed
from covey.party.simulate.in_process import simulate
from covey.release import Release

GENERALIZING = [name for name in EVERY if not name.startswith(("count", "suppress"))]


def cells_of(release: Release) -> dict[str, list[str]]:
    """The release by columns."""
    assert isinstance(release.table, pa.Table)
    found: dict[str, list[str]] = release.table.to_pydict()
    return found


@pytest.mark.parametrize("name", few_first(GENERALIZING, few=4))
def test_a_value_that_is_lost_is_called_as_the_root_is(name: str, tmp_path: Path) -> None:
    """k is everyone: the places have nothing in common but the root."""
    study = study_of(name, tmp_path, len(PEOPLE), len(PEOPLE))
    release = simulate(study, data_of(name, PEOPLE), seed=1)
    assert set(cells_of(release)["place"]) == {ROOT}
    verdict = verify(release.table, study)
    assert verdict.answer and verdict.suppressed_cells == release.summary["suppressed_cells"]
    assert verdict.suppressed_cells >= len(PEOPLE)


def test_suppressed_rows_are_judged_beside_a_named_root(tmp_path: Path) -> None:
    name = "suppress of two"
    people = [*PEOPLE, ("Riga", "M", "ulcer"), ("Ulm", "M", "ulcer"), ("Ulm", "M", "ulcer")]
    study = study_of(name, tmp_path, 3, len(people))
    release = simulate(study, data_of(name, people), seed=1)
    assert verify(release.table, study).suppressed_cells == release.summary["suppressed_cells"]


def test_counts_by_bands_below_a_named_root(tmp_path: Path) -> None:
    study = study_of("count", tmp_path, 7, len(PEOPLE))
    release = simulate(study, data_of("count", PEOPLE), seed=1)
    assert cells_of(release) == {"place": ["*"], "count": ["12"]}


@pytest.mark.parametrize("algorithm", few_first(["datafly", "peel", "sequential", "mondrian", "hilbert"], few=2))
def test_one_owner_s_release_names_the_root_too(algorithm: str, tmp_path: Path) -> None:
    study = study_of("cluster", tmp_path, len(PEOPLE), len(PEOPLE))
    own = pa.concat_tables(data_of("cluster", PEOPLE).values())
    release = anonymize(own, study, algorithm=algorithm)
    assert set(cells_of(release)["place"]) == {ROOT} and verify(release.table, study).answer


def test_every_kind_of_study_is_tried() -> None:
    assert set(COLUMNS) | set(RESPONDENTS) < set(EVERY) and len(EVERY) == 13


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        ([("a", "x", "top"), ("b", "x", "other")], "stands where the root top must be"),
        ([("a", "*", "top"), ("b", "*", "top")], "stands below the root top"),
        ([("a",), ("b",)], "stands where the root"),
    ],
)
def test_a_root_is_one_and_the_star_is_no_other_node(paths: list[tuple[str, ...]], said: str) -> None:
    with pytest.raises((Malformed, InputError), match=said):
        Hierarchy.from_paths(paths)


def test_the_star_means_the_root_whatever_it_is_called() -> None:
    tree = Hierarchy.from_paths([("a", "x", "top"), ("b", "y", "top")])
    assert tree.node("*") == tree.node("top") == tree.root and tree.top == "top"
    assert tree.encode(["*", "top", "a"]).tolist() == [-1, -1, 0]
