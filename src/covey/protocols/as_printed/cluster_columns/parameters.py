"""The parameters that follow from the study alone: roles and the units of prices.

A price is a number of units below `CAP`: a holder's share of it is at most `CAP` over the number of holders. A
forbidden move costs another `CAP`. So a price stays below 2 CAP = 2^23.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from covey.arrays import Longs, Words32
from covey.errors import InputError
from covey.measures import node_costs
from covey.protocols.shared.columns import ownership
from covey.protocols.shared.domains import NOBODY_IN_COMMON, require_listed, require_weight
from covey.study import Study
from covey.study.requirements import AS_PRINTED, Requirements
from covey.table import Table

CAP = 1 << 22
_FINEST = 16

Shares = Words32

REQUIREMENTS = Requirements(partition="vertical", holders=(2, None), options=(AS_PRINTED,), empty=NOBODY_IN_COMMON)


@dataclass(frozen=True)
class Parameters:
    """The parameters of a run, the same for everyone."""

    study: Study
    holders: tuple[str, ...]
    pivot: str
    bits: int
    """A cell that is fully lost, in a column of weight 1, costs 2^bits units."""

    @classmethod
    def of(cls, study: Study) -> Parameters:
        """A study's parameters. The pivot is the holder that keeps l, or else the first that the study names."""
        pivot = keeper(study) or study.holders[0].name
        largest = 4 * study.privacy.k * sum(_dearest(study))
        bits = max(0, min(_FINEST, int(math.log2(CAP / largest))))
        return cls(study, ownership.holders(study), pivot, bits)

    @property
    def k(self) -> int:
        return self.study.privacy.k

    @property
    def share(self) -> int:
        """The most that one holder's part of a price may be."""
        return CAP // len(self.holders)

    def costs(self, table: Table) -> tuple[Longs, ...]:
        """The cost of each node of each own column, in units."""
        weights = _weights(self.study)
        found = []
        for column, tree, codes in zip(table.quasi, table.trees, table.codes, strict=True):
            counts = np.bincount(codes, minlength=tree.codes).astype(np.int64)
            cost = node_costs(tree, self.study.measure, counts) * weights[column.name] * 2**self.bits
            found.append(np.rint(cost).astype(np.int64))
        return tuple(found)


def keeper(study: Study) -> str | None:
    """The holder of the sensitive columns, where l is asked for. Raises InputError where several have some."""
    if study.privacy.l is None:
        return None
    names = {column.name for column in study.sensitive}
    owners = [party.name for party in study.holders if names & set(party.columns or ())]
    if len(owners) > 1:
        raise InputError(
            f"[privacy] l: the sensitive columns are with {' and '.join(map(repr, owners))}; with columns split, "
            "protocol 'cluster' keeps l where one party has all of them"
        )
    return owners[0] if owners else None


def role_name(study: Study, party: str) -> str:
    """The name of a party's role."""
    return "pivot" if party == Parameters.of(study).pivot else "holder"


def require_runnable(study: Study) -> None:
    """Raises InputError, with what to change, for a study that cannot be run."""
    require_listed(study)
    require_weight(study)
    if keeper(study) is not None and study.privacy.diversity != "frequency":
        raise InputError("protocol 'cluster' keeps l by frequency; leave out diversity, or anonymize centrally")


def _weights(study: Study) -> dict[str, float]:
    mean = sum(column.weight for column in study.quasi) / len(study.quasi)
    return {column.name: column.weight / mean for column in study.quasi}


def _dearest(study: Study) -> list[float]:
    """The most that a cell of each column can cost."""
    weights = _weights(study)
    entropy = study.measure in ("em", "em-monotone")
    return [
        weights[column.name] * (math.log2(max(column.tree().codes, 2)) if entropy else 1.0) for column in study.quasi
    ]
