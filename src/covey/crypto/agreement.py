"""Two parties agree on a secret that nobody who watches them knows: X25519 and a hash of the whole exchange.

Each pair's secret is bound to both public keys and to a context (the session), so that neither a
reflected key nor one from another session leads to the same secret.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from covey.crypto.rng import Stream, derive
from covey.crypto.secret import Secret
from covey.errors import InputError


class AgreementKey:
    """One party's half of the agreement, for one session."""

    __slots__ = ("_private", "public")

    def __init__(self, stream: Stream) -> None:
        self._private = X25519PrivateKey.from_private_bytes(stream.bytes(32))
        self.public = self._private.public_key().public_bytes_raw()

    def __repr__(self) -> str:
        return "AgreementKey(…)"

    def shared(self, their_public: bytes, context: bytes) -> Secret:
        """The secret that this party and the owner of that public key have in common.

        Raises `InputError` where the public key is of small order or our own.
        """
        if their_public == self.public:
            raise InputError("the public key is a copy of ours")
        try:
            raw = self._private.exchange(X25519PublicKey.from_public_bytes(their_public))
        except ValueError as error:
            raise InputError("the public key is not a point of large order on the curve") from error
        low, high = sorted((self.public, their_public))
        return derive(Secret(raw), "x25519", context, low, high)
