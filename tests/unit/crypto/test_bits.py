"""A turned matrix of bits is the transpose that numpy finds."""

from __future__ import annotations

import numpy as np
import pytest

from covey.crypto.bits import turn


@pytest.mark.parametrize(("rows", "octets"), [(0, 3), (1, 1), (8, 1), (9, 2), (256, 5), (77, 32)])
def test_rows_become_columns(rows: int, octets: int) -> None:
    matrix = np.random.default_rng(rows).integers(0, 256, (rows, octets), dtype=np.uint8)
    expected = np.packbits(np.unpackbits(matrix, axis=1).T, axis=1)
    assert np.array_equal(turn(matrix), expected)
