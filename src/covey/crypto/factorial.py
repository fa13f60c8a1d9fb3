"""Falling factorials of a sum, of which one summand is known and the other is shared.

c (c - 1) … (c - bound + 1) with c = e + r is the sum over i of C(bound, i) e^(i') r^(i), where i' = bound - i and x^(i)
has i factors x, x - 1, … (Vandermonde). With r^(i) cut into strides, r^(j s + u) = r^(j s) (r - j s)^(u), it is a sum
of about sqrt(bound) products of two numbers, which follow from the powers of r below s and from the r^(j s): if these
are shared, and e is known, each party computes its share of the whole by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from covey.arrays import Words
from covey.compiled import jit as compiled
from covey.crypto.field import F31
from covey.errors import InputError


@dataclass(frozen=True)
class ProductShape:
    """The way c (c - 1) … (c - bound + 1) is cut: powers of the mask up to `stride`, factors for each stride."""

    bound: int
    stride: int
    strides: int
    binomials: Words
    shifts: Words
    """`shifts[j, u, v]` is the coefficient of r^v in (r - j stride)(r - j stride - 1) …, u factors."""

    @property
    def exchanges(self) -> int:
        """Exchanges that a preparation takes: one to deal, and one for each layer of products."""
        return 1 + (self.stride - 1).bit_length() + self.strides

    @property
    def products(self) -> int:
        """Shared products in a preparation, for each test."""
        return self.stride - 1 + self.strides


@lru_cache(maxsize=256)
def shape(bound: int) -> ProductShape:
    """The cut with the fewest products; of several, the one with the fewest exchanges."""
    if not 1 <= bound < F31.prime:
        raise InputError(f"a bound of {bound} cannot be tested; it lies between 1 and {F31.prime - 1}")
    root = math.isqrt(bound)
    strides = range(max(1, root - 2), root + 4)
    stride = min(strides, key=lambda s: (s - 1 + bound // s, (s - 1).bit_length() + bound // s))
    number = bound // stride
    choose, binomials = 1, [1]
    for i in range(bound):
        choose = choose * (bound - i) * pow(i + 1, -1, F31.prime) % F31.prime
        binomials.append(choose)
    return ProductShape(bound, stride, number, F31.elements(binomials), _shifts(stride, number))


_P = np.uint64(F31.prime)
_31 = np.uint64(31)
_LOW = np.uint64(0xFFFFFFFF)
_BLOCK = 128


@compiled
def _shifts(stride: int, strides: int) -> Words:
    """The coefficients of (r - j stride)(r - j stride - 1) …, u factors, for each j and each u up to `stride`."""
    table = np.zeros((strides + 1, stride + 1, stride + 1), np.uint64)
    for j in range(strides + 1):
        table[j, 0, 0] = 1
        for u in range(stride):
            minus = _P - np.uint64(j * stride + u) % _P
            for v in range(u + 1):
                table[j, u + 1, v] = (table[j, u + 1, v] + table[j, u, v] * minus) % _P
                table[j, u + 1, v + 1] = (table[j, u + 1, v + 1] + table[j, u, v]) % _P
    return table


@compiled
def _fold(number: np.uint64) -> np.uint64:
    """A number equal modulo p, in fewer bits: twice folded, any number has at most 32 bits."""
    return (number & _P) + (number >> _31)


@compiled
def evaluate(opened: Words, powers: Words, factors: Words, binomials: Words, shifts: Words) -> Words:
    """For each e a share of e + r's falling factorial times the factor that `factors` carry.

    Block by block, with loops over places innermost: so the processor works on several places at a time.
    """
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
