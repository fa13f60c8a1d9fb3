"""The released rows: their classes, and the exact values of different holders paired anew within each class."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import numpy as np

from covey.arrays import Ints, Longs
from covey.crypto.rng import Rng
from covey.crypto.secret import Secret
from covey.errors import Aborted
from covey.protocols.protocol import Result
from covey.protocols.shared import publish
from covey.protocols.shared.columns.ownership import exact_columns, exact_holders, holders, quasi_columns
from covey.study import Study
from covey.table import Table, group

Cells: TypeAlias = tuple[str, ...]
"""A row's exact values of one holder, in the study's order of its columns."""
Lane: TypeAlias = tuple[Ints, Sequence[Cells]]
"""The rows of one join: nodes in the study's quasi columns, and the exact cells of one holder."""


@dataclass(frozen=True)
class ReleasedRows:
    """The released rows: each one's class, each class's nodes in the study's quasi columns, and the exact cells."""

    klass: Longs
    nodes: Ints  # classes x quasi columns, nodes of each column's own tree
    cells: dict[str, list[str]]

    @property
    def sizes(self) -> Longs:
        return np.bincount(self.klass, minlength=len(self.nodes)).astype(np.int64)


def pairing(study: Study) -> str:
    """The ledger's words on exact values of different holders; empty where at most one holder has any."""
    names = exact_holders(study)
    if len(names) < 2:
        return ""
    return f"; the exact values of {', '.join(names)} are permuted within each class, so that no row shows two together"


def paired(lanes: Sequence[tuple[Longs, Sequence[Cells]]]) -> tuple[Longs, list[list[Cells]]]:
    """The class of each released row, and for each holder of exact values its cells, row by row.

    A lane has the classes and cells of one holder's rows. Within a class each holder's rows stand in an order drawn
    from a hash of all that is published: the same for everyone, and independent of who belongs together. With one
    lane nothing is drawn.
    """
    ordered = []
    for classes, cells in lanes:
        order = sorted(range(len(cells)), key=lambda row: (int(classes[row]), cells[row]))
        ordered.append((classes[order], [cells[row] for row in order]))
    if len(lanes) < 2:
        return ordered[0][0], [ordered[0][1]]
    content = hashlib.sha256()
    for classes, cells in ordered:
        content.update(classes.astype("<i8").tobytes() + msgspec.msgpack.encode(cells))
    draws = Rng(Secret(content.digest()))
    shuffled = []
    for lane, (classes, cells) in enumerate(ordered):
        anew = np.lexsort((draws.stream("pairing", lane).words(len(cells)), classes))
        shuffled.append([cells[row] for row in anew.tolist()])
    return ordered[0][0], shuffled


def released_rows(study: Study, lanes: Sequence[Lane]) -> ReleasedRows:
    """The released rows from all joins; rows with equal nodes are one class.

    Raises Aborted where the joins do not have the same classes.
    """
    numbered = [group([*nodes.T], len(nodes)) for nodes, _ in lanes]
    shown = [nodes[first] for (nodes, _), (_, first) in zip(lanes, numbered, strict=True)]
    sizes = [np.bincount(number) for number, _ in numbered]
    for other, size in zip(shown[1:], sizes[1:], strict=True):
        if not np.array_equal(other, shown[0]) or not np.array_equal(size, sizes[0]):
            raise Aborted(
                "the joins of the exact columns do not have the same classes: a party did not keep to the protocol",
                resumable=False,
            )
    klass, parts = paired([(number, cells) for (number, _), (_, cells) in zip(numbered, lanes, strict=True)])
    cells: dict[str, list[str]] = {}
    for holder, rows in zip(exact_holders(study), parts, strict=False):
        for place, column in enumerate(exact_columns(study, holder)):
            cells[column.name] = [row[place] for row in rows]
    return ReleasedRows(klass, shown[0], cells)


def result(study: Study, rows: ReleasedRows, *, withheld: int = 0, approved: int | None = None) -> Result:
    """The release and its figures; `approved` is the number of rows that everyone approved, where that was known.

    Raises Aborted for another number of rows, and where a class has fewer than k. Raises Unmet where more records are
    suppressed than the study allows. Then nothing is published.
    """
    trees, sizes, k = [column.tree() for column in study.quasi], rows.sizes, study.privacy.k
    if approved is not None and len(rows.klass) != approved:
        raise Aborted("the release has another number of rows than was approved", resumable=False)
    if sizes.min(initial=k) < k:
        raise Aborted(f"a class has fewer than k = {k} rows: a party did not keep to the protocol", resumable=False)
    known = publish.figures(study, trees, rows.nodes, sizes, withheld=withheld)
    return publish.result(study, trees, rows.nodes, rows.klass, rows.cells, known)


def ideal_result(study: Study, tables: Mapping[str, Table], nodes: Mapping[str, Ints], *, withheld: int = 0) -> Result:
    """The release of these rows: `nodes` (columns x rows) and tables by holder, rows in the same order."""
    rows = next(iter(tables.values())).rows
    joint = np.zeros((rows, len(study.quasi)), dtype=np.int32)
    place = {column.name: position for position, column in enumerate(study.quasi)}
    for name in holders(study):
        for own, column in enumerate(quasi_columns(study, name)):
            joint[:, place[column.name]] = nodes[name][own]
    empty: list[Cells] = [()] * rows
    lanes = [(joint, _exact_cells(tables[name])) for name in exact_holders(study)] or [(joint, empty)]
    return result(study, released_rows(study, lanes), withheld=withheld)


def _exact_cells(table: Table) -> list[Cells]:
    """Each row's exact values."""
    columns = [[values.labels[code] for code in values.codes.tolist()] for values in table.carried]
    return list(zip(*columns, strict=True)) if columns else [()] * table.rows
