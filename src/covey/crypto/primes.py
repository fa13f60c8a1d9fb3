"""Primes for keys that last one session, drawn from a stream: equal streams give equal primes."""

from __future__ import annotations

import gmpy2
from gmpy2 import mpz

from covey.crypto.rng import Stream
from covey.errors import InputError

_ROUNDS = 40
"""Miller-Rabin rounds after GMP's Baillie-PSW test."""

_SMALL = gmpy2.primorial(2000)


def prime(bits: int, stream: Stream, *, residue: int = 1, modulus: int = 2) -> mpz:
    """A prime of exactly that many bits, its two highest set, that leaves `residue` when divided by `modulus`.

    The product of two such primes has exactly twice as many bits.
    """
    if bits < 16:
        raise InputError(f"a prime of {bits} bits is no secret")
    while True:
        candidate = _candidate(bits, stream, residue, modulus)
        if gmpy2.gcd(candidate, _SMALL) == 1 and gmpy2.is_prime(candidate, _ROUNDS):
            return candidate


def safe_prime(bits: int, stream: Stream) -> mpz:
    """A prime p of exactly that many bits such that (p - 1) / 2 is prime too."""
    if bits < 16:
        raise InputError(f"a prime of {bits} bits is no secret")
    while True:
        half = _candidate(bits - 1, stream, 5, 6)  # (p - 1) / 2 = 1 mod 6 would make p a multiple of three
        safe = 2 * half + 1
        if gmpy2.gcd(half, _SMALL) > 1 or gmpy2.gcd(safe, _SMALL) > 1:
            continue
        if gmpy2.is_prime(half, 1) and gmpy2.is_prime(safe, _ROUNDS) and gmpy2.is_prime(half, _ROUNDS):
            return safe


def has_small_factor(number: mpz) -> bool:
    """Some prime below 2,000 divides it."""
    return bool(gmpy2.gcd(number, _SMALL) != 1)


def _candidate(bits: int, stream: Stream, residue: int, modulus: int) -> mpz:
    while True:
        drawn = mpz(int.from_bytes(stream.bytes((bits + 7) // 8), "little")) % (mpz(1) << bits)
        drawn |= mpz(3) << (bits - 2)
        drawn += (residue - drawn) % modulus
        if drawn.bit_length() == bits:
            return drawn
