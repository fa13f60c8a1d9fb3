"""The experiment on `collect`: its measures by hand, and all of it once."""

from __future__ import annotations

import numpy as np
import pytest

from covey.bench.findings import Setting
from covey.bench.papers.collect import EXPERIMENT, CurveOrder, preserved
from covey.hierarchy import Hierarchy
from covey.protocols.as_printed.collect.grid import Grid

TREE = Hierarchy.from_paths([(f"{leaf}", f"half {leaf // 4}", "*") for leaf in range(8)])


def test_exact_multiples_preserve_every_triple_and_a_reversal_of_distances_does_not() -> None:
    cells = np.array([0, 1, 3, 7, 15, 31, 63])
    assert preserved(cells, 10 * cells + 5, 2000, seed=1) == 1.0
    assert preserved(cells, np.array([0, 100, 110, 111, 112, 113, 114]), 2000, seed=1) < 0.5


def test_losses_of_a_line_by_hand() -> None:
    line = CurveOrder((TREE,), np.array([[0, 1, 6, 7]], dtype=np.int32), Grid.of([TREE], 8))
    halves = line.cells.copy()
    assert line.loss(halves, 2) == pytest.approx(3 / 7)
    assert line.paper_loss(halves, 2) == pytest.approx(1 / 7)
    assert line.loss(halves, 4) == pytest.approx(1.0)
    assert line.loss(halves, 2, "order") == line.loss(halves, 2)


def test_positions_of_a_line_rise_with_its_cells() -> None:
    line = CurveOrder((TREE,), np.arange(8, dtype=np.int32)[np.newaxis, :], Grid.of([TREE], 8))
    positions = line.positions(10, 20, seed=3)
    assert (np.diff(positions[np.argsort(line.cells)]) >= 20).all()


@pytest.mark.slow
def test_the_experiment_judges_the_papers_claims() -> None:
    findings = EXPERIMENT.run(Setting(quick=True, adult=None))
    verdict = {claim.where: claim.holds for claim in findings.claims}
    assert verdict["Sections VI-B and VII-A, Tables II and III"] == "no"
    assert verdict["Table IV"] == "yes" and verdict["Figure 5d"] == "yes"
    assert len(findings.plots) == 4
    for table in findings.tables:
        assert all(len(row) == len(table.head) for row in table.rows)
