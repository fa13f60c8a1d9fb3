"""Paillier's encryption: numbers that can be added up and scaled while only the key's holder reads them.

Source    Paillier 1999 with g = 1 + n; Damgard, Jurik & Nielsen 2010, section 4.2, for the randomness of encryption: a
          mask is h^r with h = (-x^2)^n and r half as long as the modulus, so that tables of powers of h make it ten
          times as fast. Re-randomisation is Paillier's own: r^n with a uniform r.
Security  decisional composite residuosity, and that h^r with a short r looks like any n-th residue to whoever does not
          have the key. Its holder knows the randomness of its own ciphertexts, and can undo powers of its own h: what
          was computed on them goes back to it under r^n, which it did not choose, and says the number and nothing else.
          Keys are made for one session. An h that a peer made badly weakens what is encrypted to that peer, nothing
          else.
Not       anyone can turn a ciphertext into that of a related number: there is no integrity. A modulus that shares a
          factor with its totient, whose holder could put a second number into a ciphertext and read its sums beside
          those of the first, is not noticed here; `covey.crypto.paillier_proof` has the proofs. Decryption runs in
          constant time (GMP's powm_sec); the tables' look-ups do not promise that.

Keys have 2,048 or 3,072 bits. A smaller one is made only where `least_bits` is passed, which nothing but tests does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

import gmpy2
from gmpy2 import mpz

from covey.arrays import Longs
from covey.crypto.primes import has_small_factor, prime
from covey.crypto.residues import Residues
from covey.crypto.rng import Stream
from covey.errors import InputError

SIZES = (2048, 3072)
"""Bits of a modulus that may protect data."""

_LEAST = 256
"""Bits of the smallest modulus that a key can be computed with."""

_WINDOW = 8
_FEW = 24
"""Fewer masks than this are not worth a table."""


def check_bits(bits: int, least_bits: int = SIZES[0]) -> None:
    """Raises InputError for a size that does not protect data; only tests lower `least_bits`."""
    if bits in SIZES or (max(least_bits, _LEAST) <= bits < SIZES[0] and bits % 16 == 0):
        return
    raise InputError(f"a Paillier key has {' or '.join(map(str, SIZES))} bits, not {bits}")


class PowerTable:
    """Powers of one base: a power takes one multiplication for each eight bits of the exponent."""

    __slots__ = ("_modulus", "_rows")

    def __init__(self, base: mpz, modulus: mpz, bits: int) -> None:
        self._modulus = modulus
        self._rows: list[list[mpz]] = []
        for _ in range(-(-bits // _WINDOW)):
            row = [mpz(1)]
            for _ in range((1 << _WINDOW) - 1):
                row.append(row[-1] * base % modulus)
            self._rows.append(row)
            base = row[-1] * base % modulus

    def power(self, exponent: bytes) -> mpz:
        """The base to that exponent, given by its bytes, the lowest first."""
        modulus, answer = self._modulus, mpz(1)
        for row, digit in zip(self._rows, exponent, strict=True):
            answer = answer * row[digit] % modulus
        return answer


class PublicKey:
    """The public key: anyone encrypts and computes with it. A field of this type may be sent."""

    __slots__ = ("_base", "_table", "base", "bits", "n", "square")

    def __init__(self, n: mpz, base: mpz, *, least_bits: int = SIZES[0]) -> None:
        """Raises `InputError` for a modulus or a base that no honest holder would send."""
        self.n, self.base, self.bits = mpz(n), mpz(base), int(mpz(n).bit_length())
        check_bits(self.bits, least_bits)
        if self.n % 4 != 1 or has_small_factor(self.n) or gmpy2.is_prime(self.n) or gmpy2.is_power(self.n):
            raise InputError("the modulus is not the product of two large primes of the right kind")
        if not 1 < self.base < self.n - 1 or gmpy2.jacobi(self.base, self.n) != 1:
            raise InputError("the base of the masks is no element that an honest holder would choose")
        self.square = self.n * self.n
        self._base: mpz | None = None
        self._table: PowerTable | None = None

    @property
    def width(self) -> int:
        """Bytes of a ciphertext."""
        return 2 * (self.bits // 8)

    def exponents(self, count: int, stream: Stream) -> list[bytes]:
        """Secret exponents of masks: each half as long as the modulus."""
        size = self.bits // 16
        drawn = stream.bytes(size * count)
        return [drawn[start : start + size] for start in range(0, len(drawn), size)]

    def masks(self, exponents: Sequence[bytes]) -> list[mpz]:
        """Encryptions of zero, one for each exponent."""
        if self._base is None:
            self._base = gmpy2.powmod(self.base, self.n, self.square)
        if self._table is None and len(exponents) >= _FEW:
            self._table = PowerTable(self._base, self.square, self.bits // 2)
        if self._table is not None:
            return list(map(self._table.power, exponents))
        powers = (mpz(int.from_bytes(each, "little")) for each in exponents)
        return [gmpy2.powmod(self._base, power, self.square) for power in powers]

    def unit(self, stream: Stream) -> mpz:
        """A uniform number that shares no factor with the modulus."""
        while True:
            drawn = mpz(stream.below(int(self.n)))
            if gmpy2.gcd(drawn, self.n) == 1:
                return drawn

    def encrypt(self, numbers: Sequence[int], stream: Stream) -> Ciphertexts:
        """Each number, taken modulo n, with randomness of its own."""
        return self.encrypt_with(numbers, self.exponents(len(numbers), stream))

    def encrypt_with(self, numbers: Sequence[int], exponents: Sequence[bytes]) -> Ciphertexts:
        """Each number with the mask of its exponent, which the encryptor keeps for a proof and never uses again."""
        return self._under(numbers, self.masks(exponents))

    def _under(self, numbers: Sequence[int], masks: Iterable[mpz]) -> Ciphertexts:
        n, square = self.n, self.square
        values = [(1 + number % n * n) * mask % square for number, mask in zip(numbers, masks, strict=True)]
        return Ciphertexts(self, values)

    def accept(self, residues: Residues) -> Ciphertexts:
        """Ciphertexts from the wire. Raises `InputError` for what is none under this key."""
        if residues.width != self.width:
            raise InputError(f"numbers of {residues.width} bytes, ciphertexts have {self.width}")
        data, width, n = residues.data, residues.width, self.n
        values = [mpz.from_bytes(data[start : start + width], "little") for start in range(0, len(data), width)]
        product = mpz(1)
        for place, value in enumerate(values):
            if not 0 < value < self.square:
                raise InputError(f"number {place} is out of range for a ciphertext")
            product = product * value % n
        if gmpy2.gcd(product, n) != 1:  # a factor of n, or a multiple of n: at least one of them is no unit
            raise InputError("a number shares a factor with the modulus")
        return Ciphertexts(self, values)

    def pack(self) -> bytes:
        """The modulus, then the base of the masks: of equal length, little-endian."""
        half = self.bits // 8
        return bytes(self.n.to_bytes(half, "little") + self.base.to_bytes(half, "little"))

    @classmethod
    def unpack(cls, raw: bytes, *, least_bits: int = SIZES[0]) -> PublicKey:
        """A key from the wire, checked. Raises `ValueError` for anything else."""
        half = len(raw) // 2
        try:
            check_bits(8 * half, least_bits)
            n, base = (mpz.from_bytes(part, "little") for part in (raw[:half], raw[half:]))
            key = cls(n, base, least_bits=least_bits)
        except InputError as error:
            raise ValueError(str(error)) from None
        if len(raw) != 2 * half or key.bits != 8 * half:
            raise ValueError(f"a key of {8 * half} bits has a modulus of {key.bits}")
        return key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKey) and (self.n, self.base) == (other.n, other.base)

    def __hash__(self) -> int:
        return hash((self.n, self.base))

    def __repr__(self) -> str:
        return f"PublicKey({self.bits} bits)"


class SecretKey:
    """The key's holder: reads what others computed, and encrypts twice as fast as they do."""

    __slots__ = ("_crt", "_p", "_q", "_tables", "public")

    def __init__(self, bits: int, stream: Stream, *, least_bits: int = SIZES[0]) -> None:
        """A new key; equal streams give equal keys. Raises InputError for a size that does not protect data."""
        check_bits(bits, least_bits)
        while True:
            p = prime(bits // 2, stream, residue=3, modulus=4)
            q = prime(bits // 2, stream, residue=3, modulus=4)
            if p != q and gmpy2.gcd(p - 1, q - 1) == 2 and gmpy2.gcd(p * q, (p - 1) * (q - 1)) == 1:
                break
        n = p * q
        while True:
            root = mpz(stream.below(int(n)))
            base = -root * root % n
            if gmpy2.gcd(root, n) == 1 and 1 < base < n - 1:
                break
        self.public = PublicKey(n, base, least_bits=least_bits)
        self._p, self._q = _Half(p, n), _Half(q, n)
        self._crt = gmpy2.invert(q, p)
        self._tables: tuple[PowerTable, PowerTable] | None = None

    def encrypt(self, numbers: Sequence[int], stream: Stream) -> Ciphertexts:
        """Encrypts as the public key does, to the same bytes for the same stream, in less time."""
        return self.encrypt_with(numbers, self.public.exponents(len(numbers), stream))

    def encrypt_with(self, numbers: Sequence[int], exponents: Sequence[bytes]) -> Ciphertexts:
        """Encrypts with the masks of these exponents, as the public key does."""
        return self.public._under(numbers, self._masks(exponents))

    def root(self, value: mpz) -> mpz:
        """The n-th root of a unit modulo n: there is one for each, if n shares no factor with its totient."""
        p, q, n = self._p.prime, self._q.prime, self.public.n
        low, high = (gmpy2.powmod_sec(value, gmpy2.invert(n, each - 1), each) for each in (p, q))
        return self._joined(low, high)

    def decrypt(self, ciphertexts: Ciphertexts) -> list[int]:
        """The numbers, from 0 to n - 1."""
        if ciphertexts.key != self.public:
            raise InputError("these ciphertexts are under another key")
        p, q = self._p, self._q
        return [int(self._joined(p.read(value), q.read(value))) for value in ciphertexts.values]

    def _masks(self, exponents: Sequence[bytes]) -> list[mpz]:
        public, p, q = self.public, self._p, self._q
        if self._tables is None:
            if len(exponents) < _FEW:
                return public.masks(exponents)
            bits = public.bits // 2
            self._tables = PowerTable(p.residue(public), p.square, bits), PowerTable(q.residue(public), q.square, bits)
        first, second = self._tables
        back = gmpy2.invert(q.square, p.square)
        masks = []
        for exponent in exponents:
            low = second.power(exponent)
            masks.append(low + q.square * ((first.power(exponent) - low) * back % p.square))
        return masks

    def _joined(self, low: mpz, high: mpz) -> mpz:
        """The number that is `low` modulo p and `high` modulo q."""
        return high + self._q.prime * ((low - high) * self._crt % self._p.prime)

    def __repr__(self) -> str:
        return "SecretKey(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is never pickled")


class _Half:
    """One prime of a key."""

    __slots__ = ("_factor", "prime", "square")

    def __init__(self, p: mpz, n: mpz) -> None:
        self.prime, self.square = p, p * p
        self._factor = gmpy2.invert(self._log(gmpy2.powmod_sec(1 + n, p - 1, self.square)), p)

    def read(self, value: mpz) -> mpz:
        """The number in a ciphertext, modulo this prime."""
        return self._log(gmpy2.powmod_sec(value, self.prime - 1, self.square)) * self._factor % self.prime

    def residue(self, public: PublicKey) -> mpz:
        """The masks' base to the n-th, modulo the prime's square."""
        return gmpy2.powmod_sec(public.base, public.n, self.square)

    def _log(self, power: mpz) -> mpz:
        return (power - 1) // self.prime

    def __repr__(self) -> str:
        return "_Half(…)"


class Ciphertexts:
    """Encrypted numbers under one key. What was computed must be re-randomised before somebody else sees it."""

    __slots__ = ("key", "values")

    def __init__(self, key: PublicKey, values: list[mpz]) -> None:
        self.key, self.values = key, values

    def __len__(self) -> int:
        return len(self.values)

    def residues(self) -> Residues:
        """The ciphertexts as they travel."""
        width = self.key.width
        return Residues(b"".join(value.to_bytes(width, "little") for value in self.values), width)

    def plus(self, other: Ciphertexts) -> Ciphertexts:
        """Ciphertexts of the sums."""
        self._alike(other)
        square = self.key.square
        return Ciphertexts(self.key, [a * b % square for a, b in zip(self.values, other.values, strict=True)])

    def minus(self, other: Ciphertexts) -> Ciphertexts:
        """Ciphertexts of the differences."""
        self._alike(other)
        return self.plus(Ciphertexts(self.key, _inverses(other.values, self.key.square)))

    def plus_numbers(self, numbers: Sequence[int]) -> Ciphertexts:
        """Ciphertexts of the numbers with these known ones added."""
        n, square = self.key.n, self.key.square
        return Ciphertexts(
            self.key, [a * (1 + number % n * n) % square for a, number in zip(self.values, numbers, strict=True)]
        )

    def scaled(self, factors: Sequence[int]) -> Ciphertexts:
        """Ciphertexts of the multiples by these known factors, negative ones too."""
        square = self.key.square
        powers = [gmpy2.powmod(a, abs(b), square) for a, b in zip(self.values, factors, strict=True)]
        for place, inverse in zip(
            (below := [place for place, factor in enumerate(factors) if factor < 0]),
            _inverses([powers[place] for place in below], square),
            strict=True,
        ):
            powers[place] = inverse
        return Ciphertexts(self.key, powers)

    def total(self) -> Ciphertexts:
        """One ciphertext of the sum of all; of none it is the trivial one of zero."""
        square, product = self.key.square, mpz(1)
        for value in self.values:
            product = product * value % square
        return Ciphertexts(self.key, [product])

    def totals(self, groups: Iterable[Sequence[int] | Longs]) -> Ciphertexts:
        """A ciphertext of the sum of each group, which is given by places in this list."""
        square, values, sums = self.key.square, self.values, []
        for group in groups:
            product = mpz(1)
            for place in group:
                product = product * values[place] % square
            sums.append(product)
        return Ciphertexts(self.key, sums)

    def rerandomised(self, stream: Stream) -> Ciphertexts:
        """New ciphertexts of the same numbers, which nobody can trace to these, not even the key's holder."""
        n, square = self.key.n, self.key.square
        roots = (self.key.unit(stream) for _ in self.values)
        values = [a * gmpy2.powmod(root, n, square) % square for a, root in zip(self.values, roots, strict=True)]
        return Ciphertexts(self.key, values)

    def take(self, order: Longs | Sequence[int]) -> Ciphertexts:
        """The ciphertexts at these places, in this order."""
        return Ciphertexts(self.key, [self.values[place] for place in order])

    def slice(self, first: int, last: int) -> Ciphertexts:
        """The ciphertexts from `first` up to but not including `last`."""
        return Ciphertexts(self.key, self.values[first:last])

    @classmethod
    def join(cls, key: PublicKey, parts: Iterable[Ciphertexts]) -> Ciphertexts:
        """One batch after the other."""
        return cls(key, [value for part in parts for value in part.values])

    def _alike(self, other: Ciphertexts) -> None:
        if self.key != other.key or len(self) != len(other):
            raise InputError(f"{len(self)} ciphertexts beside {len(other)}, or under another key")

    def __repr__(self) -> str:
        return f"Ciphertexts({len(self)})"


def _inverses(values: Sequence[mpz], square: mpz) -> list[mpz]:
    """One divided by each, with a single inversion (Montgomery's trick)."""
    if not values:
        return []
    products = [mpz(1)]
    for value in values:
        products.append(products[-1] * value % square)
    rest = gmpy2.invert(products[-1], square)
    answer = []
    for value, before in zip(reversed(values), reversed(products[:-1]), strict=True):
        answer.append(rest * before % square)
        rest = rest * value % square
    return answer[::-1]
