"""The values of each column, counted; columns that name a person or repeat another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from covey import cells
from covey.guess.spelling import Spelling, spelling
from covey.sources import Source

_FEWEST_PEOPLE = 20  # a column with fewer values than this names no people
_MOST_ROWS_EACH = 50  # rows of one person, on average
_MOST_ROWS = 5_000_000  # of a table that is searched for columns that determine others


@dataclass(frozen=True)
class ColumnValues:
    """The values of one column, counted."""

    name: str
    counts: dict[str, int]  # by clean text, without the empty one
    missing: int

    @property
    def rows(self) -> int:
        return sum(self.counts.values()) + self.missing

    @cached_property
    def spelling(self) -> Spelling:
        """The way in which the values are written."""
        return spelling(self.counts, self.name)

    @cached_property
    def _values(self) -> dict[str, str]:
        """The one spelling of each text that is not missing."""
        style = self.spelling
        read = {text: cells.canonical(text, style.kind, style.format) for text in self.counts if text not in style.null}
        return {text: value for text, value in read.items() if value != cells.MISSING}

    @property
    def texts(self) -> dict[str, int]:
        """The rows of each value as it is written, without missing ones. Codes are read as text."""
        return {text: self.counts[text] for text in self._values}

    @cached_property
    def known(self) -> dict[str, int]:
        """The rows of each value in its one spelling, without missing ones."""
        rows: dict[str, int] = {}
        for text, value in self._values.items():
            rows[value] = rows.get(value, 0) + self.counts[text]
        return rows

    @property
    def lacking(self) -> int:
        """The rows without a value, whatever is written there."""
        return self.rows - sum(self.known.values())

    @property
    def share_unique(self) -> float:
        """The share of rows with a value whose value no other row has."""
        return sum(count == 1 for count in self.known.values()) / max(sum(self.known.values()), 1)


def look(sources: Sequence[Source]) -> list[ColumnValues]:
    """The columns of all sources, in order. A column that several have is counted over all of them."""
    counts: dict[str, dict[str, int]] = {}
    for source in sources:
        for name in source.columns:
            total = counts.setdefault(name, {})
            texts, text_counts = source.distinct([name])
            for cell, count in zip(texts.column(0).to_pylist(), text_counts.tolist(), strict=True):
                text = cells.MISSING if cell is None else cells.clean(cell)
                total[text] = total.get(text, 0) + count
    return [ColumnValues(name, total, total.pop(cells.MISSING, 0)) for name, total in counts.items()]


def people(source: Source, columns: Sequence[ColumnValues]) -> dict[str, int]:
    """Columns of codes that name persons with several rows, and the most rows of a person.

    Rows with the same code agree in what does not change of a person: sex, place, year of birth.
    """
    agreements = {}
    for column in columns:
        counts = column.known.values()
        if (
            source.rows > _MOST_ROWS
            or not len(counts) >= _FEWEST_PEOPLE
            or not len(counts) * 1.5 <= source.rows <= len(counts) * _MOST_ROWS_EACH
            or column.spelling.kind == "date"
            or any("." in value for value in column.known)
        ):
            continue
        candidates = [peer for peer in columns if peer is not column and 1 < len(peer.known) < len(counts) / 2]
        fixed = sum(_pairs(source, column, peer) <= len(column.counts) + bool(column.missing) for peer in candidates)
        if fixed >= 3 and fixed >= 0.4 * len(candidates):
            agreements[column.name] = max(counts)
    return agreements


def repeated(source: Source, columns: Sequence[ColumnValues]) -> Iterator[tuple[str, str]]:
    """Columns that repeat an earlier one in other words, such as a code beside its label."""
    first: dict[tuple[int, ...], list[ColumnValues]] = {}
    for column in columns:
        if len(column.counts) > 2 and source.rows <= _MOST_ROWS:
            earlier = first.setdefault(tuple(sorted((*column.counts.values(), column.missing))), [])
            twin = next((peer for peer in earlier if _pairs(source, column, peer) <= len(column.counts) + 1), None)
            if twin is None:
                earlier.append(column)
            elif len(column.counts) < 0.9 * source.rows:
                yield column.name, twin.name


def _pairs(source: Source, first: ColumnValues, second: ColumnValues) -> int:
    return int(source.distinct([first.name, second.name])[0].num_rows)
