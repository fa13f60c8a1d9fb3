"""Lattice peeling, then improvement: Covey's own anonymizer and its default."""

from __future__ import annotations

from covey.anonymize.constraints import limits_of, require_feasible
from covey.anonymize.pace import Cancel, Progress, never, silent
from covey.anonymize.peel import lattice
from covey.anonymize.peel.atoms import cut, joined
from covey.anonymize.peel.strip import strip
from covey.anonymize.problem import Partition, Problem

__all__ = ["peel"]


def peel(
    problem: Problem,
    *,
    seed: int = 0,
    budget: int | None = None,
    threads: int = 1,
    progress: Progress = silent,
    cancel: Cancel = never,
) -> Partition:
    """A partition of low cost in which every class keeps k, l and t. Raises Unmet if the whole table does not."""
    require_feasible(problem)
    atoms, limits = cut(problem), limits_of(problem)
    label, work = strip(problem, atoms, limits, lattice.by_cost(problem, lattice.whole(problem)), progress, cancel)
    return joined(problem, atoms, label, work=work)
