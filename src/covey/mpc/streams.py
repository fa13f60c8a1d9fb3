"""Random permutations that all who know a seed draw alike."""

from __future__ import annotations

import numpy as np

from covey.arrays import Longs, Words32
from covey.compiled import jit
from covey.crypto.rng import Stream
from covey.errors import InputError

_SPARE = 16


def permutation(stream: Stream, size: int) -> Longs:
    """Returns the numbers 0 to size - 1 in a random order, each order as likely as the others."""
    if size >= 1 << 32:
        raise InputError(f"{size} records are more than a shuffle takes")
    order, remaining = np.arange(size), size
    while remaining > 1:
        words = stream.words((remaining + _SPARE) // 2).view(np.uint32)
        remaining = _exchanged(order, words, remaining)
    return order


@jit
def _exchanged(order: Longs, words: Words32, remaining: int) -> int:
    """Goes on with a Fisher-Yates shuffle while there are words; returns how many positions are not yet drawn.

    A number below n is the upper half of word * n, exact since words are refused whose lower half is below 2^32 mod n
    (D. Lemire, Fast random integer generation in an interval, 2019).
    """
    for i in range(words.size):
        if remaining < 2:
            break
        count = np.uint64(remaining)
        product = np.uint64(words[i]) * count
        low = product & np.uint64(0xFFFFFFFF)
        if low < count and low < (np.uint64(1) << np.uint64(32)) % count:
            continue
        remaining -= 1
        drawn_position = np.int64(product >> np.uint64(32))
        order[remaining], order[drawn_position] = order[drawn_position], order[remaining]
    return remaining
