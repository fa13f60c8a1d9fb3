from __future__ import annotations

import itertools

import numpy as np
import pytest
from hilbertcurve.hilbertcurve import HilbertCurve
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.tiers import examples

from covey.anonymizers import curve
from covey.arrays import Ints, Longs
from covey.errors import InputError


def grid(sizes: tuple[int, ...]) -> Ints:
    return np.array(list(itertools.product(*(range(size) for size in sizes))), dtype=np.int32).T


def ordinary(points: Ints | Longs, bits: int) -> Longs:
    """The index on the curve of equal sides, by the reference package."""
    return np.array(HilbertCurve(bits, len(points)).distances_from_points(points.T), dtype=np.int64)


@pytest.mark.parametrize(("columns", "bits"), [(1, 4), (2, 1), (2, 3), (3, 2), (4, 2), (5, 2)])
def test_on_equal_sides_the_index_is_the_ordinary_curves(columns: int, bits: int) -> None:
    points = grid((2**bits,) * columns)
    assert np.array_equal(curve.index(points, [2**bits] * columns), ordinary(points, bits))


@given(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=4))
@settings(max_examples=examples(30), deadline=None)
def test_on_unequal_sides_it_numbers_the_cells_in_the_ordinary_curves_order(sizes: list[int]) -> None:
    bits = [size.bit_length() - 1 for size in sizes]
    if max(bits) == 0:
        return
    points = grid(tuple(sizes))
    rescaled = points.astype(np.int64) << (max(bits) - np.array(bits))[:, None]
    mine = curve.index(points, sizes)
    assert sorted(mine) == list(range(points.shape[1]))
    assert np.array_equal(np.argsort(mine), np.argsort(ordinary(rescaled, max(bits))))


@given(st.lists(st.integers(1, 7), min_size=1, max_size=4))
@settings(max_examples=examples(30), deadline=None)
def test_cells_of_any_grid_are_ranked_without_gaps_in_the_order_of_the_index(sizes: list[int]) -> None:
    points = grid(tuple(sizes))
    rank = curve.cells(sizes)[tuple(points)]
    assert sorted(rank) == list(range(points.shape[1]))
    assert np.array_equal(np.argsort(rank), np.argsort(curve.index(points, sizes), kind="stable"))


def test_steps_along_the_curve_of_equal_sides_are_to_a_neighbouring_cell() -> None:
    points = grid((8, 8, 8))
    walk = points[:, np.argsort(curve.index(points, [8, 8, 8]))]
    assert (np.abs(np.diff(walk, axis=1)).sum(axis=0) == 1).all()


def test_long_columns_get_coarser_until_the_index_fits() -> None:
    assert curve.sides([2**40, 2**30, 2]) == (31, 30, 1)
    assert curve.sides([80, 2, 6, 9, 50]) == (7, 1, 3, 4, 6)


def test_a_grid_too_large_to_list_is_placed_by_its_index() -> None:
    sizes = [2**11, 2**11]
    points = np.array([[0, 5, 2047], [0, 9, 2047]], dtype=np.int32)
    assert np.array_equal(curve.places(points, sizes), curve.index(points, sizes))
    with pytest.raises(InputError, match="too large to rank"):
        curve.cells(sizes)
