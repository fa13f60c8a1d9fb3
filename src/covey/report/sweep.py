"""The loss of one owner's table at other k, by little effort: enough to see what a smaller or larger k would change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from covey.anonymizers import ALGORITHMS, anonymize
from covey.anonymizers.build import build
from covey.anonymizers.explain import LITTLE
from covey.anonymizers.figures import figures
from covey.errors import InputError, Unmet
from covey.report.charts import CurvePoint
from covey.table import Table

_ASKED = (2, 5, 10, 20, 50)
_SECONDS = 0.5  # that a single search may be expected to take
_SAMPLES = (20_000, 5_000, 2_000, 1_000, 500)


def loss_by_k(records: Table, k: int, algorithm: str) -> tuple[tuple[CurvePoint, ...], int | None]:
    """LM at a few k, this one among them, and the rows of the sample that they are of; None: all rows.

    Nothing where no other k is feasible. The release's own algorithm searches: it is compiled already, and its losses
    can be compared.
    """
    if algorithm not in ALGORITHMS:
        return (), None
    chosen = ALGORITHMS[algorithm]
    sizes = [records.rows, *(size for size in _SAMPLES if size < records.rows)]
    for size in sizes:
        some = records if size == records.rows else _sample(records, size)
        if size == sizes[-1] or chosen.seconds(build(some, k=min(*_ASKED, k)).problem) <= _SECONDS:
            break
    return _search(some, k, algorithm), None if some is records else some.rows


def _sample(records: Table, size: int) -> Table:
    chosen = np.random.default_rng(0).choice(records.rows, size, replace=False)
    return records.select(np.sort(chosen).astype(np.int64))


def _search(records: Table, k: int, algorithm: str) -> tuple[CurvePoint, ...]:
    """LM at a few k of these rows, by little effort."""
    chosen = ALGORITHMS[algorithm]
    found = []
    for asked in sorted({*_ASKED, k}):
        if asked * 2 > records.rows:
            continue
        built = build(records, k=asked)
        lenient = replace(built.problem, suppression=1.0)
        try:
            partition = anonymize(lenient, algorithm, budget=LITTLE if chosen.budget else None)
        except (Unmet, InputError):
            continue
        found.append(CurvePoint(asked, figures(built, partition).loss.lm))
    return tuple(found) if len(found) > 2 else ()
