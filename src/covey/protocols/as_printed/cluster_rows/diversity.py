"""l by frequency: classes that fall short are merged with near ones that make up for it; only answers are learned.

Counts    let l = b / a. A class of s records keeps l if no value has more than a s / b of them. Sizes are public, so
          the parties test on shares whether a value has more than a public number. Only of more than thousands of
          records, where a test would be too large, and between two parties, who cannot share, is the number opened;
          a class with an opened number is tested together with another by what is hidden of the two alone.
Merging   of the nearest classes, the nearest that makes up for what a class lacks takes it in; if none of `NEAR` does,
          the nearest. What neither lacks they do not lack together, so that only a few values are tested.
Source    Tassa & Gudes, section 6.1, opens every cluster's counts of sensitive values after every turn, flattens the
          random start by them and moves records only where l stays. Its halving then finds few clusters that it may
          part: on Adult it loses two to three times as much as merging does (docs/protocols/cluster.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from covey.arrays import Bits, Longs
from covey.errors import Unmet
from covey.protocols.as_printed.cluster_rows.kernels import joined_box, nearest
from covey.protocols.as_printed.cluster_rows.party import JointTests, SearchParty
from covey.protocols.as_printed.cluster_rows.problem import ClusterProblem, PublicClusters
from covey.protocols.shared.closeness import count_values, side_by_side
from covey.protocols.shared.diversity import fraction

FIRST, NEAR = 16, 64
"""The number of near classes that are tried first, and in all."""
LARGE = (1 << 12) + 1
"""From so many records on, how many carry a value is opened instead of tested."""


@dataclass(frozen=True)
class DiversityRule:
    """l, and the sensitive values of a party's records, all columns side by side."""

    wanted: Fraction
    places: Longs  # records x sensitive columns
    values: int  # of all columns together

    @classmethod
    def of(cls, wanted: float, columns: list[tuple[Longs, int]]) -> DiversityRule:
        """The rule for these columns, each as codes and the number of its values."""
        places, ends = side_by_side(columns)
        return cls(fraction(wanted), places, int(ends[-1]))

    def counts(self, label: Longs, clusters: int) -> Longs:
        """Own records of each value, clusters x values."""
        return count_values(self.places, self.values, label, clusters)

    def allowed(self, sizes: Longs) -> Longs:
        """The number of records of one value that classes of these sizes may have."""
        return np.asarray(self.wanted.denominator * sizes // self.wanted.numerator, dtype=np.int64)


class Counts(NamedTuple):
    """The public knowledge of how many records carry a value, and the own records that do.

    Arrays of one shape: each place is a class (or two) and a value.
    """

    allowed: Longs  # so many may
    known: Longs  # so many do, of the records whose number was opened
    hidden: Longs  # the other records,
    most: Longs  # of which so many carry it at most,
    mine: Longs  # and so many of the own ones do

    @classmethod
    def first(cls, rule: DiversityRule, label: Longs, sizes: Longs) -> Counts:
        """The counts of classes of which nothing but the size is known."""
        wide = np.repeat(sizes[:, np.newaxis], rule.values, axis=1)
        return cls(rule.allowed(wide), np.zeros_like(wide), wide, wide, rule.counts(label, len(sizes)))

    def at(self, *places: Longs | Bits) -> Counts:
        """The counts of these places."""
        return Counts(*(part[places] for part in self))

    def joined(self, other: Counts, allowed: Longs) -> Counts:
        """The counts of both together."""
        return Counts(allowed, *(one + more for one, more in zip(self[1:], other[1:], strict=True)))

    def merged(self, place_of: Longs, sizes: Longs, rule: DiversityRule) -> Counts:
        """The counts after each class went to its place."""
        parts = [np.zeros((len(sizes), rule.values), dtype=np.int64) for _ in self]
        for part, before in zip(parts, self, strict=True):
            np.add.at(part, place_of, before)
        return Counts(*parts)._replace(allowed=np.repeat(rule.allowed(sizes)[:, np.newaxis], rule.values, axis=1))

    def knowing(self, fine: Bits) -> Counts:
        """The counts where it is known in which places no more records carry the value than may."""
        return self._replace(most=np.where(fine, np.minimum(self.most, self.allowed - self.known), self.most))

    async def opened(self, tests: JointTests, asked: Bits) -> Counts:
        """The counts with the hidden number opened where it is of very many records; between two, everywhere."""
        which = asked & (self.hidden >= (1 if tests.two else LARGE))
        if not which.any():
            return self
        known, nothing = self.known.copy(), np.where(which, 0, 1)
        known[which] += await tests.total(self.mine[which])
        return Counts(self.allowed, known, self.hidden * nothing, self.most * nothing, self.mine * nothing)

    async def kept(self, tests: JointTests) -> Bits:
        """The places where no more records carry the value than may; what is public is not tested."""
        spare = self.allowed - self.known
        answer = np.asarray(self.most <= spare)
        asked = ~answer & (spare >= 0)
        if asked.any():
            answer[asked] = await tests.at_most(self.mine[asked], spare[asked], self.most[asked])
        return answer


class Pairs(NamedTuple):
    """Classes that fall short, each with near ones: what to test before they are merged."""

    short: Longs
    near: Longs  # short x candidates, nearest first; -1 fills up
    lacking: Bits  # short x candidates x values: what the one or the other lacks

    def part(self, which: Bits, start: int, stop: int) -> tuple[Longs, Longs, Longs]:
        """The short ones, candidates and values to test: of these short ones, candidates of these places."""
        chosen = self.lacking.copy()
        chosen[~which] = False
        chosen[:, :start] = False
        chosen[:, stop:] = False
        one, place, value = np.nonzero(chosen)
        return one.astype(np.int64), place.astype(np.int64), value.astype(np.int64)


def pair_up(problem: ClusterProblem, clusters: PublicClusters, bad: Bits) -> Pairs:
    """Every class that lacks something, with its nearest."""
    short = np.flatnonzero(bad.any(axis=1)).astype(np.int64)
    near = nearest(problem.forest, clusters.sizes, clusters.boxes, problem.costs(clusters.boxes), short, NEAR)
    lacking = (bad[short][:, np.newaxis] | bad[near]) & (near >= 0)[:, :, np.newaxis]
    return Pairs(short, near, lacking)


async def merge_short(
    party: SearchParty, rule: DiversityRule, label: Longs, clusters: PublicClusters
) -> tuple[Longs, PublicClusters]:  # fmt: skip
    """Each own record's class and the classes, after merging until all keep l."""
    tests, problem = party.joint.tests, party.problem
    counts = Counts.first(rule, label, clusters.sizes)
    counts = await counts.opened(tests, np.ones(counts.mine.shape, dtype=bool))
    fine = await counts.kept(tests)
    while not fine.all():
        counts = counts.knowing(fine)
        pairs = pair_up(problem, clusters, ~fine)
        still = pairs.lacking.copy()
        open_cases = np.ones(len(pairs.short), dtype=bool)
        for start, stop in ((0, FIRST), (FIRST, NEAR)):
            one, place, value = pairs.part(open_cases, start, stop)
            own, other = pairs.short[one], pairs.near[one, place]
            allowed = rule.allowed(clusters.sizes[own] + clusters.sizes[other])
            together = counts.at(own, value).joined(counts.at(other, value), allowed)
            still[one, place, value] = ~await together.kept(tests)
            open_cases &= ~made_up(pairs, still)[:, :stop].any(axis=1)
        clusters, place_of, bad = merge(problem, clusters, ~fine, pairs, still)
        label, fine = place_of[label], ~bad
        counts = await counts.merged(place_of, clusters.sizes, rule).opened(tests, bad)
    return label, clusters


def made_up(pairs: Pairs, still: Bits) -> Bits:
    """The candidates that make up for all that the short one or they themselves lack, as far as they were tested."""
    return np.asarray((pairs.near >= 0) & ~still.any(axis=2))


def merge(
    problem: ClusterProblem, clusters: PublicClusters, bad: Bits, pairs: Pairs, still: Bits
) -> tuple[PublicClusters, Longs, Bits]:
    """The classes, each old one's number among them, and what they lack, after one merge for each that falls short.

    A class takes part in one merge at most; one whose helpers are all taken waits, unless there is none.
    """
    if len(clusters) == 1:
        raise Unmet("even all records as one class fall short of l; nothing was released")
    sizes, boxes, bad = clusters.sizes.copy(), clusters.boxes.copy(), bad.copy()
    owner = np.arange(len(clusters))
    free, alive = np.ones(len(clusters), dtype=bool), np.ones(len(clusters), dtype=bool)
    fine = made_up(pairs, still)
    for number, cluster in enumerate(pairs.short.tolist()):
        near = pairs.near[number]
        helpers = fine[number] if fine[number].any() else near >= 0
        places = np.flatnonzero(helpers & free[near])
        if not free[cluster] or not len(places):
            continue
        place = int(places[0])
        target = int(near[place])
        boxes[target] = joined_box(problem.forest, boxes[target], boxes[cluster])
        sizes[target] += sizes[cluster]
        bad[target] = still[number, place]
        alive[cluster], owner[cluster] = False, target
        free[[cluster, target]] = False
    number_of = (np.cumsum(alive) - 1)[owner]
    return PublicClusters(sizes[alive], boxes[alive]), number_of, bad[alive]
