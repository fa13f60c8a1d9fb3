"""A party's certificate: self-signed, pinned, and carrying the key that verifies what the party signs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from covey.errors import AccessError
from covey.files import read_bytes

SIGNING_KEY = x509.ObjectIdentifier("2.25.265596957092030932791671993304761969650")
"""The extension with the raw ed25519 key; an identifier from a UUID needs nobody's leave."""

_LARGEST = 1 << 16


@dataclass(frozen=True)
class Certificate:
    """A party's identity. Two certificates are the same if their bytes are."""

    party: str
    der: bytes
    pem: bytes
    public_key: bytes
    signing_key: bytes
    begins: datetime
    ends: datetime

    @staticmethod
    def read(path: Path, party: str | None) -> Certificate:
        """The certificate in a file, of that party if one is given.

        Raises InputError if there is none, AccessError if it is not one of ours.
        """
        return Certificate.parse(read_bytes(path, "name a certificate", _LARGEST), party, str(path))

    @staticmethod
    def parse(pem: bytes, party: str | None, where: str = "") -> Certificate:
        """The certificate in PEM bytes, which is to be that party's if one is given."""
        where = where or f"the certificate of party {party!r}"
        try:
            found = x509.load_pem_x509_certificates(pem)
        except (ValueError, x509.InvalidVersion):
            found = []
        if len(found) != 1:
            raise AccessError(f"{where}: is no single certificate in PEM; ask the party for its PARTY.pem")
        certificate = found[0]
        named = _name(certificate)
        if party is not None and named != party:
            raise AccessError(f"{where}: is of party {named!r}, not of {party!r}; use the one it made")
        return Certificate(
            party=named,
            der=certificate.public_bytes(Encoding.DER),
            pem=certificate.public_bytes(Encoding.PEM),
            public_key=_public_key(certificate, where),
            signing_key=_signing_key(certificate, where),
            begins=certificate.not_valid_before_utc,
            ends=certificate.not_valid_after_utc,
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, to be compared by telephone."""
        return spelled(hashlib.sha256(self.der).hexdigest())

    def verifies(self, signature: bytes, content: bytes) -> bool:
        """True if this party signed that content."""
        try:
            _signer(self.signing_key).verify(signature, content)
        except InvalidSignature:
            return False
        return True


@lru_cache(maxsize=1024)
def _signer(key: bytes) -> Ed25519PublicKey:
    """A public key, made ready once: each of a party's messages is verified with it."""
    return Ed25519PublicKey.from_public_bytes(key)


def spelled(digest: str) -> str:
    """A hash in groups of four, as people read it out."""
    return " ".join(digest[start : start + 4] for start in range(0, len(digest), 4))


def _name(certificate: x509.Certificate) -> str:
    """The name in a certificate; empty unless there is exactly one."""
    try:
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    except ValueError:
        names = []
    return str(names[0].value) if len(names) == 1 else ""


def _public_key(certificate: x509.Certificate, where: str) -> bytes:
    try:
        key = certificate.public_key()
    except (UnsupportedAlgorithm, ValueError):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise AccessError(f"{where}: its key is not ed25519; make keys with `covey keys new`")
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _signing_key(certificate: x509.Certificate, where: str) -> bytes:
    try:
        extension = certificate.extensions.get_extension_for_oid(SIGNING_KEY).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        raise AccessError(f"{where}: carries no signing key; make keys with `covey keys new`") from None
    raw = extension.value if isinstance(extension, x509.UnrecognizedExtension) else b""
    try:
        Ed25519PublicKey.from_public_bytes(raw)
    except ValueError:
        raise AccessError(f"{where}: its signing key is malformed; make keys with `covey keys new`") from None
    return raw
