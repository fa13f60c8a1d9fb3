"""Lattice peeling, whoever holds the table: the list of generalizations, the peeling itself, and its classes.

Everything here is pure: it computes from what is public, or, in a trusted party's hands, from all records.
"""

from __future__ import annotations

REPEATED = (
    "another release of nearly the same records shows what differs between the two, down to one record: agree on how "
    "many releases of this table there may be, and count them"
)
