"""The protocols, one module or package each; `PROTOCOLS` is what `covey protocols` lists.

A module has, in this order: a docstring (source, roles, security, what it does not protect), `LEAKAGE`, `COST`,
its messages, its roles as coroutines over a `Seat`, the pure steps, `ideal()`, and its `PROTOCOL` declaration.
"""

from __future__ import annotations

from covey.errors import InputError
from covey.protocols import cluster_rows as cluster
from covey.protocols import collect, count, federate, generalize, peel, suppress
from covey.protocols.protocol import Book, Figures, Forecast, Line, Pace, Proposal, Protocol, Result, Role, Seat
from covey.study import Study

__all__ = [
    "PROTOCOLS",
    "Book",
    "Figures",
    "Forecast",
    "Line",
    "Pace",
    "Proposal",
    "Protocol",
    "Result",
    "Role",
    "Seat",
    "find",
    "of_study",
]

PROTOCOLS: dict[str, Protocol] = {
    module.PROTOCOL.name: module.PROTOCOL for module in (cluster, collect, federate, generalize, peel, suppress, count)
}


def find(name: str) -> Protocol:
    """The protocol of that name. Raises InputError that lists those there are."""
    if name not in PROTOCOLS:
        raise InputError(f"protocol {name!r} is not part of this version; there is {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


def of_study(study: Study) -> Protocol:
    """The protocol that a study asks for, which can run it. Raises InputError if there is none."""
    if study.protocol is None:
        raise InputError('the study names no protocol; add protocol = "…" to [study] (see `covey protocols`)')
    if not study.parties:
        raise InputError("the study has no parties; add a [parties.NAME] table for each")
    protocol = find(study.protocol)
    protocol.judge(study)
    return protocol
