"""A contact is what the roster says of a party: its name, its certificate, and where it can be reached.

The certificate is the identity. Names that a peer claims are compared with it and never believed.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from covey.errors import AccessError, InputError

PORTS = 65535


@dataclass(frozen=True)
class Address:
    """A host and a port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Reads `host:port`; an IPv6 host stands in brackets."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or not 0 <= int(port) <= PORTS or not host:
            raise InputError(f"{text!r} is no address: write it as host:port, for instance 127.0.0.1:7701")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    @property
    def is_local(self) -> bool:
        """True if it is this machine's own, which no other reaches."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Contact:
    """One party as the roster has it; without an address it dials out to the others, or meets them at the relay."""

    name: str
    certificate: bytes
    """The certificate in DER."""
    address: Address | None = None

    @classmethod
    def from_pem(cls, name: str, pem: bytes, address: Address | None = None) -> Contact:
        """Reads a certificate file. Raises `InputError` if it is none."""
        try:
            certificate = x509.load_pem_x509_certificate(pem)
        except ValueError:
            raise InputError(f"the certificate of party {name!r} is not a PEM certificate") from None
        return cls(name, certificate.public_bytes(Encoding.DER), address)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, in hexadecimal."""
        return fingerprint(self.certificate)

    def check_dates(self, now: datetime | None = None) -> None:
        """Raises `AccessError` if the certificate is not valid yet or no longer."""
        parsed = x509.load_der_x509_certificate(self.certificate)
        moment = now or datetime.now(UTC)
        remedy = f"make a new one with `covey keys new {self.name}` and give it to all, or set this machine's clock"
        if moment > parsed.not_valid_after_utc:
            raise AccessError(
                f"the certificate of party {self.name!r} expired on {parsed.not_valid_after_utc:%Y-%m-%d}: {remedy}"
            )
        if moment < parsed.not_valid_before_utc:
            start = parsed.not_valid_before_utc
            raise AccessError(
                f"the certificate of party {self.name!r} is not valid before {start:%Y-%m-%d %H:%M} UTC: {remedy}"
            )


def fingerprint(certificate: bytes) -> str:
    """SHA-256 of a certificate in DER, in hexadecimal."""
    return hashlib.sha256(certificate).hexdigest()


def meet_at_relay(one: Contact, other: Contact) -> bool:
    """True if two parties of a study with a relay meet there: one of them has no address."""
    return one.address is None or other.address is None


def dials(caller: Contact, called: Contact, *, relay: bool = False) -> bool:
    """True if the first of a pair dials the second: the later name dials, unless only the other can be reached.

    `relay` says that the study has one. Raises `InputError` if neither has an address, and there is no relay.
    """
    if relay and meet_at_relay(caller, called):
        return caller.name > called.name
    if caller.address is None and called.address is None:
        raise InputError(
            f"parties {caller.name!r} and {called.name!r} cannot meet: neither has an address in the study; give one "
            "of them an address, or the study a [relay]"
        )
    if called.address is None:
        return False
    return caller.address is None or caller.name > called.name


def by_fingerprint(contacts: Iterable[Contact]) -> dict[str, Contact]:
    """Looks parties up by their certificate. Raises `InputError` if two share one."""
    found: dict[str, Contact] = {}
    for contact in contacts:
        other = found.setdefault(contact.fingerprint, contact)
        if other is not contact:
            raise InputError(f"parties {other.name!r} and {contact.name!r} have the same certificate")
    return found
