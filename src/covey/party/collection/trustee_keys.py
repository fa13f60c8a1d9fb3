"""Trustees' keys for letters: made for one collection, signed by the trustee, erased when the collection has ended.

What stays of a trustee then opens no letter, and no line that was carried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from covey.crypto.letter import LetterKey
from covey.crypto.rng import fresh_seed, spell
from covey.errors import InputError, PeerError
from covey.files import PRIVATE, erase, read_bytes, write_atomically
from covey.party.identity.certificate import Certificate
from covey.party.identity.keys import Keys
from covey.wire.standing.words import SignedKey

FILE = "letters.key"
_BYTES = 32


def exists(folder: Path) -> bool:
    """Returns True if the folder has a key for letters."""
    return (folder / FILE).exists()


def kept(folder: Path) -> LetterKey:
    """Returns the folder's key for letters, made here if there is none. Raises InputError for a damaged one."""
    path = folder / FILE
    if not exists(folder):
        write_atomically(path, fresh_seed().reveal(), PRIVATE)
    content = read_bytes(path, "name a trustee's folder", _BYTES)
    if len(content) != _BYTES:
        raise InputError(f"{path}: is damaged; restore it from a backup: without it nobody can open the letters")
    return LetterKey.of_bytes(content)


def forget(folder: Path) -> None:
    """Erases the folder's key for letters."""
    if exists(folder):
        erase(folder / FILE)


def signed(study_hash: str, keys: Keys, own: LetterKey) -> SignedKey:
    """Returns a trustee's key for letters with its signature."""
    return SignedKey(keys.party, own.public, keys.sign(statement(study_hash, keys.party, own.public)))


def is_signed(study_hash: str, trustee: Certificate, own: SignedKey) -> bool:
    """Returns True if that trustee has signed the key."""
    return own.trustee == trustee.party and trustee.verifies(own.signature, statement(study_hash, own.trustee, own.key))


def require(
    study_hash: str,
    hub: str,
    trustees: Sequence[str],
    certificates: Mapping[str, Certificate],
    keys: Sequence[SignedKey],
) -> dict[str, bytes]:
    """Returns the key of each trustee. Raises PeerError unless the collector shows one of each, signed by it."""
    known = {own.trustee: own.key for own in keys}
    if {*known} != {*trustees} or not all(is_signed(study_hash, certificates[own.trustee], own) for own in keys):
        raise PeerError(party=hub, step="the trustees' keys", reason="it shows keys that the trustees did not sign")
    return known


def statement(study_hash: str, trustee: str, key: bytes) -> bytes:
    """Returns the bytes that a trustee signs."""
    return spell("covey letter key/1", study_hash, trustee, key)
