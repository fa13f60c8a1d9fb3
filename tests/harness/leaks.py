"""What a run leaves for eyes that must not see it: canaries in messages, logs and files; shapes that follow secrets."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.harness.canaries import Aviary, Sighting
from tests.harness.harness import answers, lines, run
from tests.harness.trial import Case, Marked

from covey.wire import MemoryNetwork


class Tape(MemoryNetwork):
    """A network that remembers every frame, as the parties read it."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names)
        self.frames: list[tuple[str, str, bytes]] = []

    async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
        """Takes a frame across, and remembers it."""
        self.frames.append((sender, recipient, frame))
        await super().carry(sender, recipient, frame)


def sightings(marked: Marked, folder: Path) -> list[Sighting]:
    """Every canary in a message, in a log at debug level, or in any file that the run leaves, journals included.

    Raises what stopped the run, or ValueError if it did not give the ideal's result: then nothing was tested.
    """
    trial = marked.trial
    tape = Tape(trial.names)
    with _everything_logged() as log:
        ends = run(trial, network=tape, folder=folder)
    if answers(trial, ends) != dict(trial.ideal):
        raise ValueError("the marked run has another result than the ideal")
    aviary = Aviary(marked.texts, marked.numbers)
    found = [
        sighting
        for sender, recipient, frame in tape.frames
        for sighting in aviary.look(frame, f"a message from {sender} to {recipient}")
    ]
    found += aviary.look(log.getvalue().encode(), "the debug log")
    for name in trial.names:
        found += aviary.look_into_folder(folder / name)
    return found


def differing_shapes(case: Case) -> list[str]:
    """Where two runs with equal leakage differ in what an eavesdropper sees: sequence, steps, types, sizes."""
    first, second = ([line.shape for line in lines(run(twin))] for twin in case.twins())
    if first == second:
        return []
    odd = set(first) ^ set(second)
    return [f"{len(first)} messages, then {len(second)}", *(str(shape) for shape in sorted(odd))]


@contextmanager
def _everything_logged() -> Iterator[io.StringIO]:
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
