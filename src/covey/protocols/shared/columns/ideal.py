"""A trusted party's answers for columns: the records that it keeps, and the release that it makes of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from covey.arrays import Ints
from covey.protocols.protocol import Result
from covey.protocols.shared.columns.meeting import keys_of, require_all
from covey.protocols.shared.columns.ownership import exact_holders, holders, quasi_columns
from covey.protocols.shared.columns.release import Cells, released_rows, result
from covey.study import Study
from covey.table import Table


def common_rows(study: Study, tables: Mapping[str, Table]) -> dict[str, Table]:
    """The rows of each table whose keys all holders have, in one order.

    Raises Unmet where the study wants all records of all, and one holder lacks some.
    """
    place = {name: {own: row for row, own in enumerate(keys_of(tables[name], name))} for name in holders(study)}
    common = sorted(set.intersection(*map(set, place.values())), key=str.encode)
    if study.mismatch == "abort":
        require_all({name: len(rows) == len(common) for name, rows in place.items()})
    return {
        name: tables[name].select(np.array([rows[own] for own in common], np.int64)) for name, rows in place.items()
    }


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
