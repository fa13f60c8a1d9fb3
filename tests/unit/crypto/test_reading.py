"""Bits under a key whose holder reads one thing only: whether a ciphertext holds zero."""

from __future__ import annotations

import numpy as np
from tests.harness.network import seed_of

from covey.crypto import elgamal
from covey.crypto.reading import ReadingKey, choose, complement, trivial
from covey.crypto.rng import Rng

RNG = Rng(seed_of(1))
KEY = ReadingKey(RNG.stream("key"))
BITS = np.array([True, False, False, True])


def test_zeros_are_found_and_ones_are_not() -> None:
    assert KEY.zeros(KEY.encrypt(BITS, Rng(seed_of(2)).stream("a"))).tolist() == (~BITS).tolist()


def test_the_holder_encrypts_as_anyone_else_does() -> None:
    theirs = elgamal.encrypt(BITS.astype(int).tolist(), KEY.public, Rng(seed_of(3)).stream("a"))
    mine = KEY.encrypt(BITS, Rng(seed_of(3)).stream("a"))
    assert (theirs.first, theirs.second) == (mine.first, mine.second)


def test_no_bits_are_no_ciphertexts() -> None:
    assert len(KEY.encrypt(BITS[:0], Rng(seed_of(4)).stream("a"))) == 0


def test_a_complement_is_one_less_the_bit() -> None:
    encrypted = KEY.encrypt(BITS, Rng(seed_of(5)).stream("a"))
    assert KEY.zeros(complement(encrypted)).tolist() == BITS.tolist()
    assert KEY.zeros(complement(encrypted).plus(encrypted).minus(trivial(1, 4))).all()


def test_one_or_the_other_is_chosen() -> None:
    ones, zeros = trivial(1, 4), trivial(0, 4)
    assert KEY.zeros(choose(BITS, zeros, ones)).tolist() == BITS.tolist()


def test_a_key_is_not_printed() -> None:
    assert repr(KEY) == "ReadingKey(…)"
