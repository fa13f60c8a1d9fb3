"""Peeling: visit the lattice's nodes by increasing cost and take out every class that keeps the constraints.

At a node every remaining record is generalized to the node's levels; equal tuples are a class if they keep k, l and t,
and leave. Where only l by frequency stands against a tuple, as many of its records leave as keep it: none of its
values then has more than 1/l of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covey.anonymizers.constraints import FREQUENCY, Limits, diverse, kept
from covey.anonymizers.kernels import Forest, forest, hash_tuples, number_groups, signs
from covey.anonymizers.pace import Cancel, Progress, report
from covey.anonymizers.peel.atoms import Atoms
from covey.anonymizers.problem import Problem
from covey.arrays import Bits, Ints, Longs
from covey.compiled import jit

_STEP = 40_000_000  # tuples hashed between two reports


class Remains(NamedTuple):
    """The records not yet in a class, and room to sort them in."""

    which: Longs  # the atoms that remain are the first `state[LEFT]` of these
    label: Longs  # each atom's class, 0 for none yet
    state: Longs
    hashes: Longs
    group: Longs
    size: Longs


LEFT, CLASSES, WEIGHT = range(3)


def strip(problem: Problem, atoms: Atoms, limits: Limits, nodes: Ints, progress: Progress, cancel: Cancel) -> Longs:
    """Each atom's class after a visit to each of these nodes; 0 for those that remain."""
    trees = forest(problem)
    sign = signs(trees)
    remains = all_of(atoms)
    start = 0
    while start < len(nodes) and remains.state[WEIGHT] >= limits.k:
        each = max(1, _STEP // max(int(remains.state[LEFT]), 1))
        visit_all(trees, sign, atoms.codes, atoms.weight, atoms.places, limits, nodes[start : start + each], remains)
        start += each
        report("peeling", min(start / len(nodes), 1.0), progress, cancel)
    return remains.label


def all_of(atoms: Atoms) -> Remains:
    """Everything remains."""
    number = atoms.number
    state = np.array([number, 0, atoms.weight.sum()], dtype=np.int64)
    room = [np.empty(number, dtype=np.int64) for _ in range(3)]
    return Remains(np.arange(number), np.zeros(number, dtype=np.int64), state, *room)


@jit
def visit_all(
    trees: Forest,
    sign: Longs,
    codes: Ints,
    weight: Longs,
    places: Longs,
    limits: Limits,
    nodes: Ints,
    remains: Remains,
) -> None:
    """Visits these nodes in turn until fewer than k records remain."""
    for number in range(len(nodes)):
        if remains.state[WEIGHT] < limits.k:
            return
        which = remains.which[: remains.state[LEFT]]
        hash_tuples(trees, sign, codes, nodes[number], which, remains.hashes)
        take_classes(weight, places, limits, remains)


@jit
def take_classes(weight: Longs, places: Longs, limits: Limits, remains: Remains) -> None:
    """Takes the classes out of the records that remain, given their hashes."""
    left = remains.state[LEFT]
    which, group, size = remains.which[:left], remains.group[:left], remains.size
    room = 16
    while room < 2 * left:
        room *= 2
    groups = number_groups(remains.hashes[:left], np.empty(room, np.int64), np.empty(room, np.int64), group)
    size[:groups] = 0
    for place in range(left):
        size[group[place]] += weight[which[place]]
    leaves = size[:groups] >= limits.k
    left_behind = np.zeros(left if places.shape[1] else 0, np.bool_)
    if places.shape[1] and leaves.any():
        watch(weight, places, limits, which, group, size[:groups], leaves, left_behind)
    stay = 0
    numbers = np.cumsum(leaves) + remains.state[CLASSES]
    for place in range(left):
        atom = which[place]
        if leaves[group[place]] and not (len(left_behind) and left_behind[place]):
            remains.label[atom] = numbers[group[place]]
            remains.state[WEIGHT] -= weight[atom]
        else:
            which[stay] = atom
            stay += 1
    remains.state[LEFT] = stay
    if groups:
        remains.state[CLASSES] = numbers[-1]


@jit
def watch(
    weight: Longs,
    places: Longs,
    limits: Limits,
    which: Longs,
    group: Longs,
    size: Longs,
    leaves: Bits,
    left_behind: Bits,
) -> None:
    """Keeps back the groups that break l or t, or, where that helps, some of a group's records."""
    rank = np.cumsum(leaves) - 1
    histograms = np.zeros((rank[-1] + 1, limits.starts[-1]), np.int64)
    for place in range(len(which)):
        if leaves[group[place]]:
            add(histograms[rank[group[place]]], places[which[place]], weight[which[place]])
    trimmed = np.zeros(len(size), np.bool_)
    for number in range(len(size)):
        if leaves[number] and not diverse(limits, histograms[rank[number]], size[number]):
            trimmed[number] = may_trim(limits) and trim(histograms[rank[number]], limits)
            leaves[number] = trimmed[number]
    if not trimmed.any():
        return
    reached, total = np.zeros_like(histograms), np.zeros(len(size), np.int64)
    for place in range(len(which)):
        number, atom = group[place], which[place]
        if trimmed[number]:
            value = places[atom, 0]
            left_behind[place] = reached[rank[number], value] + weight[atom] > histograms[rank[number], value]
            if not left_behind[place]:
                reached[rank[number], value] += weight[atom]
                total[number] += weight[atom]
    for number in range(len(size)):
        if trimmed[number]:
            leaves[number] = kept(limits, reached[rank[number]], total[number])


@jit
def may_trim(limits: Limits) -> bool:
    """True if fewer records of a frequent value can mend a class: l by frequency of one column, and no t."""
    return limits.kind == FREQUENCY and len(limits.starts) == 2 and limits.t[0] == np.inf


@jit
def trim(histogram: Longs, limits: Limits) -> bool:
    """Lowers the counts to the most that keep l by frequency; says whether k records are left."""
    size = histogram.sum()
    while size >= limits.k:
        most = int(size / limits.l[0])
        for value in range(len(histogram)):
            histogram[value] = min(histogram[value], most)
        if histogram.sum() == size:
            return True
        size = histogram.sum()
    return False


@jit
def add(histogram: Longs, places: Longs, amount: int) -> None:
    """Counts records into a class's histogram."""
    for column in range(len(places)):
        histogram[places[column]] += amount
