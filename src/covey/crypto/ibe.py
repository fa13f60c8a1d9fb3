"""Identity-based encryption after Waters: whoever knows a name can encrypt to it; an authority issues the name's key.

Source    Waters, Eurocrypt 2005, as in Zhong's distributed k-anonymization, moved to a pairing of two different groups:
          ciphertexts in GT and G1, keys in G2. A plaintext is a number m, carried as the m-th power of e(g, h).
Use       ciphertexts are multiplied, raised to powers and re-randomised by anyone: `plus`, `scaled`, `rerandomised`.
          The notation is additive, as in `covey.crypto.elgamal`. A random power leaves of m only whether it is zero.
Security  indistinguishable under chosen plaintexts, by the decisional bilinear Diffie-Hellman assumption in this form.
Not       the authority can open everything that is encrypted to any name: keys are in escrow, by nature of the scheme.
          Anyone can change a ciphertext into another one: no integrity at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import NoReturn

from covey.arrays import Longs
from covey.crypto import pairing
from covey.crypto.pairing import G1, G1_BYTES, G2, G2_BYTES, GT, GT_BYTES, FixedBase, draw, pair, scalar
from covey.crypto.rng import Stream, spell
from covey.errors import InputError

CIPHERTEXT_BYTES = GT_BYTES + 2 * G1_BYTES
NAME_BITS = 256
PARAMETERS_BYTES = G1_BYTES + G2_BYTES + (1 + NAME_BITS) * G1_BYTES
KEY_BYTES = 2 * G2_BYTES

Order = Longs | Sequence[int]


def name_of(party: str, study: str, epoch: str) -> str:
    """The name of a party towards the authority, as in `north@diabetes-2026/2026-11`."""
    return f"{party}@{study}/{epoch}"


class AuthorityParameters:
    """The authority's public parameters: g1 = g^a, h2 = h^b, and a point of G1 for each bit of a name and one more."""

    __slots__ = ("bases", "first", "raw", "second")

    def __init__(self, first: G1, second: G2, bases: Sequence[G1]) -> None:
        self.first, self.second, self.bases = first, second, tuple(bases)
        points = b"".join(point.serialize() for point in self.bases)
        self.raw: bytes = first.serialize() + second.serialize() + points

    def pack(self) -> bytes:
        """The bytes on the wire."""
        return self.raw

    @classmethod
    def unpack(cls, raw: bytes) -> AuthorityParameters:
        """Parameters from the wire. Raises `ValueError` for anything but as many points of the groups."""
        if len(raw) != PARAMETERS_BYTES:
            raise ValueError(f"an authority's parameters have {PARAMETERS_BYTES} bytes")
        rest = raw[G1_BYTES + G2_BYTES :]
        try:
            return cls(
                pairing.read_g1(raw[:G1_BYTES]),
                pairing.read_g2(raw[G1_BYTES : G1_BYTES + G2_BYTES]),
                [pairing.read_g1(rest[at : at + G1_BYTES]) for at in range(0, len(rest), G1_BYTES)],
            )
        except InputError as error:
            raise ValueError(str(error)) from None

    @property
    def digest(self) -> bytes:
        """The hash that two parties compare to know that the authority told them the same."""
        return hashlib.sha256(spell("covey waters/1", self.raw)).digest()

    def base_of(self, name: str) -> G1:
        """The name's own point: the product of those that stand for its bits."""
        chosen = [base for base, bit in zip(self.bases[1:], bits_of(name), strict=True) if bit]
        return reduce(lambda left, right: left + right, chosen, self.bases[0])

    def __repr__(self) -> str:
        return f"Parameters({self.digest.hex()[:16]}…)"


def bits_of(name: str) -> list[int]:
    """The bits of a name: those of its hash."""
    number = int.from_bytes(hashlib.sha256(spell("covey identity/1", name)).digest(), "big")
    return [number >> place & 1 for place in reversed(range(NAME_BITS))]


