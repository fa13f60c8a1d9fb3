"""The only door to randomness: labelled streams, keyed by one seed per session.

A stream is AES-256 in counter mode under a key of its own, HMAC-SHA256(seed, labels); where the processor
has AES instructions it is ten times as fast as ChaCha20. Equal seeds and labels give equal bytes, whatever
thread, process or order they are drawn in: that is what resume, replay and the fault tests rest on. There is
no global state. Two mistakes are refused: drawing the same labels twice from one `Rng` (a mask used twice
opens a difference), and going on with a stream in a forked child (parent and child would draw the same).
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from covey.arrays import Longs, Words
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.errors import InputError

Label = str | int | bytes
Octets = bytes  # inside `Stream`, `bytes` is the method

_SLAB = 1 << 20
_ZEROS = bytes(_SLAB)
_BLOCK = 16


def fresh_seed() -> Secret:
    """A new seed from the operating system."""
    return Secret(os.urandom(SECRET_BYTES))


def derive(key: Secret, *labels: Label) -> Secret:
    """Thirty-two bytes that follow from the key and the labels, and look random to all who lack the key."""
    return Secret(hmac.digest(key.reveal(), spell(*labels), hashlib.sha256))


def spell(*labels: Label) -> bytes:
    """One byte string per sequence of labels: no two sequences share one."""
    parts = []
    for label in labels:
        if isinstance(label, str):
            kind, text = b"s", label.encode()
        elif isinstance(label, bytes):
            kind, text = b"b", label
        else:
            kind, text = b"i", str(label).encode()
        parts.append(kind + len(text).to_bytes(8, "big") + text)
    return b"".join(parts)


class Rng:
    """All the randomness of one party in one session."""

    __slots__ = ("_drawn", "_seed")

    def __init__(self, seed: Secret) -> None:
        self._seed = seed
        self._drawn: set[bytes] = set()

    def stream(self, *labels: Label) -> Stream:
        """The stream of these labels, from its beginning; a second call with the same labels is refused."""
        key = derive(self._seed, "stream", *labels)
        mark = hashlib.blake2s(key.reveal(), digest_size=16).digest()
        if mark in self._drawn:
            raise InputError(f"the random stream {labels!r} was drawn before: give each use its own label")
        self._drawn.add(mark)
        return Stream(key)

    def child(self, *labels: Label) -> Rng:
        """An independent source below these labels; it shares the memory of what was drawn."""
        child = Rng(derive(self._seed, "child", *labels))
        child._drawn = self._drawn
        return child

    def salt(self, *labels: Label) -> bytes:
        """Sixteen bytes that make a message's hash impossible to guess; equal labels give equal salts."""
        return derive(self._seed, "salt", *labels).reveal()[:16]

    def __repr__(self) -> str:
        return "Rng(…)"


class Stream:
    """Random bytes in a fixed order: what you draw depends only on the key and on what was drawn before."""

    __slots__ = ("_process", "_update")

    def __init__(self, key: Secret) -> None:
        cipher = Cipher(algorithms.AES(key.reveal()), modes.CTR(bytes(_BLOCK)))
        self._update: Callable[[bytes, memoryview], int] = cipher.encryptor().update_into
        self._process = os.getpid()

    def __repr__(self) -> str:
        return "Stream(…)"

    def fill(self, target: memoryview) -> None:
        """Overwrites the bytes of `target` with random ones."""
        if os.getpid() != self._process:
            raise InputError("a random stream was carried into a forked process: start processes with spawn")
        size = target.nbytes
        for start in range(0, size, _SLAB):
            step = min(_SLAB, size - start)
            self._update(_ZEROS[:step] if step < _SLAB else _ZEROS, target[start : start + step])

    def bytes(self, size: int) -> Octets:
        """That many random bytes."""
        block = bytearray(size)
        self.fill(memoryview(block))
        return Octets(block)

    def words(self, size: int) -> Words:
        """That many integers modulo 2^64."""
        vector = np.empty(size, dtype="<u8")
        if size:
            self.fill(vector.view(np.uint8).data)
        return vector.astype(np.uint64, copy=False)

    def below(self, bound: int) -> int:
        """An integer from 0 to bound - 1, each as likely as the others; the bound may be of any size."""
        if bound < 1:
            raise InputError(f"nothing lies below {bound}")
        bits = (bound - 1).bit_length()
        size = (bits + 7) // 8
        while True:
            candidate = int.from_bytes(self.bytes(size), "little") & ((1 << bits) - 1)
            if candidate < bound:
                return candidate

    def words_below(self, bound: int, size: int) -> Words:
        """That many integers from 0 to bound - 1 (bound up to 2^64), each as likely as the others."""
        if not 1 <= bound <= 1 << 64:
            raise InputError(f"a 64-bit word cannot be drawn below {bound}")
        vector = self.words(size)
        if bound == 1 << 64:
            return vector
        excess = (1 << 64) % bound
        if excess:
            limit = np.uint64((1 << 64) - excess)
            while (rejected := np.flatnonzero(vector >= limit)).size:
                vector[rejected] = self.words(rejected.size)
        return vector % np.uint64(bound)

    def permutation(self, size: int) -> Longs:
        """The numbers 0 to size - 1 in random order, each order as likely as the others."""
        while True:
            keys = self.words(size)
            order = np.argsort(keys, kind="stable")
            ranked = keys[order]
            if not np.any(ranked[1:] == ranked[:-1]):  # equal keys would favour the order we began with
                return order.astype(np.int64, copy=False)

    def scalar(self, order: int) -> int:
        """An integer from 1 to order - 1: an exponent for a group of that order."""
        return 1 + self.below(order - 1)

    def scalar_bytes(self, order: int, size: int = 32) -> Octets:
        """Scalars as little-endian bytes."""
        return self.scalar(order).to_bytes(size, "little")
