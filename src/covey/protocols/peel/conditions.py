"""Conditions on a class, on shares: one hidden bit for each group of records, never which of the conditions failed.

A condition asks something of an *attribute*, a secret number beside each record: its holder, or its value in a
sensitive column. One sort by (key, attribute) puts a group's records side by side, and within it those of one value, a
*run*. A condition then compares sizes:

    k, k_insider      the group has so many records; beside a run that is not all of it there are k_insider records
    most_of_a_class   a run (of a holder) is at most that part of the group
    l                 a run (of a value) is at most 1/l of the group; or the group has l runs
    l_insider         the same by frequency for the records that are not a holder's, for each holder in turn
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass

import numpy as np

from covey.mpc import Box, Shared, joined
from covey.protocols.peel import runs
from covey.protocols.peel.runs import Bound


@dataclass(frozen=True)
class Test:
    """A test of one attribute: bounds on each of its runs, and the least number of runs in a group.

    With `beside`, the number of a holder, only the records that are not this holder's count.
    """

    attribute: int
    bounds: Sequence[Bound] = ()
    distinct: int = 1
    beside: int | None = None


@dataclass(frozen=True)
class Conditions:
    """All that a class keeps. The attributes stand in one word, in this order; the first is the holder."""

    least: int
    """The records that a class has at least: k, or k_insider if that is more."""
    widths: Sequence[int] = ()
    tests: Sequence[Test] = ()
    by_node: bool = False
    """True if conditions are tested at each node of a window, not only before records leave."""

    @property
    def width(self) -> int:
        """The bits that stand beside each record's word."""
        return sum(self.widths)

    async def keep(self, box: Box, key: Shared, beside: Shared) -> Shared:
        """Returns for each record 1 if the records with its key keep everything."""
        if not self.tests or not key.records:
            return await box.grouped(key, self.least)
        ends = np.cumsum(self.widths).tolist()
        attributes = [beside.bits(slice(end - width, end)) for end, width in zip(ends, self.widths, strict=True)]
        work = [self._kept(box, key, attributes, test, first=not place) for place, test in enumerate(self.tests)]
        return await box.all(joined(*await box.together(*work)))

    async def _kept(self, box: Box, key: Shared, attributes: Sequence[Shared], test: Test, *, first: bool) -> Shared:
        """Returns for each record 1 if its group keeps one test, and has enough records where it is the first."""
        holder, value, width = attributes[0], attributes[test.attribute], key.width
        if test.beside is None:
            sorts, out = joined(key, value), box.zeros(0, key.records)
        else:
            out = await box.equal(holder, box.constant(test.beside, holder.width, key.records))
            sorts = joined(key, out, value)
        run = await box.sort(sorts)
        key, out, value = (
            run.key.bits(slice(start, end))
            for start, end in ((0, width), (width, width + out.width), (width + out.width, None))
        )
        same_key, same_part, same_value = await box.together(
            *(runs.as_before(box, part) for part in (key, joined(key, out), value))
        )
        parts = ~same_part  # where a part begins: a group, or the records of a group that are one holder's or not
        starts = ~await (same_part & same_value)
        tests: list[Coroutine[object, object, Shared]] = []
        if first:
            tests.append(box.k_equal(key, self.least))
        if test.bounds:
            tests.append(_bounded(box, ~same_key, parts, starts, out, test.bounds))
        if test.distinct > 1:  # so many runs besides the first of the group
            tests.append(runs.at_least(box, parts, parts ^ starts, test.distinct - 1))
        return await run.home(await box.all(joined(*await box.together(*tests))))


async def _bounded(
    box: Box, groups: Shared, parts: Shared, starts: Shared, out: Shared, bounds: Sequence[Bound]
) -> Shared:
    """Returns for each sorted record 1 if all runs of its group keep the bounds; runs of `out` do not count."""
    over = await runs.over(box, parts, starts, bounds)
    if out.width:
        over = await (over & ~out)
    return ~await runs.spread(box, groups, over)
