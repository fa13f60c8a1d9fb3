"""A long search: how low the loss of a table gets when somebody waits for minutes.

It begins with our own release of effort `thorough`. Then, while the time lasts, it cuts the table into regions of
neighbouring classes, each time along other columns, and tries to do better in each region, in one of two ways:

- *annealing*: boxes are opened that cost more for a while, ever less more, and the best that was passed counts;
- *a large neighbourhood*: all classes of the region are dissolved, its records peeled anew in another order of the
  nodes, and what comes out improved.

A region that ends worse is put back. The release that this ends with is no lower bound; it shows what is still to gain.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from covey.anonymizers.constraints import Limits, limits_of
from covey.anonymizers.kernels import Forest, box_cost, draw, forest
from covey.anonymizers.peel import EFFORTS, STARTS, lattice
from covey.anonymizers.peel.moves import NEVER, open_box
from covey.anonymizers.peel.search import EFFORT, cut_parts, improve, propose, renamed, search, settle_leftover
from covey.anonymizers.peel.search_part import WORK, SearchPart, fill_classes, part_of, total_cost
from covey.anonymizers.peel.strip import Atoms, cut, joined, strip
from covey.anonymizers.problem import Partition, Problem, never, silent
from covey.arrays import Ints, Longs, Words
from covey.compiled import jit

THREADS = 2
HOTTEST = (0.02, 0.1, 0.4)
"""How much dearer a move may be at first, on average, as a part of what k records cost at the roots."""
LONGER = 4
"""Work in a region, as a multiple of what one round of our own search spends there."""


@dataclass(frozen=True)
class Searched:
    """The best release that was found, the loss that the search began with, and how often it went over the table."""

    loss: float
    began: float
    rounds: int


def search_long(problem: Problem, seconds: float, seed: int = 0) -> Searched:
    """The best release that is found in so many CPU seconds, and some more to end a round."""
    end = time.process_time() + seconds
    atoms, limits, trees = cut(problem), limits_of(problem), forest(problem)
    is_listed = lattice.is_listed(problem, atoms.number)
    nodes = (
        lattice.whole(problem) if is_listed else lattice.searched(problem, trees, atoms, limits, seed, silent, never)
    )
    label, began = _first(problem, trees, atoms, nodes, seed, time.monotonic() + seconds / 2)
    regions = _Regions(problem, trees, atoms, nodes)
    rounds = 0
    with ThreadPoolExecutor(THREADS) as pool:
        while not rounds or time.process_time() < end:
            random, highest = np.random.default_rng([seed, rounds]), int(label.max(initial=0))
            parts = list(cut_parts(trees, atoms, limits, label, random))
            seeds = random.integers(2**62, size=len(parts)).tolist()
            jobs = [
                pool.submit(regions.better, label[part], part, highest, region_seed)
                for part, region_seed in zip(parts, seeds, strict=True)
            ]
            for part, job in zip(parts, jobs, strict=True):
                label[part] = job.result()
            rounds += 1
    return Searched(_partition(problem, trees, atoms, label).loss(problem), began, rounds)


def _first(problem: Problem, trees: Forest, atoms: Atoms, nodes: Ints, seed: int, end: float) -> tuple[Longs, float]:
    """Labels to begin with, and their loss: the best of as many starts as effort `thorough` makes, or time allows."""
    (units, limit), limits = EFFORTS["thorough"], limits_of(problem)
    best, lowest = np.zeros(0, dtype=np.int64), np.inf
    for start in range(STARTS):
        order = lattice.shuffled(problem, nodes, seed + start) if start else nodes
        label = strip(problem, atoms, limits, order, silent, never)
        improve(
            trees, atoms, limits, label, seed=seed + start, budget=min(units * atoms.number, limit), threads=THREADS,
            progress=silent, cancel=never, deadline=end,
        )  # fmt: skip
        loss = _partition(problem, trees, atoms, label).loss(problem)
        if loss < lowest:
            best, lowest = label, loss
        if time.monotonic() >= end:
            break
    return best, lowest


def _partition(problem: Problem, trees: Forest, atoms: Atoms, label: Longs) -> Partition:
    labels = label.copy()
    settle_leftover(problem, trees, atoms, limits_of(problem), labels)
    return joined(problem, atoms, labels, {}, reproducible=False)


@dataclass(frozen=True)
class _Regions:
    """The means to search in regions of a table."""

    problem: Problem
    trees: Forest
    atoms: Atoms
    nodes: Ints

    def better(self, label: Longs, members: Longs, highest: int, seed: int) -> Longs:
        """Labels of a region's atoms after one try, beyond `highest`; the old ones where it does not cost less."""
        limits, random = limits_of(self.problem), np.random.default_rng(seed)
        state = random.integers(2**62, size=1).astype(np.uint64)
        part = self._part(members, label)
        cost = total_cost(part)
        if random.random() < 0.5:
            heat = float(random.choice(HOTTEST)) * limits.k * int(part.cost[0])
            anneal(part, self.trees, limits, state, LONGER * EFFORT * len(members), heat)
        else:
            labels = Atoms(self.atoms.item[members], self.atoms.weight[members], part.codes, part.bins)
            order = lattice.shuffled(self.problem, self.nodes, seed)
            part = self._part(members, strip(self.problem, labels, limits, order, silent, never))
        search(part, self.trees, limits, state, LONGER * EFFORT * len(members))
        return label if total_cost(part) >= cost else renamed(part.label, members, highest)

    def _part(self, members: Longs, label: Longs) -> SearchPart:
        _, labels = np.unique(np.append(label, 0), return_inverse=True)
        atoms = self.atoms
        return part_of(
            self.trees, limits_of(self.problem), np.ascontiguousarray(atoms.codes[:, members]), atoms.weight[members],
            atoms.bins[members], labels[:-1],
        )  # fmt: skip


@jit
def anneal(part: SearchPart, trees: Forest, limits: Limits, state: Words, allowed: int, hottest: float) -> None:
    """Opens boxes that may cost more, ever less so, until the allowed work is done; ends with the best it passed."""
    box = np.empty(len(trees.roots), np.int32)
    start, total = part.tally[WORK], max(part.cost[0], 1)
    current = total_cost(part)
    best, lowest = part.label.copy(), current
    while part.tally[WORK] - start < allowed:
        part.tally[WORK] += 1
        atom = draw(state, len(part.label))
        cost = part.cost[part.label[atom]]
        if draw(state, total) > 4 * cost:
            continue
        propose(part, trees, state, atom, box)
        price = box_cost(trees, box)
        if price >= cost:
            continue
        heat = hottest * (1.0 - (part.tally[WORK] - start) / allowed)
        dearer = -heat * np.log((1 + draw(state, 1 << 30)) / (1 << 30))
        change = open_box(part, trees, limits, box, price, int(max(dearer, 0.0)))
        if change < NEVER:
            current += change
            if current < lowest:
                lowest = current
                best[:] = part.label
    part.label[:] = best
    fill_classes(trees, part)
