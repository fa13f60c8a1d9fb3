"""l by frequency: classes that fall short are merged with near ones that make up for it; only answers are learned.

Slack     let l = b / a. A class of s records of which f carry a value has the slack a s - b f for it, and keeps l if no
          slack is negative. Slacks of merged classes add up. A record that joins a class takes b - a from its own
          value's slack and gives a to every other value's; one that leaves, the reverse. Each party knows its own part
          of every slack: the joint ones are tested on shares and never opened, but for classes of so many records that
          a test would be too large, and between two parties, who cannot share.
Merging   of the nearest classes, the nearest that makes up for what a class lacks takes it in; if none of `NEAR` does,
          the nearest. What neither lacks they do not lack together, so that only a few values are tested.
Moves     afterwards, how much slack each class has is learned once, in a few steps, and dealt out among the parties in
          units: whoever moves a record pays with its own, so that l holds whatever the others do.
Source    Tassa & Gudes, section 6.1, opens every cluster's counts of sensitive values after every turn, flattens the
          random start by them and moves records only where l stays. Its halving then finds few clusters that it may
          part: on Adult it loses two to three times as much as merging does (docs/protocols/cluster.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.anonymize.problem import Longs
from covey.errors import Unmet
from covey.protocols.cluster.ground import Clusters, Ground
from covey.protocols.cluster.kernels import joined_box, nearest
from covey.protocols.cluster.ranges import WIDEST, Tests

Bits = NDArray[np.bool_]

FIRST, NEAR = 16, 64
"""How many near classes are tried first, and in all."""
LARGE = WIDEST
"""From about so many records on a class's counts of sensitive values are opened instead of tested."""
DOUBLINGS = 6
LARGEST_STEP = 512


def fraction(wanted: float) -> Fraction:
    """l as b / a."""
    return Fraction(wanted).limit_denominator(1000)


@dataclass(frozen=True)
class Watch:
    """What a party looks at to keep l: its records' sensitive values, all columns side by side."""

    wanted: Fraction
    places: Longs  # records x sensitive columns
    values: int  # of all columns together

    @classmethod
    def of(cls, wanted: float, columns: list[tuple[Longs, int]]) -> Watch:
        """The watch over these columns, each as codes and the number of its values."""
        starts = np.cumsum([0, *(values for _, values in columns)])
        places = np.stack([codes + start for (codes, _), start in zip(columns, starts, strict=False)], axis=1)
        return cls(fraction(wanted), places.astype(np.int64), int(starts[-1]))

    @property
    def leaving(self) -> int:
        """What a record that leaves takes from the slack of every value but its own."""
        return self.wanted.denominator

    @property
    def joining(self) -> int:
        """What a record that joins takes from its own value's slack."""
        return self.wanted.numerator - self.wanted.denominator

    def slack(self, label: Longs, clusters: int) -> Longs:
        """Own part of the slack, clusters x values."""
        counts = np.zeros((clusters, self.values), dtype=np.int64)
        for column in range(self.places.shape[1]):
            np.add.at(counts, (label, self.places[:, column]), 1)
        sizes = np.bincount(label, minlength=clusters)[:, np.newaxis]
        return np.asarray(self.wanted.denominator * sizes - self.wanted.numerator * counts, dtype=np.int64)

    def lowest(self, sizes: Longs) -> Longs:
        """The lowest slack that classes of these sizes can have."""
        return np.asarray(-self.joining * sizes, dtype=np.int64)


class Pairs(NamedTuple):
    """Classes that fall short, each with near ones: what to test before they are merged."""

    short: Longs
    near: Longs  # short x candidates, nearest first; -1 fills up
    lacking: Bits  # short x candidates x values: what the one or the other lacks

    def part(self, which: Bits, start: int, stop: int) -> tuple[Longs, Longs, Longs]:
        """Which short one, candidate and value to test: of these short ones, candidates of these places."""
        chosen = self.lacking.copy()
        chosen[~which] = False
        chosen[:, :start] = False
        chosen[:, stop:] = False
        one, place, value = np.nonzero(chosen)
        return one.astype(np.int64), place.astype(np.int64), value.astype(np.int64)


def pair_up(ground: Ground, clusters: Clusters, bad: Bits) -> Pairs:
    """Every class that lacks something, with its nearest."""
    short = np.flatnonzero(bad.any(axis=1)).astype(np.int64)
    near = nearest(ground.forest, clusters.sizes, clusters.boxes, ground.costs(clusters.boxes), short, NEAR)
    lacking = (bad[short][:, np.newaxis] | bad[near]) & (near >= 0)[:, :, np.newaxis]
    return Pairs(short, near, lacking)


async def merge_short(
    tests: Tests, ground: Ground, watch: Watch, label: Longs, clusters: Clusters
) -> tuple[Longs, Clusters]:
    """Each own record's class and the classes, after merging until all keep l."""
    mine = watch.slack(label, len(clusters))
    lowest = np.repeat(watch.lowest(clusters.sizes), watch.values)
    bad = ~(await tests.not_negative(mine.ravel(), lowest)).reshape(mine.shape)
    while bad.any():
        pairs = pair_up(ground, clusters, bad)
        still = pairs.lacking.copy()
        open_cases = np.ones(len(pairs.short), dtype=bool)
        for start, stop in ((0, FIRST), (FIRST, NEAR)):
            one, place, value = pairs.part(open_cases, start, stop)
            own, other = pairs.short[one], pairs.near[one, place]
            depth = clusters.sizes[own] * bad[own, value] + clusters.sizes[other] * bad[other, value]
            fine = await tests.not_negative(mine[own, value] + mine[other, value], watch.lowest(depth))
            still[one, place, value] = ~fine
            open_cases &= ~made_up(pairs, still)[:, :stop].any(axis=1)
        clusters, place_of, bad = merge(ground, clusters, bad, pairs, still)
        label = place_of[label]
        mine = watch.slack(label, len(clusters))
    return label, clusters


def made_up(pairs: Pairs, still: Bits) -> Bits:
    """Which candidates make up for all that the short one or they themselves lack, as far as they were tested."""
    return np.asarray((pairs.near >= 0) & ~still.any(axis=2))


def merge(ground: Ground, clusters: Clusters, bad: Bits, pairs: Pairs, still: Bits) -> tuple[Clusters, Longs, Bits]:
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
        boxes[target] = joined_box(ground.forest, boxes[target], boxes[cluster])
        sizes[target] += sizes[cluster]
        bad[target] = still[number, place]
        alive[cluster], owner[cluster] = False, target
        free[[cluster, target]] = False
    number_of = (np.cumsum(alive) - 1)[owner]
    return Clusters(sizes[alive], boxes[alive]), number_of, bad[alive]


def steps_of(wanted: float) -> tuple[int, ...]:
    """The steps in which slack is learned: what one leaving record takes, doubled."""
    steps = [fraction(wanted).denominator << doubling for doubling in range(DOUBLINGS)]
    return tuple(step for step in steps if step <= LARGEST_STEP)


def deal_units(levels: Longs, parties: int, place: int) -> Longs:
    """One party's units of slack: an even part, and of what is left over its turn's."""
    clusters, values = levels.shape
    turn = np.arange(clusters)[:, np.newaxis] + np.arange(values)
    return np.asarray(levels // parties + ((place - turn) % parties < levels % parties), dtype=np.int64)
