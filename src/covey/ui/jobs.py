"""Jobs: commands in processes of their own. They go on when the browser or the server ends, and are found in files.

A job's folder, for its owner alone: job.json (what runs), pid, out.txt and log.txt (what it printed), exit.txt (how it
ended), and whatever the commands themselves put there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from covey.errors import InputError
from covey.files import PRIVATE, create, write_atomically
from covey.plain import plain

State = Literal["running", "done", "failed", "stopped", "lost"]
JOB, PID, OUT, LOG, EXIT = "job.json", "pid", "out.txt", "log.txt", "exit.txt"
HERE = "{job}"
_MOST_SHOWN = 64 * 1024
_RESUMABLE = 3
WORDS: dict[State, str] = {
    "running": "running",
    "done": "done",
    "failed": "failed",
    "stopped": "stopped",
    "lost": "ended without a word, perhaps when the machine was restarted",
}


class JobFile(msgspec.Struct, frozen=True, rename={"subject": "about", "moment": "made"}):
    """The description of a job: commands that run one after the other."""

    kind: str
    title: str
    subject: str
    """The table, study or folder that it is about."""
    commands: list[list[str]]
    folder: str
    moment: float
    notes: dict[str, str] = {}


@dataclass(frozen=True)
class Job:
    """A job as its files have it now."""

    id: str
    folder: Path
    file: JobFile
    state: State
    code: int | None
    """The exit code of the last command; None while it runs."""
    since: float
    """Seconds since it began, or that it took."""

    @property
    def said(self) -> str:
        """The last line that the command wrote for people."""
        lines = [line for line in tail(self.folder / LOG).splitlines() if line.strip()]
        if lines and lines[-1] == KeyboardInterrupt.__name__:
            return "interrupted before it began"
        return plain(lines[-1].removeprefix("covey: ")) if lines else ""

    @property
    def word(self) -> str:
        return WORDS[self.state]

    @property
    def out(self) -> str:
        """All that the commands printed."""
        return _text(self.folder / OUT)


class Jobs:
    """The jobs of one workspace."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        self.folder.mkdir(mode=0o700, exist_ok=True)

    def start(self, kind: str, title: str, subject: str, commands: Sequence[Sequence[str]], **notes: str) -> Job:
        """Starts commands, which go on after this process has ended.

        `HERE` in a command stands for the job's own folder.
        """
        folder = self._new_folder()
        filled = [[str(folder) if part == HERE else part for part in command] for command in commands]
        file = JobFile(kind, title, subject, filled, str(self.root), time.time(), notes)
        create(folder / JOB, msgspec.json.encode(file), PRIVATE)
        return self.again(folder.name)

    def again(self, name: str) -> Job:
        """Starts a job that has ended once more: the same commands."""
        job = self.find(name)
        if job.state == "running" and (job.folder / PID).exists():
            return job
        for note in (PID, EXIT, "answered.txt"):
            (job.folder / note).unlink(missing_ok=True)
        starter = module("covey.ui.work", str(job.folder))
        environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
        nowhere = subprocess.DEVNULL  # a job that goes on must not keep the server's terminal or pipe open
        process = subprocess.run(
            starter, cwd=self.root, env=environment, stdin=nowhere, stdout=nowhere, stderr=nowhere, check=False
        )
        if process.returncode:
            raise InputError(f"{job.file.title}: could not be started; is there memory and disk left?")
        return self.find(name)

    def stop(self, name: str) -> None:
        """Interrupts a job as Ctrl-C would."""
        job = self.find(name)
        process = _process(job.folder)
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)

    def find(self, name: str) -> Job:
        """The job of that name. Raises InputError if there is none."""
        folder = self.folder / name
        if not name.isalnum() or not (folder / JOB).is_file():
            raise InputError("there is no such job; it may have been removed")
        file = msgspec.json.decode((folder / JOB).read_bytes(), type=JobFile)
        ended = _text(folder / EXIT).split()
        code = int(ended[0]) if ended else None
        if code is None:
            state: State = "running" if _process(folder) is not None or not (folder / PID).exists() else "lost"
            ended_at = time.time()
        else:
            state = "done" if code == 0 else "stopped" if code in (_RESUMABLE, -signal.SIGINT, 130) else "failed"
            ended_at = float(ended[1])
        return Job(name, folder, file, state, code, max(0.0, ended_at - self._began(folder, file)))

    def _began(self, folder: Path, file: JobFile) -> float:
        with contextlib.suppress(OSError):
            return (folder / PID).stat().st_mtime
        return file.moment

    def all(self, kind: str | None = None, subject: str | None = None) -> list[Job]:
        """The jobs of a kind, or about one thing, the latest first."""
        jobs = [self.find(entry.name) for entry in self.folder.iterdir() if (entry / JOB).is_file()]
        selection = [
            job
            for job in jobs
            if (kind is None or job.file.kind == kind) and (subject is None or job.file.subject == subject)
        ]
        return sorted(selection, key=lambda job: job.id, reverse=True)

    def latest(self, kind: str, subject: str) -> Job | None:
        """The latest job of that kind about one thing."""
        return next(iter(self.all(kind, subject)), None)

    def remove(self, name: str) -> None:
        """Removes the notes on a job that has ended; what it wrote elsewhere stays."""
        job = self.find(name)
        if job.state == "running":
            raise InputError("the job still runs; stop it first")
        for file in job.folder.iterdir():
            file.unlink()
        job.folder.rmdir()

    def _new_folder(self) -> Path:
        number = max((int(entry.name) for entry in self.folder.iterdir() if entry.name.isdecimal()), default=0)
        while True:
            number += 1
            folder = self.folder / f"{number:06d}"
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
                return folder


def covey(*arguments: str, **options: str | int | None) -> list[str]:
    """The command line of a `covey` command; empty options are left out."""
    flags: list[str] = []
    for name, value in options.items():
        if value:
            flags += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return module("covey", *arguments, *flags)


def module(name: str, *arguments: str) -> list[str]:
    """The command line of a module of ours, never of one beside the data."""
    return [sys.executable, "-P", "-m", name, *arguments]


def shown(command: Sequence[str]) -> str:
    """The command as a person types it in the folder."""
    import shlex

    return "covey " + " ".join(shlex.quote(part) for part in command)


def keep_exit(folder: Path, code: int) -> None:
    """Writes down how a job ended, and when."""
    write_atomically(folder / EXIT, f"{code} {time.time():.3f}\n".encode(), PRIVATE)


def tail(path: Path) -> str:
    """The end of what a command wrote."""
    return _text(path, last=True)


def _text(path: Path, *, last: bool = False) -> str:
    try:
        with path.open("rb") as stream:
            if last:
                stream.seek(max(0, path.stat().st_size - _MOST_SHOWN))
            return stream.read(64 * 2**20).decode(errors="replace")
    except OSError:
        return ""


def _process(folder: Path) -> int | None:
    """The process that runs a job, if it is still the same one."""
    fields = _text(folder / PID).split()
    if len(fields) != 2 or born(int(fields[0])) != fields[1]:
        return None
    return int(fields[0])


def born(process: int) -> str:
    """The moment at which a process began; empty if there is none."""
    try:
        state, *fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return "" if state == "Z" else fields[18]
    except OSError:
        pass
    try:
        os.kill(process, 0)
    except OSError:
        return ""
    return "there"
