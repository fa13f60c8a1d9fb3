"""Improvement: cut the table into parts, search in each, cut anew, as long as the budget lasts.

A round sorts the classes by their boxes, columns in random order, and cuts them into parts of similar size: neighbours
come together, and other neighbours in the next round. Parts share nothing, so threads work on them at the same time;
neither the cut nor any part's random numbers depend on how many threads there are. A part is never left worse than it
was, so a larger budget never gives a worse result. What a round finds does not depend on the order in which threads
end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from covey.anonymizers.constraints import Limits
from covey.anonymizers.kernels import Forest, box_cost, draw
from covey.anonymizers.pace import Cancel, Progress, report
from covey.anonymizers.peel.atoms import Atoms
from covey.anonymizers.peel.moves import gather, open_box
from covey.anonymizers.peel.search_part import WORK, SearchPart, fill_classes, part_of, total_cost
from covey.arrays import Ints, Longs, Words
from covey.compiled import jit

CLASSES = 256  # in a part, about; but
SMALLEST, LARGEST = 3_000, 16_000  # atoms
PATIENCE = 2  # rounds without a gain before the search ends
EFFORT = 700  # work units per atom and round


@dataclass
class Spent:
    """The effort that the search has spent, and its gain."""

    work: int = 0
    rounds: int = 0
    gained: int = 0


def improve(
    trees: Forest,
    atoms: Atoms,
    limits: Limits,
    label: Longs,
    *,
    seed: int,
    budget: int,
    threads: int,
    progress: Progress,
    cancel: Cancel,
    deadline: float = np.inf,
) -> Spent:
    """Lowers the cost of a labelling in place until the budget (in work units) is spent or two rounds gain nothing."""
    spent, idle = Spent(), 0
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        while spent.work < budget and idle < PATIENCE and time.monotonic() < deadline:
            before, most = spent.gained, int(label.max(initial=0))
            parts = list(cut_parts(trees, atoms, limits, label, np.random.default_rng([seed, spent.rounds])))
            affordable = np.cumsum([EFFORT * len(part) for part in parts]) < budget - spent.work + EFFORT * len(
                parts[0]
            )
            jobs = [
                pool.submit(search_part, trees, atoms, limits, label[part], part, most, [seed, spent.rounds, number])
                for number, part in enumerate(parts)
                if affordable[number]
            ]
            try:
                for part, job in zip(parts, jobs, strict=False):
                    own, work, gain = job.result()
                    label[part] = own
                    spent.work, spent.gained = spent.work + work, spent.gained + gain
                    report("improving", min(spent.work / budget, 1.0), progress, cancel)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            spent.rounds += 1
            idle = idle + 1 if spent.gained == before else 0
    return spent


def cut_parts(
    trees: Forest, atoms: Atoms, limits: Limits, label: Longs, random: np.random.Generator
) -> Iterator[Longs]:
    """The atoms of each part. Classes stay whole; each withheld atom goes where its neighbours go."""
    columns = len(atoms.codes)
    alone = np.flatnonzero(label == 0)
    owner = label.copy()
    owner[alone] = label.max(initial=0) + 1 + np.arange(len(alone))
    _, owner = np.unique(owner, return_inverse=True)
    order = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[order], np.arange(owner.max() + 1))
    keys = []
    for column in random.permutation(columns):
        codes = atoms.codes[column, order]
        keys.append(np.minimum.reduceat(codes, starts) + np.maximum.reduceat(codes, starts))
    ranked = np.lexsort(keys[::-1])
    rank = np.empty(len(ranked), dtype=np.int64)
    rank[ranked] = np.arange(len(ranked))
    sorted_atoms = np.argsort(rank[owner], kind="stable")
    per_class = atoms.number / max(int(label.max(initial=0)), 1)
    number = max(1, round(atoms.number / min(max(SMALLEST, CLASSES * per_class), LARGEST)))
    position = np.empty(atoms.number, dtype=np.int64)
    position[sorted_atoms] = np.arange(atoms.number)
    first = np.full(len(ranked), atoms.number, dtype=np.int64)
    np.minimum.at(first, owner, position)
    piece = first[owner] * number // atoms.number
    by_piece = np.argsort(piece, kind="stable")
    bounds = np.searchsorted(piece[by_piece], np.arange(number + 1))
    for start, stop in pairwise(bounds):
        if stop > start:
            yield np.sort(by_piece[start:stop])


def search_part(
    trees: Forest, atoms: Atoms, limits: Limits, label: Longs, which: Longs, most: int, seed: list[int]
) -> tuple[Longs, int, int]:
    """New labels for these atoms, beyond `most`, after a search; the work it took, and what it gained."""
    _, own = np.unique(np.append(label, 0), return_inverse=True)
    part = part_of(trees, limits, atoms.codes[:, which], atoms.weight[which], atoms.places[which], own[:-1])
    state = np.random.default_rng(seed).integers(2**62, size=1).astype(np.uint64)
    before = total_cost(part)
    search(part, trees, limits, state, EFFORT * len(which))
    after, work = total_cost(part), int(part.tally[WORK])
    if after >= before:
        return label, work, 0
    return renamed(part.label, which, most), work, before - after


def renamed(own: Longs, which: Longs, most: int) -> Longs:
    """Labels that no other part uses: a class is named after its first atom, beyond all that were."""
    first = np.zeros(int(own.max(initial=0)) + 1, dtype=np.int64)
    first[own[::-1]] = which[::-1] + most + 1
    first[0] = 0
    return first[own]


@jit
def search(part: SearchPart, trees: Forest, limits: Limits, state: Words, allowed: int) -> None:
    """Opens boxes that lower the cost until the allowed work is done; then tightens and gathers."""
    gather(part, trees, limits)
    fill_classes(trees, part)
    box = np.empty(len(trees.roots), np.int32)
    begun = part.tally[WORK]
    whole = max(part.cost[0], 1)
    while part.tally[WORK] - begun < allowed:
        part.tally[WORK] += 1
        atom = draw(state, len(part.label))
        cost = part.cost[part.label[atom]]
        if draw(state, whole) > 4 * cost:
            continue
        propose(part, trees, state, atom, box)
        price = box_cost(trees, box)
        if price < cost:
            open_box(part, trees, limits, box, price, 0)
    gather(part, trees, limits)
    fill_classes(trees, part)


@jit
def propose(part: SearchPart, trees: Forest, state: Words, atom: int, box: Ints) -> None:
    """A box around the atom that is narrower than its class's in one to three columns and wider in up to two."""
    columns = len(box)
    box[:] = part.box[part.label[atom]]
    for _ in range(draw(state, 3)):
        column = draw(state, columns)
        box[column] = trees.parent[box[column]]
    for _ in range(1 + draw(state, 3)):
        column = draw(state, columns)
        level = trees.level[box[column]]
        if level > 0:
            lower = draw(state, level)
            box[column] = trees.up[trees.starts[column] + lower * trees.widths[column] + part.codes[column, atom]]
