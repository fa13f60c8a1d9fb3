"""Lattice peeling, then improvement: Covey's own anonymizer, and its default.

lattice  which generalization nodes are visited: all of them, or in a large lattice those that probes find
strip    the peeling: at each node, by increasing cost, the classes that keep the constraints leave
search   the improvement: part by part, boxes are opened and what that breaks is mended (moves)
search_part  the state of one part, in arrays

The same seed gives the same classes on any number of threads. The budget counts work units (tens of nanoseconds each),
not time; more of it never gives a worse result: what a search that has ended leaves of it, others get that start from
another order of the nodes, and the best counts. A limit in seconds makes the answer depend on the machine's speed, and
the partition then says that it is not reproducible.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

from covey.anonymizers.constraints import limits_of, require_feasible
from covey.anonymizers.kernels import forest
from covey.anonymizers.peel import lattice
from covey.anonymizers.peel.search import improve, settle_leftover
from covey.anonymizers.peel.strip import cut, joined, strip
from covey.anonymizers.problem import Cancel, Partition, Problem, Progress, never, silent

__all__ = ["EFFORTS", "peel"]

EFFORTS = {"quick": (2_000, 300_000_000), "normal": (14_000, 2_000_000_000), "thorough": (170_000, 8_000_000_000)}
"""Work units per atom, where the caller names no budget, and how many there are in all at most."""
STARTS = 40  # searches at most


def peel(
    problem: Problem,
    *,
    seed: int = 0,
    budget: int | None = None,
    effort: str = "normal",
    threads: int = 1,
    progress: Progress = silent,
    cancel: Cancel = never,
    seconds: float | None = None,
) -> Partition:
    """A partition of low cost in which every class keeps k, l and t. Records left over are withheld or at the roots.

    Raises Unmet if even the whole table breaks a constraint, or if more records are left over than may be.
    """
    require_feasible(problem)
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    atoms, limits, trees = cut(problem), limits_of(problem), forest(problem)
    complete = lattice.is_listed(problem, atoms.number)
    nodes = (
        lattice.whole(problem)
        if complete
        else lattice.searched(problem, trees, atoms, limits, seed, progress, cancel, effort)
    )
    per_atom, cap = EFFORTS[effort]
    units = min(per_atom * atoms.number, cap) if budget is None else budget
    best: Partition | None = None
    work, rounds, starts = 0, 0, 0
    while best is None or starts < STARTS:
        order = nodes if starts == 0 else lattice.shuffled(problem, nodes, seed + starts)
        label = strip(problem, atoms, limits, order, progress, cancel)
        spend = improve(
            trees,
            atoms,
            limits,
            label,
            seed=seed + starts,
            budget=units,
            threads=threads,
            progress=progress,
            cancel=cancel,
            deadline=deadline,
        )
        settle_leftover(problem, trees, atoms, limits, label)
        partition = joined(problem, atoms, label, {}, reproducible=seconds is None)
        if best is None or _is_better(problem, partition, best):
            best = partition
        units, work, rounds, starts = (units - spend.work, work + spend.work, rounds + spend.rounds, starts + 1)
        if units < spend.work or not spend.work or time.monotonic() >= deadline:
            break
    notes: dict[str, object] = {
        "lattice": lattice.size(problem),
        "visited": len(nodes),
        "probed": not complete,
        "work": work,
        "rounds": rounds,
        "starts": starts,
    }
    return replace(best, notes=notes)


def _is_better(problem: Problem, first: Partition, second: Partition) -> bool:
    """True if a partition loses less than another, and no more records than allowed."""
    allowed = problem.suppression * problem.records
    return (first.lost(problem) > allowed, first.loss(problem)) < (second.lost(problem) > allowed, second.loss(problem))
