"""Folders and patterns of Parquet files: one table in many files."""

from __future__ import annotations

import glob
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pyarrow import parquet

from covey.cells import clean
from covey.errors import InputError

PARQUET = (".parquet", ".pq")


def is_many(data: object) -> bool:
    """True for a folder or a pattern of files: such a table is never read into memory as a whole."""
    if not isinstance(data, str | Path) or "://" in str(data):
        return False
    path = Path(data)
    return path.is_dir() or (not path.exists() and glob.has_magic(str(data)) and path.suffix.lower() in PARQUET)


def stays_on_engine(data: object) -> bool:
    """True for a table that need not be read into memory: a folder, a pattern of files, a table of a server."""
    return is_many(data) or (isinstance(data, str) and "://" in data)


def parquet_files(data: str | Path) -> list[Path]:
    """The files of a folder or a pattern, in their order. Raises InputError where there are none."""
    path = Path(data)
    if path.is_dir():
        found = sorted(path.rglob("*"))
    else:
        found = [Path(name) for name in sorted(glob.glob(str(data), recursive=True))]  # noqa: PTH207 - an absolute one
    files = [each for each in found if each.suffix.lower() in PARQUET and stat.S_ISREG(each.stat().st_mode)]
    if not files:
        one = f" ({path / 'release.csv'})" if (path / "release.csv").is_file() else ""
        raise InputError(
            f"{data}: has no Parquet file; name one table{one}, or a folder or a pattern of .parquet files"
        )
    refuse_patterns(files)
    return files


def refuse_repeated(name: str, header: Sequence[str]) -> None:
    """Raises InputError for two columns of one name: an engine would rename one."""
    repeated = next((column for column, count in Counter(map(clean, header)).items() if count > 1), None)
    if repeated is not None:
        raise InputError(f"{name}: two columns are named {repeated!r}; rename one")


def refuse_repeated_in(name: str, file: Path) -> None:
    """The same of a Parquet file."""
    refuse_repeated(name, parquet.read_schema(file).names)


def refuse_patterns(files: list[Path]) -> None:
    """Raises InputError for a name that an engine would take for a pattern."""
    for file in files:
        if glob.has_magic(str(file)):
            raise InputError(f"{file}: has one of *, ?, [ in its name, which the engine takes for a pattern; rename it")
