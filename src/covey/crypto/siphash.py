"""SipHash-2-4 (Aumasson and Bernstein 2012): a keyed hash of 64-bit words whose output looks random without the key."""

from __future__ import annotations

import numpy as np

from covey.arrays import Words
from covey.compiled import jit
from covey.crypto.rng import Label, derive
from covey.crypto.secret import Secret


def keyed(secret: Secret, words: Words, *labels: Label) -> Words:
    """A number for each word, under a key that follows from the secret and the labels."""
    return siphash(np.ascontiguousarray(words)[np.newaxis], siphash_key(derive(secret, "siphash", *labels)))


def siphash_key(secret: Secret) -> Words:
    """The first sixteen bytes of a secret, as the two words of a key."""
    return np.frombuffer(secret.reveal()[:16], dtype="<u8").astype(np.uint64)


@jit
def _left(word: np.uint64, by: int) -> np.uint64:
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@jit
def siphash(keys: Words, key: Words) -> Words:
    """SipHash-2-4 (Aumasson and Bernstein 2012) of each column of 64-bit words, read as little-endian bytes."""
    answer = np.empty(keys.shape[1], np.uint64)
    last = np.uint64((8 * keys.shape[0]) & 255) << np.uint64(56)
    for place in range(keys.shape[1]):
        a = np.uint64(0x736F6D6570736575) ^ key[0]
        b = np.uint64(0x646F72616E646F6D) ^ key[1]
        c = np.uint64(0x6C7967656E657261) ^ key[0]
        d = np.uint64(0x7465646279746573) ^ key[1]
        # two rounds for each word and for the length; the last two passes are the four closing rounds
        for step in range(keys.shape[0] + 3):
            word = np.uint64(0)
            if step < keys.shape[0]:
                word = keys[step, place]
            elif step == keys.shape[0]:
                word = last
            elif step == keys.shape[0] + 1:
                c ^= np.uint64(255)
            d ^= word
            for _ in range(2):
                a += b
                b = _left(b, 13) ^ a
                a = _left(a, 32)
                c += d
                d = _left(d, 16) ^ c
                a += d
                d = _left(d, 21) ^ a
                c += b
                b = _left(b, 17) ^ c
                c = _left(c, 32)
            a ^= word
        answer[place] = a ^ b ^ c ^ d
    return answer
