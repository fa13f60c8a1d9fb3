"""Peeling: visit the lattice's nodes by increasing cost and take out every class that keeps the constraints.

At a node every remaining record is generalized to the node's levels; equal tuples are a class if they keep k, l and t,
and leave. Where only l by frequency stands against a tuple, as many of its records leave as keep it: none of its
values then has more than 1/l of them.

Items are cut into *atoms*, amounts of equal records that always stay together: a class may need a few records of an
item that has many, so an item of count c is cut into 1, 2, 4, … of its records up to k of them, and the rest as one.
Any amount up to k can then be lent, and no item has more than log2 k + 2 atoms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from covey.anonymizers.constraints import FREQUENCY, Limits, add, diverse, flat_codes, kept
from covey.anonymizers.kernels import Forest, forest, hash_tuples, number_groups, signs
from covey.anonymizers.problem import Cancel, Partition, Problem, Progress, closed, report
from covey.arrays import Bits, Ints, Longs
from covey.compiled import jit


@dataclass(frozen=True)
class Atoms:
    """The atoms of a problem: item, number of records, leaf codes, bins of the histogram."""

    item: Longs
    weight: Longs
    codes: Ints  # columns x atoms
    bins: Longs  # atoms x sensitive columns that are watched

    @property
    def number(self) -> int:
        return len(self.item)


def cut(problem: Problem) -> Atoms:
    """The problem's items as atoms."""
    items, weights = [], []
    remaining, size = problem.counts.copy(), 1
    lend = np.minimum(problem.counts, problem.k)
    while (cutting := np.flatnonzero(lend > 0)).size:
        amount = np.minimum(lend[cutting], size)
        items.append(cutting)
        weights.append(amount)
        lend[cutting] -= amount
        remaining[cutting] -= amount
        size *= 2
    remainder = np.flatnonzero(remaining > 0)
    item = np.concatenate([*items, remainder]).astype(np.int64)
    weight = np.concatenate([*weights, remaining[remainder]]).astype(np.int64)
    order = np.argsort(item, kind="stable")
    item, weight = item[order], weight[order]
    return Atoms(item, weight, np.ascontiguousarray(problem.codes[:, item]), flat_codes(problem)[item])


