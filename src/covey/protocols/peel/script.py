"""Which messages a transcript of `peel` may have, and where: what the data decide is how many, and how long.

An audit holds every message to this: one at another step, or of another type, is named.
"""

from __future__ import annotations

from collections.abc import Iterator

from covey.protocols.peel.parameters import Parameters
from covey.protocols.protocol import Line
from covey.secure import approval
from covey.study import Study


def script(study: Study) -> tuple[Line, ...]:
    """The lines for this study's parameters."""
    params = Parameters.of(study)
    return tuple(_lines(params))


def _lines(params: Parameters) -> Iterator[Line]:
    if params.two:
        yield from _said("meet", "choice.offer", "choice.picks")
        yield from _tests(params, "marginals/frequent")
    else:
        yield from _said("marginals/frequent/before", "reach.dealt")
        yield from _tests(params, "marginals/frequent/test")
        for step in ("prepare/*", "prepare/fit/*/*", "prepare/size/*/*", "prepare/shared/*/*"):
            yield from _said(step, "reach.dealt")
    if params.sites is not None:
        yield from _said("site/before", "reach.dealt")
        yield from _tests(params, "site/test")
    yield from _said("marginals/total", "sum.masked")
    yield from _said("marginals/counts", "sum.masked")
    yield Line("list", "peel.listed", times=1)
    yield Line("coin", "coin.commitment", times=1)
    yield Line("coin", "coin.opening", times=1)
    yield from _found(params, "visit/*/find")
    yield from _settled(params, "visit/*/settle")
    if params.mode == "skip":
        yield from _tests(params, "visit/*/all/*")
        yield from _found(params, "visit/*/node/*/find")
        yield from _found(params, "visit/*/node/*/again")
        yield from _tests(params, "visit/*/node/*/again/*")
        yield from _settled(params, "visit/*/node/*/settle")
    if params.merge:
        yield from _shuffled("leftover")
    yield Line("approval", "approval.vote", times=1, size=approval.MESSAGE_BYTES)
    yield from _said("rows/count", "sum.masked")
    yield from _said("rows/submit", "rows.submits")
    yield from _said("rows/length/deal", "and.deal")
    yield from _said("rows/length/open", "and.open")
    yield from _matched("rows/length")
    yield from _shuffled("rows")


def _found(params: Parameters, step: str) -> Iterator[Line]:
    """A search for tuples: tests of tables, examinations, and tables anew."""
    yield from _tests(params, f"{step}/test/*")
    yield from _tests(params, f"{step}/*/test/*")
    if params.two:
        yield from _said(f"{step}/alone", "peel.alone")
        yield from _matched(f"{step}/*/same")
    else:
        yield from _said(f"{step}/*/pure", "peel.shares", "peel.part")
        yield from _diverse(params, f"{step}/*/diverse")


def _settled(params: Parameters, step: str) -> Iterator[Line]:
    """Waves of tuples: tested again, looked at by what else is asked for, counted."""
    yield from _tests(params, f"{step}/*/again/*")
    yield from _said(f"{step}/*/count", "sum.masked")
    yield from _diverse(params, f"{step}/*/diverse")
    if params.none_or_many is not None:
        yield from _tests(params, f"{step}/*/shared/test")
        yield from _said(f"{step}/*/shared/test/multiply", "reach.dealt")


def _diverse(params: Parameters, step: str) -> Iterator[Line]:
    if params.diverse is not None:
        yield from _tests(params, f"{step}/size/*")
        yield from _tests(params, f"{step}/fit/*/*")
        yield from _said(f"{step}/huge/values", "sum.masked")


def _tests(params: Parameters, step: str) -> Iterator[Line]:
    if params.two:
        yield from _said(step, "choice.sealed")
        yield from _said(f"{step}/pick", "choice.columns")
        yield from _said(f"{step}/tell", "choice.answers")
    else:
        yield from _said(step, "reach.masked", "reach.part")


def _matched(step: str) -> Iterator[Line]:
    for part in ("ask", "reply", "result"):
        yield from _said(f"{step}/{part}", f"match.{part}")


def _shuffled(step: str) -> Iterator[Line]:
    yield from _said(f"{step}/mix", "shuffle.keys", "shuffle.onions", "shuffle.rows")
    yield from _said(f"{step}/open", "shuffle.share")


def _said(step: str, *tags: str) -> Iterator[Line]:
    for tag in tags:
        yield Line(step, tag)
