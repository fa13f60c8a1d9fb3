"""Bit planes: plane b of a column holds bit b of every record, most significant first, 64 records to a machine word.

Bits beyond the 64th go to a second machine word, and so on: chunk c of a column's words has its bits from 64 c on.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.compiled import jit

WORD = 64
NARROW = 6
"""Columns of at most so many bits are gathered bit by bit; wider ones as words, of which 64 are transposed together."""


def blocks(records: int) -> int:
    """Returns the number of machine words of a plane."""
    return -(-records // WORD)


def chunks(width: int) -> int:
    """Returns the number of machine words of one record."""
    return -(-width // WORD)


def width_of(largest: int) -> int:
    """Returns the number of bits that hold every number from 0 to the largest."""
    return max(largest, 0).bit_length()


def packed(flags: Bits) -> Words:
    """Returns one plane of the flags."""
    octets = np.zeros(8 * blocks(len(flags)), np.uint8)
    octets[: -(-len(flags) // 8)] = np.packbits(flags, bitorder="little")
    return octets.view("<u8").astype(np.uint64, copy=False)


def unpacked(plane: Words, records: int) -> Bits:
    """Returns the flags of one plane."""
    octets = np.ascontiguousarray(plane, "<u8").view(np.uint8)
    return np.unpackbits(octets, count=records, bitorder="little").astype(bool)


def cut(planes: Words, records: int) -> Words:
    """Returns the planes with zeros behind the last record."""
    if records % WORD:
        planes = planes.copy()
        planes[..., -1] &= np.uint64((1 << records % WORD) - 1)
    return planes


def planes_of(words: Words, width: int) -> Words:
    """Returns the planes (copies, width, blocks) of words (copies, chunks, records)."""
    return gathered(words, np.arange(words.shape[2]), width)


def words_of(planes: Words) -> Words:
    """Returns the words (copies, chunks, 64 * blocks) of planes (copies, width, blocks)."""
    return _words_of(np.ascontiguousarray(planes))


def as_public(planes: Words, records: int) -> Words:
    """Returns the words of planes (width, blocks): (records) or, of more than 64 bits, (chunks, records)."""
    words = words_of(planes[None])[0, :, :records]
    if len(words) > 1:
        return words
    return words[0] if len(words) else np.zeros(records, np.uint64)


def gathered(words: Words, index: Longs, width: int) -> Words:
    """Returns the planes of the records at these positions; position -1 gives a zero."""
    out = np.empty((words.shape[0], width, blocks(len(index))), np.uint64)
    _gather(np.ascontiguousarray(words), np.ascontiguousarray(index, np.int64), out)
    return out


def picked(planes: Words, index: Longs) -> Words:
    """Returns the same as `gathered`, of planes and bit by bit: the quicker way for a few bits."""
    return _pick(np.ascontiguousarray(planes), np.ascontiguousarray(index, np.int64))


@jit
def transpose(square: Words) -> None:
    """Transposes 64 x 64 bits in place: halves change places, then quarters, down to single bits."""
    width, mask = 32, np.uint64(0x00000000FFFFFFFF)
    while width:
        shift = np.uint64(width)
        for start in range(0, 64, 2 * width):
            for i in range(start, start + width):
                swap = ((square[i] >> shift) ^ square[i + width]) & mask
                square[i + width] ^= swap
                square[i] ^= swap << shift
        width //= 2
        mask ^= mask << np.uint64(width)


@jit
def _words_of(planes: Words) -> Words:
    copies, width, count = planes.shape
    out = np.empty((copies, (width + 63) // 64, 64 * count), np.uint64)
    square = np.empty(64, np.uint64)
    for copy in range(copies):
        for chunk in range(out.shape[1]):
            first = 64 * chunk
            bits = min(64, width - first)
            for block in range(count):
                for bit in range(bits):
                    square[bits - 1 - bit] = planes[copy, first + bit, block]
                square[bits:] = 0
                transpose(square)
                out[copy, chunk, 64 * block : 64 * block + 64] = square
    return out


@jit
def _repeated(index: Longs, start: int) -> bool:
    """Returns True if a whole block is one position."""
    end = start + 1
    while end < min(start + 64, index.size) and index[end] == index[start]:
        end += 1
    return end == start + 64


@jit
def _gather(words: Words, index: Longs, out: Words) -> None:
    copies, width, count = out.shape
    square = np.empty(64, np.uint64)
    for copy in range(copies):
        for chunk in range((width + 63) // 64):
            first = 64 * chunk
            bits = min(64, width - first)
            column = words[copy, chunk]
            for block in range(count):
                start = 64 * block
                filled = min(64, index.size - start)
                if _repeated(index, start):  # a pivot's block
                    position = index[start]
                    value = column[position] if position >= 0 else np.uint64(0)
                    for bit in range(bits):
                        out[copy, first + bit, block] = -(value >> np.uint64(bits - 1 - bit) & np.uint64(1))
                    continue
                for i in range(filled):
                    position = index[start + i]
                    square[i] = column[position] if position >= 0 else np.uint64(0)
                square[filled:] = 0
                transpose(square)
                for bit in range(bits):
                    out[copy, first + bit, block] = square[bits - 1 - bit]


@jit
def _pick(planes: Words, index: Longs) -> Words:
    copies, width, _ = planes.shape
    out = np.zeros((copies, width, (index.size + 63) // 64), np.uint64)
    for copy in range(copies):
        for bit in range(width):
            plane = planes[copy, bit]
            for i in range(index.size):
                position = index[i]
                if position >= 0:
                    value = plane[position >> 6] >> np.uint64(position & 63) & np.uint64(1)
                    out[copy, bit, i >> 6] |= value << np.uint64(i & 63)
    return out
