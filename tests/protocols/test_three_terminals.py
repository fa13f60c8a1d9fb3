"""Three `covey run` in three terminals: started at different times, they find each other and agree."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.consortium import RELEASE, Site, found
from tests.harness.tiers import few_first

COVEY = str(Path(sys.executable).with_name("covey"))


def command(site: Site, *more: str) -> list[str]:
    return [
        COVEY, "run", str(site.study), "--as", site.name, "--data", str(site.data), "--out", str(site.out),
        "--keys", str(site.keys), "--wait", "0.5", *more,
    ]  # fmt: skip


def start(site: Site, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(site, *more), cwd=site.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


class Terminal:
    """A process on a terminal of its own, for those who are asked."""

    def __init__(self, site: Site) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command(site), cwd=site.folder, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self.shown = ""

    def wait_for(self, words: str) -> None:
        while words not in self.shown:
            self.shown += os.read(self._ours, 4096).decode()

    def answer(self, word: str) -> int:
        os.write(self._ours, f"{word}\n".encode())
        assert self.process.stdout is not None
        with self.process.stdout:
            self.process.stdout.read()
        code = self.process.wait(timeout=30)
        os.close(self._ours)
        return code


@pytest.mark.parametrize(("word", "code"), few_first([("yes", 0), ("no", 1)]))
def test_three_terminals_agree_and_one_of_them_is_asked(tmp_path: Path, word: str, code: int) -> None:
    sites = found(tmp_path)
    early = start(sites["south"], "--approve")
    time.sleep(1.0)
    asked = Terminal(sites["north"])
    late = start(sites["east"], "--approve")
    asked.wait_for("[yes/no]")
    assert "(asked: 3)" in asked.shown
    assert "how many records all 3 parties together have" in asked.shown
    assert asked.answer(word) == code
    told = [process.communicate(timeout=30) for process in (early, late)]
    assert [process.returncode for process in (early, late)] == [code, code], told
    for site in sites.values():
        release = site.out / "release.csv"
        assert (release.read_text() == RELEASE) if code == 0 else not release.exists()
    if code == 0:
        assert "Released: 12 rows" in told[0][0]
    else:
        assert "party 'north' refused the release; nothing was released" in told[0][1].splitlines()[-1]


@pytest.mark.thorough
def test_without_a_terminal_and_without_approve_everyone_stops_and_can_go_on(tmp_path: Path) -> None:
    sites = found(tmp_path)
    everyone = [start(sites["north"]), start(sites["south"], "--approve"), start(sites["east"], "--approve")]
    told = [process.communicate(timeout=60) for process in everyone]
    assert [process.returncode for process in everyone] == [3, 3, 3], told
    assert "there is no terminal to ask on" in told[0][1]
    again = [start(site, "--approve") for site in sites.values()]
    told = [process.communicate(timeout=60) for process in again]
    assert [process.returncode for process in again] == [0, 0, 0], told
    assert all((site.out / "release.csv").read_text() == RELEASE for site in sites.values())


@pytest.mark.thorough
def test_an_interrupted_party_ends_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    sites = found(tmp_path)
    process = start(sites["north"], "--approve")
    assert process.stderr is not None
    for line in process.stderr:
        if "meeting" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 3, (out, err)
    assert "interrupted; run the same command again to go on" in err
    assert "Traceback" not in err


@pytest.mark.slow
def test_an_interrupted_simulation_leaves_no_process_behind(tmp_path: Path) -> None:
    sites = found(tmp_path)
    data = [part for name, site in sites.items() for part in ("--data", f"{name}={site.data}")]
    out = tmp_path / "out"
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    process = subprocess.Popen(
        [COVEY, "simulate", str(sites["north"].study), *data, "--latency", "20s", "--out", str(out)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "COVEY_TEST_MARK": mark},
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "handshake" in line:
            break
    assert len(marked(mark)) == 5  # the command, the process that loads everything once, and three parties
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=40)
    assert process.returncode == 1, err
    assert "interrupted; all parties were stopped and nothing was released" in err
    assert not (out / "release.csv").exists()
    assert marked(mark) == []


def marked(mark: str) -> list[str]:
    """The processes that were started below the one with this mark in its environment."""
    found_ones = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in entry.read_bytes():
                found_ones.append(entry.parent.name)
        except OSError:  # it has just ended
            continue
    return found_ones
