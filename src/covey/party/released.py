"""The last look at a joint release: rows that one published cell singles out, and what is kept.

Each party that gets the release counts, after the rows were opened and before anything is written. In a real run a
release that singles people out is not written; a simulation writes it and says so.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from covey.errors import Unmet
from covey.judge.singled_out import count_cells, kept, refusal
from covey.protocols import Figures, Protocol
from covey.secure.declare import RELEASE, Leakage
from covey.sources import connect
from covey.study import Study

LEAKAGE = Leakage(
    everyone=(
        "whether a published cell singles out a person by a column without a reason for it: then the run ends and no "
        "release is written, but the rows have been opened to those who would get it",
    ),
    about=RELEASE,
)


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
