"""The experiments of `covey bench`: a module each, with one `EXPERIMENT`; see `experiment` for what that is.

`compare` is the sceptic's comparison on one table; the others put a protocol's source to the test; `papers` is all of
those on one page. Modules are loaded when they are asked for.
"""

from __future__ import annotations

from importlib import import_module

from covey.bench.experiment import Experiment
from covey.errors import InputError

NAMES = ("cluster", "columns", "peel", "generalize", "suppress", "federate", "collect")


def find(name: str) -> Experiment:
    """The experiment of that name. Raises InputError that lists those there are."""
    if name not in NAMES:
        raise InputError(f"there is no experiment {name!r}; there are {', '.join((*NAMES, 'papers'))}")
    found = import_module(f"covey.bench.{name}").EXPERIMENT
    if not isinstance(found, Experiment):
        raise TypeError(f"covey.bench.{name}.EXPERIMENT is no experiment")
    return found
