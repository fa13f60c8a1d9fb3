"""Shared columns: secret words of one width, a word a record, as bit planes.

What moves bits or records, `^` and `~` are local. What is awaited talks to the others. Nothing can be looked at.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from covey.arrays import Bits, Longs, Words
from covey.errors import InputError
from covey.mpc import planes as bit_planes
from covey.mpc.planes import NARROW, blocks, cut, gathered, packed, picked, words_of

if TYPE_CHECKING:
    from covey.mpc.box import Box


class Shared:
    """A column of secret words. Compute on it, or open it with `box.open(column, says=...)`."""

    __slots__ = ("_words", "box", "planes", "records")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, box: Box, planes: Words, records: int) -> None:
        self.box, self.planes, self.records = box, planes, records
        self._words: Words | None = None

    @property
    def width(self) -> int:
        """The number of bits of a word."""
        return int(self.planes.shape[1])

    def __len__(self) -> int:
        return self.records

    def __repr__(self) -> str:
        return f"Shared({self.records} records of {self.width} bits)"

    def __xor__(self, other: Shared) -> Shared:
        alike(self, other)
        return Shared(self.box, self.planes ^ other.planes, self.records)

    def __invert__(self) -> Shared:
        return Shared(self.box, self.planes ^ self.box.ones, self.records)

    def __and__(self, other: Shared) -> Coroutine[object, object, Shared]:
        return self.box.both(self, other)

    def __or__(self, other: Shared) -> Coroutine[object, object, Shared]:
        return self.box.either(self, other)

    def __lt__(self, other: Shared) -> Coroutine[object, object, Shared]:
        return self.box.less(self, other)

    def bits(self, positions: slice | Sequence[int] | Longs) -> Shared:
        """Returns words made of these bits; bit 0 is the most significant."""
        index = positions if isinstance(positions, slice) else np.asarray(positions, np.int64)
        return Shared(self.box, self.planes[:, index], self.records)

    def mixed(self, matrix: Bits) -> Shared:
        """Returns words whose bit i is the exclusive or of the bits that row i of a public matrix marks."""
        out = np.zeros((len(self.planes), len(matrix), self.planes.shape[2]), np.uint64)
        for bit, row in enumerate(matrix):
            np.bitwise_xor.reduce(self.planes[:, row], 1, out=out[:, bit])
        return Shared(self.box, out, self.records)

    def padded(self, width: int) -> Shared:
        """Returns the same numbers in words of that width."""
        if width < self.width:
            raise InputError(f"words of {self.width} bits do not fit {width} bits")
        return joined(self.box.zeros(width - self.width, self.records), self) if width > self.width else self

    def at(self, index: Longs) -> Shared:
        """Returns the records at these public positions; position -1 gives a zero."""
        if len(index) and not -1 <= index.min() <= index.max() < self.records:
            raise InputError(f"a position is none of {self.records} records")
        if self.width <= NARROW:
            return Shared(self.box, picked(self.planes, index), len(index))
        if self._words is None:  # kept, since a sort reads the same column at every level
            self._words = words_of(self.planes)
        return Shared(self.box, gathered(self._words, index, self.width), len(index))

    def ahead(self, steps: int) -> Shared:
        """Returns for each record the one so many places behind it; zeros come in at the bottom."""
        position = np.arange(steps, steps + self.records)
        return self.at(np.where(position < self.records, position, -1))

    def later(self, steps: int) -> Shared:
        """Returns the column moved so many records down; zeros come in at the top."""
        out, (words, bits) = np.zeros_like(self.planes), divmod(steps, 64)
        length = self.planes.shape[2] - words
        if length > 0:
            out[:, :, words:] = self.planes[:, :, :length] << np.uint64(bits)
        if length > 1 and bits:
            out[:, :, words + 1 :] |= self.planes[:, :, : length - 1] >> np.uint64(64 - bits)
        return Shared(self.box, out, self.records)

    def reversed(self) -> Shared:
        """Returns the records last to first."""
        return self.at(np.arange(self.records)[::-1])

    def where(self, mask: Bits) -> Shared:
        """Returns the column with a zero wherever the public mask has one."""
        return Shared(self.box, self.planes & packed(mask), self.records)

    def cut(self) -> Shared:
        """Returns the column with zeros behind its last record, where `later` and `~` leave something."""
        return Shared(self.box, cut(self.planes, self.records), self.records)

    def __bool__(self) -> NoReturn:
        raise TypeError("a shared value cannot be branched on: use box.select(flag, a, b), or open it with says=")

    def __int__(self) -> NoReturn:
        raise TypeError("a shared value is no visible number: open it with box.open(value, says=...)")

    __index__ = __float__ = __int__

    def __iter__(self) -> NoReturn:
        raise TypeError("a shared column has no loop: use .at(public positions), .bits(...) or box.scan")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a shared column is no array: open it with box.open(value, says=...)")

    def __eq__(self, other: object) -> NoReturn:  # the default says False, and is believed
        raise TypeError("compare shared values with box.equal(a, b) or a < b: the answer stays shared")

    __ne__ = __eq__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a shared column is never copied or pickled: use covey.mpc.freeze")


def joined(*columns: Shared) -> Shared:
    """Returns words made of the words of several columns, side by side."""
    first = columns[0]
    if any(column.records != first.records for column in columns):
        raise InputError("columns side by side have the same number of records")
    return Shared(first.box, np.concatenate([column.planes for column in columns], 1), first.records)


def stacked(*columns: Shared) -> Shared:
    """Returns the records of several columns of one width, one column below the other."""
    first, total = columns[0], sum(column.records for column in columns)
    if any(column.width != first.width for column in columns):
        raise InputError("columns below each other have the same width")
    out = np.zeros((len(first.planes), first.width, blocks(total) + 1), np.uint64)
    start = 0
    for column in columns:
        words, bits = divmod(start, 64)
        part = column.cut().planes
        out[:, :, words : words + part.shape[2]] |= part << np.uint64(bits)
        if bits:
            out[:, :, words + 1 : words + 1 + part.shape[2]] |= part >> np.uint64(64 - bits)
        start += column.records
    return Shared(first.box, np.ascontiguousarray(out[:, :, : blocks(total)]), total)


def aligned(a: Shared, b: Shared) -> tuple[Shared, Shared]:
    """Returns both columns in words of the wider one's width."""
    _same_length(a, b)
    width = max(a.width, b.width)
    return a.padded(width), b.padded(width)


def public_words(values: object, width: int) -> Words:
    """Returns public numbers as words (chunks, records). Raises `InputError` for a number that is too large."""
    words = np.atleast_2d(np.asarray(values, np.uint64))
    if len(words) != max(1, bit_planes.chunks(width)):
        raise InputError(f"words of {width} bits have {bit_planes.chunks(width)} chunks, these have {len(words)}")
    top = words[-1] if width else words[0]
    bits = (width - 1) % 64 + 1 if width else 0
    if bits < 64 and np.any(top >> np.uint64(bits)):
        raise InputError(f"a number does not fit {width} bits")
    return words


def _same_length(a: Shared, b: Shared) -> None:
    if a.records != b.records:
        raise InputError(f"columns of {a.records} and of {b.records} records do not go together")


def alike(a: Shared, b: Shared) -> None:
    """Raises `InputError` unless two columns go together bit by bit, or one of them is of one bit."""
    _same_length(a, b)
    if a.width != b.width and 1 not in (a.width, b.width):
        raise InputError(f"words of {a.width} and of {b.width} bits do not go together: use .padded or .bits")
