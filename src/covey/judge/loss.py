"""The information that the release has lost, by every measure; a withheld row is lost in full.

Per cell, for a label B over the domain A:

    lm          the part of the domain that B stands for, (|B| - 1) / (|A| - 1)
    precision   B's level as a part of the tree's height
    em          H(X | B) in bits under the original's frequencies: what is left unknown of the value
    em_monotone Pr(B) H(X | B)
    entropy     -log2 Pr(x | B) for the row's own value x

averaged over the columns of a row and then over the rows. `entropy` needs each row's own value, but not who stands for
whom: the sum over all originals of log2 of their values' frequencies is the same in every matching.

Per table: dm adds up each row's class size, c_avg is the mean class size over k, cm counts the rows that do not have
their class's most frequent sensitive value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covey.arrays import Floats, Longs
from covey.judge.diversity import histogram
from covey.judge.original import Spans, frequencies
from covey.judge.released import Released, shares, with_range
from covey.judge.tuples import Tuples
from covey.judge.verdict import Matched, VerifiedLoss


def judge_loss(
    released: Released, k: int, original: Tuples | None, spans: Sequence[Spans], matched: Matched | None
) -> VerifiedLoss:
    """Every measure; the entropies only with the original's frequencies."""
    withheld = 0 if matched is None else matched.withheld
    lm, precision = _shares(released, original, withheld)
    em = monotone = entropy = None
    if original is not None:
        em, monotone, entropy = _entropies(released, original, spans, withheld)
    return VerifiedLoss(
        lm=lm,
        precision=precision,
        em=em,
        em_monotone=monotone,
        entropy=entropy if matched is not None and not matched.unmatched else None,
        dm=sum(size * size for size in released.sizes.tolist()) + withheld * (released.rows + withheld),
        c_avg=released.rows / released.classes / k,
        cm={cells.column.name: _minority(released, position) for position, cells in enumerate(released.sensitive)},
    )


def _shares(released: Released, original: Tuples | None, withheld: int) -> tuple[float, float]:
    lm, precision = 0.0, 0.0
    for cells in released.quasi:
        seen = None if original is None else original.of([cells.column])[0].labels
        part, level = shares(with_range(cells, seen), cells.labels)
        codes = cells.codes[released.example]
        lm += _mean(np.array(part)[codes], released.sizes, 1.0, withheld)
        precision += _mean(np.array(level)[codes], released.sizes, 1.0, withheld)
    return lm / len(released.quasi), precision / len(released.quasi)


def _mean(cost: Floats, sizes: Longs, root: float, withheld: int) -> float:
    return float((cost @ sizes + root * withheld) / (sizes.sum() + withheld))


def _entropies(
    released: Released, original: Tuples, spans: Sequence[Spans], withheld: int
) -> tuple[float, float, float]:
    em, monotone, entropy = 0.0, 0.0, 0.0
    for cells, span in zip(released.quasi, spans, strict=True):
        often = frequencies(original, cells.column, span)
        rows = int(often.sum())
        inside, unknown = _below(span, often)
        root_inside, root_unknown = float(rows), _unknown(often)
        codes = cells.codes[released.example]
        per_row = np.divide(unknown, inside, out=np.zeros_like(unknown), where=inside > 0)
        em += _mean(per_row[codes], released.sizes, root_unknown / root_inside, withheld)
        monotone += _mean(unknown[codes] / rows, released.sizes, root_unknown / rows, withheld)
        bits = _mean(np.log2(np.maximum(inside, 1))[codes], released.sizes, float(np.log2(root_inside)), withheld)
        entropy += bits - float(often @ np.log2(np.maximum(often, 1))) / rows
    columns = len(released.quasi)
    return em / columns, monotone / columns, entropy / columns


def _below(span: Spans, often: Longs) -> tuple[Floats, Floats]:
    """For each label how many originals it covers, and that number times H(X | B)."""
    total = np.concatenate([[0.0], np.cumsum(often)])
    known = np.concatenate([[0.0], np.cumsum(often * np.log2(np.maximum(often, 1)))])
    inside = total[span.last + 1] - total[span.first]
    inside[span.last < span.first] = 0.0
    own = known[span.last + 1] - known[span.first]
    return inside, np.where(inside > 0, np.maximum(inside * np.log2(np.maximum(inside, 1)) - own, 0.0), 0.0)


def _unknown(often: Longs) -> float:
    rows = float(often.sum())
    return float(rows * np.log2(rows) - often @ np.log2(np.maximum(often, 1)))


def _minority(released: Released, position: int) -> int:
    cells = released.sensitive[position]
    found = histogram(released.class_of, cells.codes, released.table.counts, released.sizes)
    return int(released.rows - np.maximum.reduceat(found.count, found.starts).sum())
