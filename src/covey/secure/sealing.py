"""Two encryptions behind one interface: to identities (Waters), and with a key of the session (ElGamal).

Both carry numbers in the exponent: ciphertexts are added, scaled by known numbers and re-randomised by whoever has the
public side; whoever has the private side learns of a ciphertext whether it holds zero, or the number's power.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn, TypeVar
from typing import Protocol as Interface

import numpy as np

from covey.arrays import Longs
from covey.crypto import elgamal, group, ibe, pairing
from covey.crypto.group import Points, Scalar, Scalars, generator_times
from covey.crypto.rng import Stream
from covey.errors import InputError

B = TypeVar("B", bound="CiphertextBatch")
Read_contra = TypeVar("Read_contra", bound="CiphertextBatch", contravariant=True)
Order = Longs | Sequence[int]


class CiphertextBatch(Interface):
    """Ciphertexts, one after the other."""

    def __len__(self) -> int: ...

    def plus(self: B, other: B) -> B:
        """Ciphertexts of the sums."""

    def plus_numbers(self: B, numbers: Sequence[int]) -> B:
        """Ciphertexts of the numbers with these known ones added."""

    def scaled(self: B, by: Sequence[int]) -> B:
        """Ciphertexts of the multiples."""

    def total(self: B) -> B:
        """One ciphertext of the sum of all."""

    def take(self: B, order: Order) -> B:
        """The ciphertexts at these places."""

    def pack(self) -> bytes:
        """The bytes on the wire."""


class Encryption(Interface[B]):
    """The public side."""

    width: int
    """Bytes of a ciphertext."""
    order: int
    """Numbers count modulo this prime."""
    raw: bytes
    """From which `restore` makes it again, in another process of ours."""

    def read(self, raw: bytes, stream: Stream) -> B:
        """Ciphertexts from outside. Raises `InputError` unless all of them are well-formed."""

    def seal(self, numbers: Sequence[int], stream: Stream, known: Sequence[int] | None = None) -> B:
        """Each number encrypted; where `known` is given and zero, one that nobody knows."""

    def rerandomised(self, sealed: B, stream: Stream) -> B:
        """The same numbers in ciphertexts that look like any others."""

    def draw(self, stream: Stream, count: int) -> list[int]:
        """Random numbers, none zero."""

    def private(self, raw: bytes) -> Opener[B]:
        """The private side that our own bytes stand for."""


class Opener(Interface[Read_contra]):
    """The private side."""

    def zeros(self, sealed: Read_contra) -> list[bool]:
        """Tells which ciphertexts hold zero."""


class Waters:
    """Encryption to an identity, as `Encryption` says."""

    width = ibe.CIPHERTEXT_BYTES
    order = pairing.ORDER

    def __init__(self, recipient: ibe.Recipient) -> None:
        self._recipient = recipient
        self.raw = b"w" + recipient.raw

    def read(self, raw: bytes, stream: Stream) -> ibe.Ciphertexts:
        return ibe.Ciphertexts.read(raw, stream)

    def seal(self, numbers: Sequence[int], stream: Stream, known: Sequence[int] | None = None) -> ibe.Ciphertexts:
        return self._recipient.seal(numbers, stream, known)

    def rerandomised(self, sealed: ibe.Ciphertexts, stream: Stream) -> ibe.Ciphertexts:
        return self._recipient.rerandomised(sealed, stream)

    def draw(self, stream: Stream, count: int) -> list[int]:
        return pairing.draw(stream, count)

    def private(self, raw: bytes) -> ibe.IdentityKey:
        return ibe.IdentityKey.unpack(raw)


@dataclass(frozen=True)
class ElGamalPairs:
    """ElGamal's ciphertexts, as `CiphertextBatch` wants them."""

    inner: elgamal.Ciphertexts

    def __len__(self) -> int:
        return len(self.inner)

    def plus(self, other: ElGamalPairs) -> ElGamalPairs:
        return ElGamalPairs(self.inner.plus(other.inner))

    def plus_numbers(self, numbers: Sequence[int]) -> ElGamalPairs:
        """Ciphertexts of the numbers with these known ones added, none zero; equal ones cost what others do."""
        added = self.inner.second.plus(generator_times(Scalars.of(numbers)))
        return ElGamalPairs(elgamal.Ciphertexts(self.inner.first, added))

    def scaled(self, by: Sequence[int]) -> ElGamalPairs:
        return ElGamalPairs(self.inner.scaled(Scalars.of(by)))

    def total(self) -> ElGamalPairs:
        return ElGamalPairs(self.inner.total())

    def take(self, order: Order) -> ElGamalPairs:
        return ElGamalPairs(self.inner.take(order))

    def pack(self) -> bytes:
        """Both halves of each ciphertext together."""
        halves = [np.frombuffer(half.data, np.uint8).reshape(-1, 32) for half in (self.inner.first, self.inner.second)]
        return np.concatenate(halves, axis=1).tobytes()


