"""A pairing: BLS12-381 on pymcl, behind the few operations that identity-based encryption needs.

Three groups of the same prime order: G1 (48 bytes an element), G2 (96) and the target group GT (576), and a map from
the first two to the third that is linear in both. Scalars come from `covey.crypto.rng`, never from the library, whose
own generator repeats itself in a forked child. What comes from outside is read by `read_g1`, `read_g2` and `read_gt`:
the library tests points for their order by itself; of elements of GT it tests nothing, not even that they are not zero.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Generic, TypeVar

import numpy as np
import pymcl
from pymcl import G1, G2, GT, Fr

from covey.crypto.rng import Stream
from covey.errors import InputError

__all__ = ["G1", "G2", "GT", "Fr"]

ORDER = int(pymcl.r)
"""The number of elements of each of the three groups, a prime."""
G1_BYTES, G2_BYTES, GT_BYTES = 48, 96, 576

GENERATOR_1: G1 = pymcl.g1
GENERATOR_2: G2 = pymcl.g2
ONE = GT()

CHECKS = 40
"""Products that a batch of elements of GT is tested by; a bad batch passes them all with probability 2^-40."""
_BLOCK = 4
_WINDOW = 8
_ROWS = 32  # windows of eight bits in a scalar
_WORTH_A_TABLE = 160
"""So many powers of one base repay the table of its powers."""

E = TypeVar("E", G1, GT)


def scalar(number: int) -> Fr:
    """The number modulo the order."""
    return Fr.deserialize((number % ORDER).to_bytes(32, "little"))


def draw(stream: Stream, count: int) -> list[int]:
    """Uniform numbers from 1 to ORDER - 1: 512 random bits each, reduced; zero, which never comes, would become one."""
    raw = stream.bytes(64 * count)
    return [int.from_bytes(raw[at : at + 64], "little") % ORDER or 1 for at in range(0, len(raw), 64)]


def pair(left: G1, right: G2) -> GT:
    """The pairing. Costs 0.65 ms of one core."""
    return pymcl.pairing(left, right)


def read_g1(raw: bytes) -> G1:
    """The point in these bytes. Raises `InputError` unless it is one of the group, canonical, and not the identity."""
    return _point(G1, raw, G1_BYTES)


def read_g2(raw: bytes) -> G2:
    """Reads an element of G2; raises as `read_g1` does."""
    return _point(G2, raw, G2_BYTES)


P = TypeVar("P", G1, G2)


def _point(kind: type[P], raw: bytes, size: int) -> P:
    try:
        point = kind.deserialize(bytes(raw)) if len(raw) == size else None
    except ValueError:
        point = None
    if point is None or point.is_zero():
        raise InputError("not the encoding of an element of the pairing's group, or the identity")
    return point


def read_gt(raws: Sequence[bytes], stream: Stream) -> list[GT]:
    """The elements in these bytes. Raises `InputError` unless all of them are elements of GT; one may be among them.

    The elements of the field that GT lies in have small orders as well, 2 and 3 among them, so that one random
    combination of all would let a bad element pass every second time. Instead the products of forty random subsets
    are raised to the order: an element that does not belong spoils each of them with probability a half or more.
    """
    try:
        elements = [GT.deserialize(bytes(raw)) for raw in raws if len(raw) == GT_BYTES]
    except ValueError:
        elements = []
    if len(elements) != len(raws) or any(element.is_zero() for element in elements):
        raise InputError("not the encoding of an element of the pairing's target group")
    suspects = elements if len(elements) <= CHECKS else _subset_products(elements, stream)
    if not all(_has_order(element) for element in suspects):
        raise InputError("an element outside the pairing's target group")
    return elements


def _subset_products(elements: list[GT], stream: Stream) -> list[GT]:
    """Products of random subsets, four elements at a time: sixteen products of them, and one for each subset."""
    products = [ONE] * CHECKS
    for first in range(0, len(elements), _BLOCK):
        table = [ONE]
        for element in elements[first : first + _BLOCK]:
            table += [known * element for known in table]
        chosen = np.frombuffer(stream.bytes(CHECKS), dtype=np.uint8) % len(table)
        products = [product * table[place] for product, place in zip(products, chosen.tolist(), strict=True)]
    return products


def _has_order(element: GT) -> bool:
    """True if the element raised to the order is one: by plain multiplications, because the library's own power takes
    it for granted that the element belongs."""
    power = element
    for bit in f"{ORDER:b}"[1:]:
        power = power * power
        if bit == "1":
            power = power * element
    return bool(power.is_one())


class FixedBase(Generic[E]):
    """Powers of one element, from a table of its powers once many are wanted.

    The table has 256 elements for each byte of an exponent: 0.02 s and 2 MB for G1, 0.03 s and 6 MB for GT.
    """

    def __init__(self, base: E) -> None:
        self.base = base
        self._join: Callable[[E, E], E] = operator.add if isinstance(base, G1) else operator.mul
        self._one: E = base - base if isinstance(base, G1) else GT()
        self._table: list[list[E]] = []

    def powers(self, exponents: Sequence[int]) -> list[E]:
        """The base raised to each (in G1: multiplied by it)."""
        if not self._table and len(exponents) < _WORTH_A_TABLE:
            return [self._power(exponent) for exponent in exponents]
        if not self._table:
            self._table = self._make_table()
        return [self._look_up(exponent) for exponent in exponents]

    def _power(self, exponent: int) -> E:
        by = scalar(exponent)
        return self.base * by if isinstance(self.base, G1) else self.base**by

    def _make_table(self) -> list[list[E]]:
        rows, start = [], self.base
        for _ in range(_ROWS):
            row = [self._one]
            for _ in range(1 << _WINDOW):
                row.append(self._join(row[-1], start))
            start = row.pop()
            rows.append(row)
        return rows

    def _look_up(self, exponent: int) -> E:
        digits = (exponent % ORDER).to_bytes(_ROWS, "little")
        return reduce(self._join, map(operator.getitem, self._table, digits))
