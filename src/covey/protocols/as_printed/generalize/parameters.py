"""The parameters of `generalize`: the study's options, the parties' roles, and the studies that it cannot run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from covey.anonymizers import ALGORITHMS
from covey.errors import InputError
from covey.option import Choice
from covey.protocols.shared.domains import NOBODY_IN_COMMON, require_listed, require_weight
from covey.study import Study
from covey.study.requirements import AS_PRINTED, Requirements

Mode = Literal["matrix", "threshold"]
Variant = Literal["paper", "datafly", "finished-cells"]

COMPARE = Choice(
    "compare",
    "matrix",
    '"matrix" (default): both parties learn how many people each pair of groups shares, as in the paper; "threshold", '
    "ours: they learn whether all pairs of groups are large enough, and nothing else",
    ("matrix", "threshold"),
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
REQUIREMENTS = Requirements(
    partition="vertical",
    empty=NOBODY_IN_COMMON,
    holders=(2, 2),
    roles=("recipient",),
    privacy=("k",),
    options=(AS_PRINTED, LOCAL, VARIANT, COMPARE),
)


@dataclass(frozen=True)
class Parameters:
    """The parameters of a run."""

    k: int
    compare: Mode
    local: str
    variant: Variant
    observer: str
    """The first party with columns that the study names: of two equally distinct columns the partner's is lifted."""
    partner: str
    recipient: str | None
    cap: int
    """Rounds that no run exceeds: one more than all columns have levels to rise."""

    @classmethod
    def of(cls, study: Study) -> Parameters:
        """A study's parameters. Raises InputError, with what to change, for a study that `generalize` cannot run."""
        variant = cast("Variant", VARIANT.of(study.options))
        compare = cast("Mode", COMPARE.of(study.options))
        if variant == "finished-cells" and compare != "matrix":
            raise InputError(
                '[protocol] variant = "finished-cells" shows both parties the counts of every round: leave compare '
                "out, or take another variant"
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
            compare=compare,
            local=LOCAL.of(study.options),
            variant=variant,
            observer=observer,
            partner=partner,
            recipient=recipients[0] if recipients else None,
            cap=1 + sum(heights),
        )

    @property
    def owners(self) -> tuple[str, str]:
        """The two parties with columns, as the study names them."""
        return self.observer, self.partner

    def mode_of(self, groups: tuple[int, int]) -> Mode | None:
        """The comparison of a round, by what both parties know; None where one group makes it needless."""
        return None if min(groups) == 1 and self.variant != "finished-cells" else self.compare


def role_name(study: Study, party: str) -> str:
    """The name of a party's role."""
    holders = [each.name for each in study.holders]
    return "recipient" if party not in holders else "observer" if party == holders[0] else "partner"


def receives(study: Study, party: str) -> bool:
    """The recipient gets the release if there is one, else both owners."""
    alone = any(each.role == "recipient" for each in study.parties)
    return not alone or role_name(study, party) == "recipient"
