#!/usr/bin/env python3
"""Takes two tables that Covey has not seen from file to release, with `new`, `check` and `anonymize` and no edit.

    scripts/first_day.py [FOLDER]

The tables are statsmodels' `fair` and `randhie`; the package is downloaded into a temporary folder and only unpacked.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

TABLES = {"fair": "fair/fair.csv", "randhie": "randhie/src/randhie.csv"}
"""The whole table of the experiment, not the excerpt that statsmodels loads."""


def main(folder: Path) -> None:
    """Prints a line for each command of each table; the studies, releases and reports stay in the folder."""
    with tempfile.TemporaryDirectory() as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, "statsmodels"]
        subprocess.run(pip, check=True)
        wheel = next(Path(scratch).glob("statsmodels-*.whl"))
        with zipfile.ZipFile(wheel) as packed:
            for name, path in TABLES.items():
                target = folder / name
                target.mkdir(parents=True)
                (target / f"{name}.csv").write_bytes(packed.read(f"statsmodels/datasets/{path}"))
    for name in TABLES:
        data = f"{name}.csv"
        _call(folder / name, "new", data, "--out", "study.toml")
        _call(folder / name, "check", "study.toml", "--data", data)
        answer = _call(folder / name, "anonymize", "study.toml", "--data", data, "--out", "out")
        _call(folder / name, "verify", "out/release.csv", "--study", "study.toml", "--original", data)
        figures = {key: answer[key] for key in ("rows", "withheld", "classes", "k_reached", "l_reached", "loss")}
        print(f"  {figures}")


def _call(folder: Path, *command: str) -> dict[str, object]:
    began = time.perf_counter()
    called = [sys.executable, "-m", "covey", *command, "--json"]
    process = subprocess.run(called, check=False, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    print(f"covey {' '.join(command)}: exit {process.returncode}, {seconds:.1f} s {process.stderr.strip()[-200:]}")
    return dict(json.loads(process.stdout))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "first-day"))
