"""The centralized anonymizers, by name: arrays in, arrays out.

problem      what each is given and gives back; build makes it from a table, and the released table from its answer
constraints  k, l and t of a class; leftover what to do with the records of no class
peel         the default; sequential, mondrian, hilbert (curve), datafly the others
explain      what costs most, and what asking for less would buy

Names are looked up here and imported when they are used: compiled code is not loaded by who only reads the list.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from covey.errors import InputError, Unmet
from covey.measures import OBJECTIVES
from covey.option import Choice, Flag, Number, Option, Value, Whole, WholeOrWord

if TYPE_CHECKING:
    from covey.anonymizers.problem import Cancel, Partition, Problem, Progress

__all__ = ["ALGORITHMS", "DEFAULT", "Algorithm", "anonymize", "find"]

DEFAULT = "peel"
LONGEST = 3600.0  # seconds that a search may be expected to take before it is refused


class Run(Protocol):
    """The signature that every algorithm has."""

    def __call__(
        self, problem: Problem, *, seed: int, threads: int, progress: Progress, cancel: Cancel, **options: object
    ) -> Partition: ...


@dataclass(frozen=True)
class Algorithm:
    """One centralized anonymizer."""

    name: str
    says: str
    home: str  # the module that has the function of this name
    options: tuple[Option[object], ...] = ()
    budget: bool = False  # whether it searches longer where it is given more
    steps: Callable[[int, int, int, int], float] = lambda items, records, k, columns: items * columns
    speed: float = 1e7  # steps a second, at the least

    def option(self, name: str) -> Option[object]:
        """The option of that name. Raises InputError with the names that there are."""
        for option in self.options:
            if option.name == name:
                return option
        names = ", ".join(option.name for option in self.options) or "none"
        raise InputError(f"algorithm {self.name} has no option {name!r}; it has {names}")

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
        (
            Choice(
                "effort",
                "normal",
                "how long the search goes on: quick, normal, or thorough, about twelve times as long",
                ("quick", "normal", "thorough"),
            ),
        ),
        budget=True,
        steps=lambda items, records, k, columns: items * columns * 64,
    ),
    Algorithm(
        "sequential",
        "moves single records between clusters while that lowers the loss (Tassa and Gudes)",
        "covey.anonymizers.sequential",
        (
            Choice(
                "start",
                "fitted",
                "the first clusters: random ones of k/2 records, halved while they are all alike; of six at most, "
                "which loses less and takes longer; of k/2 as in the paper",
                ("fitted", "small", "paper"),
            ),
            Choice(
                "objective",
                "study",
                "what is lowered: the study's measure (default), or another; entropy is the non-uniform entropy",
                ("study", *OBJECTIVES),
            ),
            Number("k0", 0.5, "the size of first clusters, as a part of k (default 0.5)", 0.01, 1.0),
            Number("k1", 1.5, "clusters larger than this many times k are split (default 1.5)", 1.0, 1000.0),
            Whole("starts", 1, "random first clusters that are tried; the best outcome wins (default 1)", 1, 1000),
        ),
        budget=True,
        steps=lambda items, records, k, columns: records * (records / min(k, 12)) * columns * 12,
        speed=7e8,
    ),
    Algorithm(
        "mondrian",
        "halves the widest column while both halves keep k (LeFevre, DeWitt, Ramakrishnan)",
        "covey.anonymizers.mondrian",
        (
            Flag("relaxed", False, "cut at exactly half, records with the middle value on both sides"),
            Flag("aligned", False, "cut a tree only between two children of a node"),
        ),
        steps=lambda items, records, k, columns: items * columns * 24,
    ),
    Algorithm(
        "hilbert",
        "lays the records on Hilbert's curve and cuts it as well as can be (Ghinita and others)",
        "covey.anonymizers.hilbert",
        (
            Choice(
                "cost",
                "fall",
                "what a cut is judged by: the curve's own distance, its squares, or the loss of the closed classes",
                ("fall", "hansen-mukherjee", "loss"),
            ),
        ),
        steps=lambda items, records, k, columns: min(records, items * 5 * k) * k * 2,
        speed=1e8,
    ),
    Algorithm(
        "datafly",
        "lifts the whole column with the most distinct values until every class has k (Sweeney)",
        "covey.anonymizers.datafly",
        (
            WholeOrWord(
                "tolerated",
                0,
                "how many records may be suppressed before it stops; none means k, as in the paper",
                word="none",
                meant=-1,
            ),
            Choice("ties", "first", "which of two columns with equally many distinct values", ("first", "last")),
        ),
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
    options: Mapping[str, Value] | None = None,
) -> Partition:
    """The partition that the named algorithm finds. Equal arguments give equal partitions on any number of threads.

    Raises InputError before it starts for what the algorithm cannot do, Unmet where k, l or the suppression limit
    cannot be kept, Aborted when `cancel` says so.
    """
    from covey.anonymizers.constraints import require_feasible
    from covey.anonymizers.leftover import settled
    from covey.anonymizers.problem import never, silent

    search = find(algorithm)
    arguments: dict[str, object] = {}
    for name, value in (options or {}).items():
        try:
            arguments[name] = search.option(name).check(value)
        except ValueError as error:
            raise InputError(f"option {error}") from None
    if budget is not None and not search.budget:
        searching = ", ".join(name for name, candidate in ALGORITHMS.items() if candidate.budget)
        raise InputError(f"algorithm {algorithm} takes no budget: it is done when it is done; {searching} take one")
    require_feasible(problem)
    _refuse_too_long(search, problem, longest)
    if search.budget:
        arguments["budget"] = budget
    partition = search.load()(
        problem,
        seed=seed,
        threads=threads or os.cpu_count() or 1,
        progress=progress or silent,
        cancel=cancel or never,
        **arguments,
    )
    partition = settled(problem, partition)
    _refuse_too_much_suppressed(problem, partition, algorithm)
    return partition


def _refuse_too_long(algorithm: Algorithm, problem: Problem, longest: float) -> None:
    expected = algorithm.seconds(problem)
    if expected <= longest:
        return
    quicker = [candidate.name for candidate in ALGORITHMS.values() if candidate.seconds(problem) <= longest]
    advice = f"choose {' or '.join(quicker)}" if quicker else "work on fewer rows, or on coarser hierarchies"
    raise InputError(
        f"algorithm {algorithm.name} could take {expected / 60:,.0f} minutes on {problem.records:,} records "
        f"at k = {problem.k}: {advice}"
    )


def _refuse_too_much_suppressed(problem: Problem, partition: Partition, algorithm: str) -> None:
    """The study limits how many records may end withheld or at every root."""
    suppressed = partition.lost(problem)
    if suppressed > problem.suppression * problem.records:
        raise Unmet(
            f"algorithm {algorithm} suppresses {suppressed:,} of {problem.records:,} records, more than suppression = "
            f"{problem.suppression:g} allows; {math.ceil(suppressed / problem.records * 1000) / 1000:g} would do, "
            "or a smaller k, or another algorithm"
        )
