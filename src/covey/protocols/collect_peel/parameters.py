"""The parameters of `collect` by peeling: the study's options, and the studies that it cannot run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from covey.anonymizers.constraints import SLACK
from covey.arrays import Longs
from covey.errors import Aborted, InputError
from covey.hierarchy import Hierarchy
from covey.measures import diversity_of
from covey.option import Choice, File, Text, Whole
from covey.protocols.shared.closeness import WITHHOLDS
from covey.protocols.shared.domains import require_countable, require_listed
from covey.protocols.shared.peeling.marginals import Marginals
from covey.protocols.shared.reference import read_reference
from covey.schema import Column
from covey.secure.equals.trustees import FEWEST, MOST
from covey.study import Study
from covey.study.ratio import at_least
from covey.study.requirements import Requirements

METHOD = Choice(
    "method",
    "peel",
    '"peel": trustees peel the answers unseen, and nobody learns where anybody stands; "curve": the paper\'s method',
    ("peel", "curve"),
)
NODES = Whole("nodes", 128, "generalizations that are visited at most (default 128); more lose less", 1, 400)
REFERENCE = File(
    "reference",
    "",
    "a file with public frequencies (column,value,count): the values are then not counted beforehand",
)
COMMITTEE = Whole(
    "committee",
    3,
    "how many trustees are drawn among the respondents where the study names none, 3 (default) or 5; they have to stay",
    FEWEST,
    MOST,
)
WEB = Text("web", "", "the address of the page in which people answer in a browser: https://survey.example.org", 200)
PAGE = Text("page", "", "the hash of that page's program, as `covey collect page` says it")
REQUIREMENTS = Requirements(
    partition="respondents",
    method="peel",
    holders=(0, None),
    empty="a respondent answers with one row",
    roles=("collector", "trustee"),
    needs=("collector",),
    unable={"t": WITHHOLDS},
    withholds=True,
    options=(METHOD, NODES, REFERENCE, COMMITTEE, WEB, PAGE),
)


@dataclass(frozen=True)
class Parameters:
    """The parameters of a run."""

    k: int
    nodes: int
    trustees: tuple[str, ...]
    """Those that the study names; none where they are drawn."""
    committee: int
    """The number of trustees."""
    l: Fraction | None  # noqa: E741 - the field's name for it
    diversity: str
    watched: tuple[Column, ...]
    """The sensitive columns, where diversity is asked for."""
    reference: tuple[Longs, ...] | None
    """Public frequencies of each quasi column's leaves, where the study brings some."""

    @classmethod
    def of(cls, study: Study) -> Parameters:
        """A study's parameters. Raises InputError, with what to change, if they cannot be kept."""
        require_listed(study)
        require_countable(study)
        named = study.of_party_role("trustee")
        committee = len(named) or COMMITTEE.of(study.options)
        if committee not in (FEWEST, MOST):
            raise InputError(
                f'there are {committee} trustees; name {FEWEST} or {MOST} parties with role = "trustee", or none and '
                f"[protocol] committee = {FEWEST} or {MOST}"
            )
        return cls(
            k=study.privacy.k,
            nodes=NODES.of(study.options),
            trustees=named,
            committee=committee,
            l=None if study.privacy.l is None else at_least(study.privacy.l, 64),
            diversity=study.privacy.diversity,
            watched=() if study.privacy.l is None else study.sensitive,
            reference=read_reference(study, trees_of(study), file) if (file := REFERENCE.of(study.options)) else None,
        )

    def require_most(self, answers: int, kept: int) -> None:
        """Raises Aborted if so many answers are left out that those who stay could be chosen.

        One is allowed, or one of twenty, where 2k stay: a single trustee can have an answer left out.
        """
        if kept < answers and kept < max(2 * self.k, answers - max(1, answers // 20)):
            raise Aborted(
                f"{answers - kept} of {answers} answers would be left out, because their letters do not open or their "
                "shares do not fit: whoever brings that about could choose who stays. Nothing was opened; find out "
                "which trustee cannot read its letters, or who handed in what is no answer",
                resumable=False,
            )

    def marginals(self, records: int, counts: Sequence[Longs]) -> Marginals:
        """The public frequencies of these counts: those below k are rare, and nothing else is struck out."""
        known = self.reference or counts
        heavy = [column >= self.k for column in known]
        if self.reference:
            most = max(int(column.sum()) for column in known)
            return Marginals(max(most, records), self.k, tuple(known))
        return Marginals.of(records, self.k, known, heavy, heavy)

    def is_diverse(self, counts: Sequence[int]) -> bool:
        """True if so many records of each value make a class that the study allows."""
        if self.l is None:
            return True
        present = [count for count in counts if count]
        if self.diversity == "distinct":
            return len(present) >= self.l
        if self.diversity == "entropy":
            return diversity_of(np.array(present), self.diversity) >= float(self.l) - SLACK
        return sum(present) >= self.l * max(present)


def trees_of(study: Study) -> tuple[Hierarchy, ...]:
    """The quasi columns' trees, which the study lists in full."""
    return tuple(column.tree() for column in study.quasi)


def hub_of(study: Study) -> str:
    """The collector's name."""
    return next(party.name for party in study.parties if party.role == "collector")
