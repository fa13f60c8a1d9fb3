"""The agreement, part by part: each part has a name that people understand and a short hash that parties compare.

The study's hash says that two files differ; the parts say in what, without sending the files around.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields

from covey.party.identity.roster import Roster
from covey.study import Privacy, Study

PART_BYTES = 8


def agreement_parts(study: Study, roster: Roster) -> dict[str, bytes]:
    """Every part of the agreement with its hash; equal agreements have equal parts."""
    columns, parties = study.layout
    parts: dict[str, object] = {
        "the study's name": study.name,
        "protocol": study.protocol,
        "partition": study.partition,
        "sizes": study.sizes,
        "mismatch": study.mismatch,
        "rows_at_most": study.rows_at_most,
        "measure": study.measure,
        "suppression": float(study.suppression),
        "effort": study.effort,
        "the authority": study.authority is not None,
        "the order of columns": columns,
        "the order of parties": parties,
    }
    for field in fields(Privacy):
        parts[f"privacy {field.name}"] = _number(getattr(study.privacy, field.name))
    for column in study.columns:
        parts[f"column {column.name!r}"] = column.describe()
    for party in study.parties:
        parts[f"the columns of party {party.name!r}"] = sorted(party.columns or ())
        parts[f"the role of party {party.name!r}"] = party.role
        parts[f"the address of party {party.name!r}"] = roster.addresses.get(party.name)
        parts[f"the certificate of party {party.name!r}"] = roster.certificates[party.name].fingerprint
    if study.relay is not None:
        parts["the relay"] = [study.relay.url, roster.relay and (roster.relay.certificate or b"").hex()]
    for name, value in study.options.items():
        parts[f"option {name!r}"] = repr(_number(value))
    return {name: _hash(value) for name, value in parts.items()}


def differences(ours: dict[str, bytes], theirs: dict[str, bytes]) -> list[str]:
    """The parts that are not the same on both sides, in our order, then what only they have."""
    changed = [name for name in ours if ours[name] != theirs.get(name)]
    return changed + [name for name in theirs if name not in ours]


def _number(value: object) -> object:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _hash(value: object) -> bytes:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).digest()[:PART_BYTES]
