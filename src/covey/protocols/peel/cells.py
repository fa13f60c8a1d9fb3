"""Cells that are published as they are, as words: a number where the study lists the values, else the text itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from covey.arrays import Bits, Words
from covey.errors import InputError
from covey.mpc import width_of
from covey.protocols.peel.coding import bits_of, side_by_side
from covey.protocols.shared.columns.ownership import exact_columns, exact_holders
from covey.protocols.shared.rows import carried, domain
from covey.schema import Column
from covey.study import Study
from covey.table import Table

LENGTHS = tuple(8 << power for power in range(8))
"""Bytes of the longest text that is not listed."""


@dataclass(frozen=True)
class Cells:
    """The columns that are published as they are, and how many bytes a text has."""

    lanes: tuple[tuple[Column, ...], ...]
    """The columns of each owner: no row shows cells of two owners that belong together."""
    length: int = LENGTHS[0]

    @classmethod
    def of(cls, study: Study) -> Cells:
        """Returns the columns of a study; where rows are split, one lane has all."""
        if study.partition != "vertical":
            return cls((carried(study),))
        return cls(tuple(exact_columns(study, owner) for owner in exact_holders(study)) or ((),))

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, lane by lane."""
        return tuple(column for lane in self.lanes for column in lane)

    @property
    def spans(self) -> dict[str, slice]:
        """The bits of each column in a record's cells."""
        ends = np.cumsum([0, *self.widths]).tolist()
        return {column.name: slice(*span) for column, span in zip(self.columns, pairwise(ends), strict=True)}

    def lane(self, place: int) -> Cells:
        """Returns the cells of one lane alone."""
        return replace(self, lanes=self.lanes[place : place + 1])

    def only(self, name: str) -> Cells:
        """Returns the cells of one column alone."""
        return replace(self, lanes=(tuple(column for column in self.columns if column.name == name),))

    @property
    def listed(self) -> bool:
        """True if the study lists all values, so that no length matters."""
        return all(domain(column) for column in self.columns)

    @property
    def widths(self) -> list[int]:
        """The bits of each column's cell."""
        return [width_of(len(listed) - 1) if (listed := domain(column)) else 8 * self.length for column in self.columns]

    @property
    def width(self) -> int:
        """The bits of a record's cells."""
        return sum(self.widths)

    @property
    def in_question(self) -> dict[str, slice]:
        """The columns of which the study does not allow that one row alone has a value, and their bits."""
        return {column.name: self.spans[column.name] for column in self.columns if column.singles_out is None}

    def fits(self, table: Table) -> Bits:
        """Returns for each length if the texts of a holder fit. Raises InputError for one that fits none."""
        longest = 0
        for values in table.carried:
            column = values.column
            size = max((len(text.encode()) for text in values.labels), default=0)
            if not domain(column) and size > LENGTHS[-1]:
                raise InputError(
                    f"column {column.name!r} has texts of {size:,} bytes, and {LENGTHS[-1]:,} is the most; leave it "
                    "out or shorten long ones"
                )
            longest = max(longest, 0 if domain(column) else size)
        return np.array([longest <= length for length in LENGTHS])

    def fitting(self, table: Table) -> Words:
        """Returns the same as the one word that a holder shares."""
        return side_by_side([*self.fits(table)[:, np.newaxis].astype(np.uint64)], [1] * len(LENGTHS))

    def words(self, table: Table) -> Words:
        """Returns the words of a holder's cells (chunks x records)."""
        parts: list[Words] = []
        for column in self.columns:
            values, listed = table.values(column.name), domain(column)
            if listed:
                place = {text: number for number, text in enumerate(listed)}
                parts.append(np.array([place.get(text, 0) for text in values.labels] or [0], np.uint64)[values.codes])
            else:
                texts = b"".join(text.encode().ljust(self.length, b"\0") for text in values.labels)
                known = np.frombuffer(texts, ">u8").astype(np.uint64).reshape(-1, self.length // 8)
                parts.append(np.ascontiguousarray(known[values.codes].T))
        return side_by_side(parts, self.widths) if parts else np.zeros((1, table.rows), np.uint64)

    def texts(self, words: Words, before: int = 0) -> dict[str, list[str]]:
        """Returns each column's texts, from opened words in which so many other bits stand before the cells."""
        bits, start, found = bits_of(words, before + self.width), before, dict[str, list[str]]()
        for column, width in zip(self.columns, self.widths, strict=True):
            found[column.name] = _read(bits[start : start + width], domain(column))
            start += width
        return found


def _read(bits: Bits, listed: Sequence[str]) -> list[str]:
    """Returns the texts of one column's bits; a number that stands for no value reads as the last one."""
    if listed:
        number = np.zeros(bits.shape[1], np.int64)
        for bit in bits:
            number = number << 1 | bit
        return [listed[min(place, len(listed) - 1)] for place in number.tolist()]
    raw = np.packbits(bits, axis=0).T
    return [row.tobytes().rstrip(b"\0").decode(errors="replace") for row in raw]
