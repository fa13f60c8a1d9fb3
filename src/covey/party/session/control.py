"""Control files, by which another program watches a run and answers it: `covey run --control DIR`.

    status.json    the run right now, written whenever it changes
    question.json  the question before the last opening, as long as nobody has answered it
    answer         a pipe, as long as there is a question: a line with yes or no is the answer

All of them are for their owner alone.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import msgspec

from covey.errors import InputError
from covey.files import PRIVATE, as_json, write_atomically
from covey.party.session.approval import ApprovalQuestion, answered, read_line
from covey.party.session.progress import Snapshot

STATUS, QUESTION, ANSWER = "status.json", "question.json", "answer"


class Control:
    """The control files of one run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shown: Snapshot | None = None
        self._began: float | None = None
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be made ({error.strerror}); choose another --control") from None
        self._clear()

    def show(self, snapshot: Snapshot) -> None:
        """Writes down how the run stands; a status that cannot be written stops nobody."""
        if snapshot == self._shown:
            return
        if snapshot.position and self._began is None:
            self._began = time.time()
        with contextlib.suppress(InputError):
            content = {**msgspec.to_builtins(snapshot), "at": time.time(), "began": self._began}
            write_atomically(self._folder / STATUS, as_json(content), PRIVATE)
            self._shown = snapshot

    async def ask(self, question: ApprovalQuestion) -> bool:
        """Asks by a file, and waits for the answer in a pipe."""
        self._clear()
        pipe = self._folder / ANSWER
        os.mkfifo(pipe, PRIVATE)
        descriptor = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # open for writing too, so that it never ends
        try:
            write_atomically(self._folder / QUESTION, as_json(question.describe()), PRIVATE)
            while True:
                answer = answered(await read_line(descriptor))
                if answer is not None:
                    return answer
        finally:
            os.close(descriptor)
            self._clear()

    def _clear(self) -> None:
        for name in (QUESTION, ANSWER):
            (self._folder / name).unlink(missing_ok=True)


def answer(folder: Path, word: str) -> None:
    """Answers the question of a run with yes or no. Raises InputError if it asks none."""
    try:
        descriptor = os.open(folder / ANSWER, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        raise InputError(
            "the run asks nothing at the moment; it may have ended, or another party has answered"
        ) from None
    try:
        os.write(descriptor, f"{word}\n".encode())
    finally:
        os.close(descriptor)
