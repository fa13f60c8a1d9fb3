"""The fuzz targets, for some seconds with the same seeds; `make fuzz` takes minutes, with seeds that differ by day."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from tests.conftest import ROOT
from tests.hostile import fuzz_files


@pytest.mark.thorough
@pytest.mark.parametrize("target", fuzz_files.TARGETS)
def test_mutated_files_are_read_or_refused(target: str) -> None:
    assert fuzz_files.main(["--target", target, "--seconds", "5", "--start", "1"]) == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("target", fuzz_files.TARGETS)
def test_minutes_of_mutated_files_are_read_or_refused(target: str) -> None:
    assert fuzz_files.main(["--target", target]) == 0


@pytest.mark.parametrize(
    ("target", "seed"),
    [("study", 1005), ("study", 4871), ("statistics", 2368)],
    ids=["a file's name too long", "a step of 400 digits", "ReadStat crashes"],
)
def test_what_a_target_found_is_refused_in_a_sentence(target: str, seed: int) -> None:
    assert fuzz_files.tried(target, seed) is not None


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
