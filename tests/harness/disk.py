"""A disk that fails on purpose: at the n-th write or sync of files below some folder, in a way that one number repeats.

It stands between the program and the operating system's calls (`os.write`, `os.fsync`), so that everything above them
runs as it does in earnest.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.harness.doom import Doom

from covey.party.record.names import STATES

_STATES = tuple(f".{name}." for name in STATES)
"""How temporary files of states begin."""
How = Literal["full", "short write", "failing sync", "sound"]


@dataclass
class Disk:
    """How the disk fails, at which call below `folder`; the calls are counted, so that all can be tried."""

    folder: Path
    how: How = "sound"
    at: int = -1
    calls: int = 0
    failed: bool = False

    def write(self, real: Callable[[int, bytes | memoryview], int], handle: int, content: bytes | memoryview) -> int:
        """Writes what fits."""
        if not self._concerns(handle):
            return real(handle, content)
        turn = self._turn("full", "short write")
        if turn == "short write":
            return real(handle, memoryview(content)[: max(1, len(content) // 2)])
        if turn == "full":
            real(handle, memoryview(content)[: len(content) // 2])  # a full disk takes a part before it refuses
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, content)

    def sync(self, real: Callable[[int], None], handle: int) -> None:
        """Syncs, or says that it could not."""
        if self._concerns(handle) and self._turn("failing sync") is not None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(handle)

    def _turn(self, *hows: How) -> How | None:
        """Whether this call is the one that fails; a full disk stays full."""
        if self.how not in hows:
            return None
        index = self.calls
        self.calls += 1
        if index == self.at or (self.failed and self.how == "full"):
            self.failed = True
            return self.how
        return None

    def _concerns(self, handle: int) -> bool:
        return path_of(handle).is_relative_to(self.folder)


def path_of(handle: int) -> Path:
    """The file behind a handle."""
    return Path(os.readlink(f"/proc/self/fd/{handle}"))  # noqa: PTH115 - a Path's readlink would do the same


@contextmanager
def failing(disk: Disk) -> Iterator[Disk]:
    """Everything in the block writes to that disk."""
    write, sync = os.write, os.fsync

    def patched_write(handle: int, content: bytes | memoryview) -> int:
        return disk.write(write, handle, content)

    def patched_sync(handle: int) -> None:
        disk.sync(sync, handle)

    with _in_place(patched_write, patched_sync):
        yield disk


@contextmanager
def dying(doom: Doom, journal: Path, on_death: Callable[[], None]) -> Iterator[None]:
    """In the block, the victim may die in the midst of a write to its journal or to a state beside it."""
    write, sync = os.write, os.fsync

    def patched_write(handle: int, content: bytes | memoryview) -> int:
        path = path_of(handle)
        if (path == journal or path.name.startswith(_STATES)) and path.parent == journal.parent and doom.writing():
            write(handle, memoryview(content)[: len(content) // 2])
            on_death()
            doom.die()
        return write(handle, content)

    with _in_place(patched_write, sync):
        yield


@contextmanager
def _in_place(write: Callable[[int, bytes | memoryview], int], sync: Callable[[int], None]) -> Iterator[None]:
    before = os.write, os.fsync
    os.write, os.fsync = write, sync  # type: ignore[assignment]
    try:
        yield
    finally:
        os.write, os.fsync = before
