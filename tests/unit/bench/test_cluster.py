"""The experiment of `cluster`: it runs on what ships, and judges what it measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from covey.bench.findings import Findings, Setting
from covey.bench.papers import cluster_rows as cluster
from covey.bench.papers import find
from covey.bench.papers.census import census

QUICK = Setting(quick=True, adult=None)


@pytest.fixture(scope="module")
def findings() -> Findings:
    """The experiment on the shipped sample, as small as can be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "scale_of", lambda setting, whole: cluster.Scale((80, 120), (5, 10), (5, 10), 150))
        patch.setattr(cluster, "second_scale", lambda setting: cluster.Scale((80, 120), (5, 10), (5, 10), 0))
        return find("cluster").run(QUICK)


@pytest.mark.slow
def test_without_adult_it_runs_on_the_sample_and_says_so(findings: Findings) -> None:
    assert any("the sample hospitals" in note for note in findings.notes)


@pytest.mark.thorough
def test_every_row_of_a_table_has_as_many_cells_as_its_head(findings: Findings) -> None:
    assert len(findings.tables) == 5
    for table in findings.tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.head)}


@pytest.mark.thorough
def test_curves_have_a_point_for_each_n_or_k(findings: Findings) -> None:
    assert {len(curve.points) for plot in findings.plots for curve in plot.curves} == {2}


@pytest.mark.thorough
def test_each_claim_of_the_paper_is_judged(findings: Findings) -> None:
    judged = {claim.where: claim.holds for claim in findings.claims}
    assert {f"Figure {number}, section 9.1" for number in (3, 4)} <= set(judged)
    assert {"Figure 6, on hospitals", "Figure 6, on made up", "Figure 7", "Figure 8", "section 8.2.1"} <= set(judged)
    assert judged["section 8.2.1"] == "no"  # it shows exact records on any table


def test_the_whole_of_adult_is_preferred(adult: Path) -> None:
    assert "8 quasi columns" in census(Setting(quick=True, adult=adult)).about
