"""One provider's side: who of the population it has, where they stand on its columns, and whom it makes up.

A *dummy user* is a member of the population that the provider does not have. In each group it is given the values of a
user that the provider has there: those of the next one on a ring on which everybody's place is a keyed function of the
group's path and the id. So a second run on the same data makes the same dummies, and one on slightly changed data
nearly the same: otherwise users that change sides under one cut would be known for dummies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.arrays import Bits, Floats, Longs, Words
from covey.cells import number
from covey.crypto.rng import derive
from covey.crypto.secret import Secret
from covey.crypto.siphash import keyed
from covey.errors import InputError
from covey.hierarchy import Hierarchy, Interval
from covey.hierarchy.numbers import label as interval_label
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.schema import Column
from covey.table import Table

UNIT = 1 << 16
"""The whole number that stands for a range or a score of 1."""

_SEATS = 4
"""Places on the ring for each existing user: more even shares."""


@dataclass(frozen=True)
class PlacedColumn:
    """One quasi column: its leaf codes stand in order, each at a place from 0 to 1."""

    column: Column
    tree: Hierarchy
    place: Floats

    @classmethod
    def of(cls, column: Column, tree: Hierarchy) -> PlacedColumn:
        """Leaves are evenly spaced, numbers of an interval column by value."""
        if isinstance(column.hierarchy, Interval):
            values = [number(label) for label in tree.labels[: tree.codes]]
            low, high = column.hierarchy.low, column.hierarchy.high
            if low is None or high is None:
                raise InputError(f"column {column.name!r}: intervals need a public range")
            span = float(high - low) or 1.0
            place = np.array([float((low if value is None else value) - low) / span for value in values])
        else:
            place = np.arange(tree.codes) / max(tree.codes - 1, 1)
        return cls(column, tree, place)

    def label(self, low: int, high: int) -> str:
        """The published label of the codes from `low` to `high`."""
        if isinstance(self.column.hierarchy, Interval):
            first, last = number(self.tree.labels[low]), number(self.tree.labels[high])
            if first is not None and last is not None:
                return interval_label(*self.column.hierarchy.outward(first, last))
        node = self.tree.common_ancestor(np.array([low], np.int32), np.array([high], np.int32))
        return self.tree.labels[int(node[0])]


def members(params: Parameters, table: Table) -> Longs:
    """Each row's place in the population. Raises InputError for rows of strangers to it, or of one user twice."""
    keys = table.key
    if keys is None:
        raise InputError("the table has no key column; a provider's rows are found by their ids")
    place = {label: position for position, label in enumerate(params.population)}
    codes = np.array([place.get(label, -1) for label in keys.labels] or [-1], dtype=np.int64)[keys.codes]
    column = keys.column.name
    if (codes < 0).any():
        raise InputError(
            f"column {column!r}: {int((codes < 0).sum()):,} rows have an id that the population does not list; "
            "list everyone who could be a user, or leave these rows out"
        )
    if len(np.unique(codes)) != len(codes):
        raise InputError(f"column {column!r}: {len(codes) - len(np.unique(codes)):,} rows repeat an id")
    return codes


@dataclass(frozen=True)
class OwnUsers:
    """All that a provider knows by itself."""

    params: Parameters
    table: Table
    axes: tuple[PlacedColumn, ...]
    row: Longs
    """Each member of the population's row, or -1 for a dummy user."""
    marks: Words
    """Each member's id as a number that nobody without the key can connect to it."""
    key: Secret
    exact: Longs
    """Each row's combination of exact values."""

    @classmethod
    def of(cls, params: Parameters, table: Table, key: Secret) -> OwnUsers:
        """Raises InputError for rows of nobody, of strangers to the population, or of one user twice."""
        ids, codes = params.population, members(params, table)
        row = np.full(len(ids), -1, dtype=np.int64)
        row[codes] = np.arange(table.rows)
        own = derive(key, "dummy users")  # not the study's hash: other parameters must not make other dummies
        axes = tuple(PlacedColumn.of(column, tree) for column, tree in zip(table.quasi, table.trees, strict=True))
        return cls(params, table, axes, row, _marks(own, ids), own, _exact(params, table))

    @property
    def member(self) -> Bits:
        """The members of the population that this provider has."""
        return np.asarray(self.row >= 0)

    def spread(self, group: Longs) -> tuple[int, int]:
        """The longest normalised range among existing users of the group, and its column."""
        rows = self.row[group]
        rows = rows[rows >= 0]
        widest, best = 0, 0
        for column, axis in enumerate(self.axes):
            codes = self.table.codes[column, rows]
            length = axis.place[codes.max()] - axis.place[codes.min()] if len(codes) else 0.0
            found = round(min(float(length) * axis.column.weight, 1.0) * (UNIT - 1))
            if found > widest:
                widest, best = found, column
        return widest, best

    def codes(self, column: int, group: Longs, path: str) -> Longs:
        """Every member's code in a column: its own, or that of the existing user whose values it has here."""
        return np.asarray(self.table.codes[column, self.rows(group, path)], dtype=np.int64)

    def rows(self, group: Longs, path: str) -> Longs:
        """Every member's row: its own, or one that the key chooses among the existing users of the group."""
        rows = self.row[group].copy()
        real, dummies = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
        if len(dummies) and len(real):
            own, theirs = self.marks[group[real]], self.marks[group[dummies]]
            seats = np.concatenate([keyed(self.key, own, "seat", path, place) for place in range(_SEATS)])
            order = np.argsort(seats, kind="stable")
            at = np.searchsorted(seats[order], keyed(self.key, theirs, "dummy", path)) % len(seats)
            rows[dummies] = rows[real[order[at] % len(real)]]
        return rows

    def box(self, group: Longs) -> tuple[str, ...]:
        """The group's published labels in this provider's columns; they cover all its existing users there."""
        rows = self.row[group]
        rows = rows[rows >= 0]
        codes = self.table.codes[:, rows]
        return tuple(axis.label(int(own.min()), int(own.max())) for axis, own in zip(self.axes, codes, strict=True))

    def holding(self, group: Longs) -> Longs:
        """The members of the group that this provider has."""
        return group[self.row[group] >= 0]


@dataclass(frozen=True)
class ProviderSide:
    """One provider's side of a run."""

    users: OwnUsers
    me: str

    @property
    def params(self) -> Parameters:
        """The parameters of the run."""
        return self.users.params


def _marks(key: Secret, ids: Sequence[str]) -> Words:
    material = derive(key, "ids").reveal()
    digests = b"".join(hashlib.blake2b(each.encode(), digest_size=8, key=material).digest() for each in ids)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _exact(params: Parameters, table: Table) -> Longs:
    """Each row's combination of exact values, as one number."""
    combination = np.zeros(table.rows, dtype=np.int64)
    for values in table.carried:
        listed = params.domains[values.column.name]
        place = {value: position for position, value in enumerate(listed)}
        lookup = np.array([place.get(label, 0) for label in values.labels] or [0], dtype=np.int64)
        combination = combination * len(listed) + lookup[values.codes]
    return combination
