"""The place of a relay, and what a study's parties are called there.

Subjects follow from the study's hash and everyone's certificate. Another user of the same broker, who has not got the
certificates, can neither guess them nor see from them which study or party it is. The broker itself sees all subjects,
and so does whoever has the roster; they are kept out by TLS between the parties, and by the broker's permissions.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import SplitResult, urlsplit

from covey.errors import InputError
from covey.wire.contact import PORTS, Address, Contact

PORTS_BY_SCHEME = {"nats": 4222, "tls": 4222, "ws": 80, "wss": 443}
SECURED = ("tls", "wss")
_USER = 20 << 3
"""The first byte of a user's public key in the broker's spelling, which makes it begin with U."""
_MARK_BYTES = 16


@dataclass(frozen=True)
class RelaySite:
    """A broker's URL, the certificate it must show if one is pinned, and the key that all subjects follow from."""

    url: str
    topic: bytes
    certificate: bytes | None = None
    """The broker's certificate in DER; without one it needs a certificate that this machine trusts for its host."""

    @classmethod
    def of(cls, url: str, study: bytes, contacts: Iterable[Contact], certificate: bytes | None = None) -> RelaySite:
        """The site for the parties of a study, whose hash is given."""
        topic = hashlib.sha256(b"covey relay/1" + study)
        for contact in sorted(contacts, key=lambda each: each.name):
            topic.update(hashlib.sha256(contact.name.encode()).digest() + bytes.fromhex(contact.fingerprint))
        return cls(url, topic.digest(), certificate)

    @cached_property
    def parts(self) -> SplitResult:
        """The URL's parts. Raises InputError if it is not the URL of a broker."""
        return split_url(self.url)

    @property
    def address(self) -> Address:
        """The broker's host and port."""
        return Address(self.parts.hostname or "", self.parts.port or PORTS_BY_SCHEME[self.parts.scheme])

    @property
    def prefix(self) -> str:
        """The beginning of all subjects of the study."""
        return f"covey.{self._mark('study', '')}"

    def mark(self, party: str) -> str:
        """A party's name in subjects."""
        return self._mark("party", party)

    def subject(self, sender: str, recipient: str) -> str:
        """The subject of all that one party sends to another."""
        return f"{self.prefix}.{self.mark(sender)}.{self.mark(recipient)}"

    def sent_by(self, party: str) -> str:
        """All subjects that a party may publish to: those that name it as the sender."""
        return f"{self.prefix}.{self.mark(party)}.*"

    def sent_to(self, party: str) -> str:
        """All subjects that a party may hear: those that name it as the recipient."""
        return f"{self.prefix}.*.{self.mark(party)}"

    def from_guest(self, guest: str, host: str) -> str:
        """The subject of all that a caller without a name of its own sends to the party that it calls."""
        return f"{self.prefix}.guest.{guest}.{self.mark(host)}"

    def to_guest(self, host: str, guest: str) -> str:
        """The subject of all that such a caller is answered."""
        return f"{self.prefix}.host.{self.mark(host)}.{guest}"

    def from_page(self, page: str, host: str) -> str:
        """The subject of what a page in a browser asks the party whose page it is."""
        return f"{self.prefix}.page.{page}.{self.mark(host)}"

    def to_page(self, host: str, page: str) -> str:
        """The subject of the answer to it."""
        return f"{self.prefix}.paged.{self.mark(host)}.{page}"

    @property
    def guest_seed(self) -> bytes:
        """The private key of callers without a name: whoever has the study and its certificates has it."""
        return self._seed(b"guest")

    @property
    def page_seed(self) -> bytes:
        """The private key of pages: it stands in each of them."""
        return self._seed(b"page")

    def _seed(self, kind: bytes) -> bytes:
        return hashlib.blake2b(kind, key=self.topic, digest_size=32).digest()

    def _mark(self, kind: str, name: str) -> str:
        content = f"{kind} {name}".encode()
        return hashlib.blake2b(content, key=self.topic, digest_size=_MARK_BYTES).hexdigest()


@dataclass(frozen=True)
class RelayedParty:
    """A party that is met at a relay, by callers that have no name there."""

    site: RelaySite
    name: str

    def __str__(self) -> str:
        return f"the relay {self.site.url}"


def split_url(url: str) -> SplitResult:
    """The parts of a broker's URL. Raises InputError for anything else."""
    wrong = f"{url!r} is not the URL of a relay: write it like tls://relay.example.org:4222 or wss://relay.example.org"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InputError(wrong) from None
    odd = parts.username is not None or parts.query or parts.fragment or not url.isascii() or not url.isprintable()
    path = parts.path.strip("/") if parts.scheme in ("nats", "tls") else ""
    if parts.scheme not in PORTS_BY_SCHEME or not parts.hostname or odd or path or port == 0 or (port or 1) > PORTS:
        raise InputError(wrong)
    return parts


def user_key(public: bytes) -> str:
    """An ed25519 public key in the broker's spelling (an nkey of a user)."""
    raw = bytes([_USER]) + public
    return base64.b32encode(raw + binascii.crc_hqx(raw, 0).to_bytes(2, "little")).decode()
