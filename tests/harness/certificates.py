"""Certificates for tests: self-signed, ed25519, valid or deliberately not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from covey.wire.contact import Address, Contact


@dataclass(frozen=True)
class Identity:
    """A party's certificate and key, in files."""

    name: str
    certificate: Path
    key: Path

    def contact(self, address: Address | None = None) -> Contact:
        """What the others' roster has of it."""
        return Contact.from_pem(self.name, self.certificate.read_bytes(), address)


def make_identity(
    name: str,
    folder: Path,
    *,
    begins: timedelta = timedelta(days=-1),
    ends: timedelta = timedelta(days=30),
    host: str | None = None,
) -> Identity:
    """Writes a certificate whose validity begins and ends that far from now, and its key.

    With a host it is one of a server there, as other software knows it.
    """
    key = Ed25519PrivateKey.generate() if host is None else ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins)
        .not_valid_after(now + ends)
        .add_extension(x509.BasicConstraints(ca=host is not None, path_length=None), critical=True)
    )
    if host is not None:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    certificate = builder.sign(key, None if host is None else hashes.SHA256())
    folder.mkdir(parents=True, exist_ok=True)
    identity = Identity(name, folder / f"{name}.pem", folder / f"{name}.key")
    identity.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
    identity.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    identity.key.chmod(0o600)
    return identity
