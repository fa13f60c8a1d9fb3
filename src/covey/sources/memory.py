"""The most memory that one table may take: 4 GB, or what COVEY_MEMORY says."""

from __future__ import annotations

import os
import re

from covey.errors import InputError

VARIABLE = "COVEY_MEMORY"
DEFAULT = 4 * 10**9
_SIZE = re.compile(r"(\d{1,9})\s*(MB|GB|TB)", re.ASCII | re.IGNORECASE)
_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12}


def limit() -> int:
    """The limit in bytes. Raises InputError if the variable is no size."""
    asked = os.environ.get(VARIABLE)
    if not asked:
        return DEFAULT
    found = _SIZE.fullmatch(asked.strip())
    if found is None or not int(found[1]):
        raise InputError(f"{VARIABLE} must be a size such as 500MB or 16GB; correct it, or unset it")
    return int(found[1]) * _UNITS[found[2].upper()]


def refuse_above(name: str, size: int) -> None:
    """Raises InputError, with the limit, for a table that takes more."""
    if size > limit():
        raise too_large(name)


def too_large(name: str) -> InputError:
    """The error for a table that takes more memory than the limit."""
    most = limit()
    shown = f"{most / 10**9:g} GB" if most >= 10**9 else f"{most // 10**6} MB"
    return InputError(
        f"{name}: takes more than {shown} of memory when it is read, the most that one table may; is it the right "
        f"file? If so, allow more: {VARIABLE}=16GB"
    )
