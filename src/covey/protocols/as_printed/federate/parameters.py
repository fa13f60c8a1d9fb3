"""The parameters of `federate`: parties by role, options, the population, and a refusal of what it cannot run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from covey.cells import MISSING
from covey.crypto.paillier import SIZES, check_bits
from covey.errors import InputError
from covey.hierarchy import Hierarchy, Interval
from covey.option import Choice, File, Number, Whole
from covey.protocols.shared.domains import NOBODY_IN_COMMON, require_range
from covey.protocols.shared.rows import domain
from covey.schema import Column, Role
from covey.study import Study
from covey.study.ratio import at_most
from covey.study.requirements import AS_PRINTED, Requirements

POPULATION = File(
    "population", "", "the file with everyone who could be a user, one id a line; all parties have it (needed)"
)
ALPHA = Number(
    "alpha", 0.5, "how much a cut near the middle counts against dummy users spread evenly, from 0 to 1 (default 0.5)"
)
SCHEDULE = Choice(
    "schedule",
    "level",
    '"level": all groups of a level at once, every number encrypted (default); "paper": the paper\'s own calls, one '
    "after the other, which open more: to compare with, on small tables",
    ("level", "paper"),
)
SCORE = Choice(
    "score",
    "weighted",
    '"weighted": the entropy of dummy users weighted by the halves\' sizes (default); "paper": as printed',
    ("weighted", "paper"),
)
CANDIDATES = Whole(
    "candidates", 8, "cuts that are considered in a group, at quantiles (default 8); 0 considers every value", 0, 256
)
PRESENCE = Choice(
    "presence",
    "quasi",
    '"quasi" (default): delta holds for every combination of quasi values; "sensitive": also with the exact value '
    "beside them",
    ("quasi", "sensitive"),
)
BITS = Whole("bits", SIZES[0], f"bits of two providers' Paillier keys: {SIZES[0]} (default) or {SIZES[1]}", 0, 1 << 16)
REQUIREMENTS = Requirements(
    partition="vertical",
    empty=NOBODY_IN_COMMON,
    holders=(2, None),
    roles=("recipient",),
    needs=("recipient",),
    privacy=("k", "delta"),
    options=(AS_PRINTED, POPULATION, ALPHA, SCHEDULE, SCORE, CANDIDATES, PRESENCE, BITS),
)

MOST_VALUES = 1 << 14
"""Combinations of exact values that may be counted in each class."""

MOST_PEOPLE = 1 << 22

LONGEST_LABEL = 1024
"""Characters of a label that goes to the recipient."""

MOST_MARKS = 1 << 24
"""People times combinations of exact values, with three providers or more: each is a shared number."""

_FINEST = 10_000
"""The largest denominator of delta; a delta that needs a larger one is rounded down, so that no more is shown."""


@dataclass(frozen=True)
class Parameters:
    """The parameters of a run."""

    study: Study
    k: int
    delta: Fraction | None
    alpha: float
    weighted: bool
    candidates: int
    """Cuts per group; 0 for every value."""
    sensitive: bool
    """True if delta must hold for exact values too."""
    by_level: bool
    bits: int
    providers: tuple[str, ...]
    """The one with exact columns, if there are any, is the last; where ranges are equal, the first of them divides."""
    recipient: str

    @classmethod
    def of(cls, study: Study) -> Parameters:
        """The parameters of a study. Raises InputError, with what to change, for a study that `federate` cannot run."""
        names = providers(study)
        delta, options = study.privacy.delta, study.options
        params = cls(
            study=study,
            k=study.privacy.k,
            delta=None if delta is None else at_most(float(delta), _FINEST),
            alpha=ALPHA.of(options),
            weighted=SCORE.of(options) == "weighted",
            candidates=CANDIDATES.of(options),
            sensitive=PRESENCE.of(options) == "sensitive",
            by_level=SCHEDULE.of(options) == "level",
            bits=BITS.of(options),
            providers=names,
            recipient=next(party.name for party in study.parties if party.role == "recipient"),
        )
        check_bits(params.bits)
        _require_listed(params)
        if not 0 < len(params.population) <= MOST_PEOPLE:
            raise InputError(
                f"{_file(study)}: lists {len(params.population):,} ids; 1 to {MOST_PEOPLE:,} can be handled"
            )
        if params.sensitive and (params.delta is None or not params.domains):
            raise InputError('[protocol] presence = "sensitive" needs a delta, and a column that is published as it is')
        if params.sensitive and not params.by_level:
            raise InputError('[protocol] presence = "sensitive" runs on schedule = "level" only')
        if params.several:
            _require_several(params)
        return params

    @cached_property
    def population(self) -> tuple[str, ...]:
        """Everyone who could be a user, in the file's order. Raises InputError for an id that occurs twice."""
        return _population(self.study)

    @cached_property
    def domains(self) -> dict[str, tuple[str, ...]]:
        """Every value that a record may carry, by exact column."""
        return {column.name: domain(column) for column in _exact(self.study, self.second)}

    @property
    def width(self) -> int:
        """The number of combinations of exact values."""
        return math.prod(map(len, self.domains.values()))

    def columns(self, provider: str) -> tuple[Column, ...]:
        """A provider's quasi columns, in the study's order."""
        return tuple(column for column in self.study.held_by(provider) if column.role is Role.QUASI)

    @property
    def first(self) -> str:
        """The provider that divides where ranges are equal; it has no exact columns."""
        return self.providers[0]

    @property
    def second(self) -> str:
        """The last provider, the second of two: the one with the exact columns, if there are any."""
        return self.providers[-1]

    @property
    def several(self) -> bool:
        """True for three providers or more, who compute on shares instead of under each other's keys."""
        return len(self.providers) > 2

    def other(self, provider: str) -> str:
        """The provider that is not this one, of two."""
        return self.second if provider == self.first else self.first


