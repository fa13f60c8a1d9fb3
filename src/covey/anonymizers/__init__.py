"""The centralized anonymizers, by name: arrays in, arrays out.

problem      what each is given and gives back; build makes it from a table, and the released table from its answer
constraints  k, l and t of a class; closure the nodes that a class publishes; leftover what to do with the rest
peel         the default; sequential, mondrian, hilbert (curve, line), datafly the others
explain      what costs most, and what asking for less would buy

Names are looked up here and imported when they are used: compiled code is not loaded by who only reads the list.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from covey.errors import InputError, Unmet

if TYPE_CHECKING:
    from covey.anonymizers.pace import Cancel, Progress
    from covey.anonymizers.problem import Partition, Problem

__all__ = ["ALGORITHMS", "DEFAULT", "Algorithm", "Option", "anonymize", "find"]

DEFAULT = "peel"
LONGEST = 3600.0  # seconds that a search may be expected to take before it is refused


class Run(Protocol):
    """The signature that every algorithm has."""

    def __call__(
        self, problem: Problem, *, seed: int, threads: int, progress: Progress, cancel: Cancel, **options: object
    ) -> Partition: ...


@dataclass(frozen=True)
class Option:
    """One option of an algorithm: what it takes, and what it does."""

    default: bool | int | str | None
    says: str
    choices: tuple[str, ...] = ()

    def read(self, name: str, text: str) -> bool | int | str | None:
        """The value that a text spells. Raises InputError that names the option."""
        if self.choices:
            if text in self.choices:
                return text
            raise InputError(f"option {name} is one of {', '.join(self.choices)}")
        if isinstance(self.default, bool):
            if text in ("true", "false"):
                return text == "true"
            raise InputError(f"option {name} is true or false")
        if text == "none":
            return None
        if not text.isdecimal():
            raise InputError(f"option {name} is a whole number, or none")
        return int(text)


@dataclass(frozen=True)
class Algorithm:
    """One centralized anonymizer."""

    name: str
    says: str
    home: str  # the module that has the function of this name
    options: Mapping[str, Option] = field(default_factory=dict)
    budget: bool = False  # whether it searches longer where it is given more
    steps: Callable[[int, int, int, int], float] = lambda items, records, k, columns: items * columns
    speed: float = 1e7  # steps a second, at the least

    def load(self) -> Run:
        return cast("Run", getattr(import_module(self.home), self.name))

    def seconds(self, problem: Problem) -> float:
        """A guess, from above, of how long it takes on one core."""
        return self.steps(problem.items, problem.records, problem.k, problem.columns) / self.speed


_SEARCHES = (
    Algorithm(
        "peel",
        "visits the generalization lattice by increasing cost and takes out classes, then improves them",
        "covey.anonymizers.peel",
        budget=True,
        steps=lambda items, records, k, columns: items * columns * 64,
    ),
    Algorithm(
        "sequential",
        "moves single records between clusters while that lowers the loss (Tassa and Gudes)",
        "covey.anonymizers.sequential",
        {
            "start": Option(
                "fitted",
                "the first clusters: random ones of k/2 records, halved while they are all alike; of six at most, "
                "which loses less and takes longer; of k/2 as in the paper",
                ("fitted", "small", "paper"),
            )
        },
        budget=True,
        steps=lambda items, records, k, columns: records * (records / min(k, 12)) * columns * 12,
        speed=7e8,
    ),
    Algorithm(
        "mondrian",
        "halves the widest column while both halves keep k (LeFevre, DeWitt, Ramakrishnan)",
        "covey.anonymizers.mondrian",
        {
            "relaxed": Option(False, "cut at exactly half, records with the middle value on both sides"),
            "aligned": Option(False, "cut a tree only between two children of a node"),
        },
        steps=lambda items, records, k, columns: items * columns * 24,
    ),
    Algorithm(
        "hilbert",
        "lays the records on Hilbert's curve and cuts it as well as can be (Ghinita and others)",
        "covey.anonymizers.hilbert",
        {
            "cost": Option(
                "fall",
                "what a cut is judged by: the curve's own distance, its squares, or the loss of the closed classes",
                ("fall", "hansen-mukherjee", "loss"),
            )
        },
        steps=lambda items, records, k, columns: min(records, items * 5 * k) * k * 2,
        speed=1e8,
    ),
    Algorithm(
        "datafly",
        "lifts the whole column with the most distinct values until every class has k (Sweeney)",
        "covey.anonymizers.datafly",
        {
            "tolerated": Option(0, "how many records may be suppressed before it stops; none means k, as in the paper"),
            "ties": Option("first", "which of two columns with equally many distinct values", ("first", "last")),
        },
        steps=lambda items, records, k, columns: items * columns * columns * 8,
    ),
)
ALGORITHMS: Mapping[str, Algorithm] = {algorithm.name: algorithm for algorithm in _SEARCHES}


def find(name: str) -> Algorithm:
    """The algorithm of that name. Raises InputError with the names that there are."""
    if name not in ALGORITHMS:
        raise InputError(f"there is no algorithm {name!r}; choose one of {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]


def anonymize(
    problem: Problem,
    algorithm: str = DEFAULT,
    *,
    seed: int = 0,
    budget: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    longest: float = LONGEST,
    options: Mapping[str, object] | None = None,
) -> Partition:
    """The partition that the named algorithm finds; equal arguments give equal partitions on any number of threads.

    Raises InputError before it starts for what the algorithm cannot do, Unmet where k, l or the suppression limit
    cannot be kept, Aborted when `cancel` says so.
    """
    from covey.anonymizers.constraints import require_feasible
    from covey.anonymizers.leftover import settled
    from covey.anonymizers.pace import never, silent

    chosen = find(algorithm)
    given = dict(options or {})
    for name in given:
        if name not in chosen.options:
            known = ", ".join(chosen.options) or "none"
            raise InputError(f"algorithm {algorithm} has no option {name!r}; it has {known}")
    if budget is not None and not chosen.budget:
        searching = ", ".join(name for name, other in ALGORITHMS.items() if other.budget)
        raise InputError(f"algorithm {algorithm} takes no budget: it is done when it is done; {searching} take one")
    require_feasible(problem)
    _refuse_too_long(chosen, problem, longest)
    if chosen.budget:
        given["budget"] = budget
    partition = chosen.load()(
        problem,
        seed=seed,
        threads=threads or os.cpu_count() or 1,
        progress=progress or silent,
        cancel=cancel or never,
        **given,
    )
    partition = settled(problem, partition)
    _refuse_too_much_suppressed(problem, partition, algorithm)
    return partition


def _refuse_too_long(algorithm: Algorithm, problem: Problem, longest: float) -> None:
    expected = algorithm.seconds(problem)
    if expected <= longest:
        return
    quicker = [other.name for other in ALGORITHMS.values() if other.seconds(problem) <= longest]
    advice = f"choose {' or '.join(quicker)}" if quicker else "work on fewer rows, or on coarser hierarchies"
    raise InputError(
        f"algorithm {algorithm.name} could take {expected / 60:,.0f} minutes on {problem.records:,} records "
        f"at k = {problem.k}: {advice}"
    )


def _refuse_too_much_suppressed(problem: Problem, partition: Partition, algorithm: str) -> None:
    """The study limits how many records may end withheld or at every root."""
    import numpy as np

    roots = np.array([tree.root for tree in problem.trees])
    at_root = int(partition.sizes()[(partition.nodes == roots).all(axis=1)].sum())
    lost = problem.records - int(partition.count.sum()) + at_root
    if lost > problem.suppression * problem.records:
        raise Unmet(
            f"algorithm {algorithm} suppresses {lost:,} of {problem.records:,} records, more than suppression = "
            f"{problem.suppression:g} allows; {math.ceil(lost / problem.records * 1000) / 1000:g} would do, "
            "or a smaller k, or another algorithm"
        )
