"""What the checks are made of: the field, its sums on cubes, limits on shared inputs, and how likely a miss is."""

from __future__ import annotations

import operator
from functools import reduce

import numpy as np
import pytest
from tests.unit.mpc.boxes import run

from covey.arrays import Words
from covey.compiled import jit
from covey.mpc import Box, Checked, Clear, Disclosure, binary_field
from covey.mpc.binary_field import by_table, byte_tables, dot, outer, reduced, times, weighed
from covey.mpc.sums import (
    at_corners,
    at_point,
    beyond,
    bit_sums,
    bits_at,
    corner_sums,
    corners,
    on_grid,
    sums,
    weighed_words,
)
from covey.mpc.supply import chances, dimensions

TEST = Disclosure("test")
DRAW = np.random.default_rng(3)


def words(*shape: int) -> Words:
    return DRAW.integers(0, 1 << 64, shape, dtype=np.uint64)


def slowly(a: int, b: int) -> int:
    """Returns a * b modulo x^64 + x^4 + x^3 + x + 1, by schoolbook."""
    product = 0
    for bit in range(64):
        product ^= (a << bit) * (b >> bit & 1)
    for bit in range(127, 63, -1):
        product ^= (((1 << 64) | 0b11011) << bit - 64) * (product >> bit & 1)
    return product


@jit
def by_any(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    return binary_field.product(a, b)


def test_products_by_processor_by_table_and_by_hand_are_the_same() -> None:
    edges = np.array([0, 1, 2, 1 << 63, (1 << 64) - 1], np.uint64)
    pairs = [*((a, b) for a in edges for b in edges), *words(200, 2)]
    for a, b in pairs:
        assert by_any(a, b) == by_table(a, b)
        assert int(times(a, b)) == int(reduced(*map(np.uint64, by_table(a, b)))) == slowly(int(a), int(b))


def test_the_field_has_the_modulus_and_the_order_that_are_published() -> None:
    """x^64 = x^4 + x^3 + x + 1 (NIST SP 800-38B has the same for blocks of 64 bits), and x^(2^64) = x."""
    assert int(times(np.uint64(1 << 63), np.uint64(2))) == 0x1B

    def power(exponent: int) -> int:
        out, square = np.uint64(1), np.uint64(2)
        while exponent:
            out = np.uint64(times(out, square)) if exponent & 1 else out
            square, exponent = np.uint64(times(square, square)), exponent >> 1
        return int(out)

    assert power(1 << 64) == 2
    assert all(power((1 << 64) >> bits) != 2 for bits in range(1, 64))


def test_sums_are_those_of_single_products() -> None:
    a, b = words(2, 50)
    assert int(dot(a, b)) == reduce(operator.xor, (int(times(x, y)) for x, y in zip(a, b, strict=True)))
    planes, weights = words(2, 3, 50), words(50)
    assert int(weighed(planes, weights)[1, 2]) == int(dot(planes[1, 2], weights))
    values = words(11)
    table = byte_tables(values)
    assert int(table[1, 0b101]) == int(values[8] ^ values[10])


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_an_inner_product_is_the_value_of_a_polynomial_that_its_grid_gives(count: int) -> None:
    """Three parties' shares are simulated by two: a party's part of a product is that of its own and the next share."""
    place = words(count)
    x, y = words(3, 1 << count, 11), words(3, 1 << count, 11)
    values = np.zeros(3**count, np.uint64)
    for party in range(3):
        pair = [party, (party + 1) % 3]
        values ^= sums(x[pair], y[pair], corners(count), 3**count)
    left, right = (np.bitwise_xor.reduce(factor, 0) for factor in (x, y))
    assert int(np.bitwise_xor.reduce(values[corners(count)])) == int(dot(left.ravel(), right.ravel()))
    at = outer(at_corners(place))
    left, right = (at_point(np.stack([factor, factor]), at)[0] for factor in (left, right))
    assert int(dot(values, outer(on_grid(place)))) == int(dot(left, right))


@pytest.mark.parametrize("size", [64, 512, 640])
def test_bits_are_checked_by_the_same_polynomial(size: int) -> None:
    place, outside, values = words(6), beyond(6), np.zeros(729, np.uint64)
    x, y, weights = words(3, size), words(3, size), words(size // 64)
    for party in range(3):
        pair = [party, (party + 1) % 3]
        values[outside] ^= bit_sums(x[pair], y[pair], weights, corners(6), outside)
    left, right = (np.bitwise_xor.reduce(factor, 0)[np.newaxis] for factor in (x, y))
    values[corners(6)] = corner_sums((left & right)[0], weights)
    at = outer(at_corners(place))
    left, right = bits_at(left, at), weighed_words(bits_at(right, at), weights)
    assert int(dot(values, outer(on_grid(place)))) == int(dot(left[0], right[0]))


@pytest.mark.parametrize("units", [64, 1024, 1 << 18, 5 << 18])
def test_the_steps_of_a_check_reach_its_last_product(units: int) -> None:
    assert units + 1 <= 1 << sum(dimensions(units))
    assert chances(units) <= 1 << 6


def test_the_chance_of_a_miss_is_counted_from_what_a_run_checks() -> None:
    bits: list[int] = []

    async def role(box: Box, place: int) -> None:
        value = box.positions(100)
        for _ in range(3):
            value, _ = await box.shuffle(value)
            value = await (value & value)
            bits.append(box.soundness_bits or 0)

    run(role, backends=[Checked])
    assert 40 <= bits[-1] <= bits[0] <= 63
    assert Clear([]).soundness_bits is None
