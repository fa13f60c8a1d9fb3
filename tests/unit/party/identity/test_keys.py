"""A party's keys are its own: made once, readable by nobody else, and known by a certificate."""

from __future__ import annotations

import base64
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from tests.consortium import study_text, study_with

from covey.crypto.secret import Secret
from covey.errors import AccessError, InputError
from covey.party.identity import keys as keyring
from covey.party.identity.certificate import SIGNING_KEY, Certificate
from covey.party.identity.roster import Roster
from covey.study import Study


def test_saved_keys_load_as_they_were_made(tmp_path: Path) -> None:
    made = keyring.make("north")
    path = keyring.save(made, tmp_path / "keys")
    loaded = keyring.load(tmp_path / "keys")
    assert path.name == "north.pem"
    assert loaded.certificate == made.certificate
    assert (loaded.journal, loaded.dummy) == (made.journal, made.dummy)
    assert made.certificate.verifies(loaded.sign(b"words"), b"words")


def test_a_signature_holds_for_what_was_signed_and_nothing_else() -> None:
    made, other = keyring.make("north"), keyring.make("south")
    signature = made.sign(b"words")
    assert not made.certificate.verifies(signature, b"other words")
    assert not other.certificate.verifies(signature, b"words")


def test_no_two_parties_get_the_same_keys() -> None:
    one, two = keyring.make("north"), keyring.make("north")
    assert one.certificate.fingerprint != two.certificate.fingerprint
    assert one.journal != two.journal
    assert one.journal != one.dummy


def test_equal_seeds_make_equal_keys_for_simulations() -> None:
    seed = Secret(bytes(32))
    now = datetime.now(UTC)
    assert keyring.make("a", seed=seed, now=now).certificate == keyring.make("a", seed=seed, now=now).certificate


def test_private_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    keyring.save(keyring.make("north"), tmp_path / "keys")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "keys").iterdir()}
    assert modes.pop("north.pem") & 0o044
    assert modes == dict.fromkeys(("tls.key", "signing.key", "journal.key", "dummy.key"), 0o600)


def test_keys_are_never_replaced(tmp_path: Path) -> None:
    keyring.save(keyring.make("north"), tmp_path)
    before = (tmp_path / "tls.key").read_bytes()
    with pytest.raises(InputError, match="never replaced"):
        keyring.save(keyring.make("north"), tmp_path)
    assert (tmp_path / "tls.key").read_bytes() == before


@pytest.mark.parametrize("name", ["tls.key", "signing.key", "journal.key", "dummy.key"])
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, name: str, mode: int) -> None:
    keyring.save(keyring.make("north"), tmp_path)
    (tmp_path / name).chmod(mode)
    with pytest.raises(AccessError, match=rf"{name}: others can read it \(mode {mode:04o}\)"):
        keyring.load(tmp_path)


def test_a_key_behind_a_link_is_refused(tmp_path: Path) -> None:
    keyring.save(keyring.make("north"), tmp_path / "keys")
    (tmp_path / "keys" / "tls.key").rename(tmp_path / "elsewhere")
    (tmp_path / "keys" / "tls.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AccessError, match=r"tls\.key: cannot be read"):
        keyring.load(tmp_path / "keys")


@pytest.mark.parametrize("name", ["tls.key", "signing.key"])
def test_a_key_of_another_certificate_is_refused(tmp_path: Path, name: str) -> None:
    keyring.save(keyring.make("north"), tmp_path / "a")
    keyring.save(keyring.make("north"), tmp_path / "b")
    (tmp_path / "a" / name).write_bytes((tmp_path / "b" / name).read_bytes())
    with pytest.raises(AccessError, match=f"{name} does not belong"):
        keyring.load(tmp_path / "a")


@pytest.mark.parametrize("name", ["tls.key", "signing.key", "journal.key", "dummy.key"])
def test_a_damaged_key_is_refused_without_quoting_it(tmp_path: Path, name: str) -> None:
    keyring.save(keyring.make("north"), tmp_path)
    (tmp_path / name).write_text("0badc0de")
    with pytest.raises(AccessError) as refused:
        keyring.load(tmp_path)
    assert "0badc0de" not in str(refused.value)


def test_nothing_of_the_keys_is_printed() -> None:
    made = keyring.make("north")
    assert made.journal.reveal().hex() not in repr(made)
    assert "PRIVATE" not in repr(made)


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 65, "-x"])
def test_a_name_that_no_study_could_have_gets_no_keys(name: str) -> None:
    with pytest.raises(InputError, match="party name"):
        keyring.make(name)


def test_a_folder_without_keys_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="covey keys new"):
        keyring.load(tmp_path)


def test_a_certificate_says_whose_it_is_and_for_how_long() -> None:
    now = datetime(2026, 5, 1, 12, tzinfo=UTC)
    certificate = keyring.make("north", days=30, now=now).certificate
    assert certificate.party == "north"
    assert certificate.begins < now
    assert certificate.ends == now + timedelta(days=30)


def test_a_certificate_of_another_party_is_refused() -> None:
    pem = keyring.make("south").certificate.pem
    with pytest.raises(AccessError, match="is of party 'south', not of 'north'"):
        Certificate.parse(pem, "north")


