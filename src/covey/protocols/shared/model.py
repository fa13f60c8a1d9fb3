"""Tables to plan with: like a party's own rows where it shows them, else made up from the study alone.

A made-up table is a guess. Few values of a quasi column are frequent, those of a sensitive one nearly alike; thirty
people each resemble each other, but for one cell in ten. That was chosen for the hospitals sample and for Adult; on
another table it may be far off, and rows of one's own are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from covey.arrays import Ints, Longs
from covey.crypto.rng import Rng, Stream
from covey.crypto.secret import Secret
from covey.schema import Column
from covey.study import Study
from covey.table import Table, Values

DIFFER, CARRIED_DIFFER = 1800, 800
"""Quasi cells in a thousand records that are not as in the row that each resembles, and carried cells of a column."""
ALIKE, ALIKE_BUT = 30, 100
"""Records that resemble one row in a made-up table, and of each quasi column the cells in a thousand that do not."""
FEWEST = 20


def like(own: Table, rows: int, seed: Secret, differ: int | None = None) -> Table:
    """So many records that are each like one of these, but for cells of others: `differ` in a thousand of a column."""
    stream = Rng(seed).stream("like")
    whom = _draw_rows(stream, own, rows)

    def mixed(codes: Ints, often: int) -> Ints:
        differs = stream.words_below(1000, rows) < often
        return np.where(differs, codes[_draw_rows(stream, own, rows)], codes[whom])

    often = min(DIFFER // max(1, len(own.codes)), 300) if differ is None else differ
    codes = np.stack([mixed(column, often) for column in own.codes])
    carried = tuple(Values(each.column, mixed(each.codes, CARRIED_DIFFER), each.labels) for each in own.carried)
    return Table(own.study, own.quasi, own.trees, np.ascontiguousarray(codes), carried)


def made_up(study: Study, columns: Sequence[Column], rows: int, seed: Secret) -> Table:
    """So many records with these sensitive columns, whose values the study lists."""
    stream = Rng(seed).stream("made up")
    people = max(FEWEST, rows // ALIKE)
    trees = tuple(column.tree() for column in study.quasi)
    codes = np.stack([_frequent(stream, tree.codes, people, 1.3) for tree in trees])
    carried = tuple(
        Values(column, _frequent(stream, len(column.values or ()), people, 0.5), tuple(column.values or ()))
        for column in columns
    )
    return like(Table(study, study.quasi, trees, codes, carried), rows, seed, ALIKE_BUT)


def dealt(rows: Mapping[str, int], number: int, seed: Secret) -> Longs:
    """The place of the party that each of so many records belongs to, in proportion to the parties' rows."""
    ends = np.cumsum(list(rows.values())).astype(np.uint64)
    drawn = Rng(seed).stream("dealt").words_below(max(1, int(ends[-1])), number)
    return np.searchsorted(ends[:-1], drawn, side="right").astype(np.int64)


def _frequent(stream: Stream, values: int, rows: int, power: float) -> Ints:
    """Codes of values of which the n-th is n to that power times as rare as the first; which these are is drawn."""
    share = np.cumsum(np.round((1 << 40) / np.arange(1, values + 1) ** power)).astype(np.uint64)
    order = np.argsort(stream.words(values))
    drawn = np.searchsorted(share, stream.words_below(int(share[-1]), rows), side="right")
    return order[drawn].astype(np.int32)


def _draw_rows(stream: Stream, own: Table, rows: int) -> Longs:
    """So many places of rows, each as often as the number of its records lets expect."""
    drawn = _draw(stream, own.records, rows)
    return drawn if own.counts is None else np.searchsorted(np.cumsum(own.counts), drawn, side="right")


def _draw(stream: Stream, below: int, rows: int) -> Longs:
    return stream.words_below(below, rows).astype(np.int64)
