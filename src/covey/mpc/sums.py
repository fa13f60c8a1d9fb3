"""Sums of products on a cube: a long inner product becomes values of one polynomial, and then a shorter one.

2^d factors stand at the corners of a cube, and between the corners they are multilinear. On the grid {0, 1, infinity}^d
a product of two such polynomials has 3^d values, which determine it; at infinity stands the leading coefficient, the
sum of both ends. For bits all of these are bits again, so that 64 products take one machine instruction.
A point of the grid is a number of d ternary digits, a corner one of d bits, the first digit being the highest.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs, Words
from covey.compiled import jit
from covey.mpc.binary_field import byte_tables, product, reduced, times
from covey.mpc.planes import transpose

BITS = 6
"""The dimensions of a machine word."""
LANES = 8
"""Grids side by side, so that one instruction serves several."""


def corners(dimensions: int) -> Longs:
    """Returns the grid points that are corners, in the order of corners."""
    digits = np.arange(1 << dimensions)[:, np.newaxis] >> np.arange(dimensions) & 1
    return np.asarray((digits * 3 ** np.arange(dimensions)).sum(1), np.int64)


def beyond(dimensions: int) -> Longs:
    """Returns the grid points that are no corners."""
    return np.setdiff1d(np.arange(3**dimensions), corners(dimensions))


@jit
def at_corners(point: Words) -> Words:
    """Returns by how much each corner counts at a point."""
    out = np.empty((point.size, 2), np.uint64)
    for i in range(point.size):
        out[i, 0], out[i, 1] = point[i] ^ np.uint64(1), point[i]
    return out


@jit
def on_grid(point: Words) -> Words:
    """Returns by how much each of the values 0, 1 and infinity counts at a point, by dimension."""
    out = np.empty((point.size, 3), np.uint64)
    for i in range(point.size):
        out[i, 0], out[i, 1] = point[i] ^ np.uint64(1), point[i]
        out[i, 2] = times(point[i], point[i]) ^ point[i]
    return out


@jit
def _spread(grid: Words, places: Longs) -> None:
    """Fills in the points of grids (points x grids side by side) whose corners are there, at `places`."""
    half, step = 1, 2
    while step <= places.size:
        for corner in range(0, places.size, step):
            first = places[corner]
            for i in range(first, first + half):
                for lane in range(LANES):
                    grid[i + 2 * half, lane] = grid[i, lane] ^ grid[i + half, lane]
        half, step = 3 * half, 2 * step


@jit
def _turned(words: Words, first: int, grid: Words, places: Longs) -> None:
    """Writes bit b of 64 words to corner b, for as many times 64 words as there are, and grids side by side."""
    square = np.empty(64, np.uint64)
    for lane in range(min(LANES, (words.size - first) // 64)):
        for i in range(64):
            square[i] = words[first + 64 * lane + i]
        transpose(square)
        for corner in range(64):
            grid[places[corner], lane] = square[corner]


@jit
def bit_sums(x: Words, y: Words, weights: Words, places: Longs, points: Longs) -> Words:
    """Returns this party's part of the weighed sums of bit products at grid points; machine words are cubes.

    x and y: copies x words; a weight is for 64 words. `places` are the grid points of the corners.
    """
    grids = np.zeros((4, 3**BITS, LANES), np.uint64)
    lows, highs = np.zeros(points.size, np.uint64), np.zeros(points.size, np.uint64)
    for first in range(0, x.shape[1], 64 * LANES):
        for copy in range(2):
            _turned(x[copy], first, grids[copy], places)
            _turned(y[copy], first, grids[2 + copy], places)
        for row in range(4):
            _spread(grids[row], places)
        blocks = min(LANES, (x.shape[1] - first) // 64)
        for i in range(points.size):
            p = points[i]
            for lane in range(blocks):
                a, b, c, d = grids[0, p, lane], grids[1, p, lane], grids[2, p, lane], grids[3, p, lane]
                low, high = product((a & (c ^ d)) ^ (b & c), weights[first // 64 + lane])
                lows[i], highs[i] = lows[i] ^ low, highs[i] ^ high
    return _reduced(lows, highs)


@jit
def _reduced(lows: Words, highs: Words) -> Words:
    out = np.empty_like(lows)
    for i in range(lows.size):
        out[i] = reduced(lows[i], highs[i])
    return out


@jit
def corner_sums(z: Words, weights: Words) -> Words:
    """Returns for each corner the weighed sum of bits themselves, of a share's words."""
    lows, highs = np.zeros(64, np.uint64), np.zeros(64, np.uint64)
    square = np.empty(64, np.uint64)
    for block in range(z.size // 64):
        for i in range(64):
            square[i] = z[64 * block + i]
        transpose(square)
        for corner in range(64):
            low, high = product(square[corner], weights[block])
            lows[corner], highs[corner] = lows[corner] ^ low, highs[corner] ^ high
    return _reduced(lows, highs)


@jit
def bits_at(x: Words, counts: Words) -> Words:
    """Returns the elements of words (copies x words) at a point; `counts` is of its 64 corners."""
    tables, out = byte_tables(counts), np.empty_like(x)
    for copy in range(x.shape[0]):
        for i in range(x.shape[1]):
            element, word = np.uint64(0), x[copy, i]
            for byte in range(8):
                element ^= tables[byte, np.int64(word >> np.uint64(8 * byte) & np.uint64(0xFF))]
            out[copy, i] = element
    return out


@jit
def weighed_words(elements: Words, weights: Words) -> Words:
    """Returns elements (copies x words) times the weights of their words, of which one is for 64."""
    out = np.empty_like(elements)
    weight = np.uint64(0)
    for i in range(elements.shape[1]):
        weight = weights[i // 64] if i % 64 == 0 else times(weight, np.uint64(2))
        for copy in range(elements.shape[0]):
            out[copy, i] = times(elements[copy, i], weight)
    return out


@jit
def sums(x: Words, y: Words, places: Longs, size: int) -> Words:
    """Returns this party's part of the sums of products at all points of a grid; x and y: copies x corners x cubes."""
    grids = np.zeros((4, size, LANES), np.uint64)
    lows, highs = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    for first in range(0, x.shape[2], LANES):
        cubes = min(LANES, x.shape[2] - first)
        for copy in range(2):
            for corner in range(places.size):
                for lane in range(cubes):
                    grids[copy, places[corner], lane] = x[copy, corner, first + lane]
                    grids[2 + copy, places[corner], lane] = y[copy, corner, first + lane]
        for row in range(4):
            _spread(grids[row], places)
        for p in range(size):
            for lane in range(cubes):
                c = grids[2, p, lane]
                low, high = product(grids[0, p, lane], c ^ grids[3, p, lane])
                down, up = product(grids[1, p, lane], c)
                lows[p], highs[p] = lows[p] ^ low ^ down, highs[p] ^ high ^ up
    return _reduced(lows, highs)


@jit
def at_point(x: Words, counts: Words) -> Words:
    """Returns the elements at a point, one for each cube; x: copies x corners x cubes."""
    lows, highs = np.zeros((2, x.shape[2]), np.uint64), np.zeros((2, x.shape[2]), np.uint64)
    for copy in range(2):
        for corner in range(counts.size):
            for cube in range(x.shape[2]):
                low, high = product(x[copy, corner, cube], counts[corner])
                lows[copy, cube], highs[copy, cube] = lows[copy, cube] ^ low, highs[copy, cube] ^ high
    return _reduced(lows.ravel(), highs.ravel()).reshape(lows.shape)
