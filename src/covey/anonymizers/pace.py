"""Progress and cancellation of a long computation: between two bounded steps, never inside one."""

from __future__ import annotations

from collections.abc import Callable

from covey.errors import Aborted

Progress = Callable[[str, float], None]  # what is being done, and how much of it is done: 0 to 1
Cancel = Callable[[], bool]


def silent(step: str, done: float) -> None:
    """A display for nobody."""


def never() -> bool:
    """Nobody asks to stop."""
    return False


def report(step: str, done: float, progress: Progress, cancel: Cancel) -> None:
    """Tell the caller how far it is; raise Aborted if the caller wants no more."""
    progress(step, done)
    if cancel():
        raise Aborted(f"cancelled during {step}; nothing was written", resumable=False)
