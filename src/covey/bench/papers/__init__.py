"""The experiments of `covey bench NAME`: one module for each protocol, each with one `EXPERIMENT`.

An experiment measures what its protocol's source claims and judges every claim. Modules are loaded when they are asked
for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib import import_module

from covey.bench.findings import Chapter, Experiment, Findings, Setting
from covey.errors import InputError

MODULES = {
    "cluster": "cluster_rows",
    "columns": "cluster_columns",
    "worlds": "possible_worlds",
    "peel": "peel",
    "generalize": "generalize",
    "suppress": "suppress",
    "federate": "federate",
    "collect": "collect",
}
"""The module of each name that the command line takes."""
FAILED = "this chapter failed:"
"""The beginning of the note of a chapter that ended with an error."""
ALL = "papers"
"""The name that stands for all of them."""


def find(name: str) -> Experiment:
    """Returns the experiment of that name. Raises InputError, which lists the names that exist."""
    if name not in MODULES:
        raise InputError(f"there is no experiment {name!r}; there are {', '.join((*MODULES, ALL))}")
    found = import_module(f"covey.bench.papers.{MODULES[name]}").EXPERIMENT
    if not isinstance(found, Experiment):
        raise TypeError(f"{MODULES[name]}.EXPERIMENT is not an experiment")
    return found


def chapters(name: str, setting: Setting) -> Iterator[Chapter]:
    """Runs the experiments that `covey bench NAME` shows; `cluster` includes its form for columns and its worlds."""
    for each in MODULES if name == ALL else ("cluster", "columns", "worlds") if name == "cluster" else (name,):
        experiment = find(each)
        setting.tell(f"{each}: {experiment.about}")
        begun = time.perf_counter()
        try:
            findings = experiment.run(setting)
        except Exception as error:  # the others are worth their hours
            if name != ALL:
                raise
            findings = Findings(notes=(f"{FAILED} {type(error).__name__}: {error}",))
        yield Chapter(each, experiment.about, experiment.source, findings, time.perf_counter() - begun)
