"""A record as numbers modulo the group's order, and back.

A label counts as the hash of its node, so that the numbers of a tuple's labels may simply be added up: nobody finds two
tuples with the same sum. So a respondent sends one number for each level of each column, and the trustees get a tuple's
number at any generalization by adding shares. A listed value counts as its place in the list; a text that the study
does not list is cut into pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from covey.arrays import Ints
from covey.crypto.scalar_field import FQ
from covey.errors import InputError
from covey.hierarchy import Hierarchy
from covey.protocols.collect_peel.parameters import trees_of
from covey.protocols.shared.rows import carried, domain
from covey.study import Study
from covey.table import Table

PIECE, PIECES = 31, 2
TEXT = PIECE * PIECES
"""The most bytes of a cell whose values the study does not list."""


@dataclass(frozen=True)
class RecordLayout:
    """The places of a record's numbers: the levels of each quasi column, then the columns that are published."""

    study: Study
    trees: tuple[Hierarchy, ...]

    @classmethod
    def of(cls, study: Study) -> RecordLayout:
        """The layout of a study's records. The last study's is remembered: many respondents ask for the same."""
        if not _LAST or _LAST[0].study is not study:
            _LAST[:] = [cls(study, trees_of(study))]
        return _LAST[0]

    @cached_property
    def first(self) -> list[int]:
        """For each quasi column the place of its leaf's number; the next level's follows it."""
        places, at = [], 0
        for tree in self.trees:
            places.append(at)
            at += tree.height
        return places

    @cached_property
    def cells(self) -> dict[str, range]:
        """The places of each published column's numbers."""
        at, places = sum(tree.height for tree in self.trees), {}
        for column in carried(self.study):
            width = 1 if domain(column) else PIECES
            places[column.name] = range(at, at + width)
            at += width
        return places

    @property
    def width(self) -> int:
        """The numbers of a record."""
        return max((places.stop for places in self.cells.values()), default=sum(tree.height for tree in self.trees))

    def places(self, levels: Sequence[int]) -> dict[int, int]:
        """For each column that a generalization does not suppress, the place of its number."""
        return {
            column: self.first[column] + int(level)
            for column, level in enumerate(levels)
            if level < self.trees[column].height
        }

    def number(self, column: int, node: int) -> int:
        """The number of a label."""
        return FQ.hashed("collect label", bytes.fromhex(self.study.study_hash), column, node)

    @cached_property
    def nodes(self) -> list[dict[int, int]]:
        """For each column the node that a number stands for."""
        return [
            {self.number(column, node): node for node in range(tree.nodes)} for column, tree in enumerate(self.trees)
        ]

    def box(self, levels: Sequence[int], opened: dict[int, int]) -> Ints | None:
        """The labels of a tuple from the opened numbers of its columns; None where one is no label."""
        box = [tree.root for tree in self.trees]
        for column, number in opened.items():
            node = self.nodes[column].get(number)
            if node is None:
                return None
            box[column] = node
        return np.array(box, dtype=np.int32)

    def spell(self, table: Table) -> list[int]:
        """The numbers of the one record of a table."""
        found = [
            self.number(column, int(tree.up[level, int(codes[0])]))
            for column, (tree, codes) in enumerate(zip(self.trees, table.codes, strict=True))
            for level in range(tree.height)
        ]
        for column in carried(self.study):
            values = table.values(column.name)
            text, listed = values.labels[int(values.codes[0])], domain(column)
            found += [listed.index(text)] if listed else _pieces(column.name, text)
        return found

    def read(self, name: str, numbers: Sequence[int]) -> str | None:
        """A published cell from its numbers; None where they stand for nothing."""
        column = self.study.column(name)
        if listed := domain(column):
            return listed[numbers[0]] if numbers[0] < len(listed) else None
        try:
            raw = b"".join(number.to_bytes(PIECE, "little") for number in numbers)
            return raw.rstrip(b"\0").decode()
        except (OverflowError, UnicodeDecodeError):
            return None


_LAST: list[RecordLayout] = []


def accepts(study: Study, own: Table) -> None:
    """Raises InputError, naming the column, for a text that is too long to be sent."""
    for values in own.carried:
        for text in () if domain(values.column) else values.labels:
            _pieces(values.column.name, text)


def _pieces(column: str, text: str) -> list[int]:
    raw = text.encode()
    if len(raw) > TEXT or "\0" in text:
        raise InputError(f"column {column!r}: an answer that is not listed may have {TEXT} bytes at most")
    padded = raw.ljust(TEXT, b"\0")
    return [int.from_bytes(padded[at : at + PIECE], "little") for at in range(0, TEXT, PIECE)]
