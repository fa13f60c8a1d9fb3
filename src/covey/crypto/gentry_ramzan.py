"""Gentry and Ramzan's private retrieval, which the paper on collection names: a reference for about a thousand records.

Source    Gentry and Ramzan 2005. Each index has a prime power of its own, larger than any chunk of a record; the table
          is the one number that is congruent to each chunk modulo its prime power. The client makes a modulus Q0 Q1
          whose first prime is 1 modulo its record's prime power, sends it with a generator, and gets the generator to
          the table's power. In the subgroup of Q0 that has the prime power's order, the chunk is a discrete logarithm,
          which is found digit by digit because the prime is small.
Security  the server would have to tell which prime powers divide phi of the modulus (phi-hiding): chunks have at most a
          fifth of the modulus's bits, below the fourth from which Coppersmith's method factors it. Q1 - 1 has a random
          factor, so that the modulus leaves every remainder alike when it is divided by the primes.
Not       practical: the server's exponent is as long as the table, for every single query. Like `covey.crypto.pir` it
          gives the table away to its clients, and a wrong answer is a wrong record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import gmpy2
from gmpy2 import mpz

from covey.crypto.paillier import SIZES, check_bits
from covey.crypto.primes import has_small_factor
from covey.crypto.rng import Stream
from covey.errors import InputError

LARGEST = 4096
"""Records in a table: a reference has to end."""

_ROUNDS = 25


@dataclass(frozen=True)
class Query:
    """A modulus in whose group a subgroup of the record's order is hidden, and a generator."""

    modulus: int
    generator: int


