"""Runs the commands of one job, apart from the server: `python -m covey.ui.work FOLDER`.

The starter returns at once. What remains has a session of its own, so that neither the browser nor the server nor its
terminal takes it along when they end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import BinaryIO

import msgspec

from covey.files import PRIVATE, write_atomically
from covey.summary import FILE as SUMMARY
from covey.ui.jobs import JOB, LOG, OUT, PID, JobFile, born, keep_exit


class Worker:
    """The commands of one job, and the one that runs now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: subprocess.Popen[bytes] | None = None
        self.stopped = False

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Hands an interruption on to the command that runs."""
        self.stopped = True
        if self.running is not None and self.running.poll() is None:
            self.running.send_signal(signal.SIGINT)

    def run(self) -> int:
        """Runs the commands while they succeed; returns the last exit code.

        A release that is written, and may not be published, is looked at too.
        """
        file = msgspec.json.decode((self.folder / JOB).read_bytes(), type=JobFile)
        code = 0
        with _private(self.folder / OUT) as output, _private(self.folder / LOG) as log:
            for command in file.commands:
                if (code and not (code == 1 and _is_written(file))) or self.stopped:
                    break
                self.running = subprocess.Popen(
                    command, cwd=file.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=log
                )
                code = self.running.wait()
        return code or (130 if self.stopped else 0)


def _is_written(file: JobFile) -> bool:
    return "out" in file.notes and (Path(file.folder) / file.notes["out"] / SUMMARY).is_file()


def _private(path: Path) -> BinaryIO:
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "wb")  # noqa: PTH123 - of a descriptor


def main(folder: Path) -> None:
    """Goes into the background and runs the job."""
    worker = Worker(folder)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, worker.stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    os.setsid()
    write_atomically(folder / PID, f"{os.getpid()} {born(os.getpid())}\n".encode(), PRIVATE)
    keep_exit(folder, worker.run())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
