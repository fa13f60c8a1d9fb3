"""The fuzz targets, for ten seconds (two in `make test`); seeds differ by day and are printed when one fails."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from tests.conftest import ROOT


@pytest.mark.thorough
def test_seconds_of_mutated_frames_end_only_in_typed_refusals() -> None:
    start = datetime.now(UTC).toordinal() * 1_000_000
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.hostile.fuzz_frames",
            "--seconds",
            "5",
            "--start",
            str(start),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout.split()[0]) > 1000
