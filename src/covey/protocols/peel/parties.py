"""Parties of a run: those who compute, those outside, and those who get the release."""

from __future__ import annotations

from covey.errors import InputError, Unmet
from covey.option import Names
from covey.study import Study

COMPUTING = Names(
    "computing",
    (),
    'the three who compute, as computing = ["a", "b", "c"]; else the helpers, then holders in the study\'s order',
    3,
)


def parties_of(study: Study) -> tuple[str, ...]:
    """Returns the parties' names: the three who compute, the holders who do not, recipients.

    Raises Unmet where fewer than three can compute, and InputError where others are named than can, or not all helpers.
    """
    if study.partition == "respondents":
        return (*_trustees(study), *study.of_party_role("collector"))
    helpers = [party.name for party in study.parties if party.role == "helper"]
    able = (*helpers, *(party.name for party in study.holders))
    if len(able) < 3:
        raise Unmet(
            "peel computes among three parties; add a third office that holds no data, as [parties.NAME] with "
            'role = "helper", take a protocol of the papers for two, or anonymize each table alone'
        )
    computing = COMPUTING.of(study.options) or able[:3]
    if unable := [name for name in computing if name not in able]:
        raise InputError(f"[protocol] computing names {unable[0]!r}, which is neither a holder nor a helper")
    if idle := [name for name in helpers if name not in computing]:
        raise InputError(
            f"{idle[0]!r} is a helper and does not compute; leave it out, or name it in [protocol] computing"
        )
    recipients = [party.name for party in study.parties if party.role == "recipient"]
    return (*computing, *(name for name in able if name not in computing), *recipients)


def _trustees(study: Study) -> tuple[str, ...]:
    """Returns the trustees of a collection, sorted. Raises InputError unless they are three organisations."""
    trustees = study.of_party_role("trustee")
    if len(trustees) != 3:
        raise InputError(
            f"a collection by peel has three trustees, and the study names {len(trustees) or 'none'}; name exactly "
            'three organisations, each as [parties.NAME] with role = "trustee"'
        )
    known: dict[object, str] = {}
    for name in (*study.of_party_role("collector"), *trustees):
        party = study.party(name)
        content = None if party.certificate is None else study.files.get(party.certificate.as_posix())
        for mark in filter(None, (content, party.label)):
            if known.setdefault(mark, name) != name:
                raise InputError(
                    f"{name!r} and {known[mark]!r} are one organisation: any two of the three trustees together read "
                    "everything, so name three that are independent of each other and of the collector"
                )
    return trustees


def role_of(study: Study, party: str) -> str:
    """Returns the role of a party; a holder who does not compute is outside."""
    return study.party(party).role or ("holder" if party in parties_of(study)[:3] else "outside")


def receives(study: Study, party: str) -> bool:
    """Returns True if a party gets the release: a recipient or the collector, or each holder where there is none."""
    if study.partition == "respondents":
        return study.party(party).role == "collector"
    asked = "recipient" if any(other.role == "recipient" for other in study.parties) else None
    return study.party(party).role == asked
