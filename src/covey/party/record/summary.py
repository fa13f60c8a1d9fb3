"""The summary of a run, from its messages, its clock and the release's figures."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from covey.judge.singled_out import refusal
from covey.party.record.ledger import Ledger
from covey.party.record.run_record import Finished
from covey.secure import row_counts
from covey.study import Study, insiders
from covey.summary import SentTraffic, Summary

_LOSSES = ("lm", "em", "dm", "c_avg")


def summarize(study: Study, ledger: Ledger, finished: Finished, party: str, *, reproducible: bool) -> Summary:
    """The summary of one party's run; without figures of the release for a party that gets none."""
    traffic, figures, digest = finished.traffic, finished.figures, finished.release_sha256
    stated = finished.record.stated
    summary = Summary(
        study=study.name,
        protocol=study.protocol,
        partition=study.partition,
        parties=[each.name for each in study.parties],
        party=party,
        k=study.privacy.k,
        l=study.privacy.l,
        seconds=round(finished.seconds, 3),
        rounds=max(each.rounds for each in traffic.values()),
        messages=sum(each.messages for each in traffic.values()),
        bytes=sum(each.bytes for each in traffic.values()),
        phases=[msgspec.structs.replace(each, seconds=round(each.seconds, 3)) for each in finished.phases],
        per_party={name: SentTraffic(each.messages, each.bytes) for name, each in sorted(traffic.items())},
        ledger=ledger.own,
        study_hash=study.study_hash,
        reproducible=reproducible,
        warnings=[*insiders.warning(study), *row_counts.warnings(stated, study.privacy.k), *finished.warnings],
        row_counts=dict(stated),
    )
    if (computed := finished.computed) is not None:
        summary = msgspec.structs.replace(
            summary,
            computing=list(computed.parties),
            cheating=computed.cheating,
            soundness_bits=computed.soundness_bits,
        )
    if figures is None or digest is None:
        return summary
    return msgspec.structs.replace(
        summary,
        rows=figures.rows,
        withheld=figures.withheld,
        k_reached=figures.k_reached,
        l_reached=figures.l_reached,
        insider_k=figures.insider_k,
        classes=figures.classes,
        suppressed_cells=figures.suppressed_cells,
        singled_out=figures.singled_out,
        kept=figures.kept,
        refused=None if figures.singled_out is None else refusal(study, figures.singled_out),
        loss={name: figures.loss.get(name) for name in _LOSSES},
        query_error=None if figures.query_error is None else dict(figures.query_error),
        release_sha256=digest,
    )


def join_summaries(holder: Summary, everyone: Iterable[Summary], ledger: Iterable[str]) -> Summary:
    """The joint summary of a simulation: that of a party with the release, with everyone's time and ledger."""
    return msgspec.structs.replace(
        holder,
        party=None,
        seconds=max(each.seconds or 0.0 for each in everyone),
        ledger=list(ledger),
    )
