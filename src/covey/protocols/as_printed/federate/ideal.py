"""A trusted party that sees all tables and knows all dummy keys: the same division, in plain lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from covey.arrays import Bits, Longs
from covey.crypto.rng import derive
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.errors import Unmet
from covey.protocols.as_printed.federate import score
from covey.protocols.as_printed.federate.groups import (
    INFEASIBLE,
    Division,
    Group,
    GroupTurn,
    divisible,
    exceeds,
    joined,
)
from covey.protocols.as_printed.federate.parameters import Parameters
from covey.protocols.as_printed.federate.release import result
from covey.protocols.as_printed.federate.users import OwnUsers
from covey.protocols.protocol import Result
from covey.study import Study
from covey.table import Table

Owns = Sequence[OwnUsers]
"""All providers' users, in the order of the parameters."""

Test = Callable[[Parameters, Owns, list[Longs]], bool]
"""A test that says if groups may stand as they are; experiments may use another than `keeps`."""


def ideal(study: Study, tables: Mapping[str, Table], lasting: Mapping[str, Secret] | None = None) -> Result:
    """The release of a trusted party that knows the providers' lasting secrets, or makes dummy users of its own."""
    params = Parameters.of(study)
    own = derive(Secret(bytes(SECRET_BYTES)), "a trusted party", study.study_hash)
    secrets = {name: derive(own, name) for name in params.providers} if lasting is None else lasting
    owns = [OwnUsers.of(params, tables[name], secrets[name]) for name in params.providers]
    try:
        leaves = divide(params, owns).leaves
    except Unmet as error:
        smallest = smallest_delta(params, owns)
        why = "fewer than k users are common" if smallest is None else f"delta must be {smallest:.4g} or more"
        raise Unmet(f"{error}; {why}") from None
    boxes = [[own.box(group.members) for group in leaves] for own in owns]
    return result(params, boxes, counts(params, owns, leaves))


def divide(params: Parameters, owns: Owns, test: Test | None = None) -> Division:
    """Cuts groups in two as long as both halves keep k and delta. Raises Unmet if not even everyone does."""
    everyone, good = Group("", np.arange(len(params.population))), test or keeps
    if not good(params, owns, [everyone.members]):
        raise Unmet(INFEASIBLE)
    division = Division([])
    below = [everyone]
    while level := divisible(params, below, division.leaves):
        turns, below = [], []
        for group in level:
            public, halves = turn(params, owns, group, good)
            turns.append(public)
            if halves is None:
                division.leaves.append(group)
            else:
                below += halves
        division.levels.append(turns)
    division.leaves.sort(key=lambda group: group.path)
    if params.sensitive and params.delta is not None:
        merge(params, owns, division)
    return division


def turn(params: Parameters, owns: Owns, group: Group, good: Test) -> tuple[GroupTurn, tuple[Group, Group] | None]:
    """One group: who divides it, where, and its halves if both keep what is asked for."""
    ranges = [own.spread(group.members) for own in owns]
    leads = int(np.argmax([longest for longest, _ in ranges]))
    longest, column = ranges[leads]
    size = len(group.members)
    if longest == 0:
        return GroupTurn(size, leads, 0, False), None
    values = owns[leads].codes(column, group.members, group.path)
    cuts = score.candidates(params, values)
    upper = cuts.upper_halves(values)
    scores = score.of_divider(params, owns[leads], column, group.members, values, cuts)
    for other in _but(owns, leads):
        dummies = ~other.member[group.members]
        scores = scores + score.of_other(params, size, cuts.upper, int(dummies.sum()), (upper & dummies).sum(axis=1))
    halves = group.halves(upper[int(np.argmax(scores))])
    kept = good(params, owns, [half.members for half in halves])
    return GroupTurn(size, leads, len(cuts), kept), halves if kept else None


def keeps(params: Parameters, owns: Owns, groups: list[Longs]) -> bool:
    """True if each group has k common users, and those are at most delta of the users that any others have in common.

    Some providers have fewer users in common the more they are: it is enough to leave out one provider at a time.
    """
    for members in groups:
        common = int(_shared(owns)[members].sum())
        if common < params.k:
            return False
        if any(exceeds(params, common, int(has[members].sum())) for has in _leaving_one_out(owns)):
            return False
    return True


def merge(params: Parameters, owns: Owns, division: Division) -> None:
    """Joins groups again until delta holds for every exact value in them too. Raises Unmet if it never does."""
    while True:
        failing = [group for group in division.leaves if not keeps_exactly(params, owns, group.members)]
        division.merged.append([len(group.members) for group in division.leaves])
        if not failing:
            return
        division.leaves = joined(division.leaves, failing)


def keeps_exactly(params: Parameters, owns: Owns, members: Longs) -> bool:
    """True if delta holds for every combination of exact values in the group, as the last provider knows it."""
    return not any(exceeds(params, common, users) for common, users in _exact_shares(params, owns, members))


def counts(params: Parameters, owns: Owns, leaves: list[Group]) -> Longs:
    """Common users of each group, by their combination of exact values: groups x combinations."""
    return np.stack([_by_value(params, owns, _shared(owns), group.members) for group in leaves])


def smallest_delta(params: Parameters, owns: Owns) -> float | None:
    """The smallest delta with which a release is possible at all; None where k already rules one out."""
    common = int(_shared(owns).sum())
    if common < params.k:
        return None
    shares = [common / max(int(has.sum()), 1) for has in _leaving_one_out(owns)]
    if params.sensitive:
        everyone = np.arange(len(params.population))
        shares += [found / users for found, users in _exact_shares(params, owns, everyone) if users]
    return max(shares)


def _shared(owns: Owns) -> Bits:
    """The people whom all of these providers have."""
    return np.asarray(np.logical_and.reduce([own.member for own in owns]))


def _but(owns: Owns, place: int) -> Owns:
    return [*owns[:place], *owns[place + 1 :]]


def _leaving_one_out(owns: Owns) -> list[Bits]:
    """The people whom all providers but one have, for each that is left out."""
    return [_shared(_but(owns, place)) for place in range(len(owns))]


def _exact_shares(params: Parameters, owns: Owns, members: Longs) -> list[tuple[int, int]]:
    """For each combination of exact values the common users, and those of all but one that is not the last provider."""
    common = _by_value(params, owns, _shared(owns), members).tolist()
    return [
        pair
        for has in _leaving_one_out(owns)[:-1]
        for pair in zip(common, _by_value(params, owns, has, members).tolist(), strict=True)
    ]


def _by_value(params: Parameters, owns: Owns, which: Bits, members: Longs) -> Longs:
    """The number of these people among the members, all of them the last provider's, by combination of exact values."""
    last = owns[-1]
    return np.bincount(last.exact[last.row[members[which[members]]]], minlength=params.width)
