"""A trusted party's release: the peeling of `peel` for rows, on the joined table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import Unmet
from covey.protocols.peel_columns.parameters import Parameters
from covey.protocols.protocol import Result
from covey.protocols.shared.columns import meeting, release
from covey.protocols.shared.peeling.classes import Admits
from covey.protocols.shared.peeling.ideal import peel_all
from covey.study import Study
from covey.table import Table


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """The trusted party's release. Raises Unmet as the holders would."""
    params, common = Parameters.of(study), meeting.common_rows(study, tables)
    rows = next(iter(common.values())).rows
    if rows < params.k:
        raise Unmet(f"the holders have {rows:,} records in common, fewer than k = {params.k}; nothing can be released")
    codes = np.zeros((len(study.quasi), rows), dtype=np.int32)
    for name, table in common.items():
        codes[params.own_places(name)] = table.codes
    trees = tuple(column.tree() for column in study.quasi)
    values = [
        values.codes.astype(np.int64)
        for table in common.values()
        for values in table.carried
        if values.column.name in params.watched
    ]

    admits = admission(params, values)
    published, klass = peel_all(
        study, trees, codes, admits, nodes=params.nodes, merge=params.merge, pairs=params.pairs, refine=params.refine
    )
    published.figures(study, trees, rows)  # raises Unmet where nothing is published, or too much is suppressed
    out = np.flatnonzero(klass >= 0)
    nodes = {
        name: np.ascontiguousarray(published.boxes[klass[out]][:, params.own_places(name)].T) for name in params.holders
    }
    kept = {name: table.select(out) for name, table in common.items()}
    return release.ideal_result(study, kept, nodes, withheld=rows - len(out))


def admission(params: Parameters, values: Sequence[Longs]) -> Admits:
    """Admits groups of k people that keep l in these sensitive columns."""

    def admits(people: Longs, place: Longs, size: Longs) -> Bits:
        leaves = size >= params.k
        for column in values:
            if params.rule is not None:
                leaves &= params.rule.kept(place, column[people], len(size))
        return leaves

    return admits
