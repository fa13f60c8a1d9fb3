"""Compiles the kernels once, so that no two tests do so at the same time; numba keeps them beside the source."""

from __future__ import annotations

import tempfile
from pathlib import Path

import covey
from covey import samples
from covey.anonymizers import ALGORITHMS

with tempfile.TemporaryDirectory() as folder:
    clinic, hospitals = Path(folder) / "clinic", Path(folder) / "hospitals"
    samples.copy("clinic", clinic)
    samples.copy("hospitals", hospitals)
    for algorithm in ALGORITHMS:
        covey.anonymize(clinic / "clinic.csv", covey.Study.load(clinic / "study.toml"), algorithm)
    text = (hospitals / "study.toml").read_text()
    for protocol in ("cluster", "peel"):
        (hospitals / "study.toml").write_text(text.replace('"cluster"', f'"{protocol}"'))
        covey.simulate(
            covey.Study.load(hospitals / "study.toml"),
            {name: hospitals / f"{name}.csv" for name in ("north", "south", "east")},
        )
