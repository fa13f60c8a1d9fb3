"""GF(2^64) = GF(2)[x] / (x^64 + x^4 + x^3 + x + 1): products, and sums of products that are reduced once.

The processor's carry-less product is used where it has one; elsewhere a table of sixteen multiples gives the same.
"""

from __future__ import annotations

import platform
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from covey.arrays import Words
from covey.compiled import jit

CARRYLESS = (
    platform.machine() in ("x86_64", "AMD64")
    and not numba.config.CPU_NAME
    and bool(llvmlite.binding.get_host_cpu_features().get("pclmul"))
)


@intrinsic  # type: ignore[untyped-decorator]
def _by_processor(_: Any, a: Any, b: Any) -> Any:
    """Returns the lower and the upper half of a product of polynomials, by PCLMULQDQ."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pair, place = ir.VectorType(ir.IntType(64), 2), ir.IntType(32)
        kind = ir.FunctionType(pair, [pair, pair, ir.IntType(8)])
        multiply = builder.module.declare_intrinsic("llvm.x86.pclmulqdq", fnty=kind)
        zero, first = ir.Constant(pair, [0, 0]), ir.Constant(place, 0)
        factors = [builder.insert_element(zero, argument, first) for argument in arguments]
        product = builder.call(multiply, [*factors, ir.Constant(ir.IntType(8), 0)])
        halves = [builder.extract_element(product, ir.Constant(place, half)) for half in (0, 1)]
        return context.make_tuple(builder, signature.return_type, halves)

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), generate


@jit
def by_table(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Returns the lower and the upper half of a product of polynomials, four bits at a time."""
    lows, highs = np.zeros(16, np.uint64), np.zeros(16, np.uint64)
    for place in range(4):
        shift = np.uint64(place)
        low = a << shift
        high = a >> np.uint64(64 - place) if place else np.uint64(0)
        for lower in range(1 << place):
            lows[lower | 1 << place] = lows[lower] ^ low
            highs[lower | 1 << place] = highs[lower] ^ high
    low, high = np.uint64(0), np.uint64(0)
    for nibble in range(16):
        digit = np.int64(b >> np.uint64(60 - 4 * nibble) & np.uint64(15))
        high = high << np.uint64(4) | low >> np.uint64(60)
        low = low << np.uint64(4)
        low, high = low ^ lows[digit], high ^ highs[digit]
    return low, high


product = _by_processor if CARRYLESS else by_table


@jit
def reduced(low: np.uint64, high: np.uint64) -> np.uint64:
    """Returns the element that a polynomial of 128 bits stands for."""
    top = high ^ high >> np.uint64(63) ^ high >> np.uint64(61) ^ high >> np.uint64(60)
    return low ^ top ^ top << np.uint64(1) ^ top << np.uint64(3) ^ top << np.uint64(4)


@jit
def times(a: np.uint64, b: np.uint64) -> np.uint64:
    """Returns a * b."""
    low, high = product(a, b)
    return reduced(low, high)


@jit
def dot(a: Words, b: Words) -> np.uint64:
    """Returns the sum of a[i] * b[i]."""
    low, high = np.uint64(0), np.uint64(0)
    for i in range(a.size):
        down, up = product(a[i], b[i])
        low, high = low ^ down, high ^ up
    return reduced(low, high)


@jit
def outer(factors: Words) -> Words:
    """Returns all products of one element of each row, the first row's element changing last."""
    out = np.ones(1, np.uint64)
    for row in range(factors.shape[0]):
        count = factors.shape[1]
        longer = np.empty(out.size * count, np.uint64)
        for i in range(out.size):
            for j in range(count):
                longer[i * count + j] = times(out[i], factors[row, j])
        out = longer
    return out


@jit
def byte_tables(values: Words) -> Words:
    """Returns for each byte of a bit string the sums of the values of its bits, bit 0 first: bytes x 256."""
    out = np.zeros(((values.size + 7) // 8, 256), np.uint64)
    for place in range(values.size):
        bit = 1 << place % 8
        for lower in range(bit):
            out[place // 8, bit | lower] = out[place // 8, lower] ^ values[place]
    return out


@jit
def weighed(planes: Words, weights: Words) -> Words:
    """Returns for each plane the sum of weights[i] * plane[i], a machine word being a polynomial: copies x planes."""
    copies, width, count = planes.shape
    out = np.empty((copies, width), np.uint64)
    for copy in range(copies):
        for plane in range(width):
            low, high = np.uint64(0), np.uint64(0)
            for i in range(count):
                down, up = product(planes[copy, plane, i], weights[i])
                low, high = low ^ down, high ^ up
            out[copy, plane] = reduced(low, high)
    return out
