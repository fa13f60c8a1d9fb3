"""The data that ships with Covey: invented people, with a study and hierarchies for every way to split a table.

draw        seeded draws that do not depend on a library's version
region, vocabulary, people    who the people are and how their columns hang together
sets, trees    the tables dealt from them, and their hierarchies
fetch, adult   a public data set for those with a network, with hierarchies of our own

`python -m covey.samples` writes the generated files anew; a test holds the shipped ones to it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from covey.errors import InputError
from covey.samples import sets
from covey.samples.draw import Draws
from covey.samples.people import Person, people

__all__ = ["SEED", "copy", "describe", "generate", "make_room", "names", "path"]

SEED = 20260101

_HERE = Path(__file__).parent
_SETS: dict[str, tuple[str, Callable[[Sequence[Person], Draws], sets.Files]]] = {
    "clinic": ("one table at one owner: 3,000 patients", sets.clinic),
    "hospitals": ("rows split among three hospitals: 3,000 patients", sets.hospitals),
    "clinic-billing": ("columns split between a clinic and its billing office: 1,500 patients", sets.clinic_billing),
    "providers": ("two providers that share some of a population of 3,000", sets.providers),
    "survey": ("one row for each of 800 respondents, for a collector", sets.survey),
}


def names() -> tuple[str, ...]:
    """The data sets that ship."""
    return tuple(_SETS)


def describe(name: str) -> str:
    """What a data set is, in a line."""
    return _known(name)[0]


def path(name: str) -> Path:
    """The folder of a data set inside the package: read it, or `copy` it to change it."""
    _known(name)
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
    """Refuses a place that already holds something, before anything is written."""
    if to.exists() and not to.is_dir():
        raise InputError(f"{to}: is a file; give a folder that is new or empty")
    try:
        taken = to.is_dir() and any(to.iterdir())
    except OSError as problem:
        raise InputError(f"{to}: cannot be read ({problem.strerror}); choose another folder") from None
    if taken:
        raise InputError(f"{to}: has files in it already; give a folder that is new or empty")


def generate(seed: int = SEED) -> sets.Files:
    """Every generated file of every data set, by its path below this package; the same seed, the same bytes."""
    everyone = people(Draws(seed, "people"))
    return {
        f"{name}/{file}": content
        for name, (_, deal) in _SETS.items()
        for file, content in deal(everyone, Draws(seed, name)).items()
    }


def _known(name: str) -> tuple[str, Callable[[Sequence[Person], Draws], sets.Files]]:
    if name not in _SETS:
        raise InputError(f"there is no sample {name!r}; there are {', '.join(_SETS)}")
    return _SETS[name]
