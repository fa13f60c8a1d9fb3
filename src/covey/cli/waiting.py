"""A display for whoever waits: nothing for two seconds, then a bar on a terminal, or a line for each step elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_PATIENCE = 2.0  # seconds without a word
_BETWEEN_LINES = 10.0


class ProgressDisplay:
    """Shows on stderr how far a computation is; call it with the step's name and the part that is done."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._said = -_BETWEEN_LINES
        self._step = ""
        self._bar: Progress | None = None

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, step: str, done: float) -> None:
        elapsed = time.monotonic() - self._began
        if elapsed < _PATIENCE:
            return
        if sys.stderr.isatty():
            self._draw(step, done)
        elif step != self._step or elapsed - self._said >= _BETWEEN_LINES:
            far = f", {done:.0%} done" if step == self._step else ""
            self._said, self._step = elapsed, step
            print(f"covey: {step}{far} after {elapsed:.0f} s", file=sys.stderr, flush=True)

    def _draw(self, step: str, done: float) -> None:
        if self._bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
            self._bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
            self._bar.add_task(step, total=1.0)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=step, completed=done)
