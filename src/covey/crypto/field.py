"""Arithmetic modulo a prime on whole vectors: 300,000 products take a millisecond or two.

An element is a word from 0 to p - 1; nothing here accepts or makes any other. Modulo p = 2^b - 1, for 31 and 61 bits,
the bits above the b-th are worth as much as the bits below, so that a product is reduced with shifts and additions.
Small fields, of 6 to 16 bits, are for numbers that are small themselves: their elements travel without a spare bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, ParamSpec, Self, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from covey.arrays import Octets, Words
from covey.crypto.rng import Stream
from covey.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Field:
    """The integers modulo the largest prime of so many bits: 31, 61, or 6 to 16."""

    bits: int

    @property
    def prime(self) -> int:
        """The number of elements."""
        return _SMALL.get(self.bits, (1 << self.bits) - 1)

    @property
    def width(self) -> int:
        """Bytes of the word in which an element is drawn, and travels where the field is not small."""
        return 1 << ((self.bits - 1) // 8).bit_length()

    @property
    def small(self) -> bool:
        """True if elements travel in as many bits as they have."""
        return self.bits in _SMALL

    def size(self, count: int) -> int:
        """The bytes that so many elements take on the wire."""
        return -(-count * self.bits // 8) if self.small else count * self.width

    def add(self, a: Words, b: Words) -> Words:
        """The sums, place by place."""
        return _add_all(a, b, self._prime)

    def subtract(self, a: Words, b: Words) -> Words:
        """The differences, place by place."""
        return _subtract_all(a, b, self._prime)

    def multiply(self, a: Words, b: Words) -> Words:
        """The products, place by place."""
        return _multiply_all(a, b, self.bits, self._prime)

    def scale(self, a: Words, factor: np.uint64) -> Words:
        """Every element times the same one."""
        return _multiply_all(a, np.full(len(a), factor), self.bits, self._prime)

    def inverse(self, a: Words) -> Words:
        """The inverse of each element. Raises `InputError` for zero, which has no inverse."""
        if not a.all():
            raise InputError("zero has no inverse")
        return _invert_all(a, self.bits, self._prime)

    def combine(self, weights: Words, rows: Words) -> Words:
        """A matrix times a stack of vectors: answer[i] is the sum over j of weights[i, j] times rows[j]."""
        return _combine(np.ascontiguousarray(weights), np.ascontiguousarray(rows), self.bits, self._prime)

    def elements(self, numbers: Sequence[int]) -> Words:
        """Integers of any size and sign, taken modulo p."""
        return np.array([number % self.prime for number in numbers], dtype=np.uint64)

    def draw(self, stream: Stream, size: int) -> Words:
        """That many elements, each as likely as the others: words that are none are drawn again."""
        vector, excess = self._words(stream, size)
        while excess:
            outside = np.flatnonzero(vector >= self._prime)
            vector[outside], excess = self._words(stream, outside.size)
        return vector

    def holds(self, vector: Words) -> bool:
        """True if every word is an element."""
        return not vector.size or bool(vector.max() < self._prime)

    def pack(self, vector: Words) -> bytes:
        """The elements in as few bytes as words of this field take, little-endian."""
        if self.small:
            return _pack_bits(np.ascontiguousarray(vector), self.bits).tobytes()
        return vector.astype(f"<u{self.width}").tobytes()

    def unpack(self, packed: bytes) -> Words:
        """The elements in these bytes; of a small field maybe one more, which is 0. Raises `InputError` for others."""
        if self.small:
            octets = np.frombuffer(packed, dtype=np.uint8)
            vector = _unpack_bits(octets, 8 * len(packed) // self.bits, self.bits)
        elif len(packed) % self.width:
            raise InputError(f"the bytes are no multiple of {self.width}")
        else:
            vector = np.frombuffer(packed, dtype=f"<u{self.width}").astype(np.uint64)
        if not self.holds(vector):
            raise InputError("a word is outside the field")
        return vector

    @cached_property
    def _prime(self) -> np.uint64:
        return np.uint64(self.prime)

    def _words(self, stream: Stream, size: int) -> tuple[Words, int]:
        """Uniform numbers of `bits` bits, and how many of them are no elements."""
        words = np.empty(size, dtype=f"<u{self.width}")
        if size:
            stream.fill(words.view(np.uint8).data)
        return _shift_all(words, 8 * self.width - self.bits, self._prime)


_SMALL = {
    6: 61, 7: 127, 8: 251, 9: 509, 10: 1021, 11: 2039, 12: 4093, 13: 8191, 14: 16381, 15: 32749, 16: 65521,
}  # fmt: skip
F31 = Field(31)
F61 = Field(61)


def field_above(number: int) -> Field:
    """The smallest field that has all numbers from 0 to this one as elements; F31 where no small one has."""
    return Field(next((bits for bits, prime in _SMALL.items() if prime > number), F31.bits))


class FieldElements:
    """A vector of elements of `F61` that may be sent; what is outside the field never gets past its decoder."""

    __slots__ = ("words",)
    field: ClassVar[Field] = F61
    item_bytes: ClassVar[int] = 8

    def __init__(self, words: Words) -> None:
        self.words = words

    def slice(self, first: int, last: int) -> Self:
        """The elements from `first` up to but not including `last`."""
        return type(self)(self.words[first:last])

    @classmethod
    def join(cls, parts: Iterable[Self]) -> Self:
        """One vector after the other."""
        return cls(np.concatenate([part.words for part in parts]))

    def pack(self) -> bytes:
        """The bytes on the wire."""
        return self.field.pack(self.words)

    @classmethod
    def unpack(cls, raw: bytes) -> Self:
        """The vector in these bytes. Raises `ValueError` if they are none."""
        try:
            return cls(cls.field.unpack(raw))
        except InputError as error:
            raise ValueError(str(error)) from None

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)})"


_P31 = np.uint64((1 << 31) - 1)
_P61 = np.uint64((1 << 61) - 1)
_LOW30 = np.uint64((1 << 30) - 1)
_LOW31 = np.uint64((1 << 31) - 1)
_BLOCK = 1024
_30, _31, _61, _1, _2 = np.uint64(30), np.uint64(31), np.uint64(61), np.uint64(1), np.uint64(2)


def _jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compiled at the first call, cached on disk, free of the interpreter's lock."""
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True)(function))


