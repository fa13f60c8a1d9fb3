"""Trustees: who they are, at which place, and how they open what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import lcm

import numpy as np

from covey.arrays import Words
from covey.crypto import sharing
from covey.crypto.dealing import Dealing
from covey.crypto.group import Points, Scalars
from covey.crypto.scalar_field import FQ, ScalarElements
from covey.errors import Aborted, InputError
from covey.wire import Channel, Chunk

FEWEST, MOST = 3, 5


class OpenedShares(Chunk[ScalarElements], tag="equals.shares"):
    """The sender's shares of what is opened."""

    values: ScalarElements


@dataclass(frozen=True)
class Trustees:
    """The trustees of a run. All of them take part in everything: only then has every opening shares to check with."""

    names: tuple[str, ...]
    """Sorted: the first has place 1."""
    me: str

    @classmethod
    def of(cls, names: Iterable[str], me: str) -> Trustees:
        """Trustees of these names. Raises InputError for a number that cannot be."""
        listed = tuple(sorted(names))
        if len(listed) not in (FEWEST, MOST):
            raise InputError(f"{len(listed)} trustees: there must be {FEWEST} or {MOST}")
        return cls(listed, me)

    @cached_property
    def places(self) -> dict[str, int]:
        """Each one's place."""
        return sharing.places(self.names)

    @property
    def degree(self) -> int:
        """The number that may conspire."""
        return sharing.threshold(len(self.names))

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Every group that can open together: any t trustees miss one group."""
        return tuple(combinations(self.names, self.degree + 1))

    def dealing(self, channel: Channel, label: str, *, last: bool = False) -> Dealing:
        """A round of dealing at this step."""
        seeds = channel.pairwise_seeds()
        return Dealing(self.me, seeds, label, last=last, field=FQ, places=self.places, degree=self.degree)

    async def open(self, channel: Channel, mine: Words) -> Words:
        """The numbers behind shares of degree t. Raises Aborted if somebody gave a false one."""
        theirs = await channel.exchange_all(OpenedShares, ScalarElements(mine))
        shares = {self.places[name]: own.words for name, own in theirs.items()} | {self.places[self.me]: mine}
        shares = dict(sorted(shares.items()))

        def fit(places: tuple[int, ...]) -> bool:
            try:
                sharing.reveal({place: shares[place] for place in places}, self.degree, FQ)
            except InputError:
                return False
            return True

        self.check(channel, fit)
        enough = dict(list(shares.items())[: self.degree + 1])
        return np.asarray(sharing.extend(enough, [0], FQ)[0])

    def open_power(self, channel: Channel, powers: Mapping[int, Points]) -> tuple[Points, int]:
        """The elements that shares in the exponent stand for, times a small number, which is the second answer."""
        ordered = dict(sorted(powers.items()))

        def fit(places: tuple[int, ...]) -> bool:
            known = {place: ordered[place] for place in places[: self.degree + 1]}
            return all(_at(known, place, ordered[place]) for place in places[self.degree + 1 :])

        self.check(channel, fit)
        return _weighted({place: ordered[place] for place in list(ordered)[: self.degree + 1]}, 0)

    def check(self, channel: Channel, fit: Callable[[tuple[int, ...]], bool]) -> None:
        """Returns if everyone's shares fit each other. Raises Aborted that says whose may be false.

        Of five, one whose share alone does not fit is named; but two who conspire could have brought that about.
        """
        everyone = tuple(self.places.values())
        if fit(everyone):
            return
        alone = [
            name
            for name in self.names
            if len(everyone) > self.degree + 2 and fit(tuple(p for p in everyone if p != self.places[name]))
        ]
        liars = f"{alone[0]}, or two of the others together," if len(alone) == 1 else f"one of {', '.join(self.names)}"
        raise Aborted(
            f"the trustees' shares at {channel.step} do not fit each other: {liars} did not keep to the protocol; "
            "nothing more is opened",
            resumable=False,
        )


def _at(known: Mapping[int, Points], place: int, shown: Points) -> bool:
    """True if what is shown for a place lies where the known ones say."""
    total, scale = _weighted(known, place)
    return total == _multiple(shown, scale)


def _weighted(known: Mapping[int, Points], at: int) -> tuple[Points, int]:
    """The value at a place, times the least number that makes all weights whole; small weights are additions."""
    weights = {place: _weight(place, known, at) for place in known}
    scale = lcm(*(weight.denominator for weight in weights.values()))
    whole = {place: int(weight * scale) for place, weight in weights.items()}
    positive = [_multiple(known[place], weight) for place, weight in whole.items() if weight > 0]
    negative = [_multiple(known[place], -weight) for place, weight in whole.items() if weight < 0]
    total = positive[0]
    for more in positive[1:]:
        total = total.plus(more)
    for less in negative:
        total = total.minus(less)
    return total, scale


def _weight(place: int, known: Iterable[int], at: int) -> Fraction:
    weight = Fraction(1)
    for other in known:
        if other != place:
            weight *= Fraction(at - other, place - other)
    return weight


def _multiple(points: Points, by: int) -> Points:
    if by > 8:
        return points.times(Scalars.of([by]))
    total = points
    for bit in bin(by)[3:]:
        total = total.plus(total)
        total = total.plus(points) if bit == "1" else total
    return total
