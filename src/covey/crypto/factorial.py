"""Falling factorials of a sum, of which one summand is known and the other is shared.

c (c - 1) … (c - bound + 1) with c = e + r is the sum over i of C(bound, i) e^(i') r^(i), where i' = bound - i and x^(i)
has i factors x, x - 1, … (Vandermonde). With r^(i) cut into strides, r^(j s + u) = r^(j s) (r - j s)^(u), it is a sum
of about sqrt(bound) products of two numbers, which follow from the powers of r below s and from the r^(j s): if these
are shared, and e is known, each party computes its share of the whole by itself. In a small field what depends on e
alone is looked up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from covey.arrays import Words, Words16
from covey.compiled import jit as compiled
from covey.crypto.field import F31, Field, field_above
from covey.errors import InputError

LOOKED_UP = 1 << 22
"""Coefficients that are looked up, at most: a number for each element of the field and each power."""


def field_for(parties: int, most: int) -> Field:
    """The smallest field that tells the sums of so many numbers apart, each `most` or less; F31 where that is large."""
    field = field_above(parties * most)
    return field if field.prime * (most + 1) <= LOOKED_UP else F31


@dataclass(frozen=True)
class ProductShape:
    """The way c (c - 1) … (c - bound + 1) is cut: powers of the mask up to `highest`, factors for each stride."""

    field: Field
    bound: int
    stride: int
    strides: int
    binomials: Words
    shifts: Words
    """`shifts[j, u, v]` is the coefficient of r^v in (r - j stride)(r - j stride - 1) …, u factors."""

    @property
    def highest(self) -> int:
        """The highest power of the mask that is shared."""
        return min(self.stride, self.bound)

    @property
    def layers(self) -> int:
        """The layers of products, one after the other, that a preparation has."""
        return (self.highest - 1).bit_length() + self.strides

    @property
    def products(self) -> int:
        """Shared products in a preparation, for each test."""
        return self.highest - 1 + self.strides

    @cached_property
    def coefficients(self) -> Words16:
        """For each e the number that each product of r^(j stride) and a power of r is to be multiplied with."""
        rows, prime = (self.strides + 1) * self.stride, self.field.prime
        falling = np.ones((self.bound + 1, prime), dtype=np.uint64)
        for i in range(self.bound):
            falling[i + 1] = falling[i] * ((np.arange(prime, dtype=np.uint64) + np.uint64(prime - i)) % prime) % prime
        table = np.zeros((rows, prime), dtype=np.uint64)
        for i in range(self.bound + 1):
            j, u = divmod(i, self.stride)
            term = self.binomials[i] * falling[self.bound - i] % prime
            for v in range(u + 1):
                table[j * self.stride + v] = (table[j * self.stride + v] + self.shifts[j, u, v] * term) % prime
        return np.ascontiguousarray(table.T.astype(np.uint16))

    def evaluate(self, opened: Words, powers: Words, factors: Words) -> Words:
        """For each e a share of e + r's falling factorial times the factor that `factors` carry."""
        known, shared = np.ascontiguousarray(powers), np.ascontiguousarray(factors)
        if self.field.small:
            return _look_up(opened, known, shared, self.coefficients, np.uint64(self.field.prime))
        return _evaluate(opened, known, shared, self.binomials, self.shifts)


