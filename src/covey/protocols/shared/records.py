"""Records one by one, for a protocol that moves single records: tuples and counts of an engine become records again.

A table on an engine has no order of rows. So the records get one that follows from their cells alone: they are sorted
by content and then dealt by a public permutation, as rows of a file are that have come in no order. The carried cells
stay on the engine until they are released; where records of one tuple have gone to several classes, its cells are dealt
to these in the order of their content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from covey.arrays import Ints, Longs
from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.schema import Role
from covey.table import CarriedCells, RowsOnEngine, Table, Values, group

_PUBLIC = Secret(hashlib.sha256(b"covey: records one by one").digest())


def one_by_one(table: Table) -> Table:
    """The single records of a table of tuples; a table in memory has them already, in the order of its rows."""
    if table.counts is None:
        return table
    item, _ = group(_keys(table.codes, table.carried), table.rows)
    content = np.argsort(item, kind="stable")
    rows = np.repeat(content, table.counts[content])
    order = public_order(len(rows))
    records = table.select(rows[order])
    if table.on_engine is None:
        return records
    return replace(records, on_engine=_SingleRecords(table.on_engine, item, item[rows], order))


def public_order(records: int) -> Longs:
    """The place in the order of content of each record in turn."""
    return Rng(_PUBLIC).stream("records").permutation(records)


@dataclass(frozen=True)
class _SingleRecords:
    """The rows behind single records, which an engine has by tuples."""

    tuples: RowsOnEngine
    item: Longs
    """The number of each tuple in the order of content,"""
    of_record: Longs
    """and of each record's tuple, the records in that order."""
    order: Longs
    """The place of each record in that order."""

    @property
    def fingerprint(self) -> bytes:
        """A hash of all cells that the study names, whatever the order of the rows."""
        return self.tuples.fingerprint

    def longest(self) -> int:
        """A number of bytes that no record's carried cells exceed, with five more for each cell."""
        return self.tuples.longest()

    def carried(self, klass: Longs) -> CarriedCells:
        """The carried cells of all records, given each record's class, or -1 where it has none.

        The engine is asked for the cells of every class, and of every tuple that has gone to several.
        """
        sorted_klass = np.empty_like(klass)
        sorted_klass[self.order] = klass
        begins = np.flatnonzero(np.diff(self.of_record, prepend=-1))
        low, high = (end.reduceat(sorted_klass, begins) for end in (np.minimum, np.maximum))
        classes, split = int(klass.max(initial=-1)) + 1, low < high
        asked = np.where(split, classes + np.arange(len(low)), low)
        found = self.tuples.carried(asked[self.item])
        counts = np.ones(len(found.klass), dtype=np.int64) if found.counts is None else found.counts
        keys: list[Ints | Longs] = [*_keys((), found.columns)[::-1], found.klass]
        content = np.lexsort(keys)
        split_up = found.klass[content] >= classes
        whole, several = content[~split_up], content[split_up]
        rows = np.concatenate([whole, np.repeat(several, counts[several])])
        dealt = sorted_klass[split[self.of_record]]
        number = np.concatenate([found.klass[whole], dealt])
        each = np.concatenate([counts[whole], np.ones(len(dealt), dtype=np.int64)])
        kept = np.flatnonzero(number >= 0)
        columns = tuple(Values(own.column, own.codes[rows[kept]], own.labels) for own in found.columns)
        return CarriedCells(number[kept], columns, each[kept])


def _keys(codes: Iterable[Ints], carried: Sequence[Values]) -> list[Ints]:
    """The keys of the order of content: quasi codes, and spellings of sensitive before those of plain columns."""
    by_role = sorted(carried, key=lambda own: own.column.role is not Role.SENSITIVE)
    return [*codes, *(_by_spelling(own) for own in by_role)]


def _by_spelling(values: Values) -> Ints:
    """A column's cells as places among its labels in the order of their spelling."""
    place = {label: position for position, label in enumerate(sorted(values.labels))}
    return np.array([place[label] for label in values.labels] or [0], dtype=np.int32)[values.codes]
