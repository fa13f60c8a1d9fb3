"""Groups of the population, which are cut in two until they are the classes: what the providers know of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import Unmet
from covey.protocols.as_printed.federate.parameters import Parameters

INFEASIBLE = "k or delta cannot be kept even if everyone is in one class; nothing was released"


@dataclass(frozen=True)
class Group:
    """Some of the population, known to all providers; the path says which half it was at each cut."""

    path: str
    members: Longs

    def halves(self, upper: Bits) -> tuple[Group, Group]:
        """The lower half and the upper one."""
        return Group(self.path + "0", self.members[~upper]), Group(self.path + "1", self.members[upper])


@dataclass(frozen=True)
class GroupTurn:
    """The public facts of one group's turn, from which its messages follow."""

    size: int
    divider: int
    """The place of the provider that divides."""
    candidates: int
    split: bool


@dataclass
class Division:
    """The final groups, and how they came about."""

    leaves: list[Group]
    levels: list[list[GroupTurn]] = field(default_factory=list)
    merged: list[list[int]] = field(default_factory=list)
    """The sizes of the groups that were tested for exact values, each time."""


def divisible(parameters: Parameters, groups: list[Group], leaves: list[Group]) -> list[Group]:
    """The groups that may have halves of k members; the others, as everyone can tell, are added to the leaves."""
    leaves += [group for group in groups if len(group.members) < 2 * parameters.k]
    return [group for group in groups if len(group.members) >= 2 * parameters.k]


def joined(leaves: list[Group], failing: list[Group]) -> list[Group]:
    """Each failing group, with everything else below the cut that made it, becomes one group.

    Raises Unmet where the failing group is the whole population.
    """
    if any(not group.path for group in failing):
        raise Unmet(INFEASIBLE)
    roots = sorted({group.path[:-1] for group in failing}, key=len)
    tops = [root for place, root in enumerate(roots) if not any(root.startswith(top) for top in roots[:place])]
    kept = [group for group in leaves if not any(group.path.startswith(top) for top in tops)]
    for top in tops:
        inside = np.sort(np.concatenate([group.members for group in leaves if group.path.startswith(top)]))
        kept.append(Group(top, inside))
    return sorted(kept, key=lambda group: group.path)


def exceeds(parameters: Parameters, common: int, users: int) -> bool:
    """True if so many common users are more than delta of a provider's users."""
    delta = parameters.delta
    return delta is not None and delta.denominator * common > delta.numerator * users
