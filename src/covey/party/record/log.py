"""run.log: what happened and when, in sentences without a value of anybody's data."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from covey.errors import InputError
from covey.files import PRIVATE
from covey.plain import plain


class RunLog:
    """Appends sentences to a file; a log that cannot be written stops the run with a clear reason."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, sentence: str) -> None:
        """One line: the time in UTC and the sentence."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        try:
            with open(self._path, "a", encoding="utf-8", opener=_private) as stream:
                stream.write(f"{moment} {plain(' '.join(sentence.split()))}\n")
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written ({error.strerror}); is the disk full?") from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE)


class Silence:
    """A log for runs that leave no folder."""

    def note(self, sentence: str) -> None:
        """Forgets it."""


SILENCE = Silence()
Log = RunLog | Silence
