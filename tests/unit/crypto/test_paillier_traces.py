"""What a key's holder can trace: whose ciphertexts were added up is found where masks are powers of its own base."""

from __future__ import annotations

from dataclasses import dataclass

import gmpy2
import pytest
from gmpy2 import mpz
from tests.harness.network import seed_of

from covey.crypto import primes
from covey.crypto.paillier import Ciphertexts, PublicKey, SecretKey
from covey.crypto.rng import Rng, Stream

BITS, USERS = 512, 50
THEIRS = frozenset(user for user in range(USERS) if user % 3 == 1 or user % 7 == 2)
"""Whom the other party has: its secret."""


def stream(*labels: str) -> Stream:
    return Rng(seed_of(4)).stream("traces", *labels)


@dataclass(frozen=True)
class Holder:
    """A key's holder that encrypts with small primes for randomness, and looks for them in what comes back."""

    p: mpz
    q: mpz
    key: PublicKey
    period: int
    """Of the base."""

    @classmethod
    def make(cls) -> Holder:
        """With a base that is 1 modulo one prime and has order 3 modulo the other."""
        p = primes.prime(BITS // 2, stream("p"), residue=3, modulus=4)
        q = primes.prime(BITS // 2, stream("q"), residue=7, modulus=12)
        third = next(w for x in range(2, 99) if (w := gmpy2.powmod(x, (q - 1) // 3, q)) != 1)
        base = (q * gmpy2.invert(q, p) + third * p * gmpy2.invert(p, q)) % (p * q)
        return cls(p, q, PublicKey(p * q, base, least_bits=BITS), 3)

    @property
    def marks(self) -> list[mpz]:
        found = [mpz(2)]
        while len(found) < USERS:
            found.append(gmpy2.next_prime(found[-1]))
        return found

    def sent(self) -> Ciphertexts:
        """A bit for every user, as the other party accepts them."""
        n, square = self.key.n, self.key.square
        bits = [(1 + user % 2 * n) * gmpy2.powmod(mark, n, square) % square for user, mark in enumerate(self.marks)]
        return self.key.accept(Ciphertexts(self.key, bits).residues())

    def traced(self, back: Ciphertexts) -> frozenset[int] | None:
        """The users of whose ciphertexts this is the sum; None if it cannot be told."""
        n = self.key.n
        root = gmpy2.powmod(back.values[0] % n, gmpy2.invert(n, gmpy2.lcm(self.p - 1, self.q - 1)), n)
        for turn in range(self.period):
            rest = root * gmpy2.invert(gmpy2.powmod(self.key.base, turn, n), n) % n
            found = frozenset(user for user, mark in enumerate(self.marks) if rest % mark == 0)
            if rest == _product([self.marks[user] for user in found]):
                return found
        return None


def _product(numbers: list[mpz]) -> mpz:
    product = mpz(1)
    for number in numbers:
        product *= number
    return product


def under_powers_of_the_base(summed: Ciphertexts, fresh: Stream) -> Ciphertexts:
    """Re-randomised as one encrypts: with short powers of the base that the key's holder chose."""
    masks = summed.key.masks(summed.key.exponents(len(summed), fresh))
    return summed.plus(Ciphertexts(summed.key, masks))


@pytest.fixture(scope="module")
def holder() -> Holder:
    return Holder.make()


def test_a_bad_base_shows_whose_bits_were_added_up_unless_the_randomness_is_our_own(holder: Holder) -> None:
    summed = holder.sent().totals([sorted(THEIRS)]).plus_numbers([-3])
    assert holder.traced(summed) == THEIRS
    for turn in range(8):
        assert holder.traced(under_powers_of_the_base(summed, stream("short", str(turn)))) == THEIRS
        assert holder.traced(summed.rerandomised(stream("fresh", str(turn)))) is None


def test_a_good_key_s_holder_finds_every_kind_of_randomness_and_not_only_powers_of_its_base() -> None:
    """Powers of an honest base have equal symbols modulo both primes: of four kinds of numbers they are of two."""
    key = SecretKey(BITS, stream("good"), least_bits=BITS)
    zeros = Ciphertexts(key.public, [mpz(1)] * 60)

    def kinds(ciphertexts: Ciphertexts) -> set[tuple[int, int]]:
        primes_of = (key._p.prime, key._q.prime)  # a test may look; nothing else reaches it
        return {(gmpy2.jacobi(each, primes_of[0]), gmpy2.jacobi(each, primes_of[1])) for each in ciphertexts.values}

    assert kinds(under_powers_of_the_base(zeros, stream("short"))) == {(1, 1), (-1, -1)}
    assert kinds(zeros.rerandomised(stream("fresh"))) == {(1, 1), (-1, -1), (1, -1), (-1, 1)}


def test_randomness_shares_no_factor_with_the_modulus() -> None:
    key = SecretKey(BITS, stream("good"), least_bits=BITS)

    drawn = [0, int(key._p.prime), 2 * int(key._q.prime), 5]

    class Fixed:
        """A stream that gives these."""

        def below(self, bound: int) -> int:
            return drawn.pop(0)

    assert key.public.unit(Fixed()) == 5  # type: ignore[arg-type]
