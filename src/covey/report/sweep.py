"""The loss of one owner's table at other k, by little effort: enough to see what a smaller or larger k would change."""

from __future__ import annotations

from dataclasses import replace

from covey.anonymizers import ALGORITHMS, anonymize
from covey.anonymizers.build import build
from covey.anonymizers.explain import LITTLE
from covey.anonymizers.figures import figures
from covey.errors import InputError, Unmet
from covey.report.charts import CurvePoint
from covey.table import Table

_ASKED = (2, 5, 10, 20, 50)
_SECONDS = 0.5  # that a single search may be expected to take


def loss_by_k(records: Table, k: int, algorithm: str) -> tuple[CurvePoint, ...]:
    """LM at a few k, this one among them; nothing where a search would take long or no other k is feasible.

    The release's own algorithm searches: it is compiled already, and its losses can be compared.
    """
    if algorithm not in ALGORITHMS:
        return ()
    chosen = ALGORITHMS[algorithm]
    found = []
    for asked in sorted({*_ASKED, k}):
        if asked * 2 > records.rows:
            continue
        built = build(records, k=asked)
        if chosen.seconds(built.problem) > _SECONDS:
            return ()
        lenient = replace(built.problem, suppression=1.0)
        try:
            partition = anonymize(lenient, algorithm, budget=LITTLE if chosen.budget else None)
        except (Unmet, InputError):
            continue
        found.append(CurvePoint(asked, figures(built, partition).loss.lm))
    return tuple(found) if len(found) > 2 else ()
