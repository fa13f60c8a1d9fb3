"""Rows sealed to a key: a fresh Diffie-Hellman secret per row, then ChaCha20-Poly1305 under its hash.

A sealed row is a head (a point) and a body; the hash covers context, head and secret. It can be opened by the
key's holder alone, cannot be changed into another that opens, and says nothing but the row's length. Each
row's symmetric key is used once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from covey.arrays import Longs
from covey.crypto.group import POINT_BYTES, Points, Scalar, Scalars, generator_times
from covey.crypto.rng import Label, Stream, spell
from covey.errors import InputError

BODY_OVERHEAD = 16
OVERHEAD = POINT_BYTES + BODY_OVERHEAD

_NONCE = bytes(12)  # a key seals one row


@dataclass(frozen=True)
class Sealed:
    """Rows that only the key's holder can read."""

    heads: Points
    bodies: list[bytes]

    def __post_init__(self) -> None:
        if len(self.heads) != len(self.bodies):
            raise InputError(f"{len(self.heads)} heads beside {len(self.bodies)} bodies")

    def __len__(self) -> int:
        return len(self.bodies)

    def rows(self) -> list[bytes]:
        """Each row's head and body in one piece: what the next layer seals."""
        return [head + body for head, body in zip(self.heads, self.bodies, strict=True)]

    def take(self, order: Longs) -> Sealed:
        """The rows at these places, in this order."""
        return Sealed(self.heads.take(order), [self.bodies[place] for place in order])

    def slice(self, first: int, last: int) -> Sealed:
        """The rows from `first` up to but not including `last`."""
        return Sealed(self.heads.slice(first, last), self.bodies[first:last])

    @classmethod
    def parse(cls, rows: Sequence[bytes]) -> Sealed:
        """Rows in one piece each, taken apart. Raises `InputError` where a head is no point."""
        return cls(Points(b"".join(row[:POINT_BYTES] for row in rows)), [row[POINT_BYTES:] for row in rows])

    @classmethod
    def join(cls, parts: Sequence[Sealed]) -> Sealed:
        """One batch after the other."""
        return cls(Points.join(part.heads for part in parts), [body for part in parts for body in part.bodies])


def seal(rows: Sequence[bytes], key: Points, stream: Stream, *context: Label) -> Sealed:
    """The rows, each sealed to the key; they open only under the same context."""
    fresh = Scalars.draw(stream, len(rows))
    heads, shared = generator_times(fresh), key.times(fresh)
    ciphers = _ciphers(heads, shared, context)
    return Sealed(heads, [cipher.encrypt(_NONCE, row, None) for row, cipher in zip(rows, ciphers, strict=True)])


def unseal(sealed: Sealed, secret: Scalar, *context: Label) -> list[bytes]:
    """The rows. Raises `InputError` where one was altered, or sealed to another key or context."""
    ciphers = _ciphers(sealed.heads, sealed.heads.times(secret), context)
    rows = []
    for index, (body, cipher) in enumerate(zip(sealed.bodies, ciphers, strict=True)):
        try:
            rows.append(cipher.decrypt(_NONCE, body, None))
        except InvalidTag:
            raise InputError(f"sealed row {index} does not open: altered, or sealed to another key") from None
    return rows


def _ciphers(heads: Points, shared: Points, context: tuple[Label, ...]) -> Iterator[ChaCha20Poly1305]:
    """A cipher for each row, under the hash of the context, its head and its secret: both of fixed length."""
    start = hashlib.sha512(spell("covey seal/1", *context))
    for head, secret in zip(heads, shared, strict=True):
        digest = start.copy()
        digest.update(head + secret)
        yield ChaCha20Poly1305(digest.digest()[:32])
