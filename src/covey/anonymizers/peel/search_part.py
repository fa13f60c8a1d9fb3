"""A part of the table under improvement: some classes with all their records, in arrays that one thread owns.

Class 0 stands for the withheld: it costs what a record at every root costs, and nothing is asked of its size.
Which records lie in a box is the conjunction of one bit row per column, so a box costs a few hundred machine words.
Every move is logged, so that a chain of moves that does not pay is undone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covey.anonymizers.constraints import Limits, diverse, diverse_with
from covey.anonymizers.kernels import Forest, box_cost, lowest_above, small
from covey.arrays import Ints, Longs, Words
from covey.compiled import jit

LIVE, LOGGED, WORK, FREE = range(4)  # what `tally` holds: live classes, logged moves, work done, free class numbers


class SearchPart(NamedTuple):
    """The atoms of a part and its classes."""

    codes: Ints  # columns x atoms
    weight: Longs
    bins: Longs  # atoms x watched sensitive columns
    label: Longs  # each atom's class
    box: Ints  # classes x columns: nodes
    cost: Longs  # of one record in each class
    size: Longs  # records per class
    histogram: Longs  # classes x width
    order: Longs  # live classes by increasing cost
    free: Longs  # class numbers not in use
    bits: Words  # rows x words: the atoms below a node
    row: Ints  # each node's row of bits
    log: Longs  # atom and the class that it left
    boxed: Longs  # room for the members of a box
    beside: Longs
    touched: Longs  # classes that lost records to the box being opened
    share: Longs  # room for a number per class
    head: Longs  # room for a chain of atoms per class: -1 where there is none
    link: Longs
    words: Words  # room for a row of bits
    tally: Longs


def part_of(trees: Forest, limits: Limits, codes: Ints, weight: Longs, bins: Longs, label: Longs) -> SearchPart:
    """The part that these atoms and their labels (0 withheld, then 1, 2 …) make."""
    atoms, columns = len(weight), len(codes)
    room = int(weight.sum()) // max(limits.k, 1) + 3
    row, bits = _rows(trees, codes)
    part = SearchPart(
        codes=np.ascontiguousarray(codes),
        weight=np.ascontiguousarray(weight),
        bins=np.ascontiguousarray(bins),
        label=label.astype(np.int64),
        box=np.zeros((room, columns), dtype=np.int32),
        cost=np.zeros(room, dtype=np.int64),
        size=np.zeros(room, dtype=np.int64),
        histogram=np.zeros((room, int(limits.starts[-1])), dtype=np.int64),
        order=np.zeros(room, dtype=np.int64),
        free=np.zeros(room, dtype=np.int64),
        bits=bits,
        row=row,
        log=np.zeros((8 * atoms + 64, 2), dtype=np.int64),
        boxed=np.zeros(atoms, dtype=np.int64),
        beside=np.zeros(atoms, dtype=np.int64),
        touched=np.zeros(room, dtype=np.int64),
        share=np.zeros(room, dtype=np.int64),
        head=np.full(room, -1, dtype=np.int64),
        link=np.zeros(atoms, dtype=np.int64),
        words=np.zeros(bits.shape[1], dtype=np.uint64),
        tally=np.zeros(4, dtype=np.int64),
    )
    fill_classes(trees, part)
    return part


def _rows(trees: Forest, codes: Ints) -> tuple[Ints, Words]:
    """A row of bits for every node above one of the atoms."""
    row = np.full(len(trees.cost), -1, dtype=np.int32)
    rows = []
    for column in range(len(codes)):
        leaves = np.unique(codes[column])
        start, width = int(trees.starts[column]), int(trees.widths[column])
        ancestors = trees.up[start : start + width * (int(trees.heights[column]) + 1)].reshape(-1, width)
        rows.append(np.unique(ancestors[:, leaves]))
    nodes = np.concatenate(rows)
    row[nodes] = np.arange(len(nodes), dtype=np.int32)
    bits = np.zeros((len(nodes), (codes.shape[1] + 63) // 64), dtype=np.uint64)
    set_bits(trees, codes, row, bits)
    return row, bits


@jit
def set_bits(trees: Forest, codes: Ints, row: Ints, bits: Words) -> None:
    """Sets each atom's bit in the rows of all nodes above it."""
    for column in range(codes.shape[0]):
        for level in range(trees.heights[column] + 1):
            base = trees.starts[column] + level * trees.widths[column]
            for atom in range(codes.shape[1]):
                line = row[trees.up[base + codes[column, atom]]]
                bits[line, atom >> 6] |= np.uint64(1) << np.uint64(atom & 63)


@jit
def fill_classes(trees: Forest, part: SearchPart) -> None:
    """Sizes, histograms, boxes and costs from the labels. Classes by cost; the rest of the numbers free."""
    part.size[:] = 0
    part.histogram[:] = 0
    for atom in range(len(part.label)):
        part.size[part.label[atom]] += part.weight[atom]
        for column in range(part.bins.shape[1]):
            part.histogram[part.label[atom], part.bins[atom, column]] += part.weight[atom]
    close_boxes(trees, part)
    list_classes(part)
    part.tally[LOGGED] = 0


