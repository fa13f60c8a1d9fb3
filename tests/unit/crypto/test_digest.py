"""One bit of many digests is that of the standard library's SHA-256."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from covey.crypto.digest import first_bits


@pytest.mark.parametrize(("number", "first"), [(0, 0), (1, 0), (31, 5), (33, (1 << 32) - 7), (1000, (1 << 63) - 500)])
def test_every_bit_is_that_of_the_standard_librarys_digest(number: int, first: int) -> None:
    rows = np.random.default_rng(number).integers(0, 256, (number, 32), dtype=np.uint8)
    expected = [
        hashlib.sha256((first + place).to_bytes(8, "big") + row.tobytes()).digest()[0] & 1 == 1
        for place, row in enumerate(rows)
    ]
    assert first_bits(rows, first).tolist() == expected
