"""The protocols, a folder each; `covey protocols` lists them.

A folder has a docstring in its `__init__.py` (source, roles, security, what it does not protect) and the declaration
`PROTOCOL`; beside it the roles as coroutines over a `Seat`, `ideal()`, the leakage and the cost. `shared/` has steps
that several use. A new folder is found by itself: docs/add-a-protocol.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from covey.errors import InputError, Unmet
from covey.option import Value
from covey.protocols.protocol import (
    Computed,
    Figures,
    Forecast,
    LedgerWriter,
    Line,
    Proposal,
    Protocol,
    Result,
    Role,
    RoleProgress,
    Seat,
)
from covey.study import Study, requirements
from covey.study.requirements import AS_PRINTED
from covey.version import ProtocolVersion

__all__ = [
    "Computed",
    "Figures",
    "Forecast",
    "LedgerWriter",
    "Line",
    "Proposal",
    "Protocol",
    "Result",
    "Role",
    "RoleProgress",
    "Seat",
    "all_protocols",
    "find",
    "named",
    "names",
    "of_study",
    "spoken",
]

names = requirements.names
"""The names of all protocols, of which none is loaded for that."""


_WAYS = {"rows": "horizontal", "columns": "vertical"}


@cache
def named(name: str) -> tuple[Protocol, ...]:
    """The protocols of that name, one for each way to split a table; `NAME-rows` or `NAME-columns` is one of them.

    Raises InputError that lists the names.
    """
    folders = requirements.folders()
    short, _, way = name.partition("-")
    found: list[Protocol] = [each for folder in folders.get(short, ()) for each in requirements.load(folder)]
    if way:
        found = [each for each in found if each.requirements.partition == _WAYS.get(way, way)]
    if not found:
        raise InputError(f"protocol {name!r} is not part of this version; there is {', '.join(folders)}")
    return tuple(found)


def find(name: str, partition: str | None = None, options: Mapping[str, Value] | None = None) -> Protocol:
    """The protocol of that name for tables that are split so, and for these options; without a partition the only one.

    Raises InputError if there is none.
    """
    known = {each.requirements: each for each in named(name)}
    needed = requirements.chosen(list(known), partition, options or {})
    if needed is not None:
        return known[needed]
    ways = " or ".join(repr(each.requirements.partition) for each in named(name))
    raise InputError(f"protocol {name!r} runs studies with partition = {ways}")


def all_protocols() -> tuple[Protocol, ...]:
    """Every protocol but those that lack an extra."""
    return tuple(protocol for name in names() if name not in lacking() for protocol in named(name))


def lacking() -> tuple[str, ...]:
    """The names of the protocols that need an extra which is not installed."""
    lacked = []
    for name in names():
        try:
            named(name)
        except InputError:
            lacked.append(name)
    return tuple(lacked)


def spoken(study: Study) -> ProtocolVersion:
    """The protocol that a study asks for, with its version in this build. Raises InputError if there is none."""
    return find(study.protocol or "", study.partition, study.options).spoken


def of_study(study: Study) -> Protocol:
    """The protocol that a study asks for, which can run it. Raises InputError if there is none.

    Raises Unmet for a paper's own system that the study does not ask for as printed.
    """
    if study.protocol is None:
        raise InputError('the study names no protocol; add protocol = "…" to [study] (see `covey protocols`)')
    if not study.parties:
        raise InputError("the study has no parties; add a [parties.NAME] table for each")
    protocol = find(study.protocol, study.partition, study.options)
    if protocol.printed is not None and not study.options.get(AS_PRINTED.name):
        raise Unmet(protocol.printed.refusal(protocol.name))
    try:
        for name, value in study.options.items():
            protocol.requirements.check(name, value)
    except ValueError as error:
        raise InputError(f"[protocol] {error}") from None
    protocol.judge(study)
    return protocol
