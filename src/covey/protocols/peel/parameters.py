"""The parameters of `peel`: its options, and a refusal of the studies that it cannot run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from covey.anonymizers.constraints import SLACK
from covey.errors import InputError
from covey.option import Choice, Whole
from covey.protocols.peel.choice import LARGEST
from covey.protocols.peel.closeness import Closeness, rounding
from covey.protocols.peel.diversity import Conditions
from covey.protocols.peel.entropy import Entropy
from covey.protocols.peel.lending_rules import LEND, places
from covey.protocols.peel.measured import Distinct
from covey.protocols.shared.diversity import fraction, part_as_l
from covey.protocols.shared.domains import require_listed
from covey.protocols.shared.peeling.narrowing import REFINE
from covey.protocols.shared.peeling.nodes import NODES, PAIRS
from covey.schema import Column
from covey.study import Study
from covey.study.insiders import OF_INSIDERS, asked
from covey.study.ratio import exactly
from covey.study.requirements import Requirements

MODE = Choice(
    "mode",
    "visit",
    '"visit": one generalization after the other (default); "skip": those without a class are found many at a time; '
    '"wave": many at a time, the fewest exchanges, and the ledger grows',
    ("visit", "skip", "wave"),
)
BUCKETS = Whole(
    "buckets",
    4,
    "buckets per remaining record where tuples are hashed (default 4; fewer are cheaper and say more)",
    1,
    64,
)
INSIDER = Choice(
    "insider",
    "none-or-many",
    '"none-or-many" (default): a class has, for each party, k_insider records of others or none, so that it may be one '
    'party\'s alone; "clip": never none, which costs more where the parties differ',
    ("none-or-many", "clip"),
)
LEFTOVER = Choice(
    "leftover",
    "withhold",
    '"withhold" (default): what is left over, fewer than k records, is not released; "merge": each record joins the '
    "class in which it costs least, and everyone learns which class that is, not whose the record is",
    ("withhold", "merge"),
)
MOST_SETS = 512
"""Sets of values that are compared for one class at most, where two look for distinct values."""
REQUIREMENTS = Requirements(
    partition="horizontal",
    holders=(2, None),
    evaluates=True,
    withholds=True,
    privacy=("k", "l", "diversity", "t", *OF_INSIDERS, "site_l"),
    options=(MODE, NODES, PAIRS, BUCKETS, INSIDER, LEFTOVER, REFINE, LEND),
)


@dataclass(frozen=True)
class Parameters:
    """The parameters of a run."""

    k: int
    two: bool
    """True if there are just two parties."""
    mode: str
    buckets: int
    nodes: int
    most_of_one: int | None
    """The number of records of one party that count towards k at most; None where all do."""
    none_or_many: int | None
    """A class has so many records that are not a party's, or none, for each party; None where that is not asked for."""
    parties: int
    diverse: Fraction | None
    """Each sensitive value has at most one of so many of a class's records."""
    watched: tuple[Column, ...]
    """The sensitive columns, where diversity or closeness is asked for."""
    weights: tuple[float, ...]
    """The weight of each quasi column."""
    distinct: int | None = None
    """The number of different sensitive values that a class has at least."""
    entropy: Entropy | None = None
    """The entropy that a class's values have at least."""
    near: Fraction | None = None
    """The distance t of a class's sensitive values from the whole table's, at most."""
    diverse_beside: Fraction | None = None
    """For each party, each sensitive value has at most one of so many of a class's records that are not the party's."""
    split: Fraction | None = None
    """Each party has at most one of so many of a class's records."""
    pairs: bool = True
    """True if the parties look which pairs of values k or more records share, before the list is made."""
    merge: bool = False
    """True if what is left over joins other classes."""
    refine: bool = False
    """True if the classes' labels are narrowed after the last visit."""
    lend: bool = False
    """True if classes lend records that they do not need."""
    sites: tuple[int, int] | None = None
    """The place of the column that may tell a site, and how many sites every label of it is to have."""

    def conditions(self, near: Closeness | None) -> Conditions:
        """The conditions on a class's sensitive values, given what is known of all records' where t is asked for."""
        ends = np.cumsum([0, *(len(column.values or ()) + 1 for column in self.watched)]).tolist()
        columns = tuple(slice(first, last) for first, last in pairwise(ends))
        distinct = None if self.distinct is None else Distinct(self.distinct, columns, self.parties)
        return Conditions(self.diverse, near, distinct, self.entropy)

    @property
    def asks_l(self) -> bool:
        """True if l is asked for, of whatever kind."""
        return any(asked is not None for asked in (self.diverse, self.distinct, self.entropy))

    @classmethod
    def of(cls, study: Study) -> Parameters:
        """The parameters of a study. Raises InputError, with what to change, if `peel` cannot keep them."""
        if len(study.parties) == 2:
            _require_of_two(study)
        _require_listed(study)
        k, insider, options = study.privacy.k, asked(study.privacy), study.options
        clipped = INSIDER.of(options) == "clip"
        most = k - insider if insider > 1 and clipped else None
        if most is not None and most * len(study.parties) < k:
            raise InputError(
                f'insider = "clip" and k_insider = {insider} with k = {k}: at most {max(most, 0)} records of each of '
                f"{len(study.parties)} parties count, and no class could reach k; lower k_insider, raise k, or take "
                'insider = "none-or-many"'
            )
        if REFINE.name in options and REFINE.of(options) and study.privacy.t is not None:
            raise InputError(
                "[protocol] refine = true is not for t, with which the last records are released without labels; leave "
                "out refine, or t"
            )
        return cls(
            k=k,
            two=len(study.parties) == 2,
            mode=MODE.of(options),
            buckets=BUCKETS.of(options),
            nodes=NODES.of(options),
            most_of_one=most,
            none_or_many=insider if insider > 1 and not clipped else None,
            parties=len(study.parties),
            diverse=None if (wanted := _l_by(study, "frequency")) is None else fraction(wanted),
            distinct=None if (wanted := _l_by(study, "distinct")) is None else _distinct(study, wanted),
            entropy=None if (wanted := _l_by(study, "entropy")) is None else _entropy(study, wanted),
            watched=study.sensitive if _counts_values(study) else (),
            weights=tuple(column.weight for column in study.quasi),
            near=None if study.privacy.t is None or study.privacy.t >= 1 else _near(study, study.privacy.t),
            diverse_beside=None if study.privacy.l_insider is None else fraction(study.privacy.l_insider),
            split=None if study.privacy.most_of_a_class is None else part_as_l(study.privacy.most_of_a_class),
            pairs=PAIRS.of(options),
            merge=_merges(study),
            refine=REFINE.of(options) and study.privacy.t is None,
            lend=_lends(study),
            sites=_sites(study),
        )


