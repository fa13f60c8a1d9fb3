"""The backend in the open: the result of a trusted party, and the cost of the same run on shares.

Each kernel computes its result directly and declares its cost, round by round. A dry run so gives release, ledger and
exact cost. Shuffles are drawn from seeds, since a quicksort's cost depends a little on the order that it meets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from typing import TypeVar

import numpy as np

from covey.arrays import Words
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.mpc import parcels
from covey.mpc.box import Box
from covey.mpc.costs import CheckedCosts, Costs, Load, around
from covey.mpc.kernels import DIGEST_WORDS, Shuffled
from covey.mpc.lockstep import Lockstep
from covey.mpc.planes import blocks
from covey.mpc.quicksort import PIVOTS
from covey.mpc.shared import Shared, aligned, alike
from covey.mpc.streams import permutation
from covey.mpc.supply import Supply
from covey.mpc.tags import CHANCES

T = TypeVar("T")


class Clear(Box):
    """One party that holds everything. `messages` and `bytes` are those of all three computing parties."""

    ones = np.full((1, 1, 1), 0xFFFFFFFFFFFFFFFF, np.uint64)

    def __init__(
        self, seeds: Sequence[Secret], *, attempt: int = 1, pivots: int = PIVOTS, checked: bool = False
    ) -> None:
        super().__init__(pivots)
        self._costs = CheckedCosts() if checked else Costs()
        self._rngs = [Rng(derive(seed, "box", attempt)) for seed in seeds]
        self._shuffles = 0
        self._steps = Lockstep[Load, None](self._carry)
        self.supply = Supply[Load, None](self._steps, self._round, self._batch) if checked else None
        self.messages = self.bytes = 0
        self.words: Counter[str] = Counter()
        """Words that travelled, by kernel."""

    @property
    def soundness_bits(self) -> int | None:
        """The same as a checked run's."""
        return None if self.supply is None else self.supply.soundness_bits

    async def share(self, values: Words | None, width: int, records: int, holder: int) -> Shared:
        """Returns the column; the cost is that of an input."""
        await self._spend("share", self._costs.share(width, records, holder))
        return self.public(values, width)

    async def both(self, a: Shared, b: Shared) -> Shared:
        """Returns a & b, bit by bit."""
        alike(a, b)
        planes = a.planes & b.planes
        await self._spend("both", self._costs.product(min(a.width, b.width), planes.shape[1], a.records))
        return Shared(self, planes, a.records)

    async def all(self, value: Shared) -> Shared:
        """Returns for each record 1 if all its bits are 1."""
        await self._spend("all", self._costs.all(value.width, value.records))
        return Shared(self, np.bitwise_and.reduce(value.planes, 1, keepdims=True), value.records)

    async def less(self, a: Shared, b: Shared) -> Shared:
        """Returns for each record 1 if a < b."""
        a, b = aligned(a, b)
        await self._spend("less", self._costs.less(a.width, a.records))
        return Shared(self, _less(a, b)[None, None], a.records)

    async def add(self, a: Shared, b: Shared) -> Shared:
        """Returns a + b, one bit wider than the wider of them."""
        a, b = aligned(a, b)
        await self._spend("add", self._costs.add(a.width, a.records))
        total, carry = np.empty((1, a.width + 1, blocks(a.records)), np.uint64), np.zeros(blocks(a.records), np.uint64)
        for bit in reversed(range(a.width)):
            x, y = a.planes[0, bit], b.planes[0, bit]
            total[0, bit + 1] = x ^ y ^ carry
            carry = (x & y) | (carry & (x ^ y))
        total[0, 0] = carry
        return Shared(self, total, a.records)

    async def shuffle(self, value: Shared) -> tuple[Shared, Shuffled]:
        """Returns the records as the three parties with these seeds shuffle them."""
        self._shuffles = label = self._shuffles + 1
        records = value.records
        first, second, third = (permutation(self._rngs[seed].stream("order", label), records) for seed in (1, 2, 0))
        shuffled = Shuffled((first, second, third))
        await self._move(value, (0, 1, 2))
        return value.at(first[second[third]]), shuffled

    async def unshuffle(self, value: Shared, shuffled: Shuffled) -> Shared:
        """Returns the records in the order from before that shuffle."""
        await self._move(value, (2, 1, 0))
        for order in reversed(shuffled.inverses):
            if order is not None:
                value = value.at(order)
        return value

    async def _move(self, value: Shared, firsts: Sequence[int]) -> None:
        if self.supply is not None and value.planes.size:
            self.supply.count(CHANCES)
        await self._spend("shuffle", self._costs.shuffle(value.width, value.records, firsts))

    async def together(self, *work: Coroutine[object, object, T]) -> list[T]:
        """Returns the results of work side by side."""
        return await self._steps.together(work)

    async def _reveal(self, value: Shared, to: int | None = None) -> Words:
        await self._spend("open", self._costs.reveal(value.width, value.records, to))
        planes: Words = value.planes[0]
        return planes

    async def _precedes(self, a: Shared, b: Shared) -> Words:
        a, b = aligned(a, b)
        await self._spend("order", self._costs.less(a.width, a.records, distinct=True))
        return _less(a, b)[None]

    async def _told(self, parties: Sequence[int], words: Words) -> None:
        await self._spend("tell", iter([Load(outside=(words.size, DIGEST_WORDS, DIGEST_WORDS) * len(parties))]))

    async def compare(self, *columns: Shared) -> None:
        """Takes the round of a comparison."""
        await self._spend("compare", iter([around(DIGEST_WORDS)]))

    async def _agree(self) -> None:
        await self._steps.exchange([])

    async def _spend(self, kernel: str, loads: Iterator[Load]) -> None:
        """Takes a round for each load; a load of nothing takes none."""
        for load in loads:
            total = sum(load.to_previous + load.to_next + load.outside)
            self.words[kernel] += total
            if total:
                await self._steps.exchange([load])

    async def _batch(self, size: int) -> None:
        await self._spend("triples", self._costs.batch(size))

    async def _carry(self, loads: Sequence[Load]) -> Sequence[None]:
        if self.supply is None:
            return await self._round(loads)
        return await self.supply.carry(loads, sum(load.units for load in loads))

    async def _round(self, loads: Sequence[Load]) -> list[None]:
        """Counts a round: one message on each line that something travels on."""
        self.rounds += 1
        digest = len(self._declared())
        hashed = DIGEST_WORDS * any(load.opened for load in loads)
        previous = [sum(load.to_previous[party] for load in loads) + digest for party in range(3)]
        following = [sum(load.to_next[party] for load in loads) + digest + hashed for party in range(3)]
        lines = [*previous, *following, *(words for load in loads for words in load.outside)]
        self.messages += sum(map(parcels.messages, lines))
        self.bytes += sum(map(parcels.size, lines))
        return [None] * len(loads)


def _less(a: Shared, b: Shared) -> Words:
    """Returns the plane of a < b, which are of one width."""
    less = np.zeros(blocks(a.records), np.uint64)
    for bit in reversed(range(a.width)):  # the last to speak is the most significant
        x, y = a.planes[0, bit], b.planes[0, bit]
        less = (y & ~x) | (less & ~(x ^ y))
    return less
