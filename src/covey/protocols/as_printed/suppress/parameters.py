"""The options and requirements of `suppress`, what a study asks of a run, and who plays which part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from covey.crypto.ibe import name_of
from covey.errors import InputError
from covey.option import Choice, Text
from covey.study import Study
from covey.study.requirements import AS_PRINTED, Requirements

AUTHORITY = "authority"
"""The name of the party that issues identity keys."""

MOST_K = 4096
MOST_ROWS = 2_000_000
"""Rows of a party at most, where the study does not say how many there may be."""

ENCRYPTION = Choice(
    "encryption",
    "waters",
    '"waters": to identities, whose keys an authority issues (default, the paper\'s); "elgamal": with a key of the '
    "session, without an authority, several times cheaper",
    ("waters", "elgamal"),
)
COMPARE = Choice(
    "compare",
    "all",
    '"all" (default, the paper\'s): every list with every tuple, not built yet; "bins", ours: rare tuples alone, by '
    "bins of a hash",
    ("all", "bins"),
)
EPOCH = Text(
    "epoch",
    "1",
    'how long an identity\'s key is good for, as in "2026-11" (default "1"): with the next epoch there is a new key, '
    "and the old one opens nothing any more",
)
REQUIREMENTS = Requirements(
    partition="horizontal",
    holders=(2, 2),
    roles=(AUTHORITY,),
    privacy=("k",),
    options=(AS_PRINTED, ENCRYPTION, EPOCH, COMPARE),
    authority=lambda options: ENCRYPTION.of(options) == "waters",
)


@dataclass(frozen=True)
class Parameters:
    """The parameters of a run."""

    k: int
    holders: tuple[str, ...]
    encryption: str
    epoch: str
    study: str
    domain: int | None
    """The number of tuples that there can be; None where the study does not list every domain."""
    columns: int

    @classmethod
    def of(cls, study: Study) -> Parameters:
        """A study's parameters. Raises InputError for a study that `suppress` cannot run."""
        if len(study.holders) != 2:
            raise InputError(
                f"protocol 'suppress' needs 2 parties with data of their own; there are {len(study.holders)}"
            )
        if COMPARE.of(study.options) == "all":
            raise InputError(
                '[protocol] compare = "all", every list with every tuple as the paper has it, is not built yet; take '
                'compare = "bins", which is ours'
            )
        if study.privacy.k > MOST_K:
            raise InputError(f"protocol 'suppress' takes k up to {MOST_K:,}: each tuple is listed with k ciphertexts")
        closed = all(column.closed for column in study.quasi)
        return cls(
            k=study.privacy.k,
            holders=tuple(party.name for party in study.holders),
            encryption=ENCRYPTION.of(study.options),
            epoch=EPOCH.of(study.options),
            study=study.name,
            domain=math.prod(column.tree().codes for column in study.quasi) if closed else None,
            columns=len(study.quasi),
        )

    def parts(self, rows: Mapping[str, int]) -> tuple[str, str]:
        """The keyholder and the comparer: the first party of the study, unless only the other has k rows."""
        first, second = self.holders
        return (second, first) if rows[first] < self.k <= rows[second] else (first, second)

    def given_up(self, rows: int) -> int:
        """The number of rows that a keyholder with so many gives up."""
        return self.k if rows >= self.k else 0

    def name_of(self, party: str) -> str:
        """The name of a party towards the authority."""
        return name_of(party, self.study, self.epoch)
