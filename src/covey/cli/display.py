"""Displays of work that goes on: a run's parties in a live table, or a bar for one owner's search."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from covey.plain import plain_lines
from covey.sizes import spell

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import Progress
    from rich.table import Table

    from covey.party.session.progress import Snapshot

_AGAIN_SECONDS = 10.0
_MEETING = "meeting"
_NAMED = 6
_ALL = "all parties"


class Display:
    """Shows snapshots and notices on stderr, so that stdout has nothing but the result."""

    def __init__(self, *, lively: bool | None = None, merged: bool = False) -> None:
        terminal = sys.stdout.isatty() and sys.stderr.isatty()
        self._lively = terminal if lively is None else lively
        self._together = merged  # parties that run side by side: a phase is said once, not by each
        self._latest: dict[str, Snapshot] = {}
        self._said: dict[str, tuple[tuple[str, ...], float]] = {}
        self._phases: set[tuple[str, ...]] = set()
        self._live: Live | None = None
        self._held: list[str] | None = None
        """Notices that wait until a question is answered; None while nothing is asked."""

    def __enter__(self) -> Display:
        if self._lively:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, force_terminal=True)
            self._live = Live(console=console, get_renderable=self._table, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, snapshot: Snapshot) -> None:
        """Takes in how one party stands."""
        self._latest[snapshot.party] = snapshot
        if self._live is None and self._held is None:
            self._say(snapshot)

    def notice(self, sentence: str) -> None:
        """Something that happened, in a sentence."""
        sentence = plain_lines(sentence)
        if self._held is not None:
            self._held.append(sentence)
        elif self._live is not None:
            self._live.console.print(sentence, markup=False, highlight=False)
        else:
            print(sentence, file=sys.stderr, flush=True)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A block in which the terminal is free for a question."""
        live, self._live, self._held = self._live, None, []
        if live is not None:
            live.stop()
        try:
            yield
        finally:
            notices, self._held = self._held, None
            if live is not None:
                live.start(refresh=True)
                self._live = live
            for sentence in notices:
                self.notice(sentence)

    def _say(self, snapshot: Snapshot) -> None:
        """A line for a new phase, and again now and then while it lasts."""
        if self._together:
            snapshot = replace(snapshot, party=_ALL, waiting=())
        if snapshot.phase == _MEETING and not snapshot.waiting:
            return  # the next phase says that all are here
        mark = (snapshot.phase, *(snapshot.waiting if snapshot.phase == _MEETING else ()))
        previous, moment = self._said.get(snapshot.party, ((), 0.0))
        current = time.monotonic()
        repeated = self._together and mark in self._phases
        self._phases.add(mark)
        if (mark != previous and not repeated) or current - moment > _AGAIN_SECONDS:
            self._said[snapshot.party] = (mark, current)
            print(f"{snapshot.party}: {describe(snapshot)}", file=sys.stderr, flush=True)

    def _table(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("party", "phase", "rounds", "traffic", "waits for"):
            table.add_column(heading)
        for name in sorted(self._latest.keys() - {_ALL}):
            snapshot = self._latest[name]
            waits = _names(snapshot.waiting)
            table.add_row(Text(name), _phase(snapshot), f"{snapshot.rounds:,}", spell(snapshot.bytes), Text(waits))
        return table


def describe(snapshot: Snapshot) -> str:
    """Describes the state of a party in a line."""
    parts = [_phase(snapshot)]
    if snapshot.bytes:
        rounds = "1 round" if snapshot.rounds == 1 else f"{snapshot.rounds:,} rounds"
        parts.append(f"{rounds}, {spell(snapshot.bytes)} so far")
    if snapshot.waiting:
        parts.append(f"waiting for {_names(snapshot.waiting)}")
    return "; ".join(parts)


def _names(names: Sequence[str]) -> str:
    """The first few, and how many more."""
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")


def _phase(snapshot: Snapshot) -> str:
    position = f" (phase {snapshot.position} of {snapshot.phases})" if snapshot.position else ""
    progress = f", {snapshot.done:,} of {snapshot.of:,}" if snapshot.of > 1 else ""
    return f"{snapshot.phase}{position}{progress}"


_PATIENCE = 2.0  # seconds without a word
_BETWEEN_LINES = 10.0


class ProgressDisplay:
    """Shows on stderr how far a computation is, by step and part."""

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

    def __call__(self, step: str, part: float) -> None:
        elapsed = time.monotonic() - self._began
        if elapsed < _PATIENCE:
            return
        if sys.stderr.isatty():
            self._draw(step, part)
        elif step != self._step or elapsed - self._said >= _BETWEEN_LINES:
            progress = f", {part:.0%} done" if step == self._step else ""
            self._said, self._step = elapsed, step
            print(f"covey: {step}{progress} after {elapsed:.0f} s", file=sys.stderr, flush=True)

    def _draw(self, step: str, part: float) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
            self._bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
            self._bar.add_task(step, total=1.0)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=step, completed=part)
