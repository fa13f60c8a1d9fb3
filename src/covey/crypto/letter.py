"""Letters sealed to a party's key: X25519, HKDF-SHA256 and AES-256-GCM, which every browser's own cryptography has.

A party needs no further key for letters: X25519's follows from its signing key (ed25519), whose public half everyone
finds in its certificate. Thormarker, "On using the same key pair for Ed25519 and an X25519 based KEM" (2021), proves
that the one use does not endanger the other. A letter opens under the context that it was sealed with, and no other.
"""

from __future__ import annotations

import hashlib
from typing import NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from covey.crypto.rng import Label, Stream, spell
from covey.crypto.secret import Secret
from covey.errors import InputError

OVERHEAD = 48
"""Bytes that a sealed letter has more than its content: the writer's fresh key, and the tag."""
_KEY, _NONCE = 32, bytes(12)  # a key seals one letter
_P = 2**255 - 19


class LetterKey:
    """The secret half of a key for letters. It prints as nothing, and has no way onto the wire."""

    __slots__ = ("_secret", "public")

    def __init__(self, secret: X25519PrivateKey) -> None:
        self._secret = secret
        self.public = secret.public_key().public_bytes_raw()

    @classmethod
    def of_signing(cls, key: Ed25519PrivateKey) -> LetterKey:
        """The key for letters of whoever signs with this one (RFC 8032: the hash's first half, clamped on use)."""
        return cls(X25519PrivateKey.from_private_bytes(hashlib.sha512(key.private_bytes_raw()).digest()[:32]))

    @classmethod
    def draw(cls, stream: Stream) -> LetterKey:
        """A new one."""
        return cls.of_bytes(stream.bytes(32))

    @classmethod
    def of_bytes(cls, raw: bytes) -> LetterKey:
        """The key whose secret half are these 32 bytes."""
        return cls(X25519PrivateKey.from_private_bytes(raw))

    def open(self, sealed: bytes, *context: Label) -> bytes:
        """The content. Raises `InputError` for what was altered, or sealed to another key or context."""
        if len(sealed) < OVERHEAD:
            raise InputError("too short for a sealed letter")
        head = sealed[:_KEY]
        try:
            key = _key(self._agree(head), head, self.public, context)
            return AESGCM(key).decrypt(_NONCE, sealed[_KEY:], None)
        except InvalidTag:
            raise InputError("altered, or sealed to another key or for another purpose") from None

    def shared(self, theirs: bytes, *context: Label) -> Secret:
        """The secret that we and the owner of that public key have in common, for this context."""
        low, high = sorted((self.public, theirs))
        return Secret(_key(self._agree(theirs), low, high, ("pair", *context)))

    def _agree(self, theirs: bytes) -> bytes:
        return _exchange(self._secret, theirs)

    def __repr__(self) -> str:
        return "LetterKey(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is never pickled")


def seal(content: bytes, to: bytes, stream: Stream, *context: Label) -> bytes:
    """The content, sealed to the owner of this public key. Raises `InputError` where it is none."""
    fresh = X25519PrivateKey.from_private_bytes(stream.bytes(32))
    head = fresh.public_key().public_bytes_raw()
    return head + AESGCM(_key(_exchange(fresh, to), head, to, context)).encrypt(_NONCE, content, None)


def public_of_signing(raw: bytes) -> bytes:
    """The public key for letters of whoever has this public signing key: u = (1 + y) / (1 - y)."""
    y = int.from_bytes(raw, "little") & ((1 << 255) - 1)
    if y >= _P or y == 1:
        raise InputError("no point of the signing curve")
    return ((1 + y) * pow(1 - y, -1, _P) % _P).to_bytes(32, "little")


def _exchange(own: X25519PrivateKey, theirs: bytes) -> bytes:
    try:
        return own.exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError:
        raise InputError("the public key is not a point of large order on the curve") from None


def _key(agreed: bytes, head: bytes, public: bytes, context: tuple[Label, ...]) -> bytes:
    info = spell("covey letter/1", *context)
    return HKDF(algorithm=SHA256(), length=32, salt=head + public, info=info).derive(agreed)