def providers(study: Study) -> tuple[str, ...]:
    """The providers without exact columns, then the one that has some. Raises InputError where two have."""
    names = [party.name for party in study.holders]
    if len(names) < 2 or not any(party.role == "recipient" for party in study.parties):
        raise InputError(
            "protocol 'federate' needs two or more parties with columns, and one with role = \"recipient\""
        )
    exact = [name for name in names if _exact(study, name)]
    if len(exact) > 1:
        raise InputError(
            f"both {exact[0]!r} and {exact[1]!r} have columns that are published as they are: each could find its own "
            "users' rows by them and read the other's values; make those of one provider quasi, or leave them out"
        )
    last = exact[0] if exact else names[-1]
    return (*(name for name in names if name != last), last)


def _exact(study: Study, provider: str) -> tuple[Column, ...]:
    return tuple(column for column in study.held_by(provider) if column.role in (Role.SENSITIVE, Role.PLAIN))


def _require_several(params: Parameters) -> None:
    """Raises InputError for what three providers or more cannot run."""
    if not params.by_level:
        raise InputError('[protocol] schedule = "paper" is for two providers; leave it out with more of them')
    if params.width > 1 and params.width * len(params.population) > MOST_MARKS:
        raise InputError(
            f"{params.width:,} combinations of exact values and {len(params.population):,} people: with more than two "
            f"providers their product may be {MOST_MARKS:,} at most; list coarser values, or leave out a plain column"
        )


def _require_listed(params: Parameters) -> None:
    for column in params.study.quasi:
        if isinstance(column.hierarchy, Hierarchy):
            if (longest := max(map(len, column.hierarchy.labels))) > LONGEST_LABEL:
                raise InputError(
                    f"column {column.name!r}: a label of its hierarchy has {longest:,} characters; federate sends "
                    f"{LONGEST_LABEL:,} at most: shorten it"
                )
            continue
        if not isinstance(column.hierarchy, Interval):
            raise InputError(
                f"column {column.name!r}: list its domain in the study (`values`), so that all agree on it"
            )
        require_range(column)
    for name, values in params.domains.items():
        if not values:
            raise InputError(f"column {name!r}: list its values in the study, so that they can be counted jointly")
    if params.width > MOST_VALUES:
        raise InputError(
            f"the exact columns have {params.width:,} combinations of values; {MOST_VALUES:,} can be counted: leave "
            "out a plain column, or list coarser values"
        )


def _population(study: Study) -> tuple[str, ...]:
    named, key = POPULATION.of(study.options), study.key
    if not named or key is None:
        raise InputError('[protocol] needs population = "population.csv": everyone who could be a user, an id a line')
    try:
        lines = study.files[named].decode("utf-8-sig").splitlines()
    except KeyError:
        raise InputError(f"{named}: the study's population file was not found") from None
    except UnicodeDecodeError:
        raise InputError(f"{named}: is not UTF-8") from None
    ids = tuple(found for line in lines if (found := key.read(line)) != MISSING)
    if len(set(ids)) != len(ids):
        raise InputError(f"{named}: {len(ids) - len(set(ids)):,} ids occur more than once; each may stand there once")
    return ids


def _file(study: Study) -> str:
    return POPULATION.of(study.options) or "population"
