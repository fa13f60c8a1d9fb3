"""The options and requirements of `cluster` for rows, and what a study asks of a run."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from covey.anonymizers.sequential import K0, K1
from covey.errors import InputError
from covey.option import Choice, Number
from covey.protocols.shared.domains import require_listed, require_weight
from covey.study import Study
from covey.study.insiders import asked
from covey.study.ratio import exactly
from covey.study.requirements import Requirements

SCHEDULE = Choice(
    "schedule",
    "guarded",
    "guarded: nothing of fewer than k records is opened on the way (default); strict: nor can it be computed from what "
    "is opened, at a fifth more loss or so; exact: the paper's own labels, which opens others' exact records at times; "
    "paper: the paper's own rings and randomised sweeps, to compare with on tables of a few hundred rows",
    ("guarded", "strict", "exact", "paper"),
)
START = Choice(
    "start",
    "fitted",
    "for exact and paper; fitted: random clusters of k/2 records, of half the size where these are all alike, and "
    "again (default); paper: of k/2, come what may",
    ("fitted", "paper"),
)
K0_OPTION = Number("k0", K0, "for exact and paper: the size of first clusters, as a part of k (default 0.5)", 0.01, 1.0)
K1_OPTION = Number(
    "k1", K1, "for exact and paper: clusters larger than this many times k are split (default 1.5)", 1.0, 1000.0
)
REQUIREMENTS = Requirements(
    partition="horizontal",
    holders=(2, None),
    evaluates=True,
    privacy=("k", "l", "diversity", "t", "site_l", "k_insider", "most_of_a_class"),
    options=(SCHEDULE, START, K0_OPTION, K1_OPTION),
)


@dataclass(frozen=True)
class Parameters:
    """The public parameters of a run."""

    k: int
    l: float | None  # noqa: E741 (the field's name for it)
    t: float | None
    k_insider: int
    """The fewest records of others that a class shows a party to which it shows some; 1 is no requirement."""
    most_of_a_class: Fraction
    """The largest part of a class that may be one party's; 1 is no requirement."""
    site_l: int | None
    schedule: str
    fitted: bool
    """The first clusters of `exact` and `paper` are halved while they are all alike."""
    k0: float
    k1: float
    parties: int
    entropy: bool
    """The measure needs the joint frequencies of values."""

    @classmethod
    def of(cls, study: Study) -> Parameters:
        """The parameters of a study. Raises InputError for a study that `cluster` cannot run."""
        require_weight(study)
        require_listed(study)
        privacy, schedule = study.privacy, SCHEDULE.of(study.options)
        for option in (START, K0_OPTION, K1_OPTION):
            if option.name in study.options and schedule in ("guarded", "strict"):
                raise InputError(
                    f"[protocol] {option.name} is for schedule = 'exact' or 'paper'; leave it out, or take one of them"
                )
        if schedule == "paper" and len(study.parties) < 3:
            raise InputError("[protocol] schedule = 'paper': its rings need three parties or more; take 'exact'")
        if privacy.l is not None:
            _require_frequency(study)
        if privacy.t is not None:
            _require_equal_distance(study)
        return cls(
            k=privacy.k,
            l=privacy.l,
            t=privacy.t,
            k_insider=asked(privacy),
            most_of_a_class=exactly(1.0 if privacy.most_of_a_class is None else privacy.most_of_a_class),
            site_l=privacy.site_l,
            schedule=schedule,
            fitted=START.of(study.options) == "fitted",
            k0=K0_OPTION.of(study.options),
            k1=K1_OPTION.of(study.options),
            parties=len(study.parties),
            entropy=study.measure in ("em", "em-monotone"),
        )

    @property
    def merges_for_insiders(self) -> bool:
        """Classes are merged that show one party too few records of others, or are too much its own."""
        return self.k_insider > 1 or self.most_of_a_class < 1

    @property
    def two(self) -> bool:
        return self.parties == 2

    @property
    def divides(self) -> bool:
        """The schedule divides the table; the others begin with random clusters."""
        return self.schedule in ("guarded", "strict")

    @property
    def moves_within_l(self) -> bool:
        """Records move once l is kept; not between two, who would read each other's sensitive values from it."""
        return self.l is not None and self.schedule == "guarded" and not self.two


def _require_frequency(study: Study) -> None:
    if study.privacy.diversity != "frequency":
        raise InputError("protocol 'cluster' keeps l by frequency; leave out diversity, or anonymize centrally")
    _require_values(study, "l")


def _require_equal_distance(study: Study) -> None:
    for column in study.sensitive:
        if column.distance != "equal":
            raise InputError(
                f"column {column.name!r}: protocol 'cluster' keeps t by equal distance; leave out distance, or "
                "anonymize centrally"
            )
    _require_values(study, "t")


def _require_values(study: Study, kept: str) -> None:
    for column in study.sensitive:
        if column.values is None:
            raise InputError(
                f"column {column.name!r}: list its values in the study, so that {kept} can be kept jointly"
            )
