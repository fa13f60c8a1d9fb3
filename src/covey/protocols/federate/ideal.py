"""A trusted party that sees both tables and knows both dummy keys: the same division, in plain lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from covey.arrays import Longs
from covey.crypto.rng import derive
from covey.crypto.secret import SECRET_BYTES, Secret
from covey.errors import Unmet
from covey.protocols.federate import score
from covey.protocols.federate.groups import INFEASIBLE, Division, Group, GroupTurn, divisible, exceeds, joined
from covey.protocols.federate.parameters import Parameters
from covey.protocols.federate.release import result
from covey.protocols.federate.users import OwnUsers
from covey.protocols.protocol import Result
from covey.study import Study
from covey.table import Table

Test = Callable[[Parameters, OwnUsers, OwnUsers, list[Longs]], bool]
"""A test that says if groups may stand as they are; experiments may use another than `keeps`."""


def ideal(study: Study, tables: Mapping[str, Table], lasting: Mapping[str, Secret] | None = None) -> Result:
    """The release of a trusted party that knows the providers' lasting secrets, or makes dummy users of its own."""
    params = Parameters.of(study)
    own = derive(Secret(bytes(SECRET_BYTES)), "a trusted party", study.study_hash)
    names = (params.first, params.second)
    secrets = {name: derive(own, name) for name in names} if lasting is None else lasting
    first, second = (OwnUsers.of(params, tables[name], secrets[name]) for name in names)
    try:
        leaves = divide(params, first, second).leaves
    except Unmet as error:
        smallest = smallest_delta(params, first, second)
        why = "fewer than k users are common" if smallest is None else f"delta must be {smallest:.4g} or more"
        raise Unmet(f"{error}; {why}") from None
    boxes = [[own.box(group.members) for group in leaves] for own in (first, second)]
    return result(params, boxes[0], boxes[1], counts(params, first, second, leaves))


def divide(params: Parameters, first: OwnUsers, second: OwnUsers, test: Test | None = None) -> Division:
    """Cuts groups in two as long as both halves keep k and delta. Raises Unmet if not even everyone does."""
    everyone, good = Group("", np.arange(len(params.population))), test or keeps
    if not good(params, first, second, [everyone.members]):
        raise Unmet(INFEASIBLE)
    division = Division([])
    below = [everyone]
    while level := divisible(params, below, division.leaves):
        turns, below = [], []
        for group in level:
            public, halves = turn(params, first, second, group, good)
            turns.append(public)
            if halves is None:
                division.leaves.append(group)
            else:
                below += halves
        division.levels.append(turns)
    division.leaves.sort(key=lambda group: group.path)
    if params.sensitive and params.delta is not None:
        merge(params, first, second, division)
    return division


def turn(
    params: Parameters, first: OwnUsers, second: OwnUsers, group: Group, good: Test
) -> tuple[GroupTurn, tuple[Group, Group] | None]:
    """One group: who divides it, where, and its halves if both keep what is asked for."""
    ranges = first.spread(group.members), second.spread(group.members)
    leads = ranges[0][0] >= ranges[1][0]
    divider, other = (first, second) if leads else (second, first)
    column = ranges[0 if leads else 1][1]
    size = len(group.members)
    if max(ranges[0][0], ranges[1][0]) == 0:
        return GroupTurn(size, leads, 0, False), None
    values = divider.codes(column, group.members, group.path)
    cuts = score.candidates(params, values)
    upper = cuts.upper_halves(values)
    dummies = ~other.member[group.members]
    scores = score.of_divider(params, divider, column, group.members, values, cuts) + score.of_other(
        params, size, cuts.upper, int(dummies.sum()), (upper & dummies).sum(axis=1)
    )
    halves = group.halves(upper[int(np.argmax(scores))])
    kept = good(params, first, second, [half.members for half in halves])
    return GroupTurn(size, leads, len(cuts), kept), halves if kept else None


def keeps(params: Parameters, first: OwnUsers, second: OwnUsers, groups: list[Longs]) -> bool:
    """True if each of the groups has k common users, and no more than delta of either provider's users."""
    for members in groups:
        has = first.member[members], second.member[members]
        common = int((has[0] & has[1]).sum())
        if common < params.k:
            return False
        if any(exceeds(params, common, int(own.sum())) for own in has):
            return False
    return True


def merge(params: Parameters, first: OwnUsers, second: OwnUsers, division: Division) -> None:
    """Joins groups again until delta holds for every exact value in them too. Raises Unmet if it never does."""
    while True:
        failing = [group for group in division.leaves if not keeps_exactly(params, first, second, group.members)]
        division.merged.append([len(group.members) for group in division.leaves])
        if not failing:
            return
        division.leaves = joined(division.leaves, failing)


def keeps_exactly(params: Parameters, first: OwnUsers, second: OwnUsers, members: Longs) -> bool:
    """True if delta holds for every combination of exact values in the group."""
    pairs = zip(*_by_value(params, first, second, members), strict=True)
    return not any(exceeds(params, int(common), int(users)) for users, common in pairs)


def counts(params: Parameters, first: OwnUsers, second: OwnUsers, leaves: list[Group]) -> Longs:
    """Common users of each group, by their combination of exact values: groups x combinations."""
    return np.stack([_by_value(params, first, second, group.members)[1] for group in leaves])


def smallest_delta(params: Parameters, first: OwnUsers, second: OwnUsers) -> float | None:
    """The smallest delta with which a release is possible at all; None where k already rules one out."""
    both = first.member & second.member
    if int(both.sum()) < params.k:
        return None
    shares = [int(both.sum()) / max(int(own.member.sum()), 1) for own in (first, second)]
    if params.sensitive:
        pairs = zip(*_by_value(params, first, second, np.arange(len(both))), strict=True)
        shares += [int(common) / int(users) for users, common in pairs if users]
    return max(shares)


def _by_value(params: Parameters, first: OwnUsers, second: OwnUsers, members: Longs) -> tuple[Longs, Longs]:
    """The second provider's users among the members and the common ones, by combination of exact values."""
    own = second.holding(members)
    values = second.exact[second.row[own]]
    common = values[first.member[own]]
    return np.bincount(values, minlength=params.width), np.bincount(common, minlength=params.width)
