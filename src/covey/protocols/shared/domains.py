"""Conditions on the columns that several protocols need before parties can compute over them jointly."""

from __future__ import annotations

from covey.errors import InputError
from covey.hierarchy import Interval
from covey.schema import Column
from covey.study import Study

NOBODY_IN_COMMON = "a release of joined columns has the people whom all parties have: with none of yours there are none"
"""Why a party of a vertical study must have rows."""


def require_listed(study: Study, *, intervals: bool = False) -> None:
    """Raises InputError for a domain that the study does not list: parties agree on listed domains alone.

    With `intervals`, a column published as intervals need not be listed, but needs a public range.
    """
    if not study.quasi:
        raise InputError("no column has the role quasi: there is nothing to generalize")
    for column in study.quasi:
        if intervals and isinstance(column.hierarchy, Interval):
            require_range(column)
        elif not column.closed:
            raise InputError(
                f"column {column.name!r}: protocol {study.protocol!r} needs a hierarchy that lists the whole domain; "
                "give it a file, its `values`, or min, max and steps"
            )


def require_range(column: Column) -> None:
    """Raises InputError for an interval column on whose range the parties have not agreed."""
    if isinstance(column.hierarchy, Interval) and (column.hierarchy.low is None or column.missing == "value"):
        raise InputError(
            f"column {column.name!r}: intervals need a public range here (range = [17, 90]), and "
            'missing = "drop" or "error"'
        )


def require_weight(study: Study) -> None:
    """Raises InputError where no quasi column matters."""
    if not any(column.weight for column in study.quasi):
        raise InputError("every quasi column has weight = 0: give one that matters a weight above 0")


def require_countable(study: Study) -> None:
    """Raises InputError for an l that trustees or a collector cannot count unseen."""
    if study.privacy.l is None:
        return
    for column in study.sensitive:
        if column.values is None:
            raise InputError(f"column {column.name!r}: l needs its values listed, so that they can be counted unseen")
