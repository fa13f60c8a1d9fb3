"""Places of an interval column's values: evenly by value, zero like any other number."""

from __future__ import annotations

from covey.protocols.as_printed.federate.users import PlacedColumn
from covey.study import Study


def test_zero_stands_between_negative_and_positive_values() -> None:
    study = Study.parse(
        '[study]\nname = "s"\n[privacy]\nk = 2\n[columns.x]\nrole = "quasi"\n'
        'hierarchy = "interval"\nrange = [-10, 10]\nstep = 3\n'
    )
    (column,) = study.quasi
    placed = PlacedColumn.of(column, column.tree(["-10", "-5", "0", "5", "10"]))
    values = dict(zip(placed.tree.labels, placed.place.tolist(), strict=False))
    assert [values[label] for label in ("-10", "-5", "0", "5", "10")] == [0, 0.25, 0.5, 0.75, 1]
