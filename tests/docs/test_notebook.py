"""The researcher's tour runs from its first cell to its last, and shows what it says."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_tour_runs_and_the_run_equals_the_ideal() -> None:
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "scripts" / "notebook.py")
    assert spec is not None
    assert spec.loader is not None
    notebook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebook)
    kept = json.loads((ROOT / "docs" / "tour.ipynb").read_text("utf-8"))
    assert all(cell["outputs"] for cell in kept["cells"] if cell["cell_type"] == "code")
    fresh = notebook.execute(json.loads((ROOT / "docs" / "tour.ipynb").read_text("utf-8")))
    values = [
        output["data"]["text/plain"]
        for cell in fresh["cells"]
        for output in cell.get("outputs", ())
        if "data" in output
    ]
    assert ["True"] in values
