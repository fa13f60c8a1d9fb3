"""Paillier's key in n parts of which any t open. A dealer makes it, knows everything, and has to be trusted to forget.

Source    Fouque, Poupard and Stern 2000; Damgård and Jurik 2001. With N = (2 p' + 1)(2 q' + 1) and m = p' q', a secret
          d = 0 mod m, 1 mod N is shared by a polynomial modulo N m. A part is c^(2 D s_i) with D = n!, so that the
          weights of interpolation are whole numbers and nobody has to invert modulo the unknown m.
Security  any t parts open, fewer say nothing. A proof (Chaum and Pedersen's in a group of hidden order) says that a
          part was made with the share: one for a whole batch, with weights from a hash. It leaves signs open, and
          only squares of a part are used.
Not       the dealer knows the factors; `covey.crypto.threshold_key` needs no dealer. D grows with the committee's size.

Encryption, sums and new randomness are those of `covey.crypto.paillier`, under `public`. The paper on collection cuts
the key in another way: `covey.crypto.asmuth_bloom`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import gmpy2
from gmpy2 import mpz

from covey.crypto.paillier import SIZES, Ciphertexts, PublicKey, check_bits
from covey.crypto.primes import safe_prime
from covey.crypto.proof import hedged
from covey.crypto.residues import Residues
from covey.crypto.rng import Label, Stream, spell
from covey.crypto.threshold_key import check_threshold
from covey.errors import InputError

CHALLENGE_BITS = 128
SLACK_BITS = 128
"""A response hides its secret within 2^-SLACK_BITS."""


@dataclass(frozen=True)
class Primes:
    """The dealer's secret, forgotten when the shares are out: two safe primes, and a base for masks and proofs."""

    p: mpz
    q: mpz
    public: PublicKey

    @classmethod
    def draw(cls, bits: int, stream: Stream, *, least_bits: int = SIZES[0]) -> Primes:
        """A modulus of that many bits. Raises InputError for a size that does not protect data."""
        check_bits(bits, least_bits)
        p = q = safe_prime(bits // 2, stream)
        while p == q:
            q = safe_prime(bits // 2, stream)
        n = p * q
        while True:
            root = mpz(stream.below(int(n)))
            base = -root * root % n
            if gmpy2.gcd(root, n) == 1 and 1 < base < n - 1:
                return cls(p, q, PublicKey(n, base, least_bits=least_bits))

    @property
    def m(self) -> mpz:
        """The order of the squares modulo N."""
        return (self.p - 1) // 2 * ((self.q - 1) // 2)

    def __repr__(self) -> str:
        return "Primes(…)"


def pack_counts(threshold: int, trustees: int) -> bytes:
    """The bytes before a key on the wire."""
    return bytes([threshold, trustees])


def unpack_counts(raw: bytes) -> tuple[int, int, bytes]:
    """The two counts before a key. Raises `ValueError` where there are none that could be."""
    if len(raw) < 3:
        raise ValueError("a committee's key begins with its threshold and its size")
    try:
        check_threshold(raw[0], raw[1])
    except InputError as error:
        raise ValueError(str(error)) from None
    return raw[0], raw[1], raw[2:]


@dataclass(frozen=True)
class ShamirKey:
    """The public part of a key: the key to encrypt under, the threshold, and what proofs are checked against."""

    public: PublicKey
    threshold: int
    base: mpz
    """A square modulo N^2 that generates all of them."""
    checks: tuple[mpz, ...]
    """The base to the D s_i, by place."""

    def __post_init__(self) -> None:
        check_threshold(self.threshold, self.trustees)
        for value in (self.base, *self.checks):
            if not 1 < value < self.public.square or gmpy2.gcd(value, self.public.n) != 1:
                raise InputError("what proofs are checked against are elements of the key's group")

    def pack(self) -> bytes:
        """The threshold, the number of trustees, the key, the base and the checks."""
        width = self.public.width
        numbers = b"".join(bytes(value.to_bytes(width, "little")) for value in (self.base, *self.checks))
        return pack_counts(self.threshold, self.trustees) + self.public.pack() + numbers

    @classmethod
    def unpack(cls, raw: bytes) -> ShamirKey:
        """A key from the wire, checked. Raises `ValueError` for anything else."""
        threshold, trustees, rest = unpack_counts(raw)
        width = len(rest) // (trustees + 2)
        try:
            public = PublicKey.unpack(rest[:width])
            base, *checks = public.accept(Residues(rest[width:], public.width)).values
            return cls(public, threshold, base, tuple(checks))
        except InputError as error:
            raise ValueError(str(error)) from None

    @property
    def trustees(self) -> int:
        """The number of trustees that hold a share."""
        return len(self.checks)

    @property
    def factorial(self) -> int:
        """D."""
        return math.factorial(self.trustees)

    def holds(self, place: int, ciphertexts: Ciphertexts, part: ShamirPart, *context: Label) -> bool:
        """Was this part made from these ciphertexts with the share of the trustee at that place?"""
        self._checked([place])
        square = self.public.square
        if len(part.values) != len(ciphertexts) or not len(ciphertexts) or ciphertexts.key != self.public:
            return False
        if not all(0 < value < square for value in (*part.values, part.commitments[0], part.commitments[1])):
            return False
        if not 0 <= part.response < 1 << self._response_bits:
            return False
        base, power = self._combined(place, ciphertexts, part.values, context)
        challenge = self._challenge(place, ciphertexts, part.values, part.commitments, context)
        check = self.checks[place - 1]
        first, second = part.commitments
        return bool(
            gmpy2.powmod(self.base, part.response, square) == first * gmpy2.powmod(check, challenge, square) % square
            and gmpy2.powmod(base, part.response, square) == second * gmpy2.powmod(power, challenge, square) % square
        )

    def combine(self, parts: Mapping[int, Sequence[mpz]]) -> list[int]:
        """The numbers, from exactly `threshold` parts, by place. Raises `InputError` where they do not fit together."""
        self._checked(list(parts))
        if len(parts) != self.threshold:
            raise InputError(f"{len(parts)} parts of an opening, {self.threshold} are needed: no more, no fewer")
        check_lengths(parts)
        n, square, factorial = self.public.n, self.public.square, self.factorial
        unscale = gmpy2.invert(mpz(4 * factorial * factorial), n)
        weights = {place: 2 * _whole_weight(place, list(parts), factorial) for place in parts}
        numbers = []
        for values in zip(*parts.values(), strict=True):
            product = mpz(1)
            for place, value in zip(parts, values, strict=True):
                product = product * gmpy2.powmod(value, weights[place], square) % square
            if product % n != 1:
                raise InputError("the parts of the opening do not fit together: at least one is wrong")
            numbers.append(int((product - 1) // n * unscale % n))
        return numbers

    @property
    def proof_bytes(self) -> int:
        """Bytes of a part's proof, whatever the number of ciphertexts."""
        return 2 * self.public.width + -(-self._response_bits // 8)

    @property
    def _response_bits(self) -> int:
        """Bits of the nonce: longer than challenge times secret by the slack."""
        return 2 * self.public.bits + self.factorial.bit_length() + CHALLENGE_BITS + SLACK_BITS

    def _combined(
        self, place: int, ciphertexts: Ciphertexts, values: Sequence[mpz], context: Sequence[Label]
    ) -> tuple[mpz, mpz]:
        """One base and one power for the whole batch, with weights from a hash: c^4 and the part's square."""
        square, base, power = self.public.square, mpz(1), mpz(1)
        raw = hashlib.shake_256(self._statement(place, ciphertexts, values, context)).digest(16 * len(values))
        for at, (ciphertext, value) in enumerate(zip(ciphertexts.values, values, strict=True)):
            weight = mpz(int.from_bytes(raw[16 * at : 16 * at + 16], "little"))
            base = base * gmpy2.powmod(ciphertext, weight, square) % square
            power = power * gmpy2.powmod(value, weight, square) % square
        return gmpy2.powmod(base, 4, square), gmpy2.powmod(power, 2, square)

    def _statement(
        self, place: int, ciphertexts: Ciphertexts, values: Sequence[mpz], context: Sequence[Label]
    ) -> bytes:
        labels = (int(value) for value in (self.public.n, self.base, *self.checks, *ciphertexts.values, *values))
        return hashlib.sha512(spell("covey threshold paillier/1", *context, place, *labels)).digest()

    def _challenge(
        self,
        place: int,
        ciphertexts: Ciphertexts,
        values: Sequence[mpz],
        commitments: tuple[mpz, mpz],
        context: Sequence[Label],
    ) -> mpz:
        statement = self._statement(place, ciphertexts, values, context)
        digest = hashlib.sha512(
            spell("covey threshold paillier challenge/1", statement, *map(int, commitments))
        ).digest()
        return mpz(int.from_bytes(digest[: CHALLENGE_BITS // 8], "little"))

    def _checked(self, places: Sequence[int]) -> None:
        if any(not 1 <= place <= self.trustees for place in places):
            raise InputError(f"a trustee's place lies between 1 and {self.trustees}")


@dataclass(frozen=True)
class ShamirPart:
    """One trustee's part of the opening of a batch, and the proof that it is right."""

    values: tuple[mpz, ...]
    commitments: tuple[mpz, mpz]
    response: mpz

    def pack_proof(self, key: ShamirKey) -> bytes:
        """The proof's bytes; the values travel as `Ciphertexts(key.public, values).residues()` do."""
        width = key.public.width
        commitments = b"".join(each.to_bytes(width, "little") for each in self.commitments)
        return commitments + bytes(self.response.to_bytes(key.proof_bytes - 2 * width, "little"))

    @classmethod
    def read(cls, key: ShamirKey, residues: Residues, proof: bytes) -> ShamirPart:
        """A part from the wire. Raises `InputError` for what is no element of the group, or another length."""
        if len(proof) != key.proof_bytes:
            raise InputError(f"a proof of {len(proof)} bytes, {key.proof_bytes} are due")
        width = key.public.width
        first, second = key.public.accept(Residues(proof[: 2 * width], width)).values
        response = mpz(int.from_bytes(proof[2 * width :], "little"))
        return cls(tuple(key.public.accept(residues).values), (first, second), response)


class ShamirTrustee:
    """One share of a key that a dealer cut."""

    __slots__ = ("_share", "key", "place")

    def __init__(self, place: int, share: mpz, key: ShamirKey) -> None:
        """Raises `InputError` where the share is not the one that its check was made from."""
        self.place, self.key, self._share = place, key, share
        key._checked([place])
        check = gmpy2.powmod_sec(key.base, key.factorial * share, key.public.square)
        if not 0 <= share < key.public.n * key.public.n or check != key.checks[place - 1]:
            raise InputError(f"the share dealt to place {place} does not fit its check")

    def unlock(self, ciphertexts: Ciphertexts, stream: Stream, *context: Label) -> ShamirPart:
        """This trustee's part of the opening, with its proof, which holds for this context only."""
        key, square = self.key, self.key.public.square
        if ciphertexts.key != key.public:
            raise InputError("these ciphertexts are under another key")
        secret = key.factorial * self._share
        values = tuple(gmpy2.powmod_sec(value, 2 * secret, square) for value in ciphertexts.values)
        base, _ = key._combined(self.place, ciphertexts, values, context)
        fresh = hedged(stream, self.reveal(), "shamir part", *context, self.place, ciphertexts.residues().data)
        nonce = mpz(1 + fresh.below((1 << key._response_bits - 1) - 1))
        commitments = (gmpy2.powmod_sec(key.base, nonce, square), gmpy2.powmod_sec(base, nonce, square))
        challenge = key._challenge(self.place, ciphertexts, values, commitments, context)
        return ShamirPart(values, commitments, nonce + challenge * secret)

    def reveal(self) -> bytes:
        """The share itself: for the dealer to hand over, and nothing else."""
        return bytes(self._share.to_bytes(self.key.public.width, "little"))

    def __repr__(self) -> str:
        return f"ShamirTrustee({self.place}, …)"


def deal_shamir(primes: Primes, threshold: int, trustees: int, stream: Stream) -> list[ShamirTrustee]:
    """Shares for that many trustees, the one at place 1 first."""
    check_threshold(threshold, trustees)
    n, m, square = primes.public.n, primes.m, primes.public.square
    secret = m * gmpy2.invert(m, n)  # 0 modulo m, 1 modulo N
    coefficients = [secret] + [mpz(stream.below(int(n * m))) for _ in range(threshold - 1)]
    shares = [
        sum((each * mpz(place) ** degree for degree, each in enumerate(coefficients)), mpz(0)) % (n * m)
        for place in range(1, trustees + 1)
    ]
    while True:
        root = mpz(stream.below(int(square)))
        if gmpy2.gcd(root, n) == 1:
            break
    base = root * root % square
    factorial = math.factorial(trustees)
    checks = tuple(gmpy2.powmod_sec(base, factorial * share, square) for share in shares)
    key = ShamirKey(primes.public, threshold, base, checks)
    return [ShamirTrustee(place, share, key) for place, share in enumerate(shares, start=1)]


def _whole_weight(place: int, places: Sequence[int], factorial: int) -> int:
    """D times the weight of a place's value in the value at 0: a whole number."""
    above, below = factorial, 1
    for other in places:
        if other != place:
            above *= other
            below *= other - place
    weight, left = divmod(above, below)
    if left:
        raise InputError("the places of a committee are 1 to the number of its trustees")
    return weight


def check_lengths(parts: Mapping[int, Sequence[mpz]]) -> None:
    """Raises `InputError` unless all parts are of as many ciphertexts."""
    if len({len(part) for part in parts.values()}) != 1:
        raise InputError("the parts of an opening have as many numbers as there are ciphertexts")