@_jit
def _times(a: np.uint64, b: np.uint64, bits: int, prime: np.uint64) -> np.uint64:
    """One product. For 61 bits in limbs of 31: 2^62 is worth 2, and the middle's part above 2^61 is worth 1."""
    if bits < 31:
        return np.uint64(np.uint32(a * b) % np.uint32(prime))
    if bits == 31:
        whole = a * b
        whole = (whole & _P31) + (whole >> _31)
        return min(whole, whole - _P31)
    a_high, a_low, b_high, b_low = a >> _31, a & _LOW31, b >> _31, b & _LOW31
    middle = a_high * b_low + a_low * b_high
    whole = ((a_high * b_high) << _1) + (middle >> _30) + ((middle & _LOW30) << _31) + a_low * b_low
    whole = (whole & _P61) + (whole >> _61)
    return min(whole, whole - _P61)


@_jit
def _shift_all(words: NDArray[np.unsignedinteger[Any]], shift: int, prime: np.uint64) -> tuple[Words, int]:
    """The highest bits of these words, and how many are beyond the field."""
    answer, excess = np.empty(len(words), dtype=np.uint64), 0
    for place in range(len(words)):
        answer[place] = np.uint64(words[place]) >> np.uint64(shift)
        excess += answer[place] >= prime
    return answer, excess


@_jit
def _multiply_all(a: Words, b: Words, bits: int, prime: np.uint64) -> Words:
    answer = np.empty(len(a), dtype=np.uint64)
    for place in range(len(a)):
        answer[place] = _times(a[place], b[place], bits, prime)
    return answer


@_jit
def _add_all(a: Words, b: Words, prime: np.uint64) -> Words:
    answer = np.empty(len(a), dtype=np.uint64)
    for place in range(len(a)):
        total = a[place] + b[place]
        answer[place] = min(total, total - prime)  # below p the difference wraps round to something huge
    return answer


@_jit
def _subtract_all(a: Words, b: Words, prime: np.uint64) -> Words:
    answer = np.empty(len(a), dtype=np.uint64)
    for place in range(len(a)):
        left = a[place] - b[place]
        answer[place] = min(left, left + prime)
    return answer


@_jit
def _add_multiple(total: Words, weight: np.uint64, row: Words, bits: int, prime: np.uint64) -> None:
    for place in range(len(total)):
        more = total[place] + _times(weight, row[place], bits, prime)
        total[place] = min(more, more - prime)


@_jit
def _combine(weights: Words, rows: Words, bits: int, prime: np.uint64) -> Words:
    """Block by block, so that what is added up stays in the processor's cache."""
    answer = np.zeros((weights.shape[0], rows.shape[1]), dtype=np.uint64)
    for start in range(0, rows.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        for i in range(weights.shape[0]):
            for j in range(rows.shape[0]):
                _add_multiple(answer[i, block], weights[i, j], rows[j, block], bits, prime)
    return answer


@_jit
def _invert_all(a: Words, bits: int, prime: np.uint64) -> Words:
    """One inversion for all: of the product of everything, from which each is peeled off again."""
    before = np.empty(len(a), dtype=np.uint64)
    product = _1
    for place in range(len(a)):
        before[place] = product
        product = _times(product, a[place], bits, prime)
    rest = _1  # becomes product^(p - 2), by Fermat its inverse
    for bit in range(bits - 1, -1, -1):
        rest = _times(rest, rest, bits, prime)
        if ((prime - _2) >> np.uint64(bit)) & _1:
            rest = _times(rest, product, bits, prime)
    answer = np.empty(len(a), dtype=np.uint64)
    for place in range(len(a) - 1, -1, -1):
        answer[place] = _times(rest, before[place], bits, prime)
        rest = _times(rest, a[place], bits, prime)
    return answer


@_jit
def _pack_bits(vector: Words, bits: int) -> Octets:
    """The elements one after the other, the lowest bit first; what is left of the last byte is zero."""
    packed = np.zeros((len(vector) * bits + 7) // 8, dtype=np.uint8)
    waiting, held, place = np.uint64(0), 0, 0
    for element in vector:
        waiting |= element << np.uint64(held)
        held += bits
        while held >= 8:
            packed[place] = np.uint8(waiting & np.uint64(255))
            waiting >>= np.uint64(8)
            held -= 8
            place += 1
    if held:
        packed[place] = np.uint8(waiting)
    return packed


@_jit
def _unpack_bits(packed: Octets, count: int, bits: int) -> Words:
    """The inverse."""
    vector = np.empty(count, dtype=np.uint64)
    waiting, held, place = np.uint64(0), 0, 0
    mask = (_1 << np.uint64(bits)) - _1
    for number in range(count):
        while held < bits:
            waiting |= np.uint64(packed[place]) << np.uint64(held)
            held += 8
            place += 1
        vector[number] = waiting & mask
        waiting >>= np.uint64(bits)
        held -= bits
    return vector
