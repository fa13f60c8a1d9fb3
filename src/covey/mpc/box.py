"""The box: a vocabulary for algorithms on tables that nobody may see.

A backend gives the kernels: `Sealed` on shares among three parties, `Clear` in the open. All here is made of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from covey.arrays import Longs
from covey.errors import InputError
from covey.mpc.kernels import Kernels, Shuffled, inverse
from covey.mpc.ledger import Disclosure
from covey.mpc.planes import blocks, planes_of, width_of
from covey.mpc.quicksort import PIVOTS, Quicksort
from covey.mpc.shared import Shared, joined, public_words, stacked

Combine = Callable[[Shared, Shared], Awaitable[Shared]]

ORDER = Disclosure("order")
"""What a sort opens: comparisons of shuffled words that all differ. Their order is uniformly random."""


@dataclass(frozen=True)
class Sorted:
    """A sorted column, the rows that result with it, and the way back."""

    key: Shared
    rows: Shared
    order: Longs = field(repr=False)
    shuffled: Shuffled = field(repr=False)

    @cached_property
    def _positions(self) -> Longs:
        return inverse(self.order)

    async def home(self, value: Shared) -> Shared:
        """Returns values, one a sorted record, in the order in which the records stood before the sort."""
        return await value.box.unshuffle(value.at(self._positions), self.shuffled)


class Box(Kernels):
    """The vocabulary. `pivots` of a sort: few save bytes, many save rounds."""

    def __init__(self, pivots: int = PIVOTS) -> None:
        super().__init__()
        if pivots < 1:
            raise InputError("a sort has one pivot or more")
        self.pivots = pivots

    # local values

    def zeros(self, width: int, records: int) -> Shared:
        """Returns a column of zeros."""
        return Shared(self, np.zeros((len(self.ones), width, blocks(records)), np.uint64), records)

    def public(self, values: object, width: int) -> Shared:
        """Returns numbers that everybody knows as a shared column."""
        words = public_words(values, width)
        return Shared(self, planes_of(words[None], width) & self.ones, words.shape[1])

    def constant(self, number: int, width: int, records: int) -> Shared:
        """Returns a column of one number that everybody knows."""
        if not 0 <= number < 1 << width:
            raise InputError(f"{number} does not fit {width} bits")
        bits = np.array([number >> bit & 1 for bit in reversed(range(width))], bool)
        value = self.zeros(width, records)
        value.planes[:, bits] = self.ones
        return value.cut()

    def positions(self, records: int) -> Shared:
        """Returns the column 0, 1, 2, ..."""
        return self.public(np.arange(records), width_of(records - 1))

    # composed of kernels, the same for every backend

    async def either(self, a: Shared, b: Shared) -> Shared:
        """Returns a | b, bit by bit."""
        return a ^ b ^ await self.both(a, b)

    async def equal(self, a: Shared, b: Shared) -> Shared:
        """Returns for each record 1 if a and b are equal."""
        return await self.all(~(a ^ b))

    async def select(self, flag: Shared, a: Shared, b: Shared) -> Shared:
        """Returns a where the flag is 1, else b."""
        return b ^ await self.both(flag, a ^ b)

    async def subtract(self, a: Shared, b: Shared) -> Shared:
        """Returns a - b modulo 2^width; a is at least as wide as b."""
        return ~(await self.add(~a, b)).bits(slice(1, None))

    async def argmin(self, values: Sequence[Shared]) -> Shared:
        """Returns for each record the number of the least column; of equals, the first."""
        width = width_of(len(values) - 1)
        best = [joined(self.constant(i, width, value.records), value) for i, value in enumerate(values)]
        while len(best) > 1:
            odd = best[len(best) // 2 * 2 :]
            pairs = zip(best[::2], best[1::2], strict=False)
            best = [*await self.together(*(self._lesser(a, b, width) for a, b in pairs)), *odd]
        return best[0].bits(slice(0, width))

    async def _lesser(self, a: Shared, b: Shared, tag: int) -> Shared:
        """Returns the word that is less behind its tag; of equals, a."""
        worse = await self.less(b.bits(slice(tag, None)), a.bits(slice(tag, None)))
        return await self.select(worse, b, a)

    async def sort(self, key: Shared, rows: Shared | None = None) -> Sorted:
        """Returns the records sorted by the key; rows move with it. The order that is opened is uniformly random.

        It is so for two reasons: a fresh shuffle, and the place from before it behind each key, which nobody knows
        after the shuffle and which makes all words differ. Without it equal keys come out in ascending positions, and
        that tells the sizes of groups.
        """
        position = self.positions(key.records)
        word, shuffled = await self.shuffle(joined(key, position, *([] if rows is None else [rows])))
        compared, run = word.bits(slice(0, key.width + position.width)), Quicksort(key.records, self.pivots)
        while run.unsettled:
            left, right = run.pairs()
            run.settle(await self.open_order(compared.at(left), compared.at(right), says=ORDER))
        result = word.at(run.order)
        rows = result.bits(slice(key.width + position.width, None))
        return Sorted(result.bits(slice(0, key.width)), rows, run.order, shuffled)

    async def k_equal(self, key: Shared, k: int) -> Shared:
        """Returns for each record, sorted by key, 1 if k or more records have its key."""
        starts = np.arange(key.records) + k <= key.records
        run = (await self.equal(key, key.ahead(k - 1))).where(starts)  # k equal ones from here on
        reach = 1
        while reach < k:
            step = min(reach, k - reach)
            run, reach = await self.either(run, run.later(step)), reach + step
        return run

    async def grouped(self, key: Shared, k: int) -> Shared:
        """Returns for each record 1 if k or more records, itself among them, have its key."""
        if not key.width:
            return self.constant(int(key.records >= k), 1, key.records)
        run = await self.sort(key)
        return await run.home(await self.k_equal(run.key, k))

    async def scan(self, value: Shared, starts: Shared, combine: Combine, halvings: int = 0) -> Shared:
        """Returns each record combined with all those before it in its group; `starts` marks the first of each group.

        A halving combines neighbours first and scans the pairs: about half the bytes, for two rounds more.
        """
        inside, steps = ~starts, 1
        if halvings and value.records > 2:
            return await self._halved(inside, value, combine, halvings)
        while steps < value.records:
            reach = await self.both(inside, joined(inside.later(steps), value.later(steps)))
            inside, earlier = reach.bits([0]), reach.bits(slice(1, None))
            value = await combine(value, earlier)
            steps *= 2
        return value

    async def _halved(self, inside: Shared, value: Shared, combine: Combine, halvings: int) -> Shared:
        """Returns a scan by way of pairs: a pair's second record from their scan, its first from the pair before."""
        records = value.records
        odd = np.arange(1, records + 1, 2)
        first = joined(inside, value).at(np.arange(0, records, 2))
        second = joined(inside, value).at(np.where(odd < records, odd, -1)[: first.records])
        reach = await self.both(second.bits([0]), first)
        pair = await combine(second.bits(slice(1, None)), reach.bits(slice(1, None)))
        seconds = await self.scan(pair, ~reach.bits([0]), combine, halvings - 1)
        earlier = await self.both(first.bits([0]), seconds.later(1))
        firsts = await combine(first.bits(slice(1, None)), earlier)
        position = np.arange(records)
        return stacked(firsts, seconds).at(position // 2 + firsts.records * (position % 2))

    async def fold(self, value: Shared, groups: Longs, combine: Combine) -> Shared:
        """Returns one record for each public group (0, 1, ...; one number a record): its records, combined in order."""
        members = np.argsort(groups, kind="stable")
        value, groups = value.at(members), groups[members]
        while len(groups) and len(groups) > groups[-1] + 1:
            even = (np.arange(len(groups)) - np.searchsorted(groups, groups)) % 2 == 0
            last = np.append(groups[1:] != groups[:-1], True)
            first, single = np.flatnonzero(even & ~last), np.flatnonzero(even & last)
            pairs = await combine(value.at(first), value.at(first + 1))
            order = np.argsort(np.concatenate([first, single]))
            value, groups = stacked(pairs, value.at(single)).at(order), groups[even]
        return value

    async def count(self, numbers: Shared) -> Shared:
        """Returns the sum of all records' numbers, in one record."""
        total = numbers if numbers.records else self.zeros(numbers.width, 1)
        while total.records > 1:
            half = -(-total.records // 2)
            first, second = np.arange(half), np.arange(half, 2 * half)
            total = await self.add(total.at(first), total.at(np.where(second < total.records, second, -1)))
        return total


async def copied(value: Shared, earlier: Shared) -> Shared:
    """Returns the exclusive or: a scan of values that are 0 but at starts copies the first value along."""
    return value ^ earlier