def _require_of_two(study: Study) -> None:
    """Raises InputError for what two parties cannot have: all that needs shares."""
    refused = [
        (study.privacy.site_l is not None, "site_l"),
        (_l_by(study, "entropy") is not None, 'diversity = "entropy"'),
        (study.privacy.l_insider is not None, "l_insider"),
        (study.privacy.most_of_a_class is not None, "most_of_a_class"),
        (MODE.of(study.options) == "skip", 'mode = "skip"'),
        (study.privacy.k > LARGEST, f"k above {LARGEST}"),
    ]
    for here, what in refused:
        if here:
            frequent = 'ask for diversity = "frequency", which implies it'
            other = {"l_insider": "leave it out", 'diversity = "entropy"': frequent}.get(
                what, 'take protocol = "cluster"'
            )
            raise InputError(f"protocol 'peel' between two parties cannot keep {what}; {other}")


def _counts_values(study: Study) -> bool:
    return any(asked is not None for asked in (study.privacy.l, study.privacy.l_insider, study.privacy.t))


def _require_listed(study: Study) -> None:
    require_listed(study)
    if not _counts_values(study):
        return
    kind = study.privacy.diversity
    if study.privacy.l_insider is not None and kind != "frequency":
        raise InputError("l_insider is kept by frequency; leave out diversity, or leave out l_insider")
    for column in study.sensitive:
        if column.values is None:
            kept = "t" if study.privacy.l is None and study.privacy.l_insider is None else "l"
            raise InputError(
                f"column {column.name!r}: {kept} needs its values listed, so that the parties can count them"
            )


def _l_by(study: Study, kind: str) -> float | None:
    """The l that is asked for, where it is of this kind."""
    return study.privacy.l if study.privacy.diversity == kind else None


