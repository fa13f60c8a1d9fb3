"""Columns of the same people at different parties: finding the common records, and joining the rows at the end.

Meeting   `meet`: the holders align their keys. Each learns which of its own ids all of them have, and keeps those
          rows, in an order that is the same for everyone. With `mismatch = "abort"` a record that one holder lacks
          ends the run.
Release   `join_rows`: each holder brings the generalized nodes of its quasi columns and its exact values (sensitive
          and plain columns), row by row. A join on blinded keys puts them side by side and shows ids to nobody.
Exact     whoever knows an exact value recognises the row that shows it. So no row shows exact values of two holders
          as they belong together: there is one join for each holder of exact columns, under keys of its own, with
          that holder's exact values and everyone's nodes. The joins' exact values are paired anew within each class,
          by a draw that follows from the published values alone (`paired`), so the pairing cannot tell who belongs
          together. Values of one holder stay together.
Not       nobody knows whether a class has k rows until the rows are open: the caller must find classes that have.
"""

from __future__ import annotations

from covey.protocols.shared.columns.joining import LEAKAGE, fits, join_rows, packed, read_part, read_rows
from covey.protocols.shared.columns.meeting import MEETING, Common, Met, hear_common, keys_of, meet, meeting_leakage
from covey.protocols.shared.columns.ownership import (
    exact_columns,
    exact_holders,
    holders,
    quasi_columns,
)
from covey.protocols.shared.columns.release import (
    Cells,
    ReleasedRows,
    common_rows,
    ideal_result,
    paired,
    pairing,
    released_rows,
    result,
)

__all__ = [
    "LEAKAGE",
    "MEETING",
    "Cells",
    "Common",
    "Met",
    "ReleasedRows",
    "common_rows",
    "exact_columns",
    "exact_holders",
    "fits",
    "hear_common",
    "holders",
    "ideal_result",
    "join_rows",
    "keys_of",
    "meet",
    "meeting_leakage",
    "packed",
    "paired",
    "pairing",
    "quasi_columns",
    "read_part",
    "read_rows",
    "released_rows",
    "result",
]
