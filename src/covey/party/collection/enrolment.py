"""Enrolment: an invitation and a key of one's own for a handle; once, and by nobody else.

A caller signs, with its certificate's key, the study, the collector, this connection's nonce and its invitation: what
it shows is its own, and is of use nowhere else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding

from covey.crypto.rng import spell
from covey.errors import AccessError, CoveyError
from covey.party.collection import speech
from covey.party.collection.invitation import Invitations, digest
from covey.party.collection.register import Register
from covey.party.identity.certificate import Certificate
from covey.wire.contact import fingerprint


class Turned(CoveyError):
    """An enrolment that is refused, with what the caller is told."""

    final = True

    def __init__(self, why: str, *, guess: bool = False) -> None:
        super().__init__(why)
        self.guess = guess
        """Whether it may have been a try at another's invitation."""


@dataclass(frozen=True)
class Desk:
    """Where the collector decides who is enrolled."""

    study_hash: str
    own: str
    """The fingerprint of the collector's certificate."""
    register: Register
    invitations: Invitations
    clock: Callable[[], float]
    welcome: Callable[[str, bytes], None]
    """Told the handle and the certificate of everyone who is new, once they are on the disk."""

    def enrol(self, asked: speech.Enrol, nonce: bytes, *, closed: bool) -> str:
        """The handle for a caller's certificate. Raises Turned with what the caller is told."""
        held, token = self.register.held, digest(asked.secret)
        if asked.study.hex() != self.study_hash:
            raise Turned("the collection is of another study, or of another version of it")
        expiry = self.invitations.expiry(asked.secret)
        if expiry is None:
            raise Turned("this invitation is not known here", guess=True)
        certificate = self._proven(asked, nonce)
        before = held.by_invitation.get(token)
        mine = held.by_certificate.get(fingerprint(certificate))
        if before is not None and before != mine:
            raise Turned("this invitation was used already, with another key", guess=True)
        if mine is not None:
            return mine  # enrolled before, and the answer was lost: the same handle
        if self.clock() > expiry:
            raise Turned("this invitation has expired; ask the organiser for a new one")
        if held.started is not None or held.ended is not None or closed:
            raise Turned("the collection has begun, and nobody can enrol any more")
        handle = self.register.enrol(certificate, token)
        self.welcome(handle, certificate)
        return handle

    def _proven(self, asked: speech.Enrol, nonce: bytes) -> bytes:
        """The certificate that a caller shows, once it is known to hold its key."""
        try:
            parsed = x509.load_der_x509_certificate(asked.certificate)
            shown = Certificate.parse(parsed.public_bytes(Encoding.PEM), None)
            content = statement(self.study_hash, self.own, nonce, asked.secret, shown.der)
            Ed25519PublicKey.from_public_bytes(shown.public_key).verify(asked.signature, content)
        except (ValueError, AccessError, InvalidSignature):
            raise Turned("the certificate is not one that covey makes, or its key is another's") from None
        if shown.der != asked.certificate:
            raise Turned("the certificate is not one that covey makes")
        return shown.der


def statement(study_hash: str, collector: str, nonce: bytes, secret: bytes, certificate: bytes) -> bytes:
    """What a caller signs with its certificate's key when it enrols."""
    parts = (study_hash, collector, nonce, secret, hashlib.sha256(certificate).digest())
    return spell("covey enrolment/1", *parts)
