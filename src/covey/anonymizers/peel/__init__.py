"""Lattice peeling, then improvement: Covey's own anonymizer, and its default.

lattice  which generalization nodes are visited: all of them, or in a large lattice those that probes find
strip    the peeling: at each node, by increasing cost, the classes that keep the constraints leave
search   the improvement: part by part, boxes are opened and what that breaks is mended (moves)
atoms    items cut so that a class can lend some of an item's records; search_part is the state of one part

The same seed gives the same classes on any number of threads. The budget counts work units (tens of nanoseconds each),
not time; more of it never gives a worse result. A limit in seconds makes the answer depend on the machine's speed, and
the partition then says that it is not reproducible.
"""

from __future__ import annotations

import math
import time

from covey.anonymizers.constraints import Limits, limits_of, require_feasible
from covey.anonymizers.kernels import Forest, forest
from covey.anonymizers.pace import Cancel, Progress, never, silent
from covey.anonymizers.peel import lattice
from covey.anonymizers.peel.atoms import Atoms, cut, joined
from covey.anonymizers.peel.leftover import settle_leftover
from covey.anonymizers.peel.search import improve
from covey.anonymizers.peel.strip import strip
from covey.anonymizers.problem import Partition, Problem
from covey.arrays import Ints

__all__ = ["peel"]

EFFORT = 14_000  # work units per atom, where the caller names no budget,
MOST = 2_000_000_000  # but no more in all than this


def peel(
    problem: Problem,
    *,
    seed: int = 0,
    budget: int | None = None,
    threads: int = 1,
    progress: Progress = silent,
    cancel: Cancel = never,
    seconds: float | None = None,
) -> Partition:
    """A partition of low cost in which every class keeps k, l and t; records left over are withheld or at the roots.

    Raises Unmet if even the whole table breaks a constraint, or if more records are left over than may be.
    """
    require_feasible(problem)
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    atoms, limits, trees = cut(problem), limits_of(problem), forest(problem)
    nodes = _nodes(problem, trees, atoms, limits, seed, progress, cancel)
    label = strip(problem, atoms, limits, nodes, progress, cancel)
    spent = improve(
        trees,
        atoms,
        limits,
        label,
        seed=seed,
        budget=min(EFFORT * atoms.number, MOST) if budget is None else budget,
        threads=threads,
        progress=progress,
        cancel=cancel,
        deadline=deadline,
    )
    settle_leftover(problem, trees, atoms, limits, label)
    notes: dict[str, object] = {
        "lattice": lattice.size(problem),
        "visited": len(nodes),
        "work": spent.work,
        "rounds": spent.rounds,
    }
    return joined(problem, atoms, label, notes, reproducible=seconds is None)


def _nodes(
    problem: Problem, trees: Forest, atoms: Atoms, limits: Limits, seed: int, progress: Progress, cancel: Cancel
) -> Ints:
    """The nodes to visit, by cost."""
    if lattice.is_listed(problem, atoms.number):
        return lattice.whole(problem)
    return lattice.searched(problem, trees, atoms, limits, seed, progress, cancel)
