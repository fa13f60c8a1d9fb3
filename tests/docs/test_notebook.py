"""The researcher's tour runs from its first cell to its last, and shows what it says."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOUR = ROOT / "docs" / "tour.ipynb"


def test_the_tour_is_kept_with_its_outputs() -> None:
    kept = json.loads(TOUR.read_text("utf-8"))
    cells = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert all(cell["outputs"] for cell in cells)
    assert not [out for cell in cells for out in cell["outputs"] if out["output_type"] == "error"]


@pytest.mark.slow
def test_the_tour_runs_and_the_run_equals_the_ideal() -> None:
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "scripts" / "notebook.py")
    assert spec is not None
    assert spec.loader is not None
    notebook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebook)
    fresh = notebook.execute(json.loads(TOUR.read_text("utf-8")))
    values = [
        output["data"]["text/plain"]
        for cell in fresh["cells"]
        for output in cell.get("outputs", ())
        if "data" in output
    ]
    assert ["True"] in values
