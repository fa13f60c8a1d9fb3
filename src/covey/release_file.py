"""The place of a release in its folder: release.csv, or release.parquet, which is a file or a folder of parts."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from covey.errors import InputError

RELEASES = ("release.csv", "release.parquet")
"""The names that a release may have in its folder; the last may be a folder of parts."""
PART = "part-{:05}.parquet"
"""The name of a part, by its number."""
_MOST = 10_000


@dataclass(frozen=True)
class ReleaseFormat:
    """The format in which a release is written: release.csv, or release.parquet, which is a file or a folder of parts.

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
    """Removes the file of a release, or the folder of its parts, if it is there.

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
