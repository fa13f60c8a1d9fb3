"""The keyed function behind buckets and dummy users is SipHash-2-4."""

from __future__ import annotations

import numpy as np
from tests.harness.network import seed_of

from covey.crypto.siphash import keyed, siphash

KEY = np.array([0x0706050403020100, 0x0F0E0D0C0B0A0908], np.uint64)
"""The authors' key."""


def test_the_authors_vectors() -> None:
    message = np.array([[0x0706050403020100], [0x0F0E0D0C0B0A0908]], np.uint64)
    assert siphash(message[:1], KEY).tolist() == [0x93F5F5799A932462]
    assert siphash(message, KEY).tolist() == [0x3F2ACC7F57C29BDB]


def test_many_words_are_hashed_one_by_one() -> None:
    words = np.arange(50, dtype=np.uint64)[np.newaxis] * np.uint64(0x9E3779B97F4A7C15)
    one_by_one = [int(siphash(words[:, place : place + 1], KEY)[0]) for place in range(50)]
    assert siphash(words, KEY).tolist() == one_by_one


def test_labels_and_secrets_make_other_functions() -> None:
    words = np.arange(100, dtype=np.uint64)
    found = [
        keyed(seed_of(secret), words, *labels).tolist()
        for secret in (1, 2)
        for labels in (("seat", "0"), ("seat", "01"))
    ]
    assert len({tuple(each) for each in found}) == 4
    assert len(set(found[0])) == 100
    assert keyed(seed_of(1), words, "seat", "0").tolist() == found[0]
