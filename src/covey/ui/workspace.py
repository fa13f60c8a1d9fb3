"""The folder that the workbench shows: its tables, studies and runs, and the workbench's own notes in it.

No path leads out of it: neither `..` nor a link. The notes lie in `.covey-ui`, which only its owner can enter.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote_plus

from covey import bounds
from covey.errors import InputError
from covey.files import PRIVATE, as_json, json_object, read_bytes, write_atomically
from covey.plain import STEERING
from covey.sources.packages import ENDINGS
from covey.summary import FILE as SUMMARY

NOTES = ".covey-ui"
_TABLES = (".csv", ".tsv", ".gz", ".parquet", ".pq", *ENDINGS)
_DEPTH, _MOST = 4, 2000
_RUN_FILES = (SUMMARY, "ledger.json", "journal", "run.log")
_OF_RUNS = ("release.csv", "population.csv")


@dataclass(frozen=True)
class Found:
    """The contents of the folder, by path from it."""

    tables: tuple[str, ...]
    studies: tuple[str, ...]
    runs: tuple[str, ...]
    """Folders of runs and of releases."""
    collections: tuple[str, ...]


class Workspace:
    """The folder of one workbench."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise InputError(f"{root}: there is no such folder; name the folder with your tables")
        self.root = root.resolve()
        self.notes = self.root / NOTES
        if self.notes.is_symlink():
            raise InputError(f"{self.notes}: is a link; remove it: the workbench keeps notes there")
        try:
            self.notes.mkdir(mode=0o700, exist_ok=True)
            self.notes.chmod(0o700)
        except OSError as error:
            raise InputError(f"{self.notes}: cannot be made ({error.strerror}); check the permissions") from None

    def path(self, relative: str) -> Path:
        """The file or folder of that path below the folder. Raises InputError for one that leads out of it."""
        posix = PurePosixPath(relative)
        if not relative or STEERING.search(relative) or posix.is_absolute() or ".." in posix.parts or "\\" in relative:
            raise InputError(f"{relative!r} lies outside of the folder; copy the file into it")
        walked = self.root
        for part in posix.parts:
            walked /= part
            if part == NOTES:
                raise InputError(f"{relative!r} belongs to the workbench; choose another name")
            if walked.is_symlink():
                raise InputError(f"{relative!r} is a link; the workbench opens real files in its folder only")
        return walked

    def relative(self, path: Path) -> str:
        """A path as it is named from the folder."""
        return path.relative_to(self.root).as_posix()

    def data(self, address: str) -> str:
        """The data of a page's address: a file of the folder, or an added source.

        Raises InputError for anything else.
        """
        if address in self.sources():
            return address
        if "://" in address:
            raise InputError("this database is not in the list; add it on the first page")
        file = file_of(address)
        if not self.path(file).is_file():
            raise InputError(f"{file}: there is no such file in the folder")
        return address

    def stamp(self, data: str) -> str:
        """Changes whenever a file does; a database has none."""
        if "://" in data:
            return ""
        status = self.path(file_of(data)).stat()
        return f"{status.st_size}-{status.st_mtime_ns}"

    def study(self, relative: str) -> tuple[Path, str]:
        """A study file and its text. Raises InputError if there is none of that name."""
        path = self.path(relative)
        if path.suffix != ".toml":
            raise InputError(f"{relative}: is no study file; its name ends with .toml")
        content = read_bytes(path, "choose a study of this folder", bound=bounds.study)
        try:
            return path, content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(f"{relative}: not UTF-8; save the study as UTF-8") from None

    def study_as_seen(self, relative: str, stamp: str) -> tuple[Path, str]:
        """A study, if it is still the one that a page showed. Raises Changed otherwise."""
        path, text = self.study(relative)
        if mark(text) != stamp:
            raise Changed(
                f"{relative} was changed elsewhere after this page was opened, perhaps in another tab: nothing was "
                "written; look at it as it is now, and change it again"
            )
        return path, text

    def write_study(self, relative: str, text: str, stamp: str) -> None:
        """Replaces a study, if it is still the one that a page showed."""
        path, _ = self.study_as_seen(relative, stamp)
        write_atomically(path, text.encode(), path.stat().st_mode & 0o777)

    def contents(self) -> Found:
        """Looks through the folder, a few levels deep; links and hidden files are not followed."""
        tables: list[str] = []
        studies: list[str] = []
        runs: list[str] = []
        collections: list[str] = []
        for folder, names in _walk(self.root, _DEPTH):
            prefix = "" if folder == self.root else self.relative(folder) + "/"
            if "collection.jsonl" in names:
                collections.append(prefix.rstrip("/"))
            elif any(name in names for name in _RUN_FILES):
                runs.append(prefix.rstrip("/"))
                continue
            for name in names:
                if name.endswith(".toml") and _is_study(folder / name):
                    studies.append(prefix + name)
                elif name.lower().endswith(_TABLES) and name not in _OF_RUNS and folder.name != "hierarchies":
                    tables.append(prefix + name)
        return Found(*(tuple(sorted(paths)[:_MOST]) for paths in (tables, studies, runs, collections)))

    def sources(self) -> list[str]:
        """The databases that were added; none of them has a password in it."""
        urls = self._kept().get("sources")
        return [str(url) for url in urls] if isinstance(urls, list) else []

    def add_source(self, url: str) -> None:
        """Adds a database to the list."""
        self._keep({"sources": sorted({*self.sources(), url})})

    def of_study(self, study: str) -> dict[str, str]:
        """The notes on a study: its data, our party, our keys."""
        studies = self._kept().get("studies")
        notes = studies.get(study) if isinstance(studies, dict) else None
        return {str(key): str(value) for key, value in notes.items()} if isinstance(notes, dict) else {}

    def note_study(self, study: str, **notes: str) -> None:
        """Keeps notes on a study."""
        studies = self._kept().get("studies")
        sections = dict(studies) if isinstance(studies, dict) else {}
        sections[study] = {**self.of_study(study), **notes}
        self._keep({"studies": sections})

    def _kept(self) -> dict[str, object]:
        return json_object(self.notes / "notes.json")

    def _keep(self, changes: Mapping[str, object]) -> None:
        write_atomically(self.notes / "notes.json", as_json({**self._kept(), **changes}), PRIVATE)

    def free(self, folder: Path, stem: str, *endings: str) -> str:
        """The first of stem-1, stem-2 and so on that is free with all endings."""
        number = 1
        while any((folder / f"{stem}-{number}{ending}").exists() for ending in endings):
            number += 1
        return f"{stem}-{number}"


class Changed(InputError):
    """A file that was changed elsewhere after a page was made from it."""


def file_of(data: str) -> str:
    """The file in `clinic.xlsx?sheet=2024`."""
    name, asks, query = data.rpartition("?")
    return name if asks and query.startswith(("sheet=", "encoding=", "labels=")) else data


def table_name(data: str) -> str:
    """The words for a table: `clinic.xlsx, sheet 2024`."""
    file = file_of(data)
    name, _, value = data.removeprefix(file).removeprefix("?").partition("=")
    word = {"sheet": "sheet", "encoding": "read as", "labels": "labels"}.get(name)
    return file if word is None else f"{file}, {word} {unquote_plus(value)}"


def mark(text: str) -> str:
    """A hash of a study's text, which a form carries."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _walk(folder: Path, depth: int) -> Iterator[tuple[Path, list[str]]]:
    """Each folder with the names of its files."""
    names: list[str] = []
    folders: list[Path] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or STEERING.search(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                names.append(entry.name)
    yield folder, names
    for child in sorted(folders) if depth else ():
        yield from _walk(child, depth - 1)


def _is_study(path: Path) -> bool:
    try:
        if path.stat().st_size > bounds.study():
            return False
        return "columns" in tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False
