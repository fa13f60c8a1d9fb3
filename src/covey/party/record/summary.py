"""summary.json: what a run was like, in numbers that follow from the release, the messages and the clock."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from covey.party.record.ledger import Ledger
from covey.party.session.progress import Spent
from covey.protocols import Figures
from covey.study import Study


@dataclass(frozen=True)
class Traffic:
    """What one party sent in the session, the handshake and the farewell excluded."""

    messages: int
    bytes: int
    rounds: int


def summarize(
    study: Study,
    ledger: Ledger,
    traffic: dict[str, Traffic],
    *,
    party: str | None,
    figures: Figures | None,
    release_sha256: str | None,
    seconds: float,
    reproducible: bool,
    warnings: tuple[str, ...] = (),
    phases: tuple[Spent, ...] = (),
) -> dict[str, object]:
    """The content of summary.json; `party` is None in the joint summary of a simulation.

    A party without the release has no figures of it.
    """
    summary: dict[str, object] = {
        "study": study.name,
        "protocol": study.protocol,
        "partition": study.partition,
        "parties": [each.name for each in study.parties],
        "party": party,
        "k": study.privacy.k,
        "l": study.privacy.l,
        "seconds": round(seconds, 3),
        "rounds": max(each.rounds for each in traffic.values()),
        "messages": sum(each.messages for each in traffic.values()),
        "bytes": sum(each.bytes for each in traffic.values()),
        "phases": [{**msgspec.structs.asdict(each), "seconds": round(each.seconds, 3)} for each in phases],
        "per_party": {name: {"messages": t.messages, "bytes": t.bytes} for name, t in sorted(traffic.items())},
        "ledger": ledger.own if party is not None else [line for lines in ledger.lines.values() for line in lines],
        "study_hash": study.study_hash,
        "reproducible": reproducible,
        "warnings": list(warnings),
    }
    if figures is not None and release_sha256 is not None:
        summary |= {
            "rows": figures.rows,
            "withheld": figures.withheld,
            "k_reached": figures.k_reached,
            "l_reached": figures.l_reached,
            "classes": figures.classes,
            "suppressed_cells": figures.suppressed_cells,
            "loss": {name: figures.loss.get(name) for name in ("lm", "em", "dm", "c_avg")},
            "release_sha256": release_sha256,
        }
    return summary
