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
    """The folder of a data set inside the package: read it, or `copy` it to change it."""
    describe(name)
    return _HERE / name


def copy(name: str, to: Path) -> Path:
    """Copies a data set into a folder that is new or empty, and returns that folder.

    Raises InputError if there is no such data set, or if the folder has something in it.
    """
    source = path(name)
    make_room(to)
    try:
        shutil.copytree(source, to, copy_function=shutil.copyfile, dirs_exist_ok=True)
    except OSError as problem:
        raise InputError(f"{to}: cannot write the sample here ({problem.strerror}); choose another folder") from None
    return to


def make_room(to: Path) -> None:
    """Raises InputError if the place already holds something, before anything is written."""
    if to.exists() and not to.is_dir():
        raise InputError(f"{to}: is a file; give a folder that is new or empty")
    try:
        taken = to.is_dir() and any(to.iterdir())
    except OSError as problem:
        raise InputError(f"{to}: cannot be read ({problem.strerror}); choose another folder") from None
    if taken:
        raise InputError(f"{to}: has files in it already; give a folder that is new or empty")