@lru_cache(maxsize=256)
def shape(bound: int, field: Field = F31) -> ProductShape:
    """The cut with the fewest products; of several, the one with the fewest layers."""
    if not 1 <= bound < field.prime:
        raise InputError(f"a bound of {bound} cannot be tested; it lies between 1 and {field.prime - 1}")
    root = math.isqrt(bound)
    strides = range(max(1, root - 2), root + 4)
    stride = min(strides, key=lambda s: (min(s, bound) - 1 + bound // s, (min(s, bound) - 1).bit_length() + bound // s))
    number = bound // stride
    choose, binomials = 1, [1]
    for i in range(bound):
        choose = choose * (bound - i) * pow(i + 1, -1, field.prime) % field.prime
        binomials.append(choose)
    shifts = _shifts(stride, number, np.uint64(field.prime))
    return ProductShape(field, bound, stride, number, field.elements(binomials), shifts)


_P = np.uint64(F31.prime)
_31 = np.uint64(31)
_LOW = np.uint64(0xFFFFFFFF)
_BLOCK = 128


@compiled
def _shifts(stride: int, strides: int, prime: np.uint64) -> Words:
    """The coefficients of (r - j stride)(r - j stride - 1) …, u factors, for each j and each u up to `stride`."""
    table = np.zeros((strides + 1, stride + 1, stride + 1), np.uint64)
    for j in range(strides + 1):
        table[j, 0, 0] = 1
        for u in range(stride):
            minus = prime - np.uint64(j * stride + u) % prime
            for v in range(u + 1):
                table[j, u + 1, v] = (table[j, u + 1, v] + table[j, u, v] * minus) % prime
                table[j, u + 1, v + 1] = (table[j, u + 1, v + 1] + table[j, u, v]) % prime
    return table


@compiled
def _fold(number: np.uint64) -> np.uint64:
    """A number equal modulo p, in fewer bits: twice folded, any number has at most 32 bits."""
    return (number & _P) + (number >> _31)


@compiled
def _look_up(opened: Words, powers: Words, factors: Words, coefficients: Words16, prime: np.uint64) -> Words:
    answer, stride = np.empty(len(opened), np.uint64), len(powers) + 1
    for x in range(len(opened)):
        known, total = coefficients[opened[x]], np.uint64(0)  # numbers of 16 bits: sums of products of three have room
        for j in range(len(factors)):
            inner = np.uint64(known[j * stride])
            for v in range(1, stride):
                inner += np.uint64(known[j * stride + v]) * powers[v - 1, x]
            total += inner * factors[j, x]
        answer[x] = total % prime
    return answer


@compiled
def _evaluate(opened: Words, powers: Words, factors: Words, binomials: Words, shifts: Words) -> Words:
    """Block by block, with loops over places innermost: so the processor works on several places at a time."""
    bound, stride = len(binomials) - 1, shifts.shape[1] - 1
    answer = np.empty(len(opened), np.uint64)
    falling = np.empty((bound + 1, _BLOCK), np.uint64)
    weights = np.empty((stride, _BLOCK), np.uint64)
    coefficient, inner, total = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    for start in range(0, len(opened), _BLOCK):
        size = min(_BLOCK, len(opened) - start)
        falling[0], total[:] = np.uint64(1), np.uint64(0)
        for i in range(bound):
            less = _P - np.uint64(i) % _P
            for x in range(size):
                falling[i + 1, x] = _fold(_fold((falling[i, x] & _LOW) * (_fold(opened[start + x] + less) & _LOW)))
        for j in range(len(factors)):
            terms = min(stride, bound - j * stride + 1)
            for u in range(terms):
                choose, rest = binomials[j * stride + u], falling[bound - j * stride - u]
                for x in range(size):
                    weights[u, x] = _fold(_fold((choose & _LOW) * (rest[x] & _LOW)))
            inner[:] = np.uint64(0)
            for v in range(terms):
                coefficient[:] = np.uint64(0)
                for u in range(v, terms):
                    shift = shifts[j, u, v]
                    for x in range(size):
                        coefficient[x] += _fold((shift & _LOW) * (weights[u, x] & _LOW))
                for x in range(size):
                    power = powers[v - 1, start + x] if v else np.uint64(1)
                    inner[x] += _fold((_fold(_fold(coefficient[x])) & _LOW) * (power & _LOW))
            for x in range(size):
                total[x] += _fold((_fold(_fold(inner[x])) & _LOW) * (factors[j, start + x] & _LOW))
        for x in range(size):
            answer[start + x] = total[x] % _P
    return answer