@dataclass(frozen=True)
class Chunks:
    """The cut of records into chunks for a modulus of that many bits."""

    records: int
    record_bytes: int
    bits: int = SIZES[0]
    least_bits: int = SIZES[0]

    def __post_init__(self) -> None:
        check_bits(self.bits, self.least_bits)
        if not 1 <= self.records <= LARGEST or self.record_bytes < 1:
            raise InputError(
                f"a table of {self.records} records of {self.record_bytes} bytes: 1 to {LARGEST}, not empty"
            )

    @property
    def number(self) -> int:
        """Chunks in a record, and numbers in an answer."""
        return -(-self.record_bytes // self._longest)

    @property
    def size(self) -> int:
        """Bytes of a chunk."""
        return -(-self.record_bytes // self.number)

    @property
    def _longest(self) -> int:
        # a prime power has a few bits more than a chunk: up to those of its prime
        return (self.bits // 5 - _primes(self.records)[-1].bit_length()) // 8

    def power(self, index: int) -> tuple[int, int]:
        """The prime of an index, and the exponent with which it exceeds every chunk."""
        if not 0 <= index < self.records:
            raise InputError(f"the table has records 0 to {self.records - 1}")
        prime, exponent, value = _primes(self.records)[index], 0, 1
        while value.bit_length() <= 8 * self.size:
            value, exponent = value * prime, exponent + 1
        return prime, exponent


class ChunkTable:
    """The server's records, as one number for each of their chunks."""

    def __init__(self, records: Sequence[bytes], chunks: Chunks) -> None:
        if len(records) != chunks.records or any(len(record) != chunks.record_bytes for record in records):
            raise InputError(f"a table of {chunks.records} records of {chunks.record_bytes} bytes each was announced")
        self.chunks = chunks
        powers = [mpz(prime) ** exponent for prime, exponent in map(chunks.power, range(chunks.records))]
        starts = range(0, chunks.number * chunks.size, chunks.size)
        self._exponents = [
            _congruent(
                [
                    (_number(record[start : start + chunks.size]), power)
                    for record, power in zip(records, powers, strict=True)
                ]
            )
            for start in starts
        ]

    def answer(self, query: Query) -> list[int]:
        """The generator to the power of each chunk's number. Raises `InputError` for a malformed query."""
        modulus, generator = mpz(query.modulus), mpz(query.generator)
        if modulus.bit_length() != self.chunks.bits or has_small_factor(modulus) or gmpy2.is_prime(modulus):
            raise InputError(f"a query's modulus is the product of two primes, of {self.chunks.bits} bits")
        if not 1 < generator < modulus - 1 or gmpy2.gcd(generator, modulus) != 1:
            raise InputError("a query's generator is an element of the modulus's group, and neither 1 nor -1")
        return [int(gmpy2.powmod(generator, exponent, modulus)) for exponent in self._exponents]


class Client:
    """One retrieval: a query, and what is needed to read its answer."""

    __slots__ = ("_base", "_chunks", "_cofactor", "_exponent", "_prime", "_small", "query")

    def __init__(self, chunks: Chunks, index: int, stream: Stream) -> None:
        self._chunks = chunks
        self._small, self._exponent = chunks.power(index)
        order = mpz(self._small) ** self._exponent
        half = chunks.bits // 2
        top = 1 << (order.bit_length() - 1)
        self._prime, self._cofactor = _semi_safe(half, lambda: order, stream)
        other, _ = _semi_safe(half, lambda: mpz(top | stream.below(top)), stream)
        modulus = self._prime * other
        while True:
            generator = mpz(stream.below(int(modulus))) ** 2 % modulus
            self._base = gmpy2.powmod_sec(generator, self._cofactor, self._prime)
            whole = gmpy2.powmod(self._base, order // self._small, self._prime) != 1
            if whole and gmpy2.gcd(generator, modulus) == 1:
                break
        self.query = Query(int(modulus), int(generator))

    def recover(self, answers: Sequence[int]) -> bytes:
        """The record. Raises `InputError` for answers that no table gives."""
        chunks = self._chunks
        if len(answers) != chunks.number or not all(0 < answer < self.query.modulus for answer in answers):
            raise InputError(f"an answer has {chunks.number} numbers below the modulus")
        found = [self._logarithm(gmpy2.powmod_sec(mpz(answer), self._cofactor, self._prime)) for answer in answers]
        last = chunks.record_bytes - (chunks.number - 1) * chunks.size
        sizes = [chunks.size] * (chunks.number - 1) + [last]
        if any(number >= 1 << (8 * size) for number, size in zip(found, sizes, strict=True)):
            raise InputError("the answer holds no chunk of a record")
        return b"".join(number.to_bytes(size, "big") for number, size in zip(found, sizes, strict=True))

    def _logarithm(self, target: mpz) -> int:
        """The exponent of the base that gives the target: Pohlig and Hellman's, digit by digit to the small prime."""
        prime, small = self._prime, self._small
        order = mpz(small) ** self._exponent
        unit = gmpy2.powmod(self._base, order // small, prime)
        digits, value = {}, mpz(1)
        for digit in range(small):
            digits[value] = digit
            value = value * unit % prime
        number, back = 0, gmpy2.invert(self._base, prime)
        for place in range(self._exponent):
            rest = target * gmpy2.powmod(back, number, prime) % prime
            head = gmpy2.powmod(rest, order // mpz(small) ** (place + 1), prime)
            if head not in digits:
                raise InputError("the answer is no power of the generator")
            number += digits[head] * small**place
        return number

    def __repr__(self) -> str:
        return "Client(…)"


def _semi_safe(bits: int, draw: Callable[[], mpz], stream: Stream) -> tuple[mpz, mpz]:
    """A prime 2 q factor + 1 of exactly that many bits, its two highest set, with q prime; and 2 q.

    The factor is drawn anew for each candidate: kept, it would make some remainders of the prime likelier than others.
    """
    while True:
        factor = draw()
        low, high = (mpz(3) << (bits - 2)) // (2 * factor), (mpz(1) << bits) // (2 * factor)
        q = (low + stream.below(int(high - low))) | 1
        candidate = 2 * q * factor + 1
        if candidate.bit_length() != bits or has_small_factor(q) or has_small_factor(candidate):
            continue
        if gmpy2.is_prime(q, 1) and gmpy2.is_prime(candidate, _ROUNDS) and gmpy2.is_prime(q, _ROUNDS):
            return candidate, 2 * q


def _congruent(pairs: Sequence[tuple[mpz, mpz]]) -> mpz:
    """The number that leaves each remainder for its modulus: Chinese remainders, by halves."""
    level = list(pairs)
    while len(level) > 1:
        joined = []
        for (one, first), (two, second) in zip(level[::2], level[1::2], strict=False):
            joined.append((one + first * ((two - one) * gmpy2.invert(first, second) % second), first * second))
        level = joined + level[len(joined) * 2 :]
    return level[0][0]


def _number(chunk: bytes) -> mpz:
    return mpz(int.from_bytes(chunk, "big"))


@lru_cache(maxsize=8)
def _primes(count: int) -> list[int]:
    """The first odd primes."""
    found, prime = [], mpz(2)
    for _ in range(count):
        prime = gmpy2.next_prime(prime)
        found.append(int(prime))
    return found