def joined(problem: Problem, atoms: Atoms, label: Longs, notes: dict[str, object], reproducible: bool) -> Partition:
    """The partition that these labels say; atoms of label 0 are withheld. Classes are numbered as they appear."""
    placed = np.flatnonzero(label > 0)
    _, group = np.unique(label[placed], return_inverse=True)
    item = atoms.item[placed]
    classes = int(group.max()) + 1 if len(group) else 0
    pairs, index = np.unique(item * max(classes, 1) + group, return_inverse=True)
    count = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(count, index, atoms.weight[placed])
    partition = closed(problem, pairs // max(classes, 1), pairs % max(classes, 1), count, **notes)
    return replace(partition, reproducible=reproducible)


_STEP = 40_000_000  # tuples hashed between two reports


class Remains(NamedTuple):
    """The records not yet in a class, and room to sort them in."""

    atoms: Longs  # the atoms that remain are the first `state[LEFT]` of these
    label: Longs  # each atom's class, 0 for none yet
    state: Longs
    hashes: Longs
    group: Longs
    size: Longs


LEFT, CLASSES, WEIGHT = range(3)


def strip(problem: Problem, atoms: Atoms, limits: Limits, nodes: Ints, progress: Progress, cancel: Cancel) -> Longs:
    """Each atom's class after a visit to each of these nodes. 0 for those that remain."""
    trees = forest(problem)
    sign = signs(trees)
    remains = all_of(atoms)
    start = 0
    while start < len(nodes) and remains.state[WEIGHT] >= limits.k:
        batch = max(1, _STEP // max(int(remains.state[LEFT]), 1))
        visit_all(trees, sign, atoms.codes, atoms.weight, atoms.bins, limits, nodes[start : start + batch], remains)
        start += batch
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
    bins: Longs,
    limits: Limits,
    nodes: Ints,
    remains: Remains,
) -> None:
    """Visits these nodes in turn until fewer than k records remain."""
    for number in range(len(nodes)):
        if remains.state[WEIGHT] < limits.k:
            return
        atoms = remains.atoms[: remains.state[LEFT]]
        hash_tuples(trees, sign, codes, nodes[number], atoms, remains.hashes)
        take_classes(weight, bins, limits, remains)


@jit
def take_classes(weight: Longs, bins: Longs, limits: Limits, remains: Remains) -> None:
    """Takes the classes out of the records that remain, given their hashes."""
    count = remains.state[LEFT]
    atoms, group, size = remains.atoms[:count], remains.group[:count], remains.size
    room = 16
    while room < 2 * count:
        room *= 2
    groups = number_groups(remains.hashes[:count], np.empty(room, np.int64), np.empty(room, np.int64), group)
    size[:groups] = 0
    for index in range(count):
        size[group[index]] += weight[atoms[index]]
    leaves = size[:groups] >= limits.k
    left_behind = np.zeros(count if bins.shape[1] else 0, np.bool_)
    if bins.shape[1] and leaves.any():
        watch(weight, bins, limits, atoms, group, size[:groups], leaves, left_behind)
    stay = 0
    numbers = np.cumsum(leaves) + remains.state[CLASSES]
    for index in range(count):
        atom = atoms[index]
        if leaves[group[index]] and not (len(left_behind) and left_behind[index]):
            remains.label[atom] = numbers[group[index]]
            remains.state[WEIGHT] -= weight[atom]
        else:
            atoms[stay] = atom
            stay += 1
    remains.state[LEFT] = stay
    if groups:
        remains.state[CLASSES] = numbers[-1]


@jit
def watch(
    weight: Longs,
    bins: Longs,
    limits: Limits,
    atoms: Longs,
    group: Longs,
    size: Longs,
    leaves: Bits,
    left_behind: Bits,
) -> None:
    """Keeps back groups that break l or t, or only some of their records."""
    rank = np.cumsum(leaves) - 1
    histograms = np.zeros((rank[-1] + 1, limits.starts[-1]), np.int64)
    for index in range(len(atoms)):
        if leaves[group[index]]:
            add(histograms[rank[group[index]]], bins[atoms[index]], weight[atoms[index]])
    trimmed = np.zeros(len(size), np.bool_)
    for number in range(len(size)):
        if leaves[number] and not diverse(limits, histograms[rank[number]], size[number]):
            trimmed[number] = may_trim(limits) and trim(histograms[rank[number]], limits)
            leaves[number] = trimmed[number]
    if not trimmed.any():
        return
    totals, total = np.zeros_like(histograms), np.zeros(len(size), np.int64)
    for index in range(len(atoms)):
        number, atom = group[index], atoms[index]
        if trimmed[number]:
            value = bins[atom, 0]
            left_behind[index] = totals[rank[number], value] + weight[atom] > histograms[rank[number], value]
            if not left_behind[index]:
                totals[rank[number], value] += weight[atom]
                total[number] += weight[atom]
    for number in range(len(size)):
        if trimmed[number]:
            leaves[number] = kept(limits, totals[rank[number]], total[number])


@jit
def may_trim(limits: Limits) -> bool:
    """True if fewer records of a frequent value can mend a class: l by frequency, no t."""
    return limits.kind == FREQUENCY and len(limits.starts) == 2 and limits.t[0] == np.inf


@jit
def trim(histogram: Longs, limits: Limits) -> bool:
    """Lowers the counts to the most that keep l by frequency. Says whether k records are left."""
    size = histogram.sum()
    while size >= limits.k:
        limit = int(size / limits.l[0])
        for value in range(len(histogram)):
            histogram[value] = min(histogram[value], limit)
        if histogram.sum() == size:
            return True
        size = histogram.sum()
    return False
