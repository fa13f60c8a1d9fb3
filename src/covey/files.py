"""Files, written whole or not at all, appended to durably, read with a clear reason when that fails, and erased.

A release has its place in its folder: release.csv, or release.parquet, which is a file or a folder of parts.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from covey import bounds
from covey.errors import InputError
from covey.sizes import spell

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""Opens no link, where the system can be asked for that."""

PRIVATE = 0o600
"""The mode of a file that only its owner may read."""

SHARED = 0o644
"""The mode of a file that others may read, as far as the umask lets them."""

UMASK = os.umask(0o077)
"""The permissions that the person who runs us keeps from others in new files."""
os.umask(UMASK)


def write_atomically(path: Path, content: bytes, mode: int = SHARED, *, synced: bool = True) -> None:
    """Writes a file so that it is there whole or not at all. Raises InputError that names it.

    One that is not synced survives this process, and not a failing machine.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); check the folder's permissions") from None
    try:
        try:
            write_all(handle, content)
            if synced:
                os.fsync(handle)
        finally:
            os.close(handle)
        Path(temporary).chmod(mode & ~UMASK)
        Path(temporary).replace(path)
        if synced:
            sync_to_disk(path.parent)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"{path}: cannot be written ({error.strerror}); is the disk full?") from None
        raise


def write_all(handle: int, content: bytes) -> None:
    """Writes all of the content: a single write may take less than it is given."""
    view = memoryview(content)
    while view.nbytes:
        view = view[os.write(handle, view) :]


def create(path: Path, content: bytes, mode: int) -> None:
    """Makes a new file, which is on the disk when this returns. Raises OSError, also if the file exists."""
    _write_durably(path, os.O_CREAT | os.O_EXCL, content, mode)


def append(path: Path, content: bytes) -> None:
    """Appends to a private file, made if there is none. On the disk when this returns. Raises OSError."""
    _write_durably(path, os.O_CREAT | os.O_APPEND, content, PRIVATE)


def _write_durably(path: Path, flags: int, content: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | NO_LINK | flags, mode)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)  # two processes that append do so one after the other
        write_all(handle, content)
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_to_disk(path: Path) -> None:
    """Puts a file, or new names in a folder, on the disk. Raises OSError where the file system cannot do that."""
    if sys.platform == "win32":  # a folder cannot be opened there; its journal keeps names
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_bytes(
    path: Path, remedy: str, limit: int | None = None, *, bound: Callable[[], int] = bounds.document
) -> bytes:
    """The content of a regular file of at most so many bytes, or as memory allows.

    Raises InputError that names it and says what to do. A pipe or a device is refused before it is opened: it might
    never end.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: is no file; {remedy}")
        with path.open("rb") as stream:
            content = stream.read((limit or bound()) + 1)
        if len(content) <= (limit or bound()):
            return content
        if limit is None:
            raise bounds.above(str(path), f"is larger than {spell(bound())}")
        raise InputError(f"{path}: is larger than {limit:,} bytes, the most that is read here; {remedy}")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None


def as_json(value: object) -> bytes:
    """A value as the JSON files of a run have it."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def read_json(path: Path, kind: type[T]) -> T | None:
    """A JSON file that a run left, as that type. None if there is no such file. Raises InputError for a damaged one."""
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(read_bytes(path, "name the folder of a run"), type=kind, strict=False)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise InputError(f"{path}: is damaged; a report is made from the files as the run left them") from None


def json_object(path: Path) -> dict[str, object]:
    """The object in a JSON file. An empty one if there is no file, or none in it. Raises InputError if too large."""
    try:
        content = json.loads(read_bytes(path, "name the folder of a run")) if path.is_file() else {}
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def erase(path: Path) -> None:
    """Overwrites a file once and removes it. Copies that a disk or a backup has made cannot be reached.

    Raises InputError for a link, because it may point to any file.
    """
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise InputError(f"{path}: is a link or not a file, and is left as it is; remove it yourself")
        handle = os.open(path, os.O_RDWR | NO_LINK)
        with os.fdopen(handle, "r+b", buffering=0) as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            for start in range(0, size, 1 << 20):
                stream.write(bytes(min(1 << 20, size - start)))
            with contextlib.suppress(OSError):  # it is removed all the same
                os.fsync(handle)
        path.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{path}: cannot be erased ({error.strerror}); check the folder's permissions") from None


RELEASES = ("release.csv", "release.parquet")
"""The names that a release may have in its folder; the last may be a folder of parts."""
PART = "part-{:05}.parquet"
"""The name of a part, by its number."""
_MOST = 10_000


@dataclass(frozen=True)
class ReleaseFormat:
    """The format of a release: release.csv, or release.parquet as a file or a folder of parts.

    Raises InputError for parts of a CSV file.
    """

    kind: Literal["csv", "parquet"] = "csv"
    parts: int = 1

    def __post_init__(self) -> None:
        if self.parts > 1 and self.kind == "csv":
            raise InputError("release.csv is one file; several parts need the format parquet")
        if not 1 <= self.parts <= _MOST:
            raise InputError(f"a release has from 1 to {_MOST:,} parts")

    @property
    def name(self) -> str:
        """The name of the file or the folder."""
        return f"release.{self.kind}"


AS_CSV = ReleaseFormat()
"""The format where nobody asks for another."""


def release_in(folder: Path) -> Path | None:
    """The release in a folder, if there is one."""
    return next((folder / name for name in RELEASES if (folder / name).exists()), None)


def remove_release(path: Path) -> None:
    """Removes a release's file, or the folder of its parts, if it is there.

    Raises InputError for a folder with other files.
    """
    if path.is_dir() and not path.is_symlink():
        if not all(is_part(file) for file in path.iterdir()):
            raise InputError(
                f"{path}: has other files than the parts of a release, and is left as it is; remove it yourself"
            )
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def is_part(file: Path) -> bool:
    """True for a file with the name of a part."""
    number = file.name.removeprefix("part-").removesuffix(".parquet")
    return file.is_file() and number.isdecimal() and file.name == PART.format(int(number))