class Master:
    """The authority's secret, from which every name's key follows."""

    __slots__ = ("_bits", "_raised", "parameters")

    def __init__(self, stream: Stream) -> None:
        alpha, beta, *self._bits = draw(stream, 2 + 1 + NAME_BITS)
        second = pairing.GENERATOR_2 * scalar(beta)
        self._raised = second * scalar(alpha)
        bases = FixedBase(pairing.GENERATOR_1).powers([alpha, *self._bits])
        self.parameters = AuthorityParameters(bases[0], second, bases[1:])

    def issue(self, name: str, stream: Stream) -> IdentityKey:
        """The key of that name."""
        (r,) = draw(stream, 1)
        exponent = self._bits[0] + sum(y for y, bit in zip(self._bits[1:], bits_of(name), strict=True) if bit)
        return IdentityKey(self._raised + pairing.GENERATOR_2 * scalar(exponent * r), pairing.GENERATOR_2 * scalar(r))

    def __repr__(self) -> str:
        return "Master(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is never pickled")


class IdentityKey:
    """A name's key. Only the authority sends one, to the party of that name and over their own line."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: G2, second: G2) -> None:
        self._first, self._second = first, second

    def pack(self) -> bytes:
        """The bytes that the authority sends."""
        return bytes(self._first.serialize() + self._second.serialize())

    @classmethod
    def unpack(cls, raw: bytes) -> IdentityKey:
        """A key from the wire. Raises `ValueError` for anything but two points of G2."""
        if len(raw) != KEY_BYTES:
            raise ValueError(f"an identity's key has {KEY_BYTES} bytes")
        try:
            return cls(pairing.read_g2(raw[:G2_BYTES]), pairing.read_g2(raw[G2_BYTES:]))
        except InputError as error:
            raise ValueError(str(error)) from None

    def fits(self, parameters: AuthorityParameters, name: str) -> bool:
        """True if this is a key of that name under these parameters."""
        due = pair(parameters.first, parameters.second) * pair(parameters.base_of(name), self._second)
        return bool(pair(pairing.GENERATOR_1, self._first) == due)

    def opened(self, sealed: Ciphertexts) -> list[GT]:
        """The content of the ciphertexts, as elements of GT; with a part of the key, under the masks of the others."""
        return [
            a * pair(c, self._second) / pair(b, self._first)
            for a, b, c in zip(sealed.first, sealed.second, sealed.third, strict=True)
        ]

    def zeros(self, sealed: Ciphertexts) -> list[bool]:
        """Marks the ciphertexts of zero. Costs 1.3 ms of one core each."""
        return [
            bool(a * pair(c, self._second) == pair(b, self._first))
            for a, b, c in zip(sealed.first, sealed.second, sealed.third, strict=True)
        ]

    def __repr__(self) -> str:
        return "IdentityKey(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is never pickled")


@dataclass(frozen=True)
class Ciphertexts:
    """Encrypted numbers, as three columns: one of GT and two of G1."""

    first: Sequence[GT]
    second: Sequence[G1]
    third: Sequence[G1]

    def __len__(self) -> int:
        return len(self.first)

    def plus(self, other: Ciphertexts) -> Ciphertexts:
        return Ciphertexts(
            [left * right for left, right in zip(self.first, other.first, strict=True)],
            [left + right for left, right in zip(self.second, other.second, strict=True)],
            [left + right for left, right in zip(self.third, other.third, strict=True)],
        )

    def plus_numbers(self, numbers: Sequence[int]) -> Ciphertexts:
        """Ciphertexts of the numbers with these known ones added; not yet re-randomised."""
        added = [left * right for left, right in zip(self.first, encoded(numbers), strict=True)]
        return Ciphertexts(added, self.second, self.third)

    def scaled(self, by: Sequence[int]) -> Ciphertexts:
        """Ciphertexts of the multiples. Costs 0.35 ms of one core each."""
        factors = [scalar(number) for number in by]
        return Ciphertexts(
            [element**factor for element, factor in zip(self.first, factors, strict=True)],
            [point * factor for point, factor in zip(self.second, factors, strict=True)],
            [point * factor for point, factor in zip(self.third, factors, strict=True)],
        )

    def total(self) -> Ciphertexts:
        if not len(self):
            raise InputError("there is nothing to add up")
        first: GT = reduce(lambda left, right: left * right, self.first)
        second, third = (reduce(lambda left, right: left + right, points) for points in (self.second, self.third))
        return Ciphertexts([first], [second], [third])

    def take(self, order: Order) -> Ciphertexts:
        """The ciphertexts at these places, in this order."""
        columns = ([column[place] for place in order] for column in (self.first, self.second, self.third))
        return Ciphertexts(*columns)

    def pack(self) -> bytes:
        """The bytes on the wire, one ciphertext after the other."""
        parts = zip(self.first, self.second, self.third, strict=True)
        return b"".join(part.serialize() for ciphertext in parts for part in ciphertext)

    @classmethod
    def read(cls, raw: bytes, stream: Stream) -> Ciphertexts:
        """Ciphertexts from outside; `stream` draws the test of their elements of GT. Raises `InputError`."""
        if len(raw) % CIPHERTEXT_BYTES:
            raise InputError(f"ciphertexts have {CIPHERTEXT_BYTES} bytes each, these are {len(raw)} in all")
        starts = range(0, len(raw), CIPHERTEXT_BYTES)
        points = [raw[at + GT_BYTES : at + CIPHERTEXT_BYTES] for at in starts]
        return cls(
            pairing.read_gt([raw[at : at + GT_BYTES] for at in starts], stream),
            [pairing.read_g1(both[:G1_BYTES]) for both in points],
            [pairing.read_g1(both[G1_BYTES:]) for both in points],
        )


class Recipient:
    """Somebody who can be encrypted to: the authority's parameters and a name come down to two elements."""

    __slots__ = ("_base", "_mask", "raw")

    def __init__(self, mask: GT, base: G1) -> None:
        self._mask, self._base = FixedBase(mask), FixedBase(base)
        self.raw: bytes = mask.serialize() + base.serialize()

    @classmethod
    def of(cls, parameters: AuthorityParameters, name: str) -> Recipient:
        """The recipient of that name, who holds its key."""
        return cls(pair(parameters.first, parameters.second), parameters.base_of(name))

    @classmethod
    def restore(cls, raw: bytes) -> Recipient:
        """The recipient that our own `raw` stands for; never from outside."""
        return cls(GT.deserialize(raw[:GT_BYTES]), G1.deserialize(raw[GT_BYTES:]))

    def seal(self, numbers: Sequence[int], stream: Stream, known: Sequence[int] | None = None) -> Ciphertexts:
        """Each number encrypted; where `known` is given and zero, a number that nobody knows, uniform.

        The mask generates GT, so that an independent power of it is an unknown number, masked. How long it takes tells
        neither which numbers are unknown nor which are equal; only a zero costs less than others.
        """
        fresh, other = draw(stream, len(numbers)), draw(stream, len(numbers))
        kept = [1] * len(numbers) if known is None else known
        masks = self._mask.powers([t if keep else u for t, u, keep in zip(fresh, other, kept, strict=True)])
        held = [left * right for left, right in zip(encoded(numbers), masks, strict=True)]
        return self._with(fresh, held)

    def rerandomised(self, sealed: Ciphertexts, stream: Stream) -> Ciphertexts:
        """New ciphertexts of the same numbers; linking them to the old ones takes the key, or our randomness."""
        fresh = draw(stream, len(sealed))
        return sealed.plus(self._with(fresh, self._mask.powers(fresh)))

    def _with(self, fresh: Sequence[int], first: Sequence[GT]) -> Ciphertexts:
        return Ciphertexts(first, _generator().powers(fresh), self._base.powers(fresh))


def encoded(numbers: Iterable[int]) -> list[GT]:
    """The numbers as elements of GT; zeros cost nothing, all others the same, equal ones too."""
    listed = [number % pairing.ORDER for number in numbers]
    powers = iter(_root().powers([number for number in listed if number]))
    return [next(powers) if number else pairing.ONE for number in listed]


@cache
def _generator() -> FixedBase[G1]:
    return FixedBase(pairing.GENERATOR_1)


@cache
def _root() -> FixedBase[GT]:
    return FixedBase(pair(pairing.GENERATOR_1, pairing.GENERATOR_2))
