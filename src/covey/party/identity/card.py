"""A party's card: the small file with which it introduces itself, with its certificate and its address.

A card may carry the study as well, with every file that it names: then it is an invitation. A card proves nothing: the
fingerprint of its certificate is compared by telephone.
"""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath

import msgspec

from covey.errors import InputError
from covey.files import as_json, write_atomically
from covey.party.identity.certificate import Certificate
from covey.plain import STEERING, toml_string
from covey.study import Study
from covey.study.editing import set_keys
from covey.study.folder import RESERVED
from covey.wire.contact import Address

FORMAT = "covey-card/1"
LARGEST = 32 * 2**20
_MOST_FILES = 1000
STUDY = "study.toml"


class Card(msgspec.Struct, frozen=True):
    """The content of a card."""

    format: str
    party: str
    certificate: str
    """PEM."""
    address: str | None = None
    """HOST:PORT; None for a party that dials out only."""
    study: dict[str, str] = {}
    """The study's files by path, study.toml among them; empty where the card carries none."""

    @property
    def identity(self) -> Certificate:
        """The certificate. Raises AccessError if it is not one of ours, or another party's."""
        return Certificate.parse(self.certificate.encode(), self.party, f"the card of {self.party!r}")

    def spell(self) -> bytes:
        """The bytes of the file."""
        return as_json(msgspec.to_builtins(self))


def make(certificate: Certificate, address: str | None, study: Path | None = None) -> Card:
    """The card of a party; with a study it carries that one too."""
    if address is not None:
        Address.parse(address)
    files: dict[str, str] = {}
    if study is not None:
        named = Study.load(study).files
        try:
            files = {STUDY: study.read_text("utf-8-sig"), **{name: content.decode() for name, content in named.items()}}
        except UnicodeDecodeError:
            raise InputError(f"{study}: names a file that is no text in UTF-8, which a card cannot carry") from None
    return Card(FORMAT, certificate.party, certificate.pem.decode(), address, files)


def read(content: bytes, name: str) -> Card:
    """The card in a file. Raises InputError or AccessError for one that is damaged or not a card."""
    try:
        card = msgspec.json.decode(content[: LARGEST + 1], type=Card)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(f"{name}: is no card of a party; ask the party for the file that it made") from None
    if card.format != FORMAT:
        raise InputError(f"{name}: is a card of another version of covey ({card.format[:40]!r}); use the same version")
    _ = card.identity
    if card.address is not None:
        Address.parse(card.address)
    if card.study and (STUDY not in card.study or len(card.study) > _MOST_FILES):
        raise InputError(f"{name}: carries a study that is not complete; ask the party for a new card")
    for path in card.study:
        parts = PurePosixPath(path)
        if (
            not path or STEERING.search(path) or parts.is_absolute() or ".." in parts.parts or "\\" in path
            or (path != STUDY and path.lower() in RESERVED) or any(part.startswith(".") for part in parts.parts)
        ):  # fmt: skip
            raise InputError(f"{name}: carries a file with a name that leads elsewhere; do not use this card")
    return card


def unpack(card: Card, folder: Path) -> Study:
    """Writes the study that a card carries into a folder. Raises InputError rather than overwrite a file."""
    if not card.study:
        raise InputError(f"the card of {card.party!r} carries no study; ask the one who wrote the study for theirs")
    taken = [name for name in card.study if (folder / name).exists()]
    if taken:
        raise InputError(f"{folder / taken[0]}: is there already; choose another folder for the study")
    with tempfile.TemporaryDirectory() as apart:
        for place in (Path(apart), folder):  # one that is not right is found before anything is written
            for name, text in card.study.items():
                write_atomically(place / name, text.encode())
            study = Study.load(place / STUDY)
    return study


def take(study: Path, card: Card) -> None:
    """Puts the study that a card carries in the place of ours, with its files; keys, tables and runs stay.

    The certificates and addresses of others stay those that we have compared. Raises InputError for a file that is not
    the study's, and for another certificate than the one that we have of a party.
    """
    old = Study.load(study)
    for name in card.study:
        if name != STUDY and name not in old.files and (study.parent / name).exists():
            raise InputError(f"{study.parent / name}: is there already and no file of the study; rename it first")
    with tempfile.TemporaryDirectory() as apart:
        new = unpack(card, Path(apart))
        text = (Path(apart) / STUDY).read_text("utf-8")
    certificates = {each.certificate.as_posix() for each in new.parties if each.certificate is not None}
    compared = {each.name: each for each in old.parties if each.certificate is not None}
    for party in new.parties:
        ours = compared.get(party.name)
        kept = None if ours is None or ours.certificate is None else ours.certificate.as_posix()
        sent = None if party.certificate is None else card.study[party.certificate.as_posix()]
        if kept is not None and sent is not None and old.files[kept].strip() != sent.strip().encode():
            raise InputError(f"the card has another certificate of {party.name!r} than the one that you compared")
        address = None if ours is None or ours.address is None else toml_string(ours.address)
        own = {"address": address, "certificate": None if kept is None else toml_string(kept)}
        if kept is not None or sent is not None:
            text = set_keys(text, ("parties", party.name), own, str(study))
    for name, content in card.study.items():
        if name != STUDY and name not in certificates:
            write_atomically(study.parent / name, content.encode())
    write_atomically(study, text.encode(), study.stat().st_mode & 0o777)


def add(study: Path, card: Card) -> str:
    """Puts a party's certificate and address into a study; returns the fingerprint, which is to be compared.

    Raises InputError if the study has no such party, or another certificate for it.
    """
    agreed = Study.load(study)
    party = agreed.party(card.party)
    found = agreed.files.get(party.certificate.as_posix()) if party.certificate is not None else None
    identity = card.identity
    if found is not None and Certificate.parse(found, card.party).der != identity.der:
        raise InputError(
            f"the study has another certificate for party {card.party!r} already; ask that party by telephone which "
            f"is right, and remove {party.certificate} if it is the new one"
        )
    file = f"certs/{card.party}.pem" if party.certificate is None else party.certificate.as_posix()
    section = ("authority",) if party.role == "authority" else ("parties", card.party)
    address = None if card.address is None else toml_string(card.address)
    text = study.read_text("utf-8-sig")
    if party.address != card.address or party.certificate is None:
        text = set_keys(text, section, {"address": address, "certificate": toml_string(file)}, str(study))
    write_atomically(study.parent / file, identity.pem)
    write_atomically(study, text.encode(), study.stat().st_mode & 0o777)
    return identity.fingerprint
