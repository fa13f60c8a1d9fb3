"""Matrices of bits, eight to a byte, turned so that rows become columns."""

from __future__ import annotations

import numpy as np

from covey.arrays import Octets
from covey.compiled import jit as compiled


def turn(matrix: Octets) -> Octets:
    """The transpose of a matrix of bits, a row's first bit the highest of its first byte; rows are filled up with 0."""
    return _turn(np.ascontiguousarray(matrix))


_7, _14, _28, _8 = np.uint64(7), np.uint64(14), np.uint64(28), np.uint64(8)
_KEEP_1, _MOVE_1 = np.uint64(0xAA55AA55AA55AA55), np.uint64(0x00AA00AA00AA00AA)
_KEEP_2, _MOVE_2 = np.uint64(0xCCCC3333CCCC3333), np.uint64(0x0000CCCC0000CCCC)
_KEEP_4, _MOVE_4 = np.uint64(0xF0F0F0F00F0F0F0F), np.uint64(0x00000000F0F0F0F0)


@compiled
def _turn(matrix: Octets) -> Octets:
    """Eight rows by eight columns at a time (Warren, Hacker's Delight, section 7-3)."""
    rows, octets = matrix.shape
    answer = np.empty((8 * octets, (rows + 7) // 8), np.uint8)
    for above in range(0, rows, 8):
        deep = min(8, rows - above)
        for place in range(octets):
            block = np.uint64(0)
            for row in range(8):
                block <<= _8
                if row < deep:
                    block |= np.uint64(matrix[above + row, place])
            block = (block & _KEEP_1) | ((block & _MOVE_1) << _7) | ((block >> _7) & _MOVE_1)
            block = (block & _KEEP_2) | ((block & _MOVE_2) << _14) | ((block >> _14) & _MOVE_2)
            block = (block & _KEEP_4) | ((block & _MOVE_4) << _28) | ((block >> _28) & _MOVE_4)
            for column in range(8):
                answer[8 * place + 7 - column, above // 8] = np.uint8(block & np.uint64(255))
                block >>= _8
    return answer
