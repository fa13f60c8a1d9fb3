"""The data that ships with Covey: invented people, with a study and hierarchies for every way to split a table.

`fetch` and `adult` add a public data set for users with a network, with hierarchies of our own. The sample files are
written by the generator in `scripts/samples`; a test holds the shipped files to it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from covey.errors import InputError

_HERE = Path(__file__).parent
_SETS = {
    "clinic": "one table at one owner: 3,000 patients",
    "hospitals": "rows split among three hospitals: 3,000 patients",
    "clinic-billing": "columns split between a clinic and its billing office: 1,500 patients",
    "providers": "two providers, or three (three.toml), that share some of a population of 3,000",
    "survey": "one row for each of 800 respondents, for a collector",
}


def names() -> tuple[str, ...]:
    """The names of the data sets that ship."""
    return tuple(_SETS)


def describe(name: str) -> str:
    """Describes a data set in a line. Raises InputError if there is none of that name."""
    if name not in _SETS:
        raise InputError(f"there is no sample {name!r}; there are {', '.join(_SETS)}")
    return _SETS[name]


def path(name: str) -> Path:
    """The folder of a data set inside the package."""
    describe(name)
    return _HERE / name


def copy(name: str, folder: Path) -> Path:
    """Copies a data set into a new or empty folder, and returns it.

    Raises InputError if there is no such data set, or if the folder has something in it.
    """
    source = path(name)
    make_room(folder)
    try:
        shutil.copytree(source, folder, copy_function=shutil.copyfile, dirs_exist_ok=True)
    except OSError as problem:
        raise InputError(
            f"{folder}: cannot write the sample here ({problem.strerror}); choose another folder"
        ) from None
    return folder


def make_room(folder: Path) -> None:
    """Raises InputError if the place already holds something, before anything is written."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; give a folder that is new or empty")
    try:
        full = folder.is_dir() and any(folder.iterdir())
    except OSError as problem:
        raise InputError(f"{folder}: cannot be read ({problem.strerror}); choose another folder") from None
    if full:
        raise InputError(f"{folder}: has files in it already; give a folder that is new or empty")
