"""A configuration for a NATS broker that lets the parties of one study in, each under its own name, and nobody else.

    nats-server.conf  where the broker listens, its limits, and how it is reached
    users.conf        the parties' public keys and what each may send and hear; also for a broker that is there already
    relay.pem         the broker's own certificate, to be pinned by the study, where its URL asks for TLS
    relay.key         the private key of that certificate; both are the host's own affair once the study pins one

A party's key at the broker is that of its certificate, so there is no secret to hand out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from covey.errors import InputError
from covey.files import PRIVATE, create, write_atomically
from covey.party.identity import keys as keyring
from covey.party.identity.roster import Roster
from covey.study import Study
from covey.wire.contact import Address
from covey.wire.relay.broker import Signer
from covey.wire.relay.site import SECURED, RelaySite, user_key

CONFIG, USERS, CERTIFICATE, KEY = "nats-server.conf", "users.conf", "relay.pem", "relay.key"
FIXED_IN = ((2, 11, 14), (2, 12, 5))
"""The first versions of nats-server, of each line, without the flaws that docs/relay.md names."""
_ANYWHERE = "0.0.0.0"  # noqa: S104 - a relay is there to be reached
FLAWS = "CVE-2023-47090, CVE-2026-27571 and CVE-2026-27889"


@dataclass(frozen=True)
class Written:
    """The files that were written, and whether the study is still to pin the broker's certificate."""

    files: tuple[Path, ...]
    pin: bool


def is_current(version: str) -> bool:
    """True if a broker of this version has none of the flaws that are known to matter here."""
    parts = version.partition("-")[0].split(".")
    found = tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else (0,)
    return any(found >= fixed for fixed in FIXED_IN if found[:2] == fixed[:2]) or found[:2] > FIXED_IN[-1][:2]


def write(study: Study, folder: Path, listen: Address | None = None) -> Written:
    """Writes the configuration for the study's roster. Raises InputError if the study has no relay."""
    roster = Roster.of(study)
    site = roster.relay
    if site is None or study.relay is None:
        raise InputError("the study has no [relay]; add one with the broker's url, as docs/relay.md shows")
    secured = site.parts.scheme in SECURED
    files = [folder / CONFIG, folder / USERS]
    pin = secured and site.certificate is None
    if pin:
        files += [folder / CERTIFICATE, folder / KEY]
        _certify(folder)
    public = {name: own.public_key for name, own in roster.certificates.items()}
    for name, text in texts(site, public, listen, study.of_party_role("collector")).items():
        write_atomically(folder / name, text.encode())
    return Written(tuple(files), pin)


def _certify(folder: Path) -> None:
    """Makes the broker's certificate, unless it is there."""
    if (folder / CERTIFICATE).exists() and (folder / KEY).exists():
        return
    key = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "relay")])
    begin = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
    certificate = (  # without the extension of parties' certificates: Go cannot read its identifier
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=keyring.DAYS))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, None)
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        create(folder / KEY, private, PRIVATE)
        create(folder / CERTIFICATE, certificate.public_bytes(Encoding.PEM), 0o644)
    except OSError as error:
        raise InputError(f"{folder}: cannot write the broker's key ({error.strerror}); choose another folder") from None


def texts(
    site: RelaySite, public: Mapping[str, bytes], listen: Address | None = None, hosts: Iterable[str] = ()
) -> dict[str, str]:
    """The configuration files for a broker and the parties with these public keys, by file name.

    `hosts` are parties that people without a key of their own may call: collectors.
    """
    return {USERS: _users(site, public, tuple(hosts)), CONFIG: _config(site, listen)}


def _users(site: RelaySite, public: Mapping[str, bytes], hosts: tuple[str, ...]) -> str:
    """Everyone's key, what each may publish, and what each may hear."""
    lines = [
        "# Made by covey relay config: the public keys of the parties, and what each may send and hear.",
        "users = [",
    ]
    for name, key in sorted(public.items()):
        publish, hear = [site.sent_by(name)], [site.sent_to(name)]
        if name in hosts:
            publish += [site.to_guest(name, "*"), site.to_page(name, "*")]
            hear += [site.from_guest("*", name), site.from_page("*", name)]
        lines += [f"  # {name}", _user(user_key(key), publish, hear)]
    if hosts:
        publish, hear = [site.from_guest("*", name) for name in hosts], [site.to_guest(name, "*") for name in hosts]
        lines += ["  # respondents, who share one key", _user(Signer.of_guest(site).public, publish, hear)]
        publish, hear = [site.from_page("*", name) for name in hosts], [site.to_page(name, "*") for name in hosts]
        lines += ["  # respondents in browsers, who share another", _user(Signer.of_page(site).public, publish, hear)]
    return "\n".join([*lines, "]", ""])


def _user(key: str, publish: list[str], hear: list[str]) -> str:
    allowed = f"publish: {{ allow: {json.dumps(publish)} }}, subscribe: {{ allow: {json.dumps(hear)} }}"
    return f"  {{ nkey: {key}, permissions: {{ {allowed} }} }}"


def _config(site: RelaySite, listen: Address | None) -> str:
    fixed = " or ".join(".".join(map(str, version)) for version in FIXED_IN)
    host, port = (listen.host, listen.port) if listen is not None else (_ANYWHERE, site.address.port)
    tls = f'tls {{ cert_file: "./{CERTIFICATE}", key_file: "./{KEY}" }}'
    lines = [
        "# Made by covey relay config. Start it in this folder: nats-server -c nats-server.conf",
        f"# Use nats-server {fixed}, or a later one: earlier ones have {FLAWS}.",
        "max_payload: 1MB",
        "max_pending: 128MB",
        "max_control_line: 4KB",
        'ping_interval: "20s"',
        f"authorization {{ timeout: 5, include ./{USERS} }}",
    ]
    if site.parts.scheme in ("ws", "wss"):
        secure = tls if site.parts.scheme == "wss" else "no_tls: true"
        lines += [
            'listen: "127.0.0.1:-1"',
            f'websocket {{ listen: "{Address(host, port)}", compression: false, {secure} }}',
        ]
    else:
        lines += [f'listen: "{Address(host, port)}"', *([tls] if site.parts.scheme == "tls" else [])]
    return "\n".join([*lines, ""])
