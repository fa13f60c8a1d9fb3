"""The parameters of `generalize`: the study's options, the parties' roles, and the studies that it cannot run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from covey.anonymizers import ALGORITHMS
from covey.anonymizers.datafly import Ties
from covey.errors import InputError
from covey.option import Choice
from covey.protocols.shared.domains import NOBODY_IN_COMMON, require_listed, require_weight
from covey.study import Study
from covey.study.requirements import Requirements

Mode = Literal["matrix", "one-sided", "threshold"]
Variant = Literal["paper", "datafly", "finished-cells"]

MOST_ENCRYPTED = 100_000
"""The largest product of people and groups with which `auto` hides the counts of a round."""

LEAKAGE = Choice(
    "leakage",
    "auto",
    '"auto" (default): threshold while people times the smaller number of groups is at most 10^5, else one-sided; '
    '"threshold": both learn whether all pairs of groups are large enough, and nothing else; "one-sided": the first '
    'party alone learns how many people each pair of groups shares; "matrix": both do, as in the paper',
    ("auto", "matrix", "one-sided", "threshold"),
)
LOCAL = Choice(
    "local",
    "datafly",
    f"how each party makes its own columns k-anonymous first (default datafly): {', '.join(ALGORITHMS)}",
    tuple(ALGORITHMS),
)
VARIANT = Choice(
    "variant",
    "paper",
    '"paper" (default): both parties generalize after a round that does not fit; "datafly": only the one with the most '
    'distinct column; "finished-cells": classes that are done leave, the rest goes on. The ledger grows',
    ("paper", "datafly", "finished-cells"),
)
OUTLIERS = Choice(
    "outliers",
    "generalize",
    '"generalize" (default): Datafly lifts a party\'s columns until all of its people are alike to k; "suppress": it '
    "stops once at most k of them are not (the paper's steps 6 and 7), and puts these at the roots of its columns",
    ("generalize", "suppress"),
)
TIES = Choice(
    "ties",
    "first",
    'which of two columns with equally many distinct values is generalized: "first" (default) or "last"',
    ("first", "last"),
)
REQUIREMENTS = Requirements(
    partition="vertical",
    empty=NOBODY_IN_COMMON,
    holders=(2, 2),
    roles=("recipient",),
    privacy=("k",),
    options=(LEAKAGE, LOCAL, OUTLIERS, VARIANT, TIES),
)


@dataclass(frozen=True)
class Parameters:
    """The parameters of a run."""

    k: int
    leakage: Literal["auto"] | Mode
    local: str
    outliers: str
    variant: Variant
    ties: Ties
    observer: str
    """The first party with columns that the study names: it alone sees the counts in one-sided mode."""
    partner: str
    recipient: str | None
    cap: int
    """Rounds that no run exceeds: one more than all columns have levels to rise."""

    @classmethod
    def of(cls, study: Study) -> Parameters:
        """A study's parameters. Raises InputError, with what to change, for a study that `generalize` cannot run."""
        variant = cast("Variant", VARIANT.of(study.options))
        leakage = cast("Mode", LEAKAGE.of(study.options))
        if variant == "finished-cells":
            if leakage not in ("auto", "matrix"):
                raise InputError(
                    f'[protocol] variant = "finished-cells" shows both parties the counts of every round; leakage = '
                    f'"{leakage}" cannot be kept with it: leave leakage out, or take another variant'
                )
            leakage = "matrix"
        if OUTLIERS.of(study.options) == "suppress" and LOCAL.of(study.options) != "datafly":
            raise InputError(
                '[protocol] outliers = "suppress" are two steps of Datafly; with local = '
                f'"{LOCAL.of(study.options)}" leave it out'
            )
        require_listed(study)
        require_weight(study)
        observer, partner = (party.name for party in study.holders)
        recipients = [party.name for party in study.parties if party.role == "recipient"]
        if len(recipients) > 1:
            raise InputError(f"one party may be the recipient; here are {', '.join(recipients)}")
        heights = [column.tree().height for column in study.quasi]
        return cls(
            k=study.privacy.k,
            leakage=leakage,
            local=LOCAL.of(study.options),
            outliers=OUTLIERS.of(study.options),
            variant=variant,
            ties=cast("Ties", TIES.of(study.options)),
            observer=observer,
            partner=partner,
            recipient=recipients[0] if recipients else None,
            cap=1 + sum(heights),
        )

    @property
    def owners(self) -> tuple[str, str]:
        """The two parties with columns, as the study names them."""
        return self.observer, self.partner

    def mode_of(self, people: int, groups: tuple[int, int]) -> Mode | None:
        """The comparison of a round, by what both parties know; None where one group makes it needless."""
        if min(groups) == 1 and self.variant != "finished-cells":
            return None
        if self.leakage != "auto":
            return self.leakage
        return "threshold" if people * min(groups) <= MOST_ENCRYPTED else "one-sided"


def role_name(study: Study, party: str) -> str:
    """The name of a party's role."""
    holders = [each.name for each in study.holders]
    return "recipient" if party not in holders else "observer" if party == holders[0] else "partner"


def receives(study: Study, party: str) -> bool:
    """The recipient gets the release if there is one, else both owners."""
    alone = any(each.role == "recipient" for each in study.parties)
    return not alone or role_name(study, party) == "recipient"
