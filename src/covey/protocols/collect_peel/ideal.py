"""A trusted party's release: the same list and the same peeling on the pooled answers, in plain lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import Unmet
from covey.protocols.collect_peel.parameters import Parameters, trees_of
from covey.protocols.protocol import Result
from covey.protocols.shared.peeling.classes import Admits, PublishedClasses, peel
from covey.protocols.shared.peeling.marginals import count_leaves
from covey.protocols.shared.peeling.nodes import list_nodes
from covey.protocols.shared.rows import Rows, carried
from covey.study import Study
from covey.table import Table


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """The trusted party's release. Raises Unmet where fewer than k answered."""
    parameters, trees = Parameters.of(study), trees_of(study)
    pooled = [tables[name] for name in sorted(tables)]
    records = sum(table.rows for table in pooled)
    if records < parameters.k:
        raise Unmet(f"fewer than k = {parameters.k} respondents answered; nothing can be released")
    codes = np.concatenate([table.codes for table in pooled], axis=1)
    nodes = list_nodes(study, trees, parameters.marginals(records, count_leaves(trees, codes)), parameters.nodes)
    cells = {
        column.name: [label for table in pooled for label in _texts(table, column.name)] for column in carried(study)
    }
    watched = [np.unique(cells[column.name], return_inverse=True)[1] for column in parameters.watched]

    boxes, sizes, klass = peel(trees, nodes, codes, parameters.k, admission(parameters, watched))
    published = PublishedClasses.of(len(trees), boxes, sizes)
    klass = published.of_records(klass)
    out = np.flatnonzero(klass >= 0)
    kept = {name: [texts[row] for row in out.tolist()] for name, texts in cells.items()}
    return published.result(study, trees, published.figures(study, trees, records), Rows(klass[out], kept))


def admission(parameters: Parameters, watched: Sequence[Longs]) -> Admits:
    """Admits groups of k answers that are diverse in these sensitive columns."""

    def admits(rows: Longs, place: Longs, size: Longs) -> Bits:
        allowed = size >= parameters.k
        for values in watched:
            for group in np.flatnonzero(allowed):
                allowed[group] = parameters.is_diverse(np.bincount(values[rows[place == group]]).tolist())
        return np.asarray(allowed)

    return admits


def _texts(table: Table, column: str) -> list[str]:
    values = table.values(column)
    return [values.labels[code] for code in values.codes.tolist()]
