"""The loss of one owner's table at other k, by a quick search: enough to see what a smaller k would buy."""

from __future__ import annotations

from dataclasses import replace

from covey.anonymize import anonymize, find
from covey.anonymize.build import build
from covey.anonymize.figures import figures
from covey.errors import InputError, Unmet
from covey.report.charts import Point
from covey.table import Table

ALGORITHM = "mondrian"
_ASKED = (2, 3, 5, 10, 20, 50, 100)
_SECONDS = 2.0  # that a single search may be expected to take


def loss_by_k(records: Table, k: int) -> tuple[Point, ...]:
    """LM at a few k, this one among them; nothing where a search would take long or no other k is feasible."""
    found = []
    for asked in sorted({*_ASKED, k}):
        if asked * 2 > records.rows:
            continue
        built = build(records, k=asked)
        if find(ALGORITHM).seconds(built.problem) > _SECONDS:
            return ()
        try:
            partition = anonymize(replace(built.problem, suppression=1.0), ALGORITHM)
        except (Unmet, InputError):
            continue
        found.append(Point(asked, figures(built, partition).loss.lm))
    return tuple(found) if len(found) > 2 else ()
