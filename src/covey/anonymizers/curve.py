"""Hilbert's curve through a grid whose sides differ: near on the curve is near in the grid.

Every column is rescaled to one range, so that two values of a short column are as far apart as the ends of a long one.
A column of A values then has bits of its own, ceil(log2 A), and they are its highest; below them nothing varies.
The compact index leaves out what cannot vary: it is the order of the cells on the ordinary curve of equal sides
(Skilling's), in as few bits as the cells have. On each level the curve's digit is a Gray code's rank; a bit that cannot
vary is settled by the bit before it, so that dropping it changes no comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from covey.arrays import Ints, Longs
from covey.compiled import jit
from covey.errors import InputError

MOST_BITS = 62
MOST_CELLS = 2**20


def sides(sizes: Sequence[int], limit: int = MOST_BITS) -> tuple[int, ...]:
    """The bits of each column. The longest columns are made coarser while they need more than `limit` together."""
    bits = [max(int(size) - 1, 0).bit_length() for size in sizes]
    while sum(bits) > limit:
        bits[bits.index(max(bits))] -= 1
    return tuple(bits)


def index(codes: Ints, sizes: Sequence[int], limit: int = MOST_BITS) -> Longs:
    """The compact index of each column of `codes` (columns x items), where column c holds 0 .. sizes[c] - 1."""
    bits = np.array(sides(sizes, limit), dtype=np.int64)
    top = int(bits.max(initial=0))
    points = np.empty(codes.shape, dtype=np.int64)
    for column, size in enumerate(sizes):
        scaled = (codes[column].astype(np.int64) << int(bits[column])) // max(int(size), 1)
        points[column] = scaled << (top - int(bits[column]))
    return _indices(points, bits)


def cells(sizes: Sequence[int]) -> Longs:
    """The rank on the curve, from 0, of every cell of a grid, as an array."""
    if math.prod(sizes) > MOST_CELLS:
        raise InputError(f"a grid of {math.prod(sizes):,} cells is too large to rank; {MOST_CELLS:,} is the most")
    grid = np.indices(tuple(sizes), dtype=np.int32).reshape(len(sizes), -1)
    order = np.argsort(index(grid, sizes), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank.reshape(tuple(sizes))


def places(codes: Ints, sizes: Sequence[int]) -> Longs:
    """Each item's rank on the curve where the grid can be listed, else the compact index."""
    if math.prod(sizes) > MOST_CELLS:
        return index(codes, sizes)
    return np.asarray(cells(sizes)[tuple(codes)], dtype=np.int64)


@jit
def _indices(points: Longs, bits: Longs) -> Longs:
    columns, items = points.shape
    top = bits.max()
    result = np.zeros(items, dtype=np.int64)
    slots = np.empty(columns, dtype=np.int64)
    axis = np.empty(columns, dtype=np.int64)
    for item in range(items):
        slots[:] = points[:, item]
        axis[:] = np.arange(columns)
        position, carry = 0, 0
        for level in range(top - 1, -1, -1):
            for slot in range(columns):
                carry ^= (slots[slot] >> level) & 1
                if level >= top - bits[axis[slot]]:
                    position = (position << 1) | carry
            _turn(slots, axis, level)
        result[item] = position
    return result


@jit
def _turn(slots: Longs, axis: Longs, level: int) -> None:
    """Turns what lies below this level into the sub-cube's coordinates, axis by axis."""
    mask = (1 << level) - 1
    for slot in range(len(slots)):
        if (slots[slot] >> level) & 1:
            slots[0] ^= mask
        else:
            swapped = (slots[0] ^ slots[slot]) & mask
            slots[0] ^= swapped
            slots[slot] ^= swapped
            axis[0], axis[slot] = axis[slot], axis[0]
