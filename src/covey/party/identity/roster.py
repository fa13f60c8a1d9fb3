"""The roster: who takes part, where each party is, and the certificate that each is known by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from covey.errors import AccessError, InputError
from covey.files import read_bytes
from covey.party.identity.certificate import Certificate
from covey.party.identity.keys import Keys
from covey.study import Study
from covey.wire.contact import Address, Contact
from covey.wire.relay.site import RelaySite, split_url


@dataclass(frozen=True)
class Roster:
    """The parties' certificates and addresses, as one study has them."""

    certificates: Mapping[str, Certificate]
    addresses: Mapping[str, str]
    roster_hash: str
    relay: RelaySite | None = None
    """The broker at which parties without an address meet, if the study has one."""

    @staticmethod
    def of(study: Study) -> Roster:
        """The study's roster. Raises InputError for a party without a certificate, AccessError for a bad one."""
        certificates: dict[str, Certificate] = {}
        for party in study.parties:
            if party.certificate is None:
                section = "[authority]" if party.role == "authority" else f"[parties.{party.name}]"
                raise InputError(
                    f"party {party.name!r} has no certificate in the study; "
                    f'put its PARTY.pem beside the study and add certificate = "certs/{party.name}.pem" to {section}'
                )
            content = study.files.get(party.certificate.as_posix())
            if content is None:
                raise InputError(
                    f"{party.certificate}: there is no such file in the study's folder; ask party {party.name!r} for it"
                )
            certificates[party.name] = Certificate.parse(content, party.name, str(party.certificate))
        addresses = {party.name: party.address for party in study.parties if party.address is not None}
        _refuse_shared_keys(certificates)
        return Roster(certificates, addresses, study.roster_hash, relay_of(study, certificates))

    @property
    def names(self) -> tuple[str, ...]:
        """All parties, sorted."""
        return tuple(sorted(self.certificates))

    def require(self, keys: Keys, party: str, now: datetime | None = None) -> None:
        """Refuses keys that are not that party's, and certificates out of their days, before anyone is dialled."""
        own = self.certificates.get(party)
        if own is None:
            raise InputError(f"the study has no party {party!r}; it has {', '.join(self.names)}")
        if own.der != keys.certificate.der:
            raise AccessError(
                f"the study's certificate of party {party!r} is not the one of these keys ({keys.party}.pem); "
                "give the others your new certificate, or name the right keys with --keys"
            )
        for contact in self.contacts.values():
            contact.check_dates(now)

    @property
    def contacts(self) -> dict[str, Contact]:
        """The roster as the TLS carrier wants it."""
        where = {name: Address.parse(address) for name, address in self.addresses.items()}
        return {name: Contact(name, own.der, where.get(name)) for name, own in self.certificates.items()}


def relay_of(study: Study, certificates: Mapping[str, Certificate]) -> RelaySite | None:
    """The study's relay, with subjects for these parties. Raises InputError where it cannot be used."""
    if study.relay is None:
        return None
    split_url(study.relay.url)
    pinned = None
    if study.relay.certificate is not None:
        named = study.relay.certificate
        content = study.files.get(named.as_posix())
        if content is None:
            raise InputError(f"{named}: there is no such file in the study's folder; it is the relay's certificate")
        pinned = Contact.from_pem("relay", content).certificate
    contacts = [Contact(name, own.der) for name, own in certificates.items()]
    return RelaySite.of(study.relay.url, bytes.fromhex(study.study_hash), contacts, pinned)


def _refuse_shared_keys(certificates: Mapping[str, Certificate]) -> None:
    """Two parties with one key would be one party with two votes."""
    owner: dict[bytes, str] = {}
    for name, certificate in certificates.items():
        for key in (certificate.public_key, certificate.signing_key):
            other = owner.setdefault(key, name)
            if other != name:
                raise AccessError(f"parties {other!r} and {name!r} have the same key; each must make its own")


def certificates_in(study: Study, folder: Path) -> dict[str, Certificate]:
    """The certificates that a study names, or else those in the folder's `certs`, as far as there are any."""
    found = {}
    for party in study.parties:
        content = study.files.get(party.certificate.as_posix()) if party.certificate is not None else None
        beside = folder / "certs" / f"{party.name}.pem"
        if content is None and beside.is_file():
            content = read_bytes(beside, "it is a party's certificate")
        if content is not None:
            found[party.name] = Certificate.parse(content, party.name)
    return found
