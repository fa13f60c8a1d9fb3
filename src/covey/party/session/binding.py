"""The inputs that a session is bound to: with any other, a mask would be used a second time, with other data."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from covey.crypto.rng import derive, spell
from covey.party.identity.keys import Keys
from covey.protocols import spoken
from covey.study import Study
from covey.table import Table, Values
from covey.version import __version__


@dataclass(frozen=True)
class Binding:
    """The agreement, the party, the program and the data, each as a hash or a name."""

    party: str
    software: str
    study_hash: str
    roster_hash: str
    layout: tuple[tuple[str, ...], tuple[str, ...]]
    """The order of columns and of parties: the study's hash leaves it out, and roles follow from it."""
    protocol_version: int
    data: bytes
    """A keyed hash: it tells nothing about the data to those who lack the journal's key."""

    def differences(self, other: Binding) -> list[str]:
        """In what another binding differs, in words."""
        pairs = {
            "the party": (self.party, other.party),
            "the version of covey": (self.software, other.software),
            "the version of the protocol": (self.protocol_version, other.protocol_version),
            "the study": (self.study_hash, other.study_hash),
            "the roster": (self.roster_hash, other.roster_hash),
            "the order of columns": (self.layout[0], other.layout[0]),
            "the order of parties": (self.layout[1], other.layout[1]),
            "the data": (self.data, other.data),
        }
        return [name for name, (ours, theirs) in pairs.items() if ours != theirs]


def bind(study: Study, party: str, table: Table | None, keys: Keys) -> Binding:
    """The binding of a run that is about to begin."""
    data = data_digest(table, keys)
    spoken_here = spoken(study).number
    return Binding(party, __version__, study.study_hash, study.roster_hash, study.layout, spoken_here, data)


def data_digest(table: Table | None, keys: Keys) -> bytes:
    """A keyed hash of all that a role is given: every code, every label, their order, and the dummy key.

    Rows on an engine have no order: there it is a hash of tuples, their numbers, and all cells.
    """
    digest = hmac.new(derive(keys.journal, "input data").reveal(), digestmod=hashlib.sha256)
    digest.update(spell("covey data/1", derive(keys.dummy, "bound").reveal()))
    if table is not None:
        digest.update(spell(table.rows, table.dropped))
        for column, tree, codes in zip(table.quasi, table.trees, table.codes, strict=True):
            digest.update(spell(column.name, *tree.labels))
            digest.update(codes.astype("<i4").tobytes())
        carried: tuple[Values, ...] = (*table.carried, *(() if table.key is None else (table.key,)))
        for values in carried:
            digest.update(spell(values.column.name, *values.labels))
            digest.update(values.codes.astype("<i4").tobytes())
        if table.counts is not None and table.on_engine is not None:
            digest.update(table.counts.astype("<i8").tobytes())
            digest.update(spell("covey engine/1", table.on_engine.fingerprint))
    return digest.digest()
