"""The last look at a joint release: rows that one published cell singles out, and what is kept.

Each party that gets the release counts, after the rows were opened and before anything is written; some protocols find
before the approval that somebody is singled out. A real run then ends without a release; a simulation writes it and
says so.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from covey.errors import Unmet
from covey.judge.singled_out import ADVICE, count_cells, kept, refusal
from covey.plain import listed
from covey.protocols import Figures, Proposal, Protocol
from covey.secure.declare import RELEASE, Leakage, Lesson
from covey.sources import connect
from covey.study import Study

LEAKAGE = Leakage(
    everyone=(
        "whether a published cell singles out a person by a column without a reason for it: then the run ends and no "
        "release is written, but the rows have been opened to those who would get it",
    ),
    about=RELEASE,
)


def lessons(protocol: Protocol) -> list[Lesson]:
    """The lessons of everyone where the count comes last."""
    return [(LEAKAGE, {})] if is_counted(protocol) and not protocol.counts_first else []


def require_nobody_alone(proposal: Proposal) -> None:
    """Raises Unmet, before any cell is opened, if one row alone has a value of a column that may not single out."""
    if proposal.alone:
        columns = listed([repr(name) for name in proposal.alone])
        raise Unmet(f"nothing is released: one row alone has a published value of the column {columns}{ADVICE}")


def is_counted(protocol: Protocol) -> bool:
    """True if the protocol releases rows, and not a table of counts."""
    return protocol.release == "records"


def counted(study: Study, release: pa.Table, figures: Figures, *, writes_any: bool) -> Figures:
    """The figures with what one cell and two cells single out. Raises Unmet if the release may not be written."""
    found = count_cells(connect(release, counted=True), study)
    refused = refusal(study, found.singled_out)
    if refused is not None and not writes_any:
        raise Unmet(f"nothing is released: {refused}")
    lm = figures.loss.get("lm")
    share = None if lm is None else kept(study, lm, found.constant)
    return replace(figures, singled_out=found.singled_out, kept=share)
