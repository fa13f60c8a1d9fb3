"""The store gives back what was stored, and for any other key something that looks random."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.network import seed_of
from tests.harness.tiers import examples

from covey.crypto.keyvalue import DIGEST_BYTES, cells, lay_out, look_up
from covey.crypto.rng import Rng


def digests(first: int, last: int, attempt: int = 0) -> list[bytes]:
    """Stand-ins for the digests of keys."""
    return [hashlib.sha512(f"{attempt}.{key}".encode()).digest()[:DIGEST_BYTES] for key in range(first, last)]


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 300), st.integers(0, 1000))
def test_what_was_stored_is_found(keys: int, seed: int) -> None:
    rng = Rng(seed_of(seed))
    values = rng.stream("values").words(2 * keys)
    for attempt in range(16):
        table = lay_out(digests(0, keys, attempt), values, rng.stream("table", attempt))
        if table is not None:
            assert len(table) == 2 * cells(keys)
            assert np.array_equal(look_up(table, keys, digests(0, keys, attempt)), values)
            return
    pytest.fail("sixteen attempts")


def test_the_first_attempt_nearly_always_succeeds() -> None:
    stream = Rng(seed_of(1)).stream("tables")
    sizes = [1, 2, 5, 20, 60, 200, 1000] * 20
    failures = sum(
        lay_out(digests(0, keys, attempt), np.zeros(2 * keys, dtype=np.uint64), stream) is None
        for attempt, keys in enumerate(sizes)
    )
    assert failures <= 2


def test_a_store_of_equal_values_and_an_answer_for_a_foreign_key_look_random() -> None:
    rng = Rng(seed_of(2))
    masks = rng.stream("masks").words(4000)
    table = lay_out(digests(0, 2000), masks, rng.stream("table"))
    assert table is not None
    for words in (table, look_up(table, 2000, digests(5000, 7000))):
        counts = np.bincount(words.view(np.uint8), minlength=256)
        expected = words.nbytes / 256
        assert 150 < float(np.sum((counts - expected) ** 2 / expected)) < 380  # 255 degrees of freedom


def test_two_keys_with_the_same_cells_cannot_be_laid_out() -> None:
    twins = digests(0, 1) * 2
    assert lay_out(twins, np.zeros(4, dtype=np.uint64), Rng(seed_of(3)).stream("table")) is None
