"""Paillier's key cut by Asmuth and Bloom, as in the paper on collection: any t of n remainders of a number give it.

Source    Kaya and Selçuk 2007. The secret D = e lambda is hidden in y = D + A m_0, where m_0 = N lambda is the exponent
          of the whole group, so that c^y = c^D. The trustee at place i has y modulo m_i; the m_i are coprime. In a set
          of t trustees each computes c^(u_i), u_i = y_i / M_i mod m_i times M_i, where M_i is the product of the other
          moduli. The u_i add up to y + delta M with delta < t: M is taken off until the outcome is 1 modulo N.
Security  t - 1 shares fix y modulo a product P of t - 1 moduli only. The moduli are checked to have
          N^2 2^120 P < m_1 … m_t: then more than 2^120 values of A go with each D, alike but for one.
Not       the set of trustees has to be fixed before they compute, exponents are t times as long as the group's order,
          and nothing shows which part is wrong, only that one is. The dealer knows everything.
          `covey.crypto.threshold_paillier` is better in all but the last, `covey.crypto.threshold_key` in all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import gmpy2
from gmpy2 import mpz

from covey.crypto.paillier import Ciphertexts, PublicKey
from covey.crypto.rng import Stream
from covey.crypto.threshold_key import check_threshold
from covey.crypto.threshold_paillier import SLACK_BITS, Primes, check_lengths, pack_counts, unpack_counts
from covey.errors import InputError

HIDING_BITS = 120
"""t - 1 shares leave the secret within about 2^-HIDING_BITS of uniform."""


@dataclass(frozen=True)
class AsmuthBloomKey:
    """The public part of a key: the key to encrypt under, the threshold, the shares' moduli, and the scale."""

    public: PublicKey
    threshold: int
    moduli: tuple[mpz, ...]
    scale: mpz
    """What L(c^D) has to be multiplied by: the inverse of D modulo N, for g = 1 + N."""

    def __post_init__(self) -> None:
        check_threshold(self.threshold, self.trustees)
        if not 0 < self.scale < self.public.n or gmpy2.gcd(self.scale, self.public.n) != 1:
            raise InputError("the scale of a key is an invertible number below its modulus")
        if any(low >= high for low, high in zip(self.moduli, self.moduli[1:], strict=False)):
            raise InputError("the shares' moduli rise from place to place")
        if math.prod(self.moduli) != math.lcm(*map(int, self.moduli)):
            raise InputError("no two of the shares' moduli have a factor in common")
        if not self._hides():
            raise InputError("the shares' moduli are too small, or too far apart, to hide a secret from t - 1 shares")

    def pack(self) -> bytes:
        """The threshold, the number of trustees, the key and the scale; the moduli follow from the key's size."""
        scale = bytes(self.scale.to_bytes(self.public.bits // 8, "little"))
        return pack_counts(self.threshold, self.trustees) + self.public.pack() + scale

    @classmethod
    def unpack(cls, raw: bytes) -> AsmuthBloomKey:
        """A key from the wire, checked. Raises `ValueError` for anything else."""
        threshold, trustees, rest = unpack_counts(raw)
        third, left = divmod(len(rest), 3)
        if left:
            raise ValueError("a modulus, a base and a scale have the same length")
        try:
            public = PublicKey.unpack(rest[: 2 * third])
            return cls(public, threshold, moduli_for(public, trustees), mpz.from_bytes(rest[2 * third :], "little"))
        except InputError as error:
            raise ValueError(str(error)) from None

    @property
    def trustees(self) -> int:
        """The number of trustees that hold a share."""
        return len(self.moduli)

    def combine(self, parts: Mapping[int, Sequence[mpz]], ciphertexts: Ciphertexts) -> list[int]:
        """The numbers, from the parts of exactly those trustees for whom they were made.

        The parts' exponents add up to y + delta M with delta < threshold: M is taken off until the outcome is 1 mod N.
        """
        places = self.checked(list(parts))
        check_lengths({0: ciphertexts.values, **parts})
        n, square = self.public.n, self.public.square
        whole = math.prod(self.moduli[place - 1] for place in places)
        numbers = []
        for ciphertext, *values in zip(ciphertexts.values, *parts.values(), strict=True):
            product = mpz(1)
            for value in values:
                product = product * value % square
            back = gmpy2.powmod(ciphertext, -whole, square)
            tries = 0
            while product % n != 1:
                if tries == self.threshold - 1:
                    raise InputError("the parts of the opening do not fit together: at least one is wrong")
                product, tries = product * back % square, tries + 1
            numbers.append(int((product - 1) // n * self.scale % n))
        return numbers

    def checked(self, places: Sequence[int]) -> list[int]:
        """The places of exactly `threshold` trustees."""
        if len(set(places)) != self.threshold or len(places) != self.threshold:
            raise InputError(f"{len(places)} trustees, {self.threshold} are needed: no more, no fewer, no one twice")
        if any(not 1 <= place <= self.trustees for place in places):
            raise InputError(f"a trustee's place lies between 1 and {self.trustees}")
        return list(places)

    def _hides(self) -> bool:
        """The condition of the module's docstring; N^2 is more than N lambda, which is secret."""
        lowest = math.prod(self.moduli[: self.threshold])
        highest = math.prod(self.moduli[self.trustees - self.threshold + 1 :])
        return bool((self.public.n**2 << HIDING_BITS) * highest < lowest)


class AsmuthBloomTrustee:
    """One share of a key that a dealer cut."""

    __slots__ = ("_share", "key", "place")

    def __init__(self, place: int, share: mpz, key: AsmuthBloomKey) -> None:
        if not 1 <= place <= key.trustees or not 0 <= share < key.moduli[place - 1]:
            raise InputError(f"no share of place {place}")
        self.place, self.key, self._share = place, key, share

    def unlock(self, ciphertexts: Ciphertexts, places: Sequence[int]) -> tuple[mpz, ...]:
        """This trustee's part of an opening by exactly those trustees, this one among them."""
        key = self.key
        if ciphertexts.key != key.public:
            raise InputError("these ciphertexts are under another key")
        if self.place not in key.checked(places):
            raise InputError(f"the trustee at place {self.place} is not among those who open")
        modulus = key.moduli[self.place - 1]
        others = math.prod(key.moduli[place - 1] for place in places) // modulus
        exponent = self._share * gmpy2.invert(others, modulus) % modulus * others
        return tuple(gmpy2.powmod_sec(value, exponent, key.public.square) for value in ciphertexts.values)

    def reveal(self) -> bytes:
        """The share itself: for the dealer to hand over, and nothing else."""
        return bytes(self._share.to_bytes(-(-self.key.moduli[-1].bit_length() // 8), "little"))

    def __repr__(self) -> str:
        return f"AsmuthBloomTrustee({self.place}, …)"


def deal_asmuth_bloom(primes: Primes, threshold: int, trustees: int, stream: Stream) -> list[AsmuthBloomTrustee]:
    """Shares for that many trustees, the one at place 1 first."""
    check_threshold(threshold, trustees)
    n = primes.public.n
    exponent = 2 * primes.m  # lambda, the least common multiple of p - 1 and q - 1
    order = n * exponent
    moduli = moduli_for(primes.public, trustees)
    while True:
        multiple = mpz(1 + stream.below(int(n) - 1))
        if gmpy2.gcd(multiple, n) == 1:
            break
    secret = multiple * exponent % order
    key = AsmuthBloomKey(primes.public, threshold, moduli, gmpy2.invert(secret, n))
    bound = (math.prod(moduli[:threshold]) - secret) // order
    hidden = secret + order * stream.below(int(bound))
    return [AsmuthBloomTrustee(place, hidden % modulus, key) for place, modulus in enumerate(moduli, start=1)]


def moduli_for(public: PublicKey, trustees: int) -> tuple[mpz, ...]:
    """The moduli of the shares of a key: the same for all keys of that size."""
    return tuple(_coprime(2 * public.bits + SLACK_BITS, trustees))


def _coprime(bits: int, count: int) -> list[mpz]:
    """The lowest numbers from 2^bits + 1 on that have no factor in common."""
    found: list[mpz] = []
    candidate = (mpz(1) << bits) + 1
    while len(found) < count:
        if all(gmpy2.gcd(candidate, other) == 1 for other in found):
            found.append(candidate)
        candidate += 2
    return found
