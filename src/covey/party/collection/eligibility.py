"""Studies that can be collected from people, and the collector's address in them."""

from __future__ import annotations

from pathlib import Path

from covey.errors import InputError
from covey.protocols import of_study
from covey.protocols.collect.parameters import Parameters, hub_of
from covey.study import Study
from covey.wire import Address


def collected(path: Path) -> tuple[Study, str]:
    """A study that can be collected from people, and its collector's name. Raises InputError for any other."""
    study = Study.load(path)
    protocol = of_study(study)
    if protocol.name != "collect":
        raise InputError(f"{path}: has protocol {protocol.name!r}; only collect has a collector and respondents")
    if any(party.holds_data for party in study.parties):
        raise InputError(f"{path}: lists respondents as parties; they enrol by invitation: list the collector alone")
    if by_peeling(study):
        if not study.of_party_role("trustee"):
            raise InputError(
                f'{path}: names no trustees; give it three or five parties with role = "trustee", with certificates '
                '(trustees that are drawn among respondents are for simulations), or take method = "curve"'
            )
    elif Parameters.of(study).dealt:
        raise InputError(f'{path}: scheme = "paillier" is for simulations; leave it out to collect from people')
    return study, hub_of(study)


def by_peeling(study: Study) -> bool:
    """True if respondents hand in sealed answers, which trustees evaluate."""
    return of_study(study).requirements.method == "peel"


def address_of(study: Study, party: str) -> Address:
    """The address at which respondents reach the collector. Raises InputError if the study has none."""
    address = study.party(party).address
    if address is None:
        raise InputError(f"the study gives no address for {party!r}; add one, or say where with --listen")
    return Address.parse(address)
