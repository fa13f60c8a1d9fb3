"""Compiles all kernels in a few processes, so that no two tests compile the same one; numba keeps them on disk."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = 150


def warm_algorithms() -> None:
    """Runs every algorithm on a part of the sample table."""
    import covey
    from covey import samples
    from covey.anonymizers import ALGORITHMS

    with tempfile.TemporaryDirectory() as folder:
        samples.copy("clinic", Path(folder) / "clinic")
        table = Path(folder) / "clinic" / "clinic.csv"
        table.write_text("".join(table.read_text().splitlines(keepends=True)[: ROWS + 1]))
        study = covey.Study.load(table.with_name("study.toml"))
        for algorithm in ALGORITHMS:
            covey.anonymize(table, study, algorithm)


def warm_protocols() -> None:
    """Runs every protocol of the harness once."""
    sys.path.insert(0, str(ROOT))
    from tests.harness.cases import CASES
    from tests.harness.harness import run

    for case in CASES.values():
        run(case.smallest())


def warm_box() -> None:
    """Runs the kernels of the box, in the open and on shares."""
    sys.path.insert(0, str(ROOT))
    import asyncio

    from benchmarks.box import group, once

    from covey.crypto.rng import fresh_seed
    from covey.mpc import Clear

    once(group, 100, 2)
    clear = Clear([fresh_seed() for _ in range(3)])
    asyncio.run(group(clear, clear.positions(100).padded(40)))


WARMED: dict[str, Callable[[], None]] = {
    "algorithms": warm_algorithms,
    "protocols": warm_protocols,
    "box": warm_box,
}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        WARMED[sys.argv[1]]()
    else:
        started = [subprocess.Popen([sys.executable, __file__, name]) for name in WARMED]
        sys.exit(max([process.wait() for process in started]))
