"""The release and its figures, from the classes' labels and numbers: the same for the recipient and a trusted party."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from covey import measures
from covey.arrays import Floats, Longs
from covey.errors import Aborted, InputError
from covey.hierarchy import Hierarchy, Interval
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.protocol import Figures, Result
from covey.protocols.shared import publish
from covey.schema import Column

Boxes = Sequence[tuple[str, ...]]


def cost_of(column: Column, label: str) -> float | None:
    """The loss of a label, from 0 to 1; None if the column has no such label."""
    if isinstance(column.hierarchy, Interval):
        return column.hierarchy.share(label) if column.hierarchy.on_steps(label) else None
    if not isinstance(column.hierarchy, Hierarchy):
        raise InputError(f"column {column.name!r} has no listed domain")
    tree = column.tree()
    node = tree.node(label)
    return None if node is None else float(measures.lm(tree)[node])


def costs(columns: Sequence[Column], boxes: Boxes) -> list[Floats]:
    """The loss of each class in each column. Raises InputError for a label that is none of the column's."""
    found = []
    for place, column in enumerate(columns):
        known = {label: cost_of(column, label) for label in {box[place] for box in boxes}}
        if None in known.values():
            raise InputError(f"a label of column {column.name!r} that its hierarchy does not have")
        found.append(np.array([known[box[place]] for box in boxes], dtype=np.float64))
    return found


def result(params: Parameters, by_provider: Sequence[Boxes], numbers: Longs) -> Result:
    """The release of classes with each provider's labels and so many records of each combination of exact values.

    Raises Aborted where a class has fewer than k records, or all have more than there are people: then a party did not
    keep to the protocol.
    """
    sizes, people = numbers.sum(axis=1), len(params.population)
    possible = numbers.min(initial=0) >= 0 and numbers.max(initial=0) <= people and sizes.sum() <= people
    if not possible or (sizes < params.k).any():
        wrong = "a class has fewer than k records, or all have more than there are people"
        raise Aborted(f"{wrong}: a provider did not keep to the protocol", resumable=False)
    columns = [column for provider in params.providers for column in params.columns(provider)]
    boxes = [tuple(label for own in parts for label in own) for parts in zip(*by_provider, strict=True)]
    lost = costs(columns, boxes)
    place = {box: number for number, box in enumerate(sorted(set(boxes)))}
    klass = np.array([place[box] for box in boxes])
    totals = np.zeros((len(place), params.width), dtype=np.int64)
    np.add.at(totals, klass, numbers)
    rows, class_sizes = int(sizes.sum()), totals.sum(axis=1)
    lm = sum(float(own @ sizes) for own in lost) / (rows * len(columns))
    figures = Figures(
        rows=rows,
        classes=len(place),
        k_reached=int(class_sizes.min()),
        l_reached=publish.least_diversity(params.study, _histograms(params, totals)),
        suppressed_cells=_at_root(columns, lost, sizes),
        loss=publish.losses(params.study, lm, class_sizes),
    )
    return Result(_table(params, [column.name for column in columns], sorted(place), totals), figures)


def _at_root(columns: Sequence[Column], lost: Sequence[Floats], sizes: Longs) -> int:
    """The cells that are at the root of a tree."""
    pairs = zip(columns, lost, strict=True)
    return int(sum(sizes[own == 1].sum() for column, own in pairs if isinstance(column.hierarchy, Hierarchy)))


def _table(params: Parameters, names: Sequence[str], boxes: Boxes, totals: Longs) -> pa.Table:
    number, value = np.divmod(np.repeat(np.arange(totals.size), totals.ravel()), params.width)
    shown = {name: pa.array([boxes[row][place] for row in number.tolist()]) for place, name in enumerate(names)}
    cells: dict[str, list[str]] = {}
    for name, values in reversed(params.domains.items()):
        value, code = np.divmod(value, len(values))
        cells[name] = [values[each] for each in code.tolist()]
    return publish.table(params.study, shown, cells)


def _histograms(params: Parameters, totals: Longs) -> Iterator[Longs]:
    """The numbers of records per value (classes x values) of each sensitive column."""
    shape = tuple(map(len, params.domains.values()))
    for axis, name in enumerate(params.domains):
        if params.study.column(name) in params.study.sensitive:
            # totals counts combinations of values: the sum over all other columns' axes is this column's histogram
            others = tuple(other + 1 for other in range(len(shape)) if other != axis)
            yield totals.reshape(-1, *shape).sum(axis=others)
