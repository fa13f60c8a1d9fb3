"""Real processes over TLS, one of them ended by SIGKILL in the midst of a record; then all run again."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.consortium import RELEASE, Site, found

from covey.party.audit.folders import audit


def start(site: Site, doomed_at: int = 0, *more: str, data: str | None = None) -> subprocess.Popen[str]:
    """`covey run`, which kills itself at that write to its journal; zero is never. The data may lie elsewhere."""
    command: Sequence[str] = [
        sys.executable, "-m", "tests.faults.doomed", str(doomed_at),
        "run", str(site.study), "--as", site.name, "--data", data or str(site.data), "--out", str(site.out),
        "--keys", str(site.keys), "--wait", "0.5", "--approve", *more,
    ]  # fmt: skip
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def end(processes: Mapping[str, subprocess.Popen[str]]) -> dict[str, tuple[int, str]]:
    """Everyone's exit code and last words."""
    said = {name: process.communicate(timeout=60)[1] for name, process in processes.items()}
    return {name: (process.returncode, said[name]) for name, process in processes.items()}


def killed_and_resumed(folder: Path, victim: str, at: int) -> None:
    sites = found(folder)
    first = end({name: start(site, at if name == victim else 0) for name, site in sites.items()})
    assert first[victim][0] == -signal.SIGKILL, first
    for name in set(sites) - {victim}:
        assert first[name][0] in (0, 3), first
    second = end({name: start(site, 0, "--for-others") for name, site in sites.items()})
    assert {code for code, _ in second.values()} == {0}, second
    assert {(site.out / "release.csv").read_text() for site in sites.values()} == {RELEASE}
    assert [each.wrong for each in audit([site.out for site in sites.values()])] == [(), (), ()]


@pytest.mark.thorough
def test_a_process_that_is_killed_in_the_midst_of_a_record_resumes(tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, "south", 14)


@pytest.mark.slow
@pytest.mark.parametrize(("victim", "at"), [("north", 3), ("south", 8), ("east", 17), ("north", 22), ("east", 26)])
def test_processes_that_are_killed_at_other_records_resume(victim: str, at: int, tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, victim, at)
