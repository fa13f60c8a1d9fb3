"""A trusted party's release: its random numbers all have their mean, so positions are in proportion to cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from covey.arrays import Longs
from covey.protocols.as_printed.collect.diversity import is_diverse
from covey.protocols.as_printed.collect.line import boxes, cut_line, merge
from covey.protocols.as_printed.collect.parameters import Parameters, on_trees, trees_of
from covey.protocols.protocol import Result
from covey.protocols.shared.peeling.classes import PublishedClasses
from covey.protocols.shared.rows import Rows, carried, domain
from covey.study import Study
from covey.table import Table


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """The trusted party's release."""
    parameters = Parameters.of(study)
    pooled = [on_trees(study, tables[name]) for name in sorted(tables)]
    codes = np.concatenate([table.codes for table in pooled], axis=1)
    return release(study, pooled, parameters.grid.rank(codes))


def release(study: Study, pooled: Sequence[Table], positions: Longs) -> Result:
    """The release that follows from these positions; respondents stand in the order of `pooled`, a row each or more."""
    parameters, trees = Parameters.of(study), trees_of(study)
    codes = np.concatenate([table.codes for table in pooled], axis=1)
    cells = {column.name: _cells(pooled, column.name) for column in carried(study)}
    order = np.argsort(positions, kind="stable")
    group = classes(parameters, positions[order], [cells[column.name] for column in parameters.watched], order)
    nodes = boxes(trees, codes[:, order], group)
    published = PublishedClasses.of(len(trees), list(nodes), np.bincount(group).tolist())
    known = published.figures(study, trees, len(order))
    sorted_cells = {name: [own[row] for row in order.tolist()] for name, own in cells.items()}
    return published.result(study, trees, known, Rows(published.number[group], sorted_cells))


def classes(parameters: Parameters, places: Longs, watched: Sequence[Sequence[str]], order: Longs) -> Longs:
    """The classes of a sorted line, merged until they are diverse."""
    group = cut_line(places, parameters.class_size(len(places)), parameters.cut)
    untested = set(range(int(group.max()) + 1))
    while parameters.watched and untested:
        failed = [own for own in sorted(untested) if not _diverse(parameters, watched, order[group == own])]
        if not failed:
            break
        before = group
        group = merge(places, group, failed)
        untested = {own for own in range(int(group.max()) + 1) if len(set(before[group == own].tolist())) > 1}
    return group


def _diverse(parameters: Parameters, watched: Sequence[Sequence[str]], members: Longs) -> bool:
    for column, cells in zip(parameters.watched, watched, strict=True):
        own = [cells[row] for row in members.tolist()]
        if not is_diverse(parameters, [own.count(value) for value in domain(column)]):
            return False
    return True


def _cells(pooled: Sequence[Table], name: str) -> list[str]:
    return [table.values(name).labels[code] for table in pooled for code in table.values(name).codes.tolist()]
