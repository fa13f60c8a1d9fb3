"""Bounds on what is read, each a part of the memory that one table may take: 4 GB, or what COVEY_MEMORY says.

A small file may say that it holds very much. Every reader asks here how much it may take, before it takes it.
"""

from __future__ import annotations

import os

from covey import sizes
from covey.errors import InputError

VARIABLE = "COVEY_MEMORY"
DEFAULT = 4 * 10**9
SHARE = 0.6
"""The part of it that an engine in our own process may take; the rest is for what comes out of it."""
CELL = 16
"""Bytes that an engine needs for a cell, however short."""
RATIO = 100
"""Times its own size that a packed file may unpack to, where that is more than a small file may."""
TEXT_RATIO = 20
"""The same for text, of which a file keeps more than of numbers."""
_BY_SIZE = 50_000
"""Bytes of a file for which a foreign library gets another second."""


def limit() -> int:
    """The limit in bytes. Raises InputError if the variable is no size."""
    setting = os.environ.get(VARIABLE)
    if not setting:
        return DEFAULT
    size = sizes.read(setting)
    if not size:
        raise InputError(f"{VARIABLE} must be a size such as 500MB or 16GB; correct it, or unset it")
    return size


def columns() -> int:
    """The most columns of a table: 10,000 at 4 GB."""
    return max(100, limit() // 400_000)


def cell() -> int:
    """The most bytes of a cell, and of a line of CSV: 2 MB at 4 GB."""
    return max(1 << 15, limit() // 2000)


def unpacked(packed: int) -> int:
    """The most bytes that a packed file may unpack to: 62 MB at 4 GB, or more."""
    return max(limit() // 64, min(limit(), RATIO * packed))


def cells(packed: int) -> int:
    """The most bytes that the cells of a packed file may take: 125 MB at 4 GB."""
    return min(limit(), 2 * unpacked(packed))


def text(packed: int) -> int:
    """The most bytes of text in a packed file: 62 MB at 4 GB, and more for a large file."""
    return max(limit() // 64, min(limit(), TEXT_RATIO * packed))


def rows() -> int:
    """The most rows of Parquet files, which may stay on the disk: 1,000,000,000 at 4 GB."""
    return max(10**6, limit() // 4)


def footer() -> int:
    """The most bytes of a Parquet file's description of itself: 31 MB at 4 GB."""
    return max(1 << 20, limit() // 128)


def chunk() -> int:
    """The most bytes of one column in a row group of Parquet, or in an engine."""
    return max(10**8, limit() // 8)


def process() -> int:
    """The memory of a process that runs a foreign library: 667 MB at 4 GB."""
    return max(128 << 20, limit() // 6)


def seconds(packed: int) -> int:
    """The processor time that a foreign library has for a file of this size."""
    return int((12 + packed / _BY_SIZE) * max(1.0, limit() / DEFAULT))


def document() -> int:
    """The most bytes of a file beside a table: 31 MB at 4 GB."""
    return max(1 << 20, limit() // 128)


def study() -> int:
    """The most bytes of a study file: 4 MB at 4 GB."""
    return max(1 << 20, limit() // 1000)


def long_record() -> int:
    """The most bytes of a hierarchy, study file or transcript: 250 MB at 4 GB."""
    return max(1 << 20, limit() // 16)


def labels() -> int:
    """The most different labels of a hierarchy: 2,000,000 at 4 GB."""
    return max(10_000, limit() // 2000)


def refuse_above(name: str, size: int) -> None:
    """Raises InputError, with the limit, for a table that takes more."""
    if size > limit():
        raise too_large(name)


def too_large(name: str) -> InputError:
    """The error for a table that takes more memory than the limit."""
    return above(name, f"takes more than {sizes.spell(limit())} of memory when it is read")


def above(name: str, excess: str) -> InputError:
    """The error for a file of which something is above a bound. It names the setting that raises all bounds."""
    more = 16 * 10**9 if limit() < 16 * 10**9 else 4 * limit()
    return InputError(
        f"{name}: {excess}, the most that is read; if it is the right file, set {VARIABLE}={more // 10**9}GB"
    )
