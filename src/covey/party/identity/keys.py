"""A party's keys: made once, kept in files that nobody else can read, shown by a fingerprint.

    PARTY.pem    the certificate, to be given to the other parties; the public half of the signing key stands in it
    tls.key      the private half of the certificate's own key (ed25519)
    signing.key  signs what the party must not be able to deny (ed25519)
    journal.key  encrypts the journal of a run
    dummy.key    chooses this party's dummy users in `federate`, the same ones in every run; of an authority of
                 `suppress` it is the master key

A private file is created with access for its owner alone and never replaced; one that others can read is
refused, because whoever could read it may have read it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from covey.crypto.rng import derive, fresh_seed
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.errors import AccessError, InputError
from covey.files import PRIVATE, create
from covey.party.identity.certificate import SIGNING_KEY, Certificate

DAYS = 730
_BACKDATED = timedelta(days=1)  # clocks differ: a certificate made an hour ahead of its reader's clock is no stranger's
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")  # as in a study
_TLS, _SIGNING, _JOURNAL, _DUMMY = "tls.key", "signing.key", "journal.key", "dummy.key"


@dataclass(frozen=True)
class Keys:
    """The keys of one party. None of them is ever printed."""

    party: str
    certificate: Certificate
    tls: Ed25519PrivateKey
    signing: Ed25519PrivateKey
    journal: Secret
    dummy: Secret

    def __repr__(self) -> str:
        return f"Keys({self.party!r}, {self.certificate.fingerprint})"

    def sign(self, content: bytes) -> bytes:
        """This party's signature, which the certificate that everyone holds verifies."""
        return self.signing.sign(content)

    @property
    def tls_pem(self) -> bytes:
        """The private TLS key as PEM: for the TLS library, and for the key file."""
        return self.tls.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def make(party: str, *, days: int = DAYS, seed: Secret | None = None, now: datetime | None = None) -> Keys:
    """New keys for a party, from the operating system's randomness (a simulation may give a seed)."""
    if _NAME.fullmatch(party) is None:
        raise InputError(f"party name {party!r}: use letters, digits, dot, dash and underscore, at most 64")
    source = seed or fresh_seed()
    tls = Ed25519PrivateKey.from_private_bytes(derive(source, "tls").reveal())
    signing = Ed25519PrivateKey.from_private_bytes(derive(source, "signing").reveal())
    serial = int.from_bytes(derive(source, "serial").reveal()[:16], "big") >> 1
    begin = (now or datetime.now(UTC)).replace(microsecond=0)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, party)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(tls.public_key())
        .serial_number(serial or 1)
        .not_valid_before(begin - _BACKDATED)
        .not_valid_after(begin + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_signing_only(), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(tls.public_key()), critical=False)
        .add_extension(x509.UnrecognizedExtension(SIGNING_KEY, signing.public_key().public_bytes_raw()), critical=False)
        .sign(tls, None)
    )
    shown = Certificate.parse(certificate.public_bytes(Encoding.PEM), party)
    return Keys(party, shown, tls, signing, derive(source, "journal"), derive(source, "dummy"))


def save(keys: Keys, folder: Path) -> Path:
    """Writes the keys into a folder and returns the certificate's path. Raises InputError if keys are there already."""
    public = folder / f"{keys.party}.pem"
    signing = keys.signing.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    private: Mapping[str, bytes] = {
        _TLS: keys.tls_pem,
        _SIGNING: signing,
        _JOURNAL: keys.journal.reveal().hex().encode() + b"\n",
        _DUMMY: keys.dummy.reveal().hex().encode() + b"\n",
    }
    taken = [name for name in (*private, public.name) if (folder / name).exists()]
    if taken:
        raise InputError(f"{folder}: has {taken[0]} already; keys are never replaced: choose another folder")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made a folder ({error.strerror}); choose another one") from None
    try:
        for name, content in private.items():
            create(folder / name, content, PRIVATE)
        create(public, keys.certificate.pem, 0o644)
    except FileExistsError:
        raise InputError(f"{folder}: somebody else is making keys here; choose another folder") from None
    except OSError as error:
        for name in (*private, public.name):  # none of them was here before: a part of them is of no use
            (folder / name).unlink(missing_ok=True)
        raise InputError(f"{folder}: cannot write keys here ({error.strerror}); choose another folder") from None
    return public


def load(folder: Path) -> Keys:
    """The keys in a folder.

    Raises AccessError for a key that others can read, that is someone else's, or that does not belong to the
    certificate; InputError where there are none.
    """
    if not (folder / _TLS).is_file():
        raise InputError(f"{folder}: has no keys; make them with `covey keys new PARTY --out {folder}`")
    certificates = sorted(folder.glob("*.pem"))
    if len(certificates) != 1:
        raise InputError(f"{folder}: needs exactly one certificate (PARTY.pem), there are {len(certificates)}")
    party = certificates[0].stem
    certificate = Certificate.read(certificates[0], party)
    tls = _private_key(folder / _TLS)
    signing = _private_key(folder / _SIGNING)
    if tls.public_key().public_bytes_raw() != certificate.public_key:
        raise AccessError(f"{folder}: {_TLS} does not belong to {party}.pem; restore the pair that was made together")
    if signing.public_key().public_bytes_raw() != certificate.signing_key:
        raise AccessError(f"{folder}: {_SIGNING} does not belong to {party}.pem; restore the pair made together")
    return Keys(party, certificate, tls, signing, _secret(folder / _JOURNAL), _secret(folder / _DUMMY))


def _signing_only() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=False, crl_sign=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _read_private(path: Path) -> bytes:
    """A private file's content, after its permissions were looked at on the open file itself."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise AccessError(f"{path}: cannot be read ({error.strerror}); it must be the own file of who runs") from None
    with os.fdopen(handle, "rb") as stream:
        found = os.fstat(stream.fileno())
        if found.st_uid != os.geteuid():
            raise AccessError(f"{path}: belongs to another user; a private key is its owner's alone")
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise AccessError(
                f"{path}: others can read it (mode {stat.S_IMODE(found.st_mode):04o}); "
                f"make new keys if they could, else run: chmod 600 {path}"
            )
        return stream.read(1 << 16)


def _private_key(path: Path) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(_read_private(path), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise AccessError(f"{path}: is no ed25519 private key; make keys with `covey keys new`")
    return key


def _secret(path: Path) -> Secret:
    text = _read_private(path).decode("ascii", "replace").strip()
    try:
        material = bytes.fromhex(text)
    except ValueError:
        material = b""
    if len(material) != SECRET_BYTES:
        raise AccessError(f"{path}: is no key of {SECRET_BYTES} bytes; restore it from where it was made")
    return Secret(material)


def files(folder: Path, party: str) -> tuple[Path, Path]:
    """The files of the certificate and the private TLS key, for the TLS library, which reads files only."""
    return folder / f"{party}.pem", folder / _TLS
