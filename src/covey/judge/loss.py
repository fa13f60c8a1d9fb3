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
from covey.judge.released import Released, shares, with_range
from covey.judge.tuples import Spans, Tuples, frequencies
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
        labels = None if original is None else original.of([cells.column])[0].labels
        part, level = shares(with_range(cells, labels), cells.labels)
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
        counts = frequencies(original, cells.column, span)
        rows = int(counts.sum())
        records, unknown = _below(span, counts)
        root_inside, root_unknown = float(rows), _unknown(counts)
        codes = cells.codes[released.example]
        per_row = np.divide(unknown, records, out=np.zeros_like(unknown), where=records > 0)
        em += _mean(per_row[codes], released.sizes, root_unknown / root_inside, withheld)
        monotone += _mean(unknown[codes] / rows, released.sizes, root_unknown / rows, withheld)
        bits = _mean(np.log2(np.maximum(records, 1))[codes], released.sizes, float(np.log2(root_inside)), withheld)
        entropy += bits - float(counts @ np.log2(np.maximum(counts, 1))) / rows
    columns = len(released.quasi)
    return em / columns, monotone / columns, entropy / columns


def _below(span: Spans, counts: Longs) -> tuple[Floats, Floats]:
    """For each label how many originals it covers, and that number times H(X | B)."""
    total = np.concatenate([[0.0], np.cumsum(counts)])
    sums = np.concatenate([[0.0], np.cumsum(counts * np.log2(np.maximum(counts, 1)))])
    records = total[span.last + 1] - total[span.first]
    records[span.last < span.first] = 0.0
    bits = sums[span.last + 1] - sums[span.first]
    return records, np.where(records > 0, np.maximum(records * np.log2(np.maximum(records, 1)) - bits, 0.0), 0.0)


def _unknown(counts: Longs) -> float:
    rows = float(counts.sum())
    return float(rows * np.log2(rows) - counts @ np.log2(np.maximum(counts, 1)))


def _minority(released: Released, position: int) -> int:
    cells = released.sensitive[position]
    classes = histogram(released.class_of, cells.codes, released.table.counts, released.sizes)
    return int(released.rows - np.maximum.reduceat(classes.count, classes.starts).sum())
