"""Tables to plan with: like a party's own rows where it shows them, else made up from the study alone.

A made-up table is a guess: few values of a quasi column are frequent, those of a sensitive one nearly alike, and some
people each resemble each other. How many, and how much, was chosen for the samples and for Adult; on another table it
may be far off, and rows of one's own are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from covey.arrays import Ints, Longs
from covey.cells import spell
from covey.crypto.rng import Rng, Stream
from covey.crypto.secret import Secret
from covey.hierarchy import Flat, Hierarchy, Interval, Prefix
from covey.schema import Column, Role
from covey.study import Study
from covey.table import Table, Values

DIFFER, CARRIED_DIFFER = 1800, 800
"""Quasi cells in a thousand records that are not as in the row that each resembles, and carried cells of a column."""
CLOSE_BY, ANY_VALUE = 500, 100
"""Cells in a thousand of a column that are replaced by others close by, and of a flat column by any other."""
FEWEST = 20
UNLISTED = 30
"""Values of a made-up column whose values the study does not list."""


def like(own: Table, rows: int, seed: Secret, differ: int | None = None, anew: int = 0) -> Table:
    """So many records that are each like one of these, but for cells of others: `differ` in a thousand of a column.

    And `anew` in a thousand have any value that the column may have.
    """
    stream = Rng(seed).stream("like")
    whom = _draw_rows(stream, own, rows)
    often = min(DIFFER // max(1, len(own.codes)), 300) if differ is None else differ
    codes = np.stack([_exchanged(stream, own, column, whom, often) for column in own.codes])
    for place, tree in enumerate(own.trees if anew else ()):
        any_value = stream.words_below(tree.codes, rows).astype(np.int32)
        codes[place] = np.where(stream.words_below(1000, rows) < anew, any_value, codes[place])
    carried = tuple(_carried(stream, own, each, whom) for each in own.carried)
    return Table(own.study, own.quasi, own.trees, np.ascontiguousarray(codes), carried)


def _exchanged(stream: Stream, own: Table, codes: Ints, whom: Longs, often: int) -> Ints:
    """The codes of these rows, of which so many in a thousand are another row's."""
    differs = stream.words_below(1000, len(whom)) < often
    return np.where(differs, codes[_draw_rows(stream, own, len(whom))], codes[whom])


def _carried(stream: Stream, own: Table, values: Values, whom: Longs) -> Values:
    return Values(values.column, _exchanged(stream, own, values.codes, whom, CARRIED_DIFFER), values.labels)


def near(own: Table, rows: int, seed: Secret) -> Table:
    """So many records that are each like one of these, but for cells that are replaced by others close by.

    Such a cell has a value of another record that lies below the same node; in a flat column that is any value.
    """
    stream = Rng(seed).stream("near")
    whom, columns = np.resize(stream.permutation(own.rows), rows)[stream.permutation(rows)], []
    for tree, codes in zip(own.trees, own.codes, strict=True):
        above = tree.up[min(1, tree.height)][codes]
        order = np.argsort(above, kind="stable")
        first, last = (np.searchsorted(above[order], above[whom], side=side) for side in ("left", "right"))
        other = order[first + (stream.words_below(1 << 30, rows).astype(np.int64) * (last - first) >> 30)]
        often = CLOSE_BY if tree.height > 1 else ANY_VALUE
        columns.append(np.where(stream.words_below(1000, rows) < often, codes[other], codes[whom]))
    carried = tuple(_carried(stream, own, each, whom) for each in own.carried)
    return Table(own.study, own.quasi, own.trees, np.ascontiguousarray(np.stack(columns), dtype=np.int32), carried)


class Alike(NamedTuple):
    """The records of a made-up table that resemble one row, how uneven values are, and cells that differ."""

    records: int
    power: float
    """The n-th value of a quasi column is n to that power times as rare as the first."""
    differ: int
    """Of each quasi column the cells in a thousand that are not as in the row that a record resembles."""


