"""The files that a run enters, in the order of their first call: those that a reader meets with a debugger."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType

import covey

SOURCE = str(Path(covey.__file__).parent) + "/"


@cache
def import_everything() -> None:
    """Decorators run while a module is imported: after this, a run's way does not depend on what ran before it."""
    for module in pkgutil.walk_packages(covey.__path__, "covey."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def entered(work: Callable[[], object]) -> list[str]:
    """The files of Covey whose functions are called on this thread while `work` runs."""
    import_everything()
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
