"""SipHash-2-4 (Aumasson and Bernstein 2012) of many 64-bit words at once: a keyed function that looks random."""

from __future__ import annotations

import numpy as np

from covey.arrays import Words
from covey.crypto.rng import Label, derive
from covey.crypto.secret import Secret

_INITIAL = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_LENGTH = 8 << 56


def keyed(secret: Secret, words: Words, *labels: Label) -> Words:
    """A number for each word under a key that follows from the secret and the labels."""
    material = derive(secret, "siphash", *labels).reveal()
    return siphash(int.from_bytes(material[:8], "little"), int.from_bytes(material[8:16], "little"), words)


def siphash(low: int, high: int, words: Words) -> Words:
    """The hash of each word, read as eight little-endian bytes, under the key's two halves."""
    halves = (low, high, low, high)
    state = [np.full(len(words), start ^ half, np.uint64) for start, half in zip(_INITIAL, halves, strict=True)]
    for block in (words, np.full(len(words), _LENGTH, np.uint64)):
        state[3] ^= block
        _mix(state, 2)
        state[0] ^= block
    state[2] ^= np.uint64(0xFF)
    _mix(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _mix(state: list[Words], rounds: int) -> None:
    a, b, c, d = state
    for _ in range(rounds):
        a += b
        b[:] = _left(b, 13) ^ a
        a[:] = _left(a, 32)
        c += d
        d[:] = _left(d, 16) ^ c
        a += d
        d[:] = _left(d, 21) ^ a
        c += b
        b[:] = _left(b, 17) ^ c
        c[:] = _left(c, 32)


def _left(words: Words, by: int) -> Words:
    return (words << np.uint64(by)) | (words >> np.uint64(64 - by))
