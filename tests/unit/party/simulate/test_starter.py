"""The process that forks parties: a fork of a command that has loaded everything, and else a new one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

import pytest
from tests.consortium import RELEASE
from tests.protocols.test_simulations import ready

from covey.party.simulate.starter import Starter

FORKED = """
import pathlib
from covey.party.simulate import worker
with worker.starter(own=True) as starter:
    number = starter._process.number
    same = pathlib.Path(f"/proc/{number}/cmdline").read_bytes() == pathlib.Path("/proc/self/cmdline").read_bytes()
    print(same)
print(pathlib.Path(f"/proc/{number}").exists())
"""


def _ends() -> NoReturn:
    os._exit(0)


def test_a_process_with_other_threads_is_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that another thread holds would be held for ever in the fork."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    monkeypatch.setattr("os.fork", lambda: pytest.fail("it was forked"))
    try:
        with Starter(_ends) as starter:
            assert isinstance(starter._process, subprocess.Popen)
    finally:
        over.set()
        thread.join()


@pytest.mark.thorough
def test_a_command_forks_itself_and_takes_the_fork_with_it() -> None:
    told = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True).stdout.split()
    assert told == ["True", "False"]


@pytest.mark.thorough
def test_a_simulation_from_the_command_line_releases_as_ever(tmp_path: Path) -> None:
    study, data = ready(tmp_path)
    tables = [part for name, path in data.items() for part in ("--data", f"{name}={path}")]
    command = [sys.executable, "-m", "covey", "simulate", str(study.path), *tables, "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "release.csv").read_text() == RELEASE
