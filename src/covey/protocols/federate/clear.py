"""What a trusted party would do that sees both tables and knows both dummy keys: the same division, in plain lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import Unmet
from covey.protocols.federate import score
from covey.protocols.federate.own import Own
from covey.protocols.federate.terms import Terms

INFEASIBLE = "k or delta cannot be kept even if everyone is in one class; nothing was released"


Test = Callable[[Terms, Own, Own, list[Longs]], bool]
"""Whether groups may stand as they are; experiments may use another than `keeps`."""


@dataclass(frozen=True)
class Group:
    """Some of the population, known to both providers; the path says which half it was at each cut."""

    path: str
    members: Longs


@dataclass(frozen=True)
class Step:
    """What was public about one group's turn, for whoever counts messages."""

    size: int
    first_divides: bool
    candidates: int
    split: bool


@dataclass
class Division:
    """The final groups, and how they came about."""

    leaves: list[Group]
    levels: list[list[Step]] = field(default_factory=list)
    merged: list[list[int]] = field(default_factory=list)
    """The sizes of the groups that were tested for exact values, each time."""


def divide(terms: Terms, first: Own, second: Own, test: Test | None = None) -> Division:
    """Cuts groups in two as long as both halves keep k and delta. Raises Unmet if not even everyone does."""
    everyone, good = Group("", np.arange(len(terms.population))), test or keeps
    if not good(terms, first, second, [everyone.members]):
        raise Unmet(INFEASIBLE)
    division = Division([])
    below = [everyone]
    while level := divisible(terms, below, division.leaves):
        steps, below = [], []
        for group in level:
            step, halves = turn(terms, first, second, group, good)
            steps.append(step)
            if halves is None:
                division.leaves.append(group)
            else:
                below += halves
        division.levels.append(steps)
    division.leaves.sort(key=lambda group: group.path)
    if terms.sensitive and terms.delta is not None:
        merge(terms, first, second, division)
    return division


def divisible(terms: Terms, groups: list[Group], leaves: list[Group]) -> list[Group]:
    """The groups that may have halves of k members; the others, as everyone can tell, are leaves."""
    leaves += [group for group in groups if len(group.members) < 2 * terms.k]
    return [group for group in groups if len(group.members) >= 2 * terms.k]


def turn(terms: Terms, first: Own, second: Own, group: Group, good: Test) -> tuple[Step, list[Group] | None]:
    """One group: who divides it, where, and whether both halves keep what is asked for."""
    ranges = first.spread(group.members), second.spread(group.members)
    leads = ranges[0][0] >= ranges[1][0]
    divider, other = (first, second) if leads else (second, first)
    column = ranges[0 if leads else 1][1]
    size = len(group.members)
    if max(ranges[0][0], ranges[1][0]) == 0:
        return Step(size, leads, 0, False), None
    values = divider.codes(column, group.members, group.path)
    cuts = score.candidates(terms, values)
    upper = values[np.newaxis] >= cuts.codes[:, np.newaxis]
    mine, theirs = (~own.member[group.members] for own in (divider, other))
    scores = score.of_divider(
        terms, divider.axes[column], values[~mine], cuts, int(mine.sum()), (upper & mine).sum(axis=1)
    ) + score.of_other(terms, size, cuts.upper, int(theirs.sum()), (upper & theirs).sum(axis=1))
    above = upper[int(np.argmax(scores))]
    halves = [Group(group.path + side, group.members[half]) for side, half in (("0", ~above), ("1", above))]
    kept = good(terms, first, second, [half.members for half in halves])
    return Step(size, leads, len(cuts), kept), halves if kept else None


def keeps(terms: Terms, first: Own, second: Own, groups: list[Longs]) -> bool:
    """Whether each of the groups has k common users, and no more than delta of either provider's users."""
    for members in groups:
        has = first.member[members], second.member[members]
        common = int((has[0] & has[1]).sum())
        if common < terms.k:
            return False
        if any(exceeds(terms, common, int(own.sum())) for own in has):
            return False
    return True


def exceeds(terms: Terms, common: int, users: int) -> bool:
    """Whether so many common users are more than delta of a provider's."""
    delta = terms.delta
    return delta is not None and delta.denominator * common > delta.numerator * users


def merge(terms: Terms, first: Own, second: Own, division: Division) -> None:
    """Joins groups again until delta holds for every exact value in them too. Raises Unmet if it never does."""
    while True:
        failing = [group for group in division.leaves if not keeps_exactly(terms, first, second, group.members)]
        division.merged.append([len(group.members) for group in division.leaves])
        if not failing:
            return
        division.leaves = joined(division.leaves, failing)


def joined(leaves: list[Group], failing: list[Group]) -> list[Group]:
    """Each failing group, with everything else below the cut that made it, becomes one group."""
    if any(not group.path for group in failing):
        raise Unmet(INFEASIBLE)
    roots = sorted({group.path[:-1] for group in failing}, key=len)
    tops = [root for place, root in enumerate(roots) if not any(root.startswith(top) for top in roots[:place])]
    kept = [group for group in leaves if not any(group.path.startswith(top) for top in tops)]
    for top in tops:
        inside = np.sort(np.concatenate([group.members for group in leaves if group.path.startswith(top)]))
        kept.append(Group(top, inside))
    return sorted(kept, key=lambda group: group.path)


def keeps_exactly(terms: Terms, first: Own, second: Own, members: Longs) -> bool:
    """Whether delta holds for every combination of exact values in the group."""
    own = second.holding(members)
    values = second.exact[second.row[own]]
    users = np.bincount(values, minlength=terms.width)
    common = np.bincount(values[first.member[own]], minlength=terms.width)
    return not any(exceeds(terms, int(c), int(u)) for c, u in zip(common, users, strict=True))


def counts(terms: Terms, first: Own, second: Own, leaves: list[Group]) -> Longs:
    """Common users of each group, by their combination of exact values: groups x combinations."""
    answer = np.zeros((len(leaves), terms.width), dtype=np.int64)
    for place, group in enumerate(leaves):
        both: Bits = first.member[group.members] & second.member[group.members]
        values = second.exact[second.row[group.members[both]]]
        answer[place] = np.bincount(values, minlength=terms.width)
    return answer


def smallest_delta(terms: Terms, owns: Mapping[str, Own]) -> float | None:
    """The smallest delta with which a release is possible at all; None where k already rules one out."""
    first, second = owns[terms.first], owns[terms.second]
    both = first.member & second.member
    if int(both.sum()) < terms.k:
        return None
    shares = [int(both.sum()) / max(int(own.member.sum()), 1) for own in (first, second)]
    if terms.sensitive:
        everyone = np.arange(len(both))
        own = second.holding(everyone)
        values = second.exact[second.row[own]]
        users, common = np.bincount(values), np.bincount(values[first.member[own]])
        shares += [int(c) / int(u) for c, u in zip(common, users, strict=False) if u]
    return max(shares)
