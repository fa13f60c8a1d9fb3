"""Bits under a key of which one party can read a single thing: whether a ciphertext holds zero.

The holder encrypts with two multiplications of the generator, where everyone else needs one of the key, which is three
times as slow. The other side computes with `elgamal`; complements are what comparisons are made of.
"""

from __future__ import annotations

import numpy as np

from covey.arrays import Bits
from covey.crypto.elgamal import Ciphertexts
from covey.crypto.group import GENERATOR, POINT_BYTES, SCALAR_BYTES, Point, Points, Scalar, Scalars, generator_times
from covey.crypto.group import powers as multiples
from covey.crypto.rng import Stream

_NOTHING = multiples([0])
_ONE = Scalars.of([1])


class ReadingKey:
    """One party's key, for one session."""

    __slots__ = ("_secret", "public")

    def __init__(self, stream: Stream) -> None:
        self._secret = Scalar.fresh(stream)
        self.public = Point(generator_times(self._secret).data)

    def encrypt(self, bits: Bits, stream: Stream) -> Ciphertexts:
        """Each bit, with randomness of its own."""
        if not len(bits):
            return Ciphertexts(Points(b""), Points(b""))
        fresh = Scalars.draw(stream, len(bits))
        shared = fresh.times(self._secret)
        plain, raised = (
            np.frombuffer(each.reveal(), np.uint8).reshape(-1, SCALAR_BYTES) for each in (shared, shared.plus(_ONE))
        )
        second = Scalars(np.where(bits[:, np.newaxis], raised, plain).tobytes())
        return Ciphertexts(generator_times(fresh), generator_times(second))

    def zeros(self, ciphertexts: Ciphertexts) -> Bits:
        """Marks the ciphertexts of zero; of the others nothing is read."""
        expected = np.frombuffer(ciphertexts.first.times(self._secret).data, np.uint8).reshape(-1, POINT_BYTES)
        found = np.frombuffer(ciphertexts.second.data, np.uint8).reshape(-1, POINT_BYTES)
        return np.asarray((expected == found).all(axis=1))

    def __repr__(self) -> str:
        return "ReadingKey(…)"


def complement(bits: Ciphertexts) -> Ciphertexts:
    """One minus each."""
    return Ciphertexts(_NOTHING.minus(bits.first), GENERATOR.minus(bits.second)) if len(bits) else bits


def trivial(bit: int, count: int) -> Ciphertexts:
    """Trivial ciphertexts of one bit, which everyone can read: a start for sums."""
    places = np.zeros(count, dtype=np.int64)
    return Ciphertexts(_NOTHING.take(places), (GENERATOR if bit else _NOTHING).take(places))


def choose(which: Bits, yes: Ciphertexts, no: Ciphertexts) -> Ciphertexts:
    """For each place the one or the other."""
    order = np.where(which, 0, len(yes)) + np.arange(len(which))
    return Ciphertexts.join([yes, no]).take(order)
