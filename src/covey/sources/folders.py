"""Folders and patterns of Parquet files: one table in many files.

The name of a folder below the one that is asked for may hold the cell of a column for all rows in it (`year=2024`), as
Hive, Spark and DuckDB write it. Such a cell is text, as it is spelled there.
"""

from __future__ import annotations

import glob
import re
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from pyarrow import parquet

from covey.cells import clean
from covey.errors import InputError

PARQUET = (".parquet", ".pq")
NO_CELL = "__HIVE_DEFAULT_PARTITION__"
"""The cell in a folder's name where its rows have no value."""
_NO_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


def is_many(data: object) -> bool:
    """True for a folder or a pattern of files, which is never read into memory whole."""
    if not isinstance(data, str | Path) or "://" in str(data):
        return False
    path = Path(data)
    return path.is_dir() or (not path.exists() and glob.has_magic(str(data)) and path.suffix.lower() in PARQUET)


def stays_on_engine(data: object) -> bool:
    """True for a table that need not be in memory: a folder, a pattern, a server's table."""
    return is_many(data) or (isinstance(data, str) and "://" in data)


def parquet_files(data: str | Path) -> list[Path]:
    """The files of a folder or a pattern, in their order. Raises InputError where there are none."""
    path = Path(data)
    if path.is_dir():
        paths = sorted(path.rglob("*"))
    else:
        paths = [Path(name) for name in sorted(glob.glob(str(data), recursive=True))]  # noqa: PTH207 - an absolute one
    files = [file for file in paths if file.suffix.lower() in PARQUET and stat.S_ISREG(file.stat().st_mode)]
    if not files:
        hint = f" ({path / 'release.csv'})" if (path / "release.csv").is_file() else ""
        raise InputError(
            f"{data}: has no Parquet file; name one table{hint}, or a folder or a pattern of .parquet files"
        )
    refuse_patterns(files)
    return files


def refuse_repeated(name: str, header: Sequence[str]) -> None:
    """Raises InputError for two columns of one name: an engine would rename one."""
    repeated = next((column for column, count in Counter(map(clean, header)).items() if count > 1), None)
    if repeated is not None:
        raise InputError(f"{name}: two columns are named {repeated!r}; rename one")


def require_columns(name: str, columns: Iterable[str], header: Sequence[str], reasons: Mapping[str, str]) -> None:
    """Raises InputError where a table lacks a column, with the reason where there is one."""
    absent = [column for column in columns if column not in header]
    explained = next((column for column in absent if column in reasons), None)
    if explained is not None:
        raise InputError(f"{name}: column {explained!r} {reasons[explained]}")
    if absent:
        raise InputError(f"{name}: has no column {', '.join(map(repr, absent))}; it has {', '.join(map(repr, header))}")


def refuse_patterns(files: list[Path]) -> None:
    """Raises InputError for a name that an engine would take for a pattern."""
    for file in files:
        if glob.has_magic(str(file)):
            raise InputError(f"{file}: has one of *, ?, [ in its name, which the engine takes for a pattern; rename it")


@dataclass(frozen=True)
class FolderColumns:
    """The columns whose cells stand in the names of folders."""

    patterns: Mapping[str, str] = field(default_factory=dict)
    """For each a pattern whose group is the cell, escaped as it is there, in the path of every file."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The columns that only look like such, and why."""


def columns_of_folders(data: str | Path, files: Sequence[Path]) -> FolderColumns:
    """The columns in the names of folders, for the Parquet files of a folder or pattern.

    Raises InputError for two columns of one name in the files.
    """
    header: list[str] = parquet.read_schema(files[0]).names
    refuse_repeated(str(data), header)
    return folder_columns([file.parts for file in files], Path(data).parts, header)


def folder_columns(paths: Iterable[Sequence[str]], pattern: Sequence[str], header: Iterable[str]) -> FolderColumns:
    """The columns in the names of folders, from the parts of paths and the files' own columns.

    A column that the files have themselves is read from them. One that is not in all paths, or twice in one, or spelled
    in several ways, is refused.
    """
    names = {clean(name).casefold() for name in header}
    root = [*pattern]
    for index, part in enumerate(root):
        if glob.has_magic(part) or "{" in part:
            del root[index:]
            break
    levels: dict[str, list[tuple[str, list[str]]]] = {}
    files = []
    for path in paths:
        names_below = _below(list(path), root)
        files.append("/".join(re.sub("=.*", "=…", part) for part in names_below))  # no cell is shown
        spelled: dict[str, list[str]] = {}
        for part in names_below[:-1]:
            if (name := clean(unquote(part.partition("=")[0]))) and "=" in part and name.casefold() not in names:
                spelled.setdefault(name, []).append(part)
        for name, parts in spelled.items():
            levels.setdefault(name, []).append((files[-1], parts))
    patterns, refused = {}, {}
    for name, entries in levels.items():
        if reason := _wrong(entries, files):
            refused[name] = reason
        else:
            key = re.escape(entries[0][1][0].partition("=")[0])
            patterns[name] = f".*/{key}=([^/]*)/"
    return FolderColumns(patterns, refused)


def _below(path: list[str], root: list[str]) -> list[str]:
    """The part of a path below a folder. The file alone where it is not below it."""
    for first in range(len(path) - len(root)):
        if path[first : first + len(root)] == root:
            return path[first + len(root) :]
    return path[-1:]


def _wrong(entries: list[tuple[str, list[str]]], files: list[str]) -> str | None:
    """The reason why a column in names of folders cannot be read, or None."""
    having = {file for file, _ in entries}
    stray = next((file for file in files if file not in having), None)
    if stray is not None:
        return (
            f"stands in the names of some folders ({entries[0][0]}) and not of others ({stray}); put every file into "
            "such a folder, or write the column into the files"
        )
    if twice := next((file for file, parts in entries if len(parts) > 1), None):
        return f"stands twice in the names of folders ({twice}); rename one"
    if len({parts[0].partition("=")[0] for _, parts in entries}) > 1:
        return "is spelled in several ways in the names of folders; rename them"
    if strange := next((file for file, parts in entries if not _escaped(parts[0])), None):
        return f"stands in the name of a folder ({strange}) with a % that is no escape of UTF-8; write %25 for a %"
    return None


def _escaped(text: str) -> bool:
    try:
        unquote(text, errors="strict")
    except UnicodeDecodeError:
        return False
    return not _NO_ESCAPE.search(text)


def rows_of_files(files: Sequence[Path], columns: FolderColumns | None = None, options: str = "") -> str:
    """DuckDB's query of all rows of Parquet files, with the columns in folders' names.

    With options each row has the file's name, too, and what they add.
    """
    patterns = {} if columns is None else columns.patterns
    cells = [
        f"nullif(url_decode(regexp_extract(filename, {as_literal(pattern)}, 1)), '{NO_CELL}') AS {as_name(column)}"
        for column, pattern in patterns.items()
    ]
    names = f", filename = true{options}" if cells or options else ""
    list_text = f"[{', '.join(as_literal(file.as_posix()) for file in files)}]"
    selection = ", ".join(["*" if options or not cells else "* EXCLUDE (filename)", *cells])
    return f"SELECT {selection} FROM read_parquet({list_text}, hive_partitioning = false, union_by_name = false{names})"


def as_literal(value: str) -> str:
    """A text in a query."""
    return "'" + value.replace("'", "''") + "'"


def as_name(column: str) -> str:
    """A column's name in a query."""
    return '"' + column.replace('"', '""') + '"'
