"""Studies that can be collected from people, and the collector's address in them."""

from __future__ import annotations

from pathlib import Path

from covey.errors import InputError
from covey.party.identity.roster import Roster
from covey.protocols import of_study
from covey.protocols.as_printed.collect.parameters import Parameters, hub_of
from covey.study import Study
from covey.wire import Address
from covey.wire.relay import RelayedParty


def collected(path: Path) -> tuple[Study, str]:
    """A study that can be collected from people, and its collector's name. Raises InputError for any other."""
    study = Study.load(path)
    of_study(study)
    if study.partition != "respondents":
        raise InputError(f'{path}: has partition = "{study.partition}"; only a study of respondents is collected')
    if any(party.holds_data for party in study.parties):
        raise InputError(f"{path}: lists respondents as parties; they enrol by invitation: list none of them")
    if not by_peeling(study) and Parameters.of(study).dealt:
        raise InputError(f'{path}: scheme = "paillier" is for simulations; leave it out to collect from people')
    return study, hub_of(study)


def by_peeling(study: Study) -> bool:
    """True if respondents hand in one letter each, on which trustees compute."""
    return study.protocol == "peel"


def address_of(study: Study, party: str) -> Address | None:
    """The address at which respondents reach the collector; None if that is at the study's relay.

    Raises InputError if the study has neither.
    """
    address = study.party(party).address
    if address is None and study.relay is None:
        raise InputError(f"the study gives no address for {party!r}; add one, or a [relay], or say where with --listen")
    return None if address is None else Address.parse(address)


def place_of(study: Study, party: str, address: Address | None) -> Address | RelayedParty:
    """The place to reach the collector: that address, or the study's relay."""
    if address is not None:
        return address
    site = Roster.of(study).relay
    if site is None:
        raise InputError("the collector is met at a relay, and the study has no [relay]; ask the organiser for another")
    return RelayedParty(site, party)
