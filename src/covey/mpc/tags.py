"""Tags of records: a secret linear function of a record's bits, its value an element of GF(2^64).

A record's tag is the sum of the secret keys of its bits that are 1. Whoever changes a record without knowing the keys
leaves a tag that fits with a chance of 2^-64. All records are tested at once, by one sum with weights of a coin.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Words
from covey.compiled import jit
from covey.mpc.binary_field import byte_tables

TAG = 64
POWERS = np.uint64(1) << np.arange(TAG, dtype=np.uint64)[::-1]
"""The element that each bit of a tag stands for, the first being the most significant."""
CHANCES = 2
"""Of 2^64 choices of keys and weights let a wrong shuffle pass, at most."""


def tags(words: Words, keys: Words) -> Words:
    """Returns this party's part of the tags of shared words (copies x chunks x records)."""
    width = keys.shape[1]
    whole, own = [], []
    for start in range(0, width, 64):  # bit 0 of a chunk is its most significant
        part = keys[:, start : start + 64][:, ::-1]
        padded = np.zeros((2, 64), np.uint64)
        padded[:, : part.shape[1]] = part
        whole.append(byte_tables(padded[0] ^ padded[1]))
        own.append(byte_tables(padded[0]))
    return _tagged(np.ascontiguousarray(words), np.stack(whole), np.stack(own))


@jit
def _tagged(words: Words, whole: Words, own: Words) -> Words:
    out = np.zeros(words.shape[2], np.uint64)
    for chunk in range(words.shape[1]):
        for record in range(out.size):
            x, y = words[0, chunk, record], words[1, chunk, record]
            for byte in range(8):
                shift = np.uint64(8 * byte)
                out[record] ^= whole[chunk, byte, np.int64(x >> shift & np.uint64(0xFF))]
                out[record] ^= own[chunk, byte, np.int64(y >> shift & np.uint64(0xFF))]
    return out
