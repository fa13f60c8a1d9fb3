"""The fuzz targets, for ten seconds each; seeds differ from day to day and are printed when one fails."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path


def test_ten_seconds_of_mutated_frames_end_only_in_typed_refusals() -> None:
    target = Path(__file__).with_name("fuzz_frames.py")
    start = datetime.now(UTC).toordinal() * 1_000_000
    run = subprocess.run(
        [sys.executable, str(target), "--seconds", "10", "--start", str(start)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout.split()[0]) > 1000