@jit
def close_boxes(trees: Forest, part: SearchPart) -> None:
    """Every class's box becomes the smallest that holds its records; class 0's is the root."""
    classes = len(part.size)
    for column in range(len(trees.roots)):
        low, high = np.full(classes, 2**31 - 1, np.int64), np.full(classes, -1, np.int64)
        for atom in range(len(part.label)):
            number, code = part.label[atom], part.codes[column, atom]
            low[number], high[number] = min(low[number], code), max(high[number], code)
        part.box[0, column] = trees.roots[column]
        for number in range(1, classes):
            if part.size[number] > 0:
                part.box[number, column] = lowest_above(trees, column, low[number], high[number])
    for number in range(classes):
        part.cost[number] = box_cost(trees, part.box[number])


@jit
def list_classes(part: SearchPart) -> None:
    """Lists the live classes by cost and the free numbers, lowest last."""
    live, free = 0, 0
    for number in range(len(part.size) - 1, 0, -1):
        if part.size[number] == 0:
            part.free[free] = number
            free += 1
    ranked = np.argsort(part.cost, kind="mergesort")
    for index in range(len(ranked)):
        number = ranked[index]
        if number > 0 and part.size[number] > 0:
            part.order[live] = number
            live += 1
    part.tally[LIVE], part.tally[FREE] = live, free


@jit
def total_cost(part: SearchPart) -> int:
    """The cost of all records of the part."""
    return int((part.cost * part.size).sum())


@small
def trailing_zeros(word: np.uint64) -> int:
    """The place of a word's lowest bit."""
    lowest = word & (~word + np.uint64(1))
    count = 0
    if lowest & np.uint64(0xFFFFFFFF00000000):
        count += 32
    if lowest & np.uint64(0xFFFF0000FFFF0000):
        count += 16
    if lowest & np.uint64(0xFF00FF00FF00FF00):
        count += 8
    if lowest & np.uint64(0xF0F0F0F0F0F0F0F0):
        count += 4
    if lowest & np.uint64(0xCCCCCCCCCCCCCCCC):
        count += 2
    if lowest & np.uint64(0xAAAAAAAAAAAAAAAA):
        count += 1
    return count


@jit
def members(part: SearchPart, box: Ints, result: Longs) -> int:
    """Lists the atoms in a box, in order, and returns how many."""
    words, bits, row = part.words, part.bits, part.row
    base = row[box[0]]
    for index in range(len(words)):
        words[index] = bits[base, index]
    for column in range(1, len(box)):
        line = row[box[column]]
        for index in range(len(words)):
            words[index] &= bits[line, index]
    count = 0
    for index in range(len(words)):
        word = words[index]
        while word != np.uint64(0):
            result[count] = (index << 6) + trailing_zeros(word)
            count += 1
            word &= word - np.uint64(1)
    part.tally[WORK] += len(words) + count
    return count


@small
def shift(part: SearchPart, atom: int, target: int) -> None:
    """Moves an atom into a class, in size and histogram too."""
    source, amount = part.label[atom], part.weight[atom]
    part.size[source] -= amount
    part.size[target] += amount
    for column in range(part.bins.shape[1]):
        part.histogram[source, part.bins[atom, column]] -= amount
        part.histogram[target, part.bins[atom, column]] += amount
    part.label[atom] = target


@small
def move(part: SearchPart, atom: int, target: int) -> int:
    """Moves an atom, on the record, and returns what that costs."""
    logged = part.tally[LOGGED]
    part.log[logged, 0], part.log[logged, 1] = atom, part.label[atom]
    part.tally[LOGGED] = logged + 1
    price = part.weight[atom] * (part.cost[target] - part.cost[part.label[atom]])
    shift(part, atom, target)
    return int(price)


@jit
def undo(part: SearchPart, upto: int) -> None:
    """Takes back the logged moves after the first `upto`, last first."""
    while part.tally[LOGGED] > upto:
        part.tally[LOGGED] -= 1
        entry = part.log[part.tally[LOGGED]]
        shift(part, entry[0], entry[1])


@small
def holds(part: SearchPart, limits: Limits, number: int) -> bool:
    """True if a class keeps k, l and t, or is empty."""
    size = part.size[number]
    if size == 0 or number == 0:
        return True
    return size >= limits.k and (part.bins.shape[1] == 0 or is_diverse(part, limits, number))


@jit
def is_diverse(part: SearchPart, limits: Limits, number: int) -> bool:
    """True if a class keeps l and t."""
    return diverse(limits, part.histogram[number], part.size[number])


@small
def can_spare(part: SearchPart, limits: Limits, atom: int) -> bool:
    """True if the atom's class keeps every constraint without it."""
    source = part.label[atom]
    if source == 0:
        return True
    if part.size[source] - part.weight[atom] < limits.k:
        return False
    return part.bins.shape[1] == 0 or stands(part, limits, source, atom, -part.weight[atom])


@jit
def stands(part: SearchPart, limits: Limits, number: int, atom: int, amount: int) -> bool:
    """True if a class keeps l and t with more of the atom's sensitive values."""
    bins = part.bins[atom]
    return number == 0 or diverse_with(limits, part.histogram[number], part.size[number], bins, amount)