class ElGamal:
    """Encryption with a key of the session, as `Encryption` says; whoever knows the secret half encrypts faster."""

    width = 2 * group.POINT_BYTES
    order = group.ORDER

    def __init__(self, key: Points, secret: Scalar | None = None) -> None:
        self._key, self._secret = key, secret
        self.raw = b"e" + key.data + (b"" if secret is None else secret.reveal())

    def read(self, raw: bytes, stream: Stream) -> ElGamalPairs:
        if len(raw) % self.width:
            raise InputError(f"ciphertexts have {self.width} bytes each, these are {len(raw)} in all")
        halves = np.frombuffer(raw, np.uint8).reshape(-1, 2, 32)
        return ElGamalPairs(elgamal.Ciphertexts(Points(halves[:, 0].tobytes()), Points(halves[:, 1].tobytes())))

    def seal(self, numbers: Sequence[int], stream: Stream, known: Sequence[int] | None = None) -> ElGamalPairs:
        """Each number encrypted. With the secret half a mask and its number are one multiple of the generator."""
        fresh, other = self.draw(stream, len(numbers)), self.draw(stream, len(numbers))
        kept = [1] * len(numbers) if known is None else known
        masks = [t if keep else u for t, u, keep in zip(fresh, other, kept, strict=True)]
        if self._secret is None:
            second = self._key.times(Scalars.of(masks)).plus(group.powers(numbers))
        else:
            secret = int.from_bytes(self._secret.reveal(), "little")
            second = generator_times(Scalars.of(secret * t + m for t, m in zip(masks, numbers, strict=True)))
        return ElGamalPairs(elgamal.Ciphertexts(generator_times(Scalars.of(fresh)), second))

    def rerandomised(self, sealed: ElGamalPairs, stream: Stream) -> ElGamalPairs:
        return ElGamalPairs(elgamal.rerandomise(sealed.inner, self._key, stream))

    def draw(self, stream: Stream, count: int) -> list[int]:
        raw = stream.bytes(64 * count)
        return [int.from_bytes(raw[at : at + 64], "little") % self.order or 1 for at in range(0, len(raw), 64)]

    def private(self, raw: bytes) -> SessionKey:
        return SessionKey(Scalar(raw))


class SessionKey:
    """The private half of an ElGamal key."""

    def __init__(self, secret: Scalar) -> None:
        self._secret = secret

    def zeros(self, sealed: ElGamalPairs) -> list[bool]:
        """Tells which ciphertexts hold zero: those whose second half is the key times the first."""
        masks = sealed.inner.first.times(self._secret)
        return [mask == second for mask, second in zip(masks, sealed.inner.second, strict=True)]

    def __repr__(self) -> str:
        return "SessionKey(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is never pickled")


@lru_cache(maxsize=4)
def restore(raw: bytes) -> Waters | ElGamal:
    """The public side that its own `raw` stands for; kept, because it has tables that take time to make."""
    kind, content = raw[:1], raw[1:]
    if kind == b"w":
        return Waters(ibe.Recipient.restore(content))
    key, secret = content[: group.POINT_BYTES], content[group.POINT_BYTES :]
    return ElGamal(Points(key), Scalar(secret) if secret else None)
