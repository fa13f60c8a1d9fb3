"""The release and its figures, from both parties' rows: the same for the parties and for a trusted one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from covey import measures
from covey.anonymizers.constraints import diversity_of
from covey.arrays import Bits, Longs
from covey.cells import SUPPRESSED
from covey.errors import Aborted, Unmet
from covey.protocols.protocol import Figures, Result
from covey.protocols.shared.rows import carried
from covey.protocols.suppress.own import Labels, Own, key_of
from covey.study import Study
from covey.table import Table


@dataclass(frozen=True)
class Kept:
    """What a party shows of its tuples: those that it keeps with their numbers of rows, and its rows in all."""

    counts: dict[Labels, int]
    rows: int

    @property
    def suppressed(self) -> int:
        """Rows without a tuple."""
        return self.rows - sum(self.counts.values())


@dataclass(frozen=True)
class Half:
    """One party's rows as they are released."""

    kept: Kept
    tuples: tuple[Labels | None, ...]
    """Of each row its tuple, or None where it is suppressed."""
    cells: dict[str, list[str]]
    """Of each row the values that are published as they are."""

    @classmethod
    def of(cls, own: Own, keeps: Bits, table: Table) -> Half:
        """A party's rows, of which some keep their tuples."""
        counts = np.bincount(own.place[keeps], minlength=len(own.keys))
        kept = {own.labels[place]: int(counts[place]) for place in np.flatnonzero(counts).tolist()}
        tuples = tuple(
            own.labels[place] if keep else None for place, keep in zip(own.place.tolist(), keeps.tolist(), strict=True)
        )
        cells = {
            values.column.name: [values.labels[code] for code in values.codes.tolist()] for values in table.carried
        }
        return cls(Kept(kept, own.rows), tuples, cells)


@dataclass(frozen=True)
class Classes:
    """The joint classes: every tuple that is kept, in the order of its spelling, and the suppressed rows."""

    labels: tuple[Labels, ...]
    sizes: Longs
    """Each class's rows; last the number of suppressed ones, which may be none."""

    @classmethod
    def of(cls, study: Study, halves: Sequence[Kept]) -> Classes:
        """Both parties' tuples together. Raises Aborted where fewer than k rows share what is shown.

        The paper then exchanges the original tables; that is never done here.
        """
        together: dict[Labels, int] = {}
        for half in halves:
            for tuple_, count in half.counts.items():
                together[tuple_] = together.get(tuple_, 0) + count
        labels = tuple(sorted(together, key=key_of))
        sizes = [*(together[each] for each in labels), sum(half.suppressed for half in halves)]
        if any(0 < size < study.privacy.k for size in sizes):
            raise Aborted(
                "what the two parties keep is not k-anonymous together: one did not keep to the protocol, or met with "
                "a chance of less than one in 2^100; nothing is exchanged, and nothing was released",
                resumable=False,
            )
        return cls(labels, np.array(sizes, dtype=np.int64))

    @cached_property
    def number(self) -> dict[Labels | None, int]:
        """Each class's place; None is the suppressed rows'."""
        return {None: len(self.labels), **{labels: place for place, labels in enumerate(self.labels)}}

    def figures(self, study: Study) -> Figures:
        """What is known before the rows are exchanged. Raises Unmet where the study allows less suppression."""
        rows, lost = int(self.sizes.sum()), int(self.sizes[-1])
        if lost > study.suppression * rows:
            raise Unmet(
                f"{lost:,} of {rows:,} rows would be suppressed, more than suppression = {study.suppression:g} allows"
            )
        sizes = self.sizes[self.sizes > 0]
        return Figures(
            rows=rows,
            classes=len(sizes),
            k_reached=int(sizes.min()),
            suppressed_cells=lost * len(study.quasi),
            loss={
                "lm": lost / rows,
                "em": None,
                "dm": float(measures.discernibility(sizes)),
                "c_avg": measures.average_class(sizes, study.privacy.k),
            },
        )


def publish(study: Study, classes: Classes, halves: Sequence[Half]) -> Result:
    """The released table, rows of one party after those of the other."""
    tuples = [row for half in halves for row in half.tuples]
    gone = (SUPPRESSED,) * len(study.quasi)
    shown = list(zip(*(gone if row is None else row for row in tuples), strict=True))
    cells = {column.name: list(own) for column, own in zip(study.quasi, shown, strict=True)}
    cells |= {column.name: [cell for half in halves for cell in half.cells[column.name]] for column in carried(study)}
    table = pa.table(
        {column.name: pa.array(cells[column.name], pa.string()).dictionary_encode() for column in study.released}
    )
    klass = np.array([classes.number[row] for row in tuples], dtype=np.int64)
    return Result(table, replace(classes.figures(study), l_reached=_diversity(study, klass, cells)))


def _diversity(study: Study, klass: Longs, cells: dict[str, list[str]]) -> float | None:
    """The smallest l of a class and a sensitive column: `suppress` enforces none, but says what came about."""
    reached = math.inf
    for column in study.sensitive:
        code = {text: place for place, text in enumerate(dict.fromkeys(cells[column.name]))}
        counts = np.zeros((int(klass.max()) + 1, len(code)), dtype=np.int64)
        np.add.at(counts, (klass, np.array([code[text] for text in cells[column.name]], dtype=np.int64)), 1)
        present = counts[counts.sum(axis=1) > 0]
        reached = min(reached, *(diversity_of(row, study.privacy.diversity) for row in present))
    return reached if study.sensitive else None
