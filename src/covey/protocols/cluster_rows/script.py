"""What an audit holds a transcript of `cluster` for rows to: which type of message may be said at which step.

How often, and how large they are, is for the data to say; but a party that says anything else, or at another step, has
not run this protocol.
"""

from __future__ import annotations

from collections.abc import Iterator

from covey.protocols.cluster_rows.parameters import Parameters
from covey.protocols.protocol import Line
from covey.secure import approval
from covey.study import Study

_RING = (("add", "ring.counted"), ("hash", "ring.hashed"), ("strip", "ring.counted"), ("tell", "ring.answered"))


def script(study: Study) -> tuple[Line, ...]:
    """The messages of a study's run."""
    two = len(study.parties) == 2
    return (
        Line("approval", "approval.vote", times=1, size=approval.MESSAGE_BYTES),
        Line("cluster/meet", "sum.masked"),
        Line("cluster/agree", "cluster.digest", times=1),
        *_joined("cluster/insider", two),
        *_tests(two),
        *_search(study, two),
        *_mend(study, two),
        *_rows(two),
    )


def _joined(step: str, two: bool) -> Iterator[Line]:
    """The AND of everyone's bits."""
    tags = {"ask": "match.ask", "reply": "match.reply", "result": "match.result"}
    for place, tag in (tags if two else {"deal": "and.deal", "open": "and.open"}).items():
        yield Line(f"{step}/{place}", tag)


def _closed(step: str, two: bool) -> Iterator[Line]:
    """The common ancestors of everyone's nodes."""
    if not two:
        yield from _joined(step, two)
        return
    for place in ("present", "alone", "answer"):
        yield Line(f"{step}/{place}", f"ancestor.{place}")
    for place in ("ask", "reply", "result"):
        yield Line(f"{step}/match/{place}", f"match.{place}")


def _tests(two: bool) -> Iterator[Line]:
    yield Line("cluster/tests/open/*", "sum.masked")
    if two:
        yield from _joined("cluster/tests/both/*", two)
        return
    yield Line("cluster/tests/prepare/*", "reach.dealt")
    yield Line("cluster/tests/test/*", "reach.masked")
    yield Line("cluster/tests/test/*", "reach.part")


def _search(study: Study, two: bool) -> Iterator[Line]:
    schedule = Parameters.of(study).schedule
    if schedule in ("guarded", "strict"):
        yield from _closed("cluster/close", two)
        for step in ("cluster/divide/level/*", "cluster/regroup/*/level/*")[: 1 if schedule == "strict" else 2]:
            yield Line(f"{step}/count", "sum.masked")
            yield from _closed(f"{step}/close", two)
        if schedule == "guarded":
            yield from _moves("cluster/sweep/*", two)
        return
    yield Line("cluster/openings", "sum.masked", times=1)
    for step in ("cluster/start", "cluster/start/*", "cluster/sweep/*/split"):
        yield Line(f"{step}/sizes", "sum.masked")
        yield from _closed(f"{step}/close", two)
    yield Line("cluster/sweep/*/turn/*/agree", "cluster.digest")
    yield Line("cluster/sweep/*/turn/*/state", "cluster.state")
    if schedule == "exact":
        yield from _closed("cluster/sweep/*/turn/*/rest", two)
        return
    yield Line("cluster/sweep/*/turn/*/ask/*", "cluster.removal")
    for step in ("cluster/sweep/*/end", "cluster/sweep/*/turn/*/call/*/*"):
        for place, tag in _RING:
            yield Line(f"{step}/{place}", tag)


def _moves(step: str, two: bool) -> Iterator[Line]:
    yield Line(f"{step}/turn/*/agree", "cluster.digest")
    yield Line(f"{step}/turn/*/state", "cluster.state")
    yield from _closed(f"{step}/turn/*/remove", two)
    yield from _closed(f"{step}/close", two)


def _mend(study: Study, two: bool) -> Iterator[Line]:
    if Parameters.of(study).moves_within_l:
        yield from _moves("cluster/mend/within/sweep/*", two)
    if study.privacy.k_insider is not None:
        yield from _joined("cluster/mend/insiders/*", two)


def _rows(two: bool) -> Iterator[Line]:
    yield Line("rows/count", "sum.masked")
    yield from _joined("rows/length", two)
    yield Line("rows/submit", "rows.submits")
    for tag in ("shuffle.keys", "shuffle.onions", "shuffle.rows"):
        yield Line("rows/mix", tag)
    yield Line("rows/open", "shuffle.share")
