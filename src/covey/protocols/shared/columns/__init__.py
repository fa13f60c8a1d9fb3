"""Columns of the same people at different parties: the common records are found, and the rows put together at the end.

Meeting   `meet`: the holders align their keys; each learns which of its own ids all of them have, and keeps those
          rows, in an order that is the same for everyone. With `mismatch = "abort"` a record that one holder lacks
          ends the run.
Release   `join_rows`: each holder brings the generalized nodes of its quasi columns and its exact values (sensitive
          and plain columns), row by row; a join on blinded keys puts them side by side and shows ids to nobody.
Exact     a row that shows an exact value is recognised by the one who knows that value. So exact values of different
          holders never meet in one row as they belong together: there is one join for each holder of exact columns,
          under keys of its own, with its exact values and everyone's nodes. What the joins give is paired anew within
          each class, by a draw that follows from the published values alone (`paired`), so that the pairing cannot
          tell who belongs together. Values of one holder stay together.
Not       whether a class has k rows is known only once the rows are open: the caller finds classes that have.
"""

from __future__ import annotations

from covey.arrays import Ints, Longs
from covey.protocols.shared.columns.joining import (
    LEAKAGE,
    LEAKAGE_TO_RECIPIENT,
    fits,
    join_rows,
    packed,
    read_part,
    read_rows,
)
from covey.protocols.shared.columns.meeting import (
    MEETING,
    MET,
    Common,
    Complete,
    Met,
    keys_of,
    meet,
    meeting_numbers,
    meeting_of,
)
from covey.protocols.shared.columns.ownership import (
    exact_columns,
    exact_holders,
    holders,
    quasi_columns,
    require_listed,
)
from covey.protocols.shared.columns.release import Cells, Opened, diversity, figures, opened, paired, pairing
from covey.protocols.shared.columns.trusted import (
    common_rows,
    exact_cells,
    lanes_of,
)

__all__ = [
    "LEAKAGE",
    "LEAKAGE_TO_RECIPIENT",
    "MEETING",
    "MET",
    "Cells",
    "Common",
    "Complete",
    "Ints",
    "Longs",
    "Met",
    "Opened",
    "common_rows",
    "diversity",
    "exact_cells",
    "exact_columns",
    "exact_holders",
    "figures",
    "fits",
    "holders",
    "join_rows",
    "keys_of",
    "lanes_of",
    "meet",
    "meeting_numbers",
    "meeting_of",
    "opened",
    "packed",
    "paired",
    "pairing",
    "quasi_columns",
    "read_part",
    "read_rows",
    "require_listed",
]
