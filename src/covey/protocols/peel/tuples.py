"""Tuples as numbers: a record generalized to a lattice node is a few numbers below 2^61, and a keyed hash of them.

A lattice node is one level per column. The nodes of a column's tree on one level are counted through, and the counts of
several columns make one number (a *limb*) as long as it stays an element of the field; most lattices need one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Ints, Longs, Words
from covey.compiled import jit
from covey.crypto.field import F61
from covey.crypto.rng import Label, derive
from covey.crypto.secret import Secret
from covey.crypto.siphash import siphash, siphash_key
from covey.hierarchy import Hierarchy

_ROOM = 1 << 60


@dataclass(frozen=True)
class Lattice:
    """The trees of all columns, with the nodes of every level counted through."""

    trees: tuple[Hierarchy, ...]
    nodes: tuple[tuple[Ints, ...], ...]
    """Per column and level: the level's nodes, in increasing order."""
    places: tuple[tuple[Longs, ...], ...]
    """Per column and level: the place of each leaf code's ancestor among these."""
    up: Ints
    """The ancestors of all columns in a row: column by column, level by level, leaf by leaf."""
    starts: Longs
    """The place in `up` where each column begins, and its number of leaves."""
    widths: Longs

    @classmethod
    def of(cls, trees: tuple[Hierarchy, ...]) -> Lattice:
        """The lattice over these trees."""
        nodes = tuple(tuple(np.unique(row) for row in tree.up) for tree in trees)
        places = tuple(
            tuple(np.searchsorted(level, row).astype(np.int64) for level, row in zip(own, tree.up, strict=True))
            for own, tree in zip(nodes, trees, strict=True)
        )
        up = np.concatenate([tree.up.ravel() for tree in trees]).astype(np.int32)
        starts = np.cumsum([0, *(tree.up.size for tree in trees)], dtype=np.int64)[:-1]
        return cls(trees, nodes, places, up, starts, np.array([tree.codes for tree in trees], dtype=np.int64))

    def sizes(self, levels: Ints) -> list[int]:
        """The number of nodes that each column has on its level."""
        return [len(self.nodes[column][level]) for column, level in enumerate(levels.tolist())]

    def limbs(self, levels: Ints) -> list[list[int]]:
        """The columns that make up each limb."""
        limbs: list[list[int]] = [[]]
        room = 1
        for column, size in enumerate(self.sizes(levels)):
            if limbs[-1] and room * size > _ROOM:
                limbs.append([])
                room = 1
            limbs[-1].append(column)
            room *= size
        return limbs

    def keys(self, levels: Ints, codes: Ints) -> Words:
        """Limbs x records: the tuples of these records (columns x records) at this node."""
        return self._pack(levels, [self.places[c][level][codes[c]] for c, level in enumerate(levels.tolist())])

    def lie_in(self, levels: Ints, boxes: Ints, codes: Ints, counts: Longs) -> tuple[Longs, Longs]:
        """The number of records in each box, and for each item (columns x items, `counts` records each) a box that it
        lies in, or -1.

        Boxes and their levels are tuples x columns; those with equal levels stand together.
        """
        records, place = np.zeros(len(boxes), dtype=np.int64), np.full(codes.shape[1], -1, dtype=np.int64)
        _lie_in(self.up, self.starts, self.widths, levels, boxes, codes, counts, records, place)
        return records, place

    def boxes(self, levels: Ints, keys: Words) -> tuple[Ints, Bits]:
        """The inverse: each tuple's nodes, and which of the keys are tuples of this node at all."""
        sizes = self.sizes(levels)
        boxes = np.zeros((keys.shape[1], len(sizes)), dtype=np.int32)
        real = np.ones(keys.shape[1], dtype=bool)
        for limb, columns in enumerate(self.limbs(levels)):
            rest = keys[limb].astype(np.int64)
            for column in reversed(columns):
                boxes[:, column] = self.nodes[column][int(levels[column])][rest % sizes[column]]
                rest //= sizes[column]
            real &= rest == 0
        return boxes, real

    def _pack(self, levels: Ints, places: list[Longs]) -> Words:
        sizes, rows = self.sizes(levels), []
        for columns in self.limbs(levels):
            key = np.zeros(len(places[0]), dtype=np.int64)
            for column in columns:
                key = key * sizes[column] + places[column]
            rows.append(key.astype(np.uint64))
        return np.stack(rows)


@jit
def _lie_in(
    up: Ints, starts: Longs, widths: Longs, levels: Ints, boxes: Ints, codes: Ints, counts: Longs, records: Longs,
    place: Longs,
) -> None:  # fmt: skip
    """Finds the boxes of each stretch of equal levels by a hash of their nodes, and compares all nodes then."""
    number, columns = boxes.shape
    room = 16
    while room < 2 * number:
        room *= 2
    table, first = np.full(room, -1, np.int64), 0
    while first < number:
        last = first
        size = 16
        while last < number and (levels[last] == levels[first]).all():
            last += 1
        while size < 2 * (last - first):
            size *= 2
        table[:size] = -1
        for box in range(first, last):
            slot = 0
            for column in range(columns):
                slot = _mixed(slot, boxes[box, column])
            slot &= size - 1
            while table[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            table[slot] = box
        for item in range(codes.shape[1]):
            slot = 0
            for column in range(columns):
                slot = _mixed(slot, up[starts[column] + levels[first, column] * widths[column] + codes[column, item]])
            slot &= size - 1
            while table[slot] >= 0:
                box, column = table[slot], 0
                while column < columns and (
                    up[starts[column] + levels[first, column] * widths[column] + codes[column, item]]
                    == boxes[box, column]
                ):
                    column += 1
                if column == columns:
                    records[box] += counts[item]
                    place[item] = box
                    break
                slot = (slot + 1) & (size - 1)
        first = last


@jit
def _mixed(hashed: int, node: int) -> int:
    """A hash of one more node; it only spreads boxes over a table."""
    hashed = (hashed ^ node) * 0x2545F4914F6CDD1D
    return hashed ^ (hashed >> 29)


def match(wanted: Words, among: Words) -> Longs:
    """For each tuple (limbs x tuples) its place in a list of distinct ones, or -1."""
    number = among.shape[1]
    if len(among) == 1 and number:
        order = np.argsort(among[0])
        known = among[0][order]
        place = np.minimum(np.searchsorted(known, wanted[0]), number - 1)
        return np.where(known[place] == wanted[0], order[place], -1)
    both = np.concatenate([among, wanted], axis=1)
    group = np.zeros(both.shape[1], dtype=np.int64)
    for limb in both:
        _, own = np.unique(limb, return_inverse=True)
        _, group = np.unique(group * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
    place = np.full(int(group.max(initial=0)) + 1, -1, dtype=np.int64)
    place[group[:number]] = np.arange(number)
    return place[group[number:]]


def buckets(seed: Secret, size: int, keys: Words, *labels: Label) -> Longs:
    """The bucket of each tuple, from 0 to size - 1: a hash under a key that follows from a joint coin."""
    return (_hash(seed, keys, "bucket", *labels) % np.uint64(size)).astype(np.int64)


def marks(seed: Secret, keys: Words, *labels: Label) -> Words:
    """An element of F61 for each tuple, as if drawn at random."""
    return (_hash(seed, keys, "mark", *labels) >> np.uint64(3)) % np.uint64(F61.prime)


def _hash(seed: Secret, keys: Words, *labels: Label) -> Words:
    return siphash(np.ascontiguousarray(keys), siphash_key(derive(seed, "peel", *labels)))
