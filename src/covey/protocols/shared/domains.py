"""Conditions on the columns that several protocols need before parties can compute over them jointly."""

from __future__ import annotations

from covey.errors import InputError
from covey.study import Study

NOBODY_IN_COMMON = "a release of joined columns has the people whom all parties have: with none of yours there are none"
"""Why a party of a vertical study must have rows."""


def require_listed(study: Study) -> None:
    """Raises InputError for a domain that the study does not list: parties agree on listed domains alone."""
    if not study.quasi:
        raise InputError("no column has the role quasi: there is nothing to generalize")
    for column in study.quasi:
        if not column.closed:
            raise InputError(
                f"column {column.name!r}: protocol {study.protocol!r} needs a hierarchy that lists the whole domain; "
                "give it a file, its `values`, or min, max and steps"
            )


def require_weight(study: Study) -> None:
    """Raises InputError where no quasi column matters."""
    if not any(column.weight for column in study.quasi):
        raise InputError("every quasi column has weight = 0: give one that matters a weight above 0")


def require_countable(study: Study) -> None:
    """Raises InputError for an l that trustees or a collector cannot count unseen."""
    if study.privacy.l is None:
        return
    if study.privacy.diversity == "entropy":
        raise InputError(
            "protocol 'collect' keeps l by frequency or by distinct values; diversity = 'entropy' is not part of it"
        )
    for column in study.sensitive:
        if column.values is None:
            raise InputError(f"column {column.name!r}: l needs its values listed, so that they can be counted unseen")
