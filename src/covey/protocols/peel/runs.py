"""Runs of equal values in sorted records: their sizes beside their groups', compared on shares.

Marks say where groups and runs start. Where they start and end is a public place, copied to their records by a scan.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from covey.arrays import Longs
from covey.errors import InputError
from covey.mpc import Box, Shared, copied, joined, width_of

HALVINGS = 2
"""Of each scan: more make fewer bytes and more rounds."""
LARGEST = 1 << 20
"""Numbers of a bound: times the records they fit a machine word."""


@dataclass(frozen=True)
class Bound:
    """A limit on each run: times * its records + plus <= part * the records of its group."""

    times: int = 1
    plus: int = 0
    part: int = 1
    alone: bool = False
    """True if a run may be all of its group."""

    def __post_init__(self) -> None:
        if not 0 < self.part <= self.times + self.plus <= LARGEST:
            raise InputError(f"a bound has numbers up to {LARGEST:,}, and some run can break it")


def others(number: int) -> Bound:
    """Returns the bound that a run leaves so many others in its group, or none."""
    return Bound(plus=number, alone=True)


def at_most(ratio: Fraction) -> Bound:
    """Returns the bound that a run is at most one of so many records of its group."""
    return Bound(ratio.numerator, 0, ratio.denominator)


async def as_before(box: Box, column: Shared) -> Shared:
    """Returns for each record 1 if it equals the one before it; for the first 0."""
    return (await box.equal(column, column.later(1))).where(np.arange(column.records) > 0)


async def over(box: Box, groups: Shared, runs: Shared, bounds: Sequence[Bound]) -> Shared:
    """Returns 1 at the last record of each run that is over one of the bounds, given where groups and runs start."""
    place, back = np.arange(groups.records), _backwards(groups)
    further = groups ^ runs  # starts of runs that are not the first of their group
    group, run, end = await box.together(
        _scanned(box, _placed(groups, place), groups),
        _scanned(box, joined(further, _placed(runs, place)), runs),
        _scanned(box, _placed(back, place[::-1]), back),
    )
    further, run, end = run.bits([0]), run.bits(slice(1, None)), end.reversed()
    full, last = _ends(runs), _ends(groups)
    beside = full ^ last ^ await (last & further)  # the run is not all of its group
    work = [_is_over(box, group, run, end, bound) for bound in bounds]
    marks = joined(*(beside if bound.alone else full for bound in bounds))
    return ~await box.all(~await (joined(*await box.together(*work)) & marks))


async def spread(box: Box, groups: Shared, mark: Shared) -> Shared:
    """Returns for each record 1 if one of its group is marked."""
    back = _backwards(groups)
    starts = await (joined(groups, back) | joined(mark, mark.reversed()))  # a mark begins anew, and is copied along
    down, up = await box.together(
        _scanned(box, mark, starts.bits([0])), _scanned(box, mark.reversed(), starts.bits([1]))
    )
    return await (down | up.reversed())


async def at_least(box: Box, groups: Shared, mark: Shared, least: int) -> Shared:
    """Returns for each record 1 if so many of its group are marked. Counts are unary, and stop there."""
    if least == 1:
        return await spread(box, groups, mark)
    many = joined(mark, box.zeros(least - 1, mark.records))
    down, up = await box.together(
        box.scan(many, groups, _plus, HALVINGS), box.scan(many.reversed(), _backwards(groups), _plus, HALVINGS)
    )
    behind = await (~groups.ahead(1) & up.reversed().ahead(1))  # of the records behind this one
    return (await _plus(down, behind)).bits([least - 1])


def _scanned(box: Box, value: Shared, starts: Shared) -> Coroutine[object, object, Shared]:
    """Copies the value of each start to the records behind it; elsewhere it is 0."""
    return box.scan(value, starts, copied, HALVINGS)


def _ends(starts: Shared) -> Shared:
    """Returns the marks of the last records, of marks of the first ones."""
    last = np.arange(starts.records) == starts.records - 1
    return starts.ahead(1) ^ starts.box.public(last, 1)


def _backwards(starts: Shared) -> Shared:
    """Returns where groups start when the records are read last to first."""
    return _ends(starts).reversed()


def _placed(marks: Shared, place: Longs) -> Shared:
    """Returns for each record its public number where it is marked, else 0."""
    width = max(1, width_of(int(place.max())))
    return joined(*(marks.where(place >> bit & 1 > 0) for bit in reversed(range(width))))


async def _is_over(box: Box, group: Shared, run: Shared, end: Shared, bound: Bound) -> Shared:
    """Returns at the last record of each run if it is over the bound; by first places, and the group's last.

    That is times * (place + 1 - run) + plus > part * (end + 1 - group), with all terms on the side where they add up.
    """
    known = bound.times * (np.arange(group.records) + 1) + bound.plus - bound.part
    ends, starts, before = await box.together(
        _times(box, end, bound.part), _times(box, run, bound.times), _times(box, group, bound.part)
    )
    public = box.public(known, max(1, width_of(int(known.max()))))
    room, used = await box.together(box.add(ends, starts), box.add(before, public))
    return await box.less(room, used)


async def _times(box: Box, number: Shared, factor: int) -> Shared:
    """Returns the number times a public factor."""
    shifts = [bit for bit in range(factor.bit_length()) if factor >> bit & 1]
    parts = [joined(number, box.zeros(bit, number.records)) for bit in shifts]
    total = parts[0]
    for part in parts[1:]:
        total = await box.add(total, part)
    return total


async def _plus(a: Shared, b: Shared) -> Shared:
    """Returns the sum of two unary counts of one width. Bit i - 1 is 1 if the count is i; the last, if it is more, too.

    A sum of i is made by counts that add up to i; one of them may be 0, which no bit says.
    """
    most = a.width
    left, right = np.array([(i, j) for i in range(most) for j in range(most - i)]).T
    nothing = [~count.mixed(np.ones((1, most), dtype=bool)) for count in (a, b)]
    product = await (joined(nothing[0], a).bits(left) & joined(nothing[1], b).bits(right))
    exact = product.mixed(left + right == np.arange(1, most)[:, np.newaxis])
    return joined(exact, ~product.mixed(np.ones((1, len(left)), dtype=bool)))
