"""The files that a run enters, in the order of their first call: those that a reader meets with a debugger."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import covey

SOURCE = str(Path(covey.__file__).parent) + "/"


def entered(work: Callable[[], object]) -> list[str]:
    """The files of Covey whose functions are called on this thread while `work` runs."""
    seen: dict[str, None] = {}

    def notice(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            name = frame.f_code.co_filename
            if name.startswith(SOURCE) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # no body of module or class
                seen.setdefault(name[len(SOURCE) :])

    sys.setprofile(notice)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(seen)
