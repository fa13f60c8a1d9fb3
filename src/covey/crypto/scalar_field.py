"""Arithmetic modulo the order of ristretto255, on whole vectors: what is shared can be raised to the exponent.

The interface is that of `covey.crypto.field.Field`, so that sharing and dealing work on both. An element is one of
Python's own whole numbers in an array of objects, which the types of the house call words; a product takes a quarter of
a microsecond.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import ClassVar, cast

import numpy as np

from covey.arrays import Words
from covey.crypto.field import Field, FieldElements
from covey.crypto.group import ORDER
from covey.crypto.rng import Label, Stream, spell
from covey.errors import InputError

_DRAWN = 48
"""Random bytes for each element: no element is likelier than another by more than 2^-131."""


class ScalarField(Field):
    """The integers modulo the group's order."""

    @property
    def prime(self) -> int:
        return ORDER

    @property
    def width(self) -> int:
        """Bytes that an element takes on the wire."""
        return 32

    def add(self, a: Words, b: Words) -> Words:
        return _held((a + b) % ORDER)

    def subtract(self, a: Words, b: Words) -> Words:
        return _held((a - b) % ORDER)

    def multiply(self, a: Words, b: Words) -> Words:
        return _held((a * b) % ORDER)

    def scale(self, a: Words, factor: np.uint64) -> Words:
        return _held((a * factor) % ORDER)

    def inverse(self, a: Words) -> Words:
        """The inverse of each element, by one inversion for all. Raises `InputError` for zero."""
        before, product = [], 1
        for number in a.tolist():
            before.append(product)
            product = product * number % ORDER
        if not product:
            raise InputError("zero has no inverse")
        rest = pow(product, -1, ORDER)
        answer = []
        for number, earlier in zip(reversed(a.tolist()), reversed(before), strict=True):
            answer.append(rest * earlier % ORDER)
            rest = rest * number % ORDER
        return numbers(reversed(answer))

    def combine(self, weights: Words, rows: Words) -> Words:
        if not rows.shape[1]:
            return _held(np.zeros((weights.shape[0], 0), dtype=object))
        made = [sum(weight * row for weight, row in zip(line, rows, strict=True)) % ORDER for line in weights.tolist()]
        return _held(np.stack(made))

    def elements(self, numbers_: Sequence[int]) -> Words:
        """Integers of any size and sign, taken modulo the order."""
        return numbers(number % ORDER for number in numbers_)

    def draw(self, stream: Stream, size: int) -> Words:
        raw = stream.bytes(_DRAWN * size)
        return numbers(int.from_bytes(raw[at : at + _DRAWN], "little") % ORDER for at in range(0, len(raw), _DRAWN))

    def holds(self, vector: Words) -> bool:
        """True if every number is an element."""
        return all(0 <= number < ORDER for number in vector.tolist())

    def pack(self, vector: Words) -> bytes:
        """The elements in 32 bytes each, little-endian."""
        return b"".join(number.to_bytes(32, "little") for number in vector.tolist())

    def unpack(self, packed: bytes) -> Words:
        """The elements in these bytes. Raises `InputError` if they are none."""
        if len(packed) % 32:
            raise InputError("the bytes are no multiple of 32")
        vector = numbers(int.from_bytes(packed[at : at + 32], "little") for at in range(0, len(packed), 32))
        if not self.holds(vector):
            raise InputError("a number is outside the field")
        return vector

    def hashed(self, *labels: Label) -> int:
        """The element that these labels stand for: nobody finds two sequences of labels with the same one."""
        return int.from_bytes(hashlib.sha512(spell("covey number/1", *labels)).digest(), "little") % ORDER


FQ = ScalarField(253)


class ScalarElements(FieldElements):
    """A vector of elements of `FQ` that may be sent."""

    __slots__ = ()
    field: ClassVar[Field] = FQ
    item_bytes: ClassVar[int] = 32


def numbers(each: Iterable[int]) -> Words:
    """A vector of these numbers, as they are."""
    listed = list(each)
    vector = np.empty(len(listed), dtype=object)
    vector[:] = listed
    return _held(vector)


def _held(vector: object) -> Words:
    """An array of objects under the name that the types of vectors have."""
    return cast("Words", vector)
