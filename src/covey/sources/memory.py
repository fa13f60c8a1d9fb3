"""The most memory that one table may take: 4 GB, or what COVEY_MEMORY says."""

from __future__ import annotations

import os

from covey import sizes
from covey.errors import InputError

VARIABLE = "COVEY_MEMORY"
DEFAULT = 4 * 10**9
SHARE = 0.6
"""The part of it that an engine in our own process may take; the rest is for what comes out of it."""


def limit() -> int:
    """The limit in bytes. Raises InputError if the variable is no size."""
    asked = os.environ.get(VARIABLE)
    if not asked:
        return DEFAULT
    found = sizes.read(asked)
    if not found:
        raise InputError(f"{VARIABLE} must be a size such as 500MB or 16GB; correct it, or unset it")
    return found


def refuse_above(name: str, size: int) -> None:
    """Raises InputError, with the limit, for a table that takes more."""
    if size > limit():
        raise too_large(name)


def too_large(name: str) -> InputError:
    """The error for a table that takes more memory than the limit."""
    most = sizes.spell(limit())
    return InputError(
        f"{name}: takes more than {most} of memory when it is read, the most that one table may; is it the right "
        f"file? If so, allow more: {VARIABLE}=16GB"
    )