def _entropy(study: Study, wanted: float) -> Entropy:
    """The entropy that is asked for. Raises InputError where the parties cannot measure it."""
    values = tuple(len(column.values or ()) + 1 for column in study.sensitive)
    found = Entropy.of(exactly(wanted), values, len(study.parties))
    if not found.reachable:
        raise InputError(
            f"l = {wanted:g} by entropy: with {min(values) - 1} to {max(values) - 1} values and {len(study.parties)} "
            "parties it is measured too coarsely for any class to keep it; lower l, merge values, or ask for "
            'diversity = "frequency", which implies it'
        )
    return found


def _distinct(study: Study, wanted: float) -> int:
    """The number of different values that is asked for. Raises InputError where two cannot look for so many."""
    least = math.ceil(wanted - SLACK)
    sets = sum(math.comb(len(column.values or ()) + 1, least - 1) for column in study.sensitive)
    if len(study.parties) == 2 and sets > MOST_SETS:
        raise InputError(
            f"l = {wanted:g} distinct values between two parties takes {sets:,} comparisons for each class, and "
            f'{MOST_SETS} are made at most; ask for diversity = "frequency", or lower l'
        )
    return least


def _near(study: Study, wanted: float) -> Fraction:
    """t as it is asked for. Raises InputError where the parties cannot measure it."""
    for column in study.sensitive:
        if column.distance != "equal":
            raise InputError(
                f"column {column.name!r}: protocol 'peel' keeps t by equal distance; leave out distance, or anonymize "
                "centrally"
            )
        sets = sum(1 << (len(each.values or ()) + 1) for each in study.sensitive)
        if len(study.parties) == 2 and sets > MOST_SETS:
            raise InputError(
                f"t between two parties takes {sets:,} comparisons for each class, one for each set of values, and "
                f'{MOST_SETS} are made at most; merge sensitive values, or take protocol = "cluster"'
            )
        off = rounding(len(column.values or ()) + 1, len(study.parties))
        if len(study.parties) > 2 and 2 * off > exactly(wanted):
            raise InputError(
                f"column {column.name!r}: with {len(column.values or ())} values and {len(study.parties)} parties t is "
                f"measured to within {float(off):.2g}, and t = {wanted:g} is less than twice that; raise t, merge "
                'values, or take protocol = "cluster"'
            )
    return exactly(wanted)


def _merges(study: Study) -> bool:
    """True if the leftover joins classes. Raises InputError where that could undo what the study asks for."""
    merges = LEFTOVER.of(study.options) == "merge"
    for key in ("l", "t", "l_insider", "most_of_a_class"):
        if merges and getattr(study.privacy, key) is not None:
            raise InputError(
                f'[protocol] leftover = "merge" could undo a class\'s {key}; use "withhold", or leave {key} out'
            )
    return merges


def _lends(study: Study) -> bool:
    """True if classes lend. Raises InputError where that could undo what the study asks for, or cannot be asked."""
    if not LEND.of(study.options):
        return False
    refused = [
        *((key, f"leave out {key}") for key in ("l", "t", "l_insider", "most_of_a_class", "site_l")),
        ('insider = "clip"', 'take insider = "none-or-many"'),
        ('mode = "skip"', 'take mode = "visit" or "wave"'),
    ]
    here = {
        'insider = "clip"': INSIDER.of(study.options) == "clip",
        'mode = "skip"': MODE.of(study.options) == "skip",
    }
    for what, instead in refused:
        if here.get(what, getattr(study.privacy, what, None) is not None):
            raise InputError(f"[protocol] lend = true is not for {what}; {instead}, or leave out lend")
    if not places(study.privacy.k):
        raise InputError("[protocol] lend = true is for k of 3 or more; leave it out")
    if len(study.parties) == 2:
        raise InputError(
            "[protocol] lend = true is for three parties or more: between two every count is seen; leave it out"
        )
    return True


def _sites(study: Study) -> tuple[int, int] | None:
    """The column that may tell a site. Raises InputError where there are several."""
    if study.privacy.site_l is None:
        return None
    places = [place for place, column in enumerate(study.quasi) if column.site]
    if len(places) != 1:
        named = ", ".join(study.quasi[place].name for place in places)
        raise InputError(
            f"protocol 'peel' keeps site_l for one column with site = true, and the study has {len(places)} ({named}): "
            'take protocol = "cluster", which looks at them together'
        )
    if study.privacy.site_l > len(study.parties):
        raise InputError(f"site_l = {study.privacy.site_l}, but there are {len(study.parties)} parties; lower it")
    return places[0], study.privacy.site_l
