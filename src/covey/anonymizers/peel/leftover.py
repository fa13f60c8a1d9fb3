"""Settles the records that no class took: they form a class if that keeps the constraints, else they are withheld.

The search has already weighed merging against withholding by cost. Here the study's limit on suppression is kept: if
too many records are withheld or at every root, the withheld join the classes where that costs least.
"""

from __future__ import annotations

import numpy as np

from covey.anonymizers.constraints import Limits, kept
from covey.anonymizers.kernels import Forest
from covey.anonymizers.peel.atoms import Atoms
from covey.anonymizers.peel.search_part import SearchPart, fill_classes, part_of, shift, stands
from covey.anonymizers.problem import Problem
from covey.arrays import Longs
from covey.compiled import jit

__all__ = ["settle_leftover"]


def settle_leftover(problem: Problem, trees: Forest, atoms: Atoms, limits: Limits, label: Longs) -> None:
    """Gives the withheld a class where they may have one, or the classes that they cost least, within the limit."""
    out = np.flatnonzero(label == 0)
    histogram = np.zeros(int(limits.starts[-1]), dtype=np.int64)
    for column in range(atoms.places.shape[1]):
        np.add.at(histogram, atoms.places[out, column], atoms.weight[out])
    if len(out) and kept(limits, histogram, int(atoms.weight[out].sum())):
        label[out] = label.max() + 1
    if problem.suppression >= 1.0:
        return
    allowed = int(problem.suppression * problem.records)
    _, own = np.unique(np.append(label, 0), return_inverse=True)
    part = part_of(trees, limits, atoms.codes, atoms.weight, atoms.places, own[:-1])
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
    """Puts each withheld atom into the class where it costs least, if any takes it without losing everything."""
    for atom in range(len(part.label)):
        if part.label[atom] != 0:
            continue
        best, least = 0, np.int64(2**62)
        for number in range(1, len(part.size)):
            if part.size[number] > 0 and (
                part.places.shape[1] == 0 or stands(part, limits, number, atom, part.weight[atom])
            ):
                cost = cost_with(trees, part, number, atom)
                change = cost * (part.size[number] + part.weight[atom]) - part.cost[number] * part.size[number]
                if cost < part.cost[0] and change < least:
                    best, least = number, change
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
