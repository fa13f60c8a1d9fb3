"""A release: the published table and all that there is to say of it, whoever made it.

`covey.anonymize` and `covey.simulate` both return one. In a notebook it shows itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from covey.plain import Shown
from covey.sources import Frame, canonical_csv
from covey.study import Study
from covey.summary import SingledOut, Summary

if TYPE_CHECKING:
    from covey.anonymizers.explain import Explanation

_SHOWN = 8  # rows in a notebook


@dataclass(frozen=True)
class Loss:
    """A release's information loss by measure; None where a protocol does not compute one."""

    lm: float | None = None
    em: float | None = None
    dm: float | None = None
    c_avg: float | None = None


class Writer(Protocol):
    """The run that made a release, and knows the files that it leaves."""

    def save(self, release: Release, folder: Path) -> None:
        """Writes the release and its files into a folder."""


@dataclass(frozen=True, repr=False)
class Release(Shown):
    """A k-anonymous table, with its figures, its loss and what each party learned."""

    study: Study
    table: Frame
    """The released table, of the kind that went in (Arrow for a file)."""
    figures: Summary
    """The figures of summary.json, typed."""
    ledger: Mapping[str, list[str]]
    """By party: what it learned, in sentences. Empty where one owner held everything."""
    arranged: pa.Table
    """The table as it is written: rows in order of their bytes, formulas guarded."""
    writer: Writer
    explanation: Explanation | None = None
    """The answer to `explain=True`."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Columns of the data that are not published, and why."""

    @cached_property
    def content(self) -> bytes:
        """The bytes of release.csv."""
        return canonical_csv(self.arranged)

    @cached_property
    def summary(self) -> dict[str, object]:
        """The content of summary.json."""
        return self.figures.describe()

    @property
    def loss(self) -> Loss:
        """The information loss by measure."""
        return Loss(**self.figures.loss)

    @property
    def singled_out(self) -> SingledOut | None:
        """The rows that one published cell singles out, or two. None for a table of counts."""
        return self.figures.singled_out

    @property
    def kept(self) -> float | None:
        """The part of the columns' content that is kept: see `summary.json`."""
        return self.figures.kept

    def save(self, folder: str | Path) -> None:
        """Writes release.csv, summary.json, report.html and the study into a folder; a run's folders too."""
        self.writer.save(self, Path(folder))

    def _shown(self) -> Iterator[tuple[str, str]]:
        yield from self.figures.shown()

    def _repr_html_(self) -> str:
        """A notebook's view: the figures, the first rows, and the ledger to unfold. Cells are escaped."""
        head = self.arranged.slice(0, _SHOWN)
        names = "".join(f"<th>{escape(name)}</th>" for name in head.column_names)
        cells = zip(*(column.cast(pa.string()).to_pylist() for column in head.columns), strict=True)
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells)
        remaining = self.arranged.num_rows - head.num_rows
        note = f"<p>and {remaining:,} more rows, in order of their content</p>" if remaining > 0 else ""
        return (
            f"{super()._repr_html_()}<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"
            f"{note}{''.join(self._ledgers())}"
        )

    def _ledgers(self) -> Iterator[str]:
        for party, sentences in self.ledger.items():
            learned = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
            yield f"<details><summary>{escape(party)} learned</summary><ul>{learned}</ul></details>"
