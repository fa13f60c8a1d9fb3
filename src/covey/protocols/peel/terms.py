"""The terms of a run: what follows from the study alone, read once, and refused here where the rule cannot keep it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.anonymizers.constraints import SLACK
from covey.arrays import Longs
from covey.crypto.secret import Secret
from covey.errors import InputError
from covey.hierarchy import Hierarchy
from covey.mpc import width_of
from covey.protocols.peel.agenda import Agenda
from covey.protocols.peel.coding import Coding
from covey.protocols.peel.conditions import Conditions, Test
from covey.protocols.peel.costs import Lattice
from covey.protocols.peel.runs import Bound, at_most, others
from covey.protocols.shared.diversity import fraction, part_as_l
from covey.protocols.shared.domains import require_listed
from covey.protocols.shared.peeling.marginals import study_seed
from covey.schema import Column
from covey.study import Study
from covey.study.insiders import asked
from covey.study.ratio import exactly

REFUSED = {
    "t": "ask for l, which bounds what a class tells of a value",
    "site_l": 'take protocol = "cluster" as printed',
    "c": "ask for l by frequency",
}
"""Keys of [privacy] that the rule does not keep, and what to do instead."""


@dataclass(frozen=True)
class Terms:
    """The coding of records, what a class keeps, and what the agenda starts from."""

    study: Study
    trees: tuple[Hierarchy, ...]
    coding: Coding
    watched: tuple[Column, ...]
    """The sensitive columns of which l or l_insider is asked."""
    conditions: Conditions
    lattice: Lattice
    seed: Secret

    @classmethod
    def of(cls, study: Study) -> Terms:
        """Returns the terms of a study. Raises InputError, with what to change, where the rule cannot keep it."""
        require_listed(study)
        watched = _watched(study)
        trees = tuple(column.tree() for column in study.quasi)
        weights = tuple(exactly(column.weight) for column in study.quasi)
        alike = tuple(np.ones(tree.codes, np.int64) for tree in trees)
        return cls(
            study,
            trees,
            Coding.of(trees, [column.name for column in study.quasi]),
            watched,
            _conditions(study, watched),
            Lattice(trees, study.measure, weights, alike),
            study_seed(study),
        )

    def agenda(self, records: int, reference: Sequence[Longs] | None = None) -> Agenda:
        """Returns the agenda for so many records; without a reference its frequencies are staged."""
        effort = self.study.effort or "normal"
        return Agenda(self.lattice, self.study.privacy.k, records, effort, self.seed, reference)

    @property
    def width(self) -> int:
        """The bits of such a word."""
        return self.coding.width + self.conditions.width


def _watched(study: Study) -> tuple[Column, ...]:
    """Returns the sensitive columns whose values are compared. Raises InputError for what cannot be kept."""
    privacy = study.privacy
    for key, instead in REFUSED.items():
        if getattr(privacy, key) is not None:
            raise InputError(f"[privacy] {key} is not for a joint study; {instead}")
    if privacy.diversity == "entropy":
        raise InputError(
            'diversity = "entropy" is not for a joint study; take diversity = "frequency" with the same l, which '
            "implies it"
        )
    if privacy.l_insider is not None and privacy.diversity != "frequency":
        raise InputError("l_insider is kept by frequency; leave out diversity, or leave out l_insider")
    if privacy.l is None and privacy.l_insider is None:
        return ()
    for column in study.sensitive:
        if column.values is None:
            raise InputError(f"column {column.name!r}: l needs its values listed, so that they can be compared")
    return study.sensitive


def _conditions(study: Study, watched: Sequence[Column]) -> Conditions:
    """Returns what every class keeps: the attributes are the holder's number and the watched columns."""
    privacy = study.privacy
    holders = len(study.holders) if study.partition == "horizontal" else 1  # of whole records
    insider = asked(privacy) if holders > 1 else 1
    of_holder: list[Bound] = [others(insider)] if insider > 1 else []
    if privacy.most_of_a_class is not None:
        of_holder.append(at_most(part_as_l(privacy.most_of_a_class)))
    tests = [Test(0, of_holder)] if of_holder else []
    for place in range(1, len(watched) + 1):
        if privacy.l is not None and privacy.diversity == "distinct":
            tests.append(Test(place, distinct=math.ceil(privacy.l - SLACK)))
        elif privacy.l is not None:
            tests.append(Test(place, [at_most(fraction(privacy.l))]))
        if privacy.l_insider is not None:
            bound = at_most(fraction(privacy.l_insider))
            tests += [Test(place, [bound], beside=holder) for holder in range(holders)]
    widths = [width_of(holders - 1), *(width_of(len(column.values or ())) for column in watched)]
    by_node = bool(watched) or privacy.most_of_a_class is not None
    return Conditions(max(privacy.k, insider), widths if tests else (), tests, by_node)