PEELED, EVEN, SPREAD = Alike(30, 1.3, 100), Alike(30, 0.8, 200), Alike(10, 0.8, 200)
"""Chosen for Adult and the hospitals sample in `peel`; for the samples in `suppress`; and in the other protocols."""


def made_up(study: Study, columns: Sequence[Column], rows: int, seed: Secret, alike: Alike = SPREAD) -> Table:
    """So many records with these columns beside the quasi columns."""
    stream = Rng(seed).stream("made up")
    people = max(FEWEST, rows // alike.records)
    trees = tuple(_tree(column) for column in study.quasi)
    codes = np.stack([_frequent(stream, tree.codes, people, alike.power) for tree in trees])
    listed = [(column, column.values or tuple(map(str, range(UNLISTED)))) for column in columns]
    carried = tuple(Values(column, _frequent(stream, len(values), people, 0.5), values) for column, values in listed)
    return like(Table(study, study.quasi, trees, codes, carried), rows, seed, alike.differ)


def stand_in(study: Study, rows: int, seed: Secret, own: Table | None, alike: Alike = SPREAD) -> Table:
    """So many whole records: near to one's own, where these are given, else made up."""
    if own is not None and own.rows:
        return near(own, rows, seed)
    return made_up(study, study.of_role(Role.SENSITIVE, Role.PLAIN), rows, seed, alike)


def joined(study: Study, rows: int, seed: Secret, own: Table | None) -> Table:
    """So many whole records of which others hold some columns: one's own, if given, beside made-up values of theirs.

    People who are alike in our columns are made alike in theirs.
    """
    made = made_up(study, study.of_role(Role.SENSITIVE, Role.PLAIN), rows, seed)
    if own is None or not own.rows:
        return made
    stream = Rng(seed).stream("joined")
    ours = own.select(np.resize(stream.permutation(own.rows), rows))
    order, theirs = stream.permutation(rows), made.select(_by_value(made))
    ours, theirs = ours.select(_by_value(ours)[order]), theirs.select(order)
    mine = {column.name: place for place, column in enumerate(own.quasi)}
    held = {values.column.name: values for values in ours.carried}
    places = [(mine.get(column.name), place) for place, column in enumerate(made.quasi)]
    trees = tuple(made.trees[there] if here is None else own.trees[here] for here, there in places)
    codes = np.stack([theirs.codes[there] if here is None else ours.codes[here] for here, there in places])
    return Table(study, made.quasi, trees, codes, tuple(held.get(each.column.name, each) for each in theirs.carried))


def split(study: Study, whole: Table) -> dict[str, Table]:
    """Each holder's columns of whole records."""
    found = {}
    for party in study.holders:
        names = {column.name for column in study.held_by(party.name)}
        places = [place for place, column in enumerate(whole.quasi) if column.name in names]
        carried = tuple(values for values in whole.carried if values.column.name in names)
        quasi, trees = tuple(whole.quasi[place] for place in places), tuple(whole.trees[place] for place in places)
        found[party.name] = Table(study, quasi, trees, np.ascontiguousarray(whole.codes[places]), carried)
    return found


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


def _tree(column: Column) -> Hierarchy:
    """The column's tree, over made-up values where the study lists none."""
    form = column.hierarchy
    if column.closed or isinstance(form, Flat | Prefix):
        return column.tree([] if column.closed else [f"{number * 997:05}" for number in range(UNLISTED)])
    low, high = (form.low, form.high) if isinstance(form, Interval) else (None, None)
    low = low or Decimal(0)
    width = (low + 100 if high is None else high) - low
    return column.tree([spell(low + width * number / UNLISTED) for number in range(UNLISTED + 1)])


def _by_value(table: Table) -> Longs:
    """The rows in the order of their quasi values."""
    return np.lexsort(table.codes[::-1]) if len(table.codes) else np.arange(table.rows)


def _draw(stream: Stream, below: int, rows: int) -> Longs:
    return stream.words_below(below, rows).astype(np.int64)
