"""Baselines for `federate` that need somebody who sees everything: Mondrian with presence tests, and one like MPALM.

Both cut the providers' users by everybody's true values. *Extended Mondrian* halves the widest column at its median and
gives a group up if a half breaks k or delta. *Like MPALM* (Nergiz, Atzori & Clifton's algorithm, as the paper describes
it: it may try again) goes through the columns from the widest, and through each column's cuts from the median outwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from covey.arrays import Bits, Floats, Ints, Longs
from covey.errors import Unmet


@dataclass(frozen=True)
class Population:
    """Everybody's codes in all columns, where the codes stand, who is whose user, and who is common."""

    codes: Ints
    places: list[Floats]
    users: tuple[Bits, ...]
    """The users of each provider whose users' presence is to be hidden."""
    common: Bits

    def keeps(self, group: Longs, k: int, delta: Fraction) -> bool:
        """True if a group keeps k, and delta toward each provider."""
        common = int(self.common[group].sum())
        shares = (int(users[group].sum()) for users in self.users)
        return common >= k and all(delta.denominator * common <= delta.numerator * have for have in shares)

    def widest_first(self, group: Longs) -> list[int]:
        """The columns in which the group is spread, the widest first."""
        spread = [float(np.ptp(place[codes[group]])) for place, codes in zip(self.places, self.codes, strict=True)]
        return [column for column in np.argsort([-width for width in spread], kind="stable").tolist() if spread[column]]

    def cuts(self, group: Longs, column: int) -> Iterator[tuple[Longs, Longs]]:
        """The two halves of each cut, those nearest to the median first."""
        values = self.codes[column, group]
        distinct, counts = np.unique(values, return_counts=True)
        below = np.cumsum(counts)[:-1]
        for place in np.argsort(np.abs(2 * below - len(group)), kind="stable").tolist():
            upper = values >= distinct[place + 1]
            yield group[~upper], group[upper]


def extended_mondrian(everyone: Population, k: int, delta: Fraction) -> list[Longs]:
    """Final groups; one try each."""

    def tries(group: Longs) -> Iterator[tuple[Longs, Longs]]:
        for column in everyone.widest_first(group)[:1]:
            yield next(everyone.cuts(group, column))

    return _divide(everyone, k, delta, tries)


def mpalm(everyone: Population, k: int, delta: Fraction) -> list[Longs]:
    """Final groups; every cut of every column may be tried."""

    def tries(group: Longs) -> Iterator[tuple[Longs, Longs]]:
        for column in everyone.widest_first(group):
            yield from everyone.cuts(group, column)

    return _divide(everyone, k, delta, tries)


def _divide(
    everyone: Population, k: int, delta: Fraction, tries: Callable[[Longs], Iterator[tuple[Longs, Longs]]]
) -> list[Longs]:
    """Raises Unmet if not even all together keep k and delta."""
    waiting = [np.flatnonzero(np.any(everyone.users, axis=0))]
    if not everyone.keeps(waiting[0], k, delta):
        raise Unmet("not even all users together keep k and delta")
    final = []
    while waiting:
        group = waiting.pop()
        for halves in tries(group):
            if all(everyone.keeps(half, k, delta) for half in halves):
                waiting += halves
                break
        else:
            final.append(group)
    return final