@pytest.mark.parametrize("pem", [b"", b"words", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_what_is_no_certificate_is_refused(pem: bytes) -> None:
    with pytest.raises(AccessError, match="no single certificate"):
        Certificate.parse(pem, "north")


@pytest.mark.filterwarnings("ignore::cryptography.utils.CryptographyDeprecationWarning")
def test_whatever_byte_of_a_certificate_is_changed_it_is_read_or_refused() -> None:
    """Among them a key of an algorithm that nobody knows, a version that there is none of, and a name in no letters."""
    whole = keyring.make("north").certificate.der
    refused = 0
    for place in range(len(whole)):
        for change in (1, 0x80, 0xFF, 0x0A):
            der = whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :]
            lines = base64.encodebytes(der).decode()
            try:
                Certificate.parse(f"-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----\n".encode(), None)
            except AccessError:
                refused += 1
    assert refused


def test_a_key_of_an_unknown_algorithm_is_refused() -> None:
    der = keyring.make("north").certificate.der.replace(b"\x06\x03\x2b\x65\x70", b"\x06\x03\x2b\x65\x7a")
    pem = f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(der).decode()}-----END CERTIFICATE-----\n"
    with pytest.raises(AccessError, match="its key is not ed25519"):
        Certificate.parse(pem.encode(), "north")


def roster_of(tmp_path: Path, made: dict[str, keyring.Keys]) -> tuple[Study, Roster]:
    study = study_with(tmp_path, made)
    return study, Roster.of(study)


def test_a_roster_accepts_the_keys_of_its_certificate(tmp_path: Path) -> None:
    made = {name: keyring.make(name) for name in ("north", "south")}
    _, roster = roster_of(tmp_path, made)
    roster.require(made["north"], "north")


def test_keys_that_are_not_in_the_roster_are_refused(tmp_path: Path) -> None:
    made = {name: keyring.make(name) for name in ("north", "south")}
    _, roster = roster_of(tmp_path, made)
    with pytest.raises(AccessError, match="is not the one of these keys"):
        roster.require(keyring.make("north"), "north")
    with pytest.raises(AccessError, match="is not the one of these keys"):
        roster.require(made["south"], "north")


def test_a_certificate_outside_its_days_is_refused_before_anyone_is_dialled(tmp_path: Path) -> None:
    made = {name: keyring.make(name, days=10) for name in ("north", "south")}
    _, roster = roster_of(tmp_path, made)
    with pytest.raises(AccessError, match="expired"):
        roster.require(made["north"], "north", datetime.now(UTC) + timedelta(days=11))
    with pytest.raises(AccessError, match="not valid before"):
        roster.require(made["north"], "north", datetime.now(UTC) - timedelta(days=2))


def test_a_clock_that_is_an_hour_off_does_not_make_a_new_certificate_invalid(tmp_path: Path) -> None:
    made = {name: keyring.make(name) for name in ("north", "south")}
    _, roster = roster_of(tmp_path, made)
    for hours in (-1, 1):
        roster.require(made["north"], "north", datetime.now(UTC) + timedelta(hours=hours))


def test_two_parties_with_one_key_are_refused(tmp_path: Path) -> None:
    seed = Secret(bytes(32))
    made = {name: keyring.make(name, seed=seed) for name in ("north", "south")}
    with pytest.raises(AccessError, match="have the same key"):
        roster_of(tmp_path, made)


def test_a_party_without_a_certificate_is_named(tmp_path: Path) -> None:
    study = study_with(tmp_path, {"north": keyring.make("north")}, names=("north", "south"))
    with pytest.raises(InputError, match="party 'south'"):
        Roster.of(study)


def test_a_study_without_certificates_says_which_party_lacks_one() -> None:
    with pytest.raises(InputError, match="party 'north' has no certificate in the study"):
        Roster.of(Study.parse(study_text()))


def test_a_party_that_the_roster_does_not_have_is_named(tmp_path: Path) -> None:
    made = {name: keyring.make(name) for name in ("north", "south")}
    _, roster = roster_of(tmp_path, made)
    with pytest.raises(InputError, match="no party 'west'; it has north, south"):
        roster.require(made["north"], "west")


def test_a_folder_with_two_certificates_is_nobodys(tmp_path: Path) -> None:
    keyring.save(keyring.make("north"), tmp_path)
    (tmp_path / "south.pem").write_bytes(keyring.make("south").certificate.pem)
    with pytest.raises(InputError, match="exactly one certificate"):
        keyring.load(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_that_belongs_to_another_user_is_refused(tmp_path: Path) -> None:
    keyring.save(keyring.make("north"), tmp_path)
    os.chown(tmp_path / "journal.key", 12345, -1)
    with pytest.raises(AccessError, match=r"journal\.key: belongs to another user"):
        keyring.load(tmp_path)


def certificate_of(key: ec.EllipticCurvePrivateKey | Ed25519PrivateKey, signing: bytes | None) -> bytes:
    """A certificate for north, of another kind than ours."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "north")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
    )
    if signing is not None:
        builder = builder.add_extension(x509.UnrecognizedExtension(SIGNING_KEY, signing), critical=False)
    algorithm = None if isinstance(key, Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(Encoding.PEM)


def test_a_certificate_of_another_kind_is_refused() -> None:
    own = Ed25519PrivateKey.generate()
    curve = ec.generate_private_key(ec.SECP256R1())
    with pytest.raises(AccessError, match="not ed25519"):
        Certificate.parse(certificate_of(curve, bytes(32)), "north")
    with pytest.raises(AccessError, match="carries no signing key"):
        Certificate.parse(certificate_of(own, None), "north")
    with pytest.raises(AccessError, match="signing key is malformed"):
        Certificate.parse(certificate_of(own, bytes(31)), "north")
