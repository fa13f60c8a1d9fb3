"""The holders of columns, and the columns of each that a release shows generalized or exactly."""

from __future__ import annotations

from covey.schema import Column, Role
from covey.study import Study


def holders(study: Study) -> tuple[str, ...]:
    """The parties with columns of their own, sorted."""
    return tuple(sorted(party.name for party in study.holders))


def exact_columns(study: Study, party: str) -> tuple[Column, ...]:
    """The columns that a party's rows show as they are."""
    return tuple(column for column in study.held_by(party) if column.role in (Role.SENSITIVE, Role.PLAIN))


def quasi_columns(study: Study, party: str) -> tuple[Column, ...]:
    """The columns that a party's rows show generalized."""
    return tuple(column for column in study.held_by(party) if column.role is Role.QUASI)


def exact_holders(study: Study) -> tuple[str, ...]:
    """The parties with exact columns, sorted."""
    return tuple(name for name in holders(study) if exact_columns(study, name))
