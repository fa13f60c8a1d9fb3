"""Improvement: cut the table into parts, search in each, cut anew, as long as the budget lasts.

A round sorts the classes by their boxes, columns in random order, and cuts them into parts of similar size: neighbours
come together, and other neighbours in the next round. Parts share nothing, so threads work on them at the same time;
neither the cut nor any part's random numbers depend on how many threads there are. A part is never left worse than it
was, so a larger budget never gives a worse result. What a round finds does not depend on the order in which threads
end.

At the end the records that no class took form a class if that keeps the constraints, else they are withheld. The search
has already weighed merging against withholding by cost. Here the study's limit on suppression is kept: if too many
records are withheld or at every root, the withheld join the classes where that costs least.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from covey.anonymizers.constraints import Limits, kept
from covey.anonymizers.kernels import Forest, box_cost, draw
from covey.anonymizers.peel.moves import gather, open_box
from covey.anonymizers.peel.search_part import WORK, SearchPart, fill_classes, part_of, shift, stands, total_cost
from covey.anonymizers.peel.strip import Atoms
from covey.anonymizers.problem import Cancel, Problem, Progress, report
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
    """Lowers the cost of a labelling in place, until the budget ends or two rounds gain nothing."""
    spend, idle = Spent(), 0
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        while spend.work < budget and idle < PATIENCE and time.monotonic() < deadline:
            start, classes = spend.gained, int(label.max(initial=0))
            parts = list(cut_parts(trees, atoms, limits, label, np.random.default_rng([seed, spend.rounds])))
            affordable = np.cumsum([EFFORT * len(part) for part in parts]) < budget - spend.work + EFFORT * len(
                parts[0]
            )
            jobs = [
                pool.submit(search_part, trees, atoms, limits, label[part], part, classes, [seed, spend.rounds, number])
                for number, part in enumerate(parts)
                if affordable[number]
            ]
            try:
                for part, job in zip(parts, jobs, strict=False):
                    labels, work, gain = job.result()
                    label[part] = labels
                    spend.work, spend.gained = spend.work + work, spend.gained + gain
                    report("improving", min(spend.work / budget, 1.0), progress, cancel)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            spend.rounds += 1
            idle = idle + 1 if spend.gained == start else 0
    return spend


def cut_parts(
    trees: Forest, atoms: Atoms, limits: Limits, label: Longs, random: np.random.Generator
) -> Iterator[Longs]:
    """The atoms of each part. Classes stay whole; each withheld atom goes where its neighbours go."""
    columns = len(atoms.codes)
    withheld = np.flatnonzero(label == 0)
    owner = label.copy()
    owner[withheld] = label.max(initial=0) + 1 + np.arange(len(withheld))
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
    trees: Forest, atoms: Atoms, limits: Limits, label: Longs, classes: Longs, maximum: int, seed: list[int]
) -> tuple[Longs, int, int]:
    """New labels for these atoms, beyond `maximum`, after a search. The work it took, and what it gained."""
    _, labels = np.unique(np.append(label, 0), return_inverse=True)
    part = part_of(trees, limits, atoms.codes[:, classes], atoms.weight[classes], atoms.bins[classes], labels[:-1])
    state = np.random.default_rng(seed).integers(2**62, size=1).astype(np.uint64)
    cost_before = total_cost(part)
    search(part, trees, limits, state, EFFORT * len(classes))
    cost_after, work = total_cost(part), int(part.tally[WORK])
    if cost_after >= cost_before:
        return label, work, 0
    return renamed(part.label, classes, maximum), work, cost_before - cost_after


def renamed(labels: Longs, classes: Longs, maximum: int) -> Longs:
    """Labels that no other part uses: a class is named after its first atom."""
    first = np.zeros(int(labels.max(initial=0)) + 1, dtype=np.int64)
    first[labels[::-1]] = classes[::-1] + maximum + 1
    first[0] = 0
    return first[labels]


@jit
def search(part: SearchPart, trees: Forest, limits: Limits, state: Words, allowed: int) -> None:
    """Opens boxes that lower the cost until the allowed work is done. Then tightens and gathers."""
    gather(part, trees, limits)
    fill_classes(trees, part)
    box = np.empty(len(trees.roots), np.int32)
    start = part.tally[WORK]
    root_cost = max(part.cost[0], 1)
    while part.tally[WORK] - start < allowed:
        part.tally[WORK] += 1
        atom = draw(state, len(part.label))
        cost = part.cost[part.label[atom]]
        if draw(state, root_cost) > 4 * cost:
            continue
        propose(part, trees, state, atom, box)
        price = box_cost(trees, box)
        if price < cost:
            open_box(part, trees, limits, box, price, 0)
    gather(part, trees, limits)
    fill_classes(trees, part)


@jit
def propose(part: SearchPart, trees: Forest, state: Words, atom: int, box: Ints) -> None:
    """A box around the atom, narrower in one to three columns, wider in up to two."""
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


def settle_leftover(problem: Problem, trees: Forest, atoms: Atoms, limits: Limits, label: Longs) -> None:
    """Gives the withheld a class of their own, or the cheapest classes, within the limit."""
    withheld = np.flatnonzero(label == 0)
    histogram = np.zeros(int(limits.starts[-1]), dtype=np.int64)
    for column in range(atoms.bins.shape[1]):
        np.add.at(histogram, atoms.bins[withheld, column], atoms.weight[withheld])
    if len(withheld) and kept(limits, histogram, int(atoms.weight[withheld].sum())):
        label[withheld] = label.max() + 1
    if problem.suppression >= 1.0:
        return
    allowed = int(problem.suppression * problem.records)
    _, labels = np.unique(np.append(label, 0), return_inverse=True)
    part = part_of(trees, limits, atoms.codes, atoms.weight, atoms.bins, labels[:-1])
    if lost(trees, part) > allowed:
        merge(trees, part, limits)
        fill_classes(trees, part)
    label[:] = part.label


@jit
def lost(trees: Forest, part: SearchPart) -> int:
    """The number of records that are withheld or in a class at every root."""
    total = part.size[0]
    for number in range(1, len(part.size)):
        at_root = part.size[number] > 0
        for column in range(len(trees.roots)):
            at_root &= part.box[number, column] == trees.roots[column]
        if at_root:
            total += part.size[number]
    return int(total)


@jit
def merge(trees: Forest, part: SearchPart, limits: Limits) -> None:
    """Puts each withheld atom into the class where it costs least, if any takes it."""
    for atom in range(len(part.label)):
        if part.label[atom] != 0:
            continue
        best, minimum = 0, np.int64(2**62)
        for number in range(1, len(part.size)):
            if part.size[number] > 0 and (
                part.bins.shape[1] == 0 or stands(part, limits, number, atom, part.weight[atom])
            ):
                cost = cost_with(trees, part, number, atom)
                change = cost * (part.size[number] + part.weight[atom]) - part.cost[number] * part.size[number]
                if cost < part.cost[0] and change < minimum:
                    best, minimum = number, change
        if best > 0:
            for column in range(len(trees.roots)):
                part.box[best, column] = widened(trees, part, best, atom, column)
            part.cost[best] = cost_with(trees, part, best, atom)
            shift(part, atom, best)


@jit
def widened(trees: Forest, part: SearchPart, number: int, atom: int, column: int) -> int:
    """The node of a class's box once it covers an atom too."""
    node, code = part.box[number, column], part.codes[column, atom]
    while code < trees.first[node] or code > trees.last[node]:
        node = trees.parent[node]
    return int(node)


@jit
def cost_with(trees: Forest, part: SearchPart, number: int, atom: int) -> int:
    """The cost of one record of a class if the class took the atom in."""
    total = 0
    for column in range(len(trees.roots)):
        total += trees.cost[widened(trees, part, number, atom, column)]
    return total
