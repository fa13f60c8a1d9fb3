"""The parameters of `peel` with columns split: its options, and a refusal of the studies that it cannot run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from covey.anonymizers.constraints import SLACK
from covey.arrays import Bits, Longs
from covey.errors import InputError
from covey.option import Choice, Whole
from covey.protocols.shared.closeness import WITHHOLDS
from covey.protocols.shared.columns import ownership
from covey.protocols.shared.diversity import fraction
from covey.protocols.shared.domains import NOBODY_IN_COMMON, require_listed
from covey.protocols.shared.peeling.narrowing import REFINE
from covey.protocols.shared.peeling.nodes import NODES, PAIRS, looks_at_pairs
from covey.study import Study
from covey.study.ratio import exactly
from covey.study.requirements import Requirements


@dataclass(frozen=True)
class Rule:
    """The l that every class keeps in each sensitive column."""

    kind: str
    bound: Fraction

    @classmethod
    def of(cls, study: Study) -> Rule | None:
        """The rule of a study; None where it asks for no l."""
        wanted, kind = study.privacy.l, study.privacy.diversity
        if wanted is None:
            return None
        if kind == "entropy":
            return cls(kind, exactly(wanted))
        return cls(kind, fraction(wanted) if kind == "frequency" else Fraction(math.ceil(wanted - SLACK)))

    def kept(self, group: Longs, value: Longs, groups: int) -> Bits:
        """The groups that keep it: `group` is each record's, and equal numbers in `value` are equal values."""
        pairs, counts = np.unique(np.stack([group, value]), axis=1, return_counts=True)
        if self.kind == "distinct":
            return np.asarray(np.bincount(pairs[0], minlength=groups) >= self.bound.numerator)
        size = np.bincount(group, minlength=groups)
        if self.kind == "entropy":
            share = counts / size[pairs[0]]
            entropy = -np.bincount(pairs[0], weights=share * np.log(share), minlength=groups)
            return np.asarray(np.exp(entropy) >= float(self.bound) - SLACK)
        most = np.zeros(groups, dtype=np.int64)
        np.maximum.at(most, pairs[0], counts)
        return np.asarray(most * self.bound.numerator <= size * self.bound.denominator)


WINDOW = Whole(
    "window",
    1,
    "generalizations that are visited at once (default 1; more take fewer exchanges, and the ledger grows)",
    1,
    1000,
)
LEFTOVER = Choice(
    "leftover",
    "withhold",
    '"withhold" (default): people who are left over, fewer than k, are not released; "merge": each joins the class in '
    "which it costs least, which the evaluator finds among unnamed prices",
    ("withhold", "merge"),
)
REQUIREMENTS = Requirements(
    partition="vertical",
    empty=NOBODY_IN_COMMON,
    holders=(2, None),
    roles=("evaluator", "recipient"),
    needs=("evaluator",),
    otherwise='without one, take protocol = "cluster" or "generalize"',
    unable={"t": WITHHOLDS},
    withholds=True,
    options=(WINDOW, NODES, PAIRS, LEFTOVER, REFINE),
)


@dataclass(frozen=True)
class Parameters:
    """The parameters of a run, the same for everyone."""

    study: Study
    holders: tuple[str, ...]
    """Sorted; the first leads: it tells the evaluator what is due."""
    evaluator: str
    recipient: str | None
    window: int
    nodes: int
    pairs: bool
    """True if holders look which pairs of values k or more people share, before the list is made."""
    merge: bool
    refine: bool
    """True if the classes' labels are narrowed after the last visit."""
    rule: Rule | None
    """The diversity that every class keeps, where the study asks for l."""

    @classmethod
    def of(cls, study: Study) -> Parameters:
        """The parameters of a study. Raises InputError, with what to change, if it cannot be run."""
        require_listed(study)
        [evaluator] = [party.name for party in study.parties if party.role == "evaluator"]
        recipients = [party.name for party in study.parties if party.role == "recipient"]
        if len(recipients) > 1:
            raise InputError('[parties] more than one has role = "recipient"; name one, who passes the release on')
        rule = Rule.of(study)
        window, merge = WINDOW.of(study.options), LEFTOVER.of(study.options) == "merge"
        if rule is not None and window > 1:
            raise InputError(
                "[protocol] window: with l, generalizations are visited one at a time, since who leaves can make a "
                "group diverse or undo it; leave out window, or l"
            )
        if rule is not None and merge:
            raise InputError('[protocol] leftover = "merge" could undo a class\'s l; use "withhold", or leave l out')
        return cls(
            study=study,
            holders=ownership.holders(study),
            evaluator=evaluator,
            recipient=recipients[0] if recipients else None,
            window=window,
            nodes=NODES.of(study.options),
            pairs=PAIRS.of(study.options),
            merge=merge,
            refine=REFINE.of(study.options),
            rule=rule,
        )

    @property
    def k(self) -> int:
        return self.study.privacy.k

    @property
    def leader(self) -> str:
        return self.holders[0]

    @property
    def watched(self) -> tuple[str, ...]:
        """The sensitive columns, where the study asks for l."""
        return () if self.rule is None else tuple(column.name for column in self.study.sensitive)

    @property
    def receivers(self) -> tuple[str, ...]:
        """The parties that get the release."""
        return self.holders if self.recipient is None else (self.recipient,)

    def looks_at_pairs(self, people: int) -> bool:
        """True if the list for so many people needs to know which pairs of values they share."""
        return looks_at_pairs(self.study, [column.tree() for column in self.study.quasi], people)

    def speaker(self, turn: int) -> str:
        """The holder that sends the points: each in turn, so that all send about as much."""
        return self.holders[turn % len(self.holders)]

    def own_places(self, holder: str) -> list[int]:
        """The places of a holder's columns among the study's quasi columns."""
        place = {column.name: position for position, column in enumerate(self.study.quasi)}
        return [place[column.name] for column in ownership.quasi_columns(self.study, holder)]
