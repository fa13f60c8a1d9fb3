"""The backend in the open: the result of a trusted party, and the cost of the same run on shares.

Each kernel computes its result directly and declares its cost, round by round. A dry run so gives release, ledger and
exact cost. Shuffles are drawn from seeds, since a quicksort's cost depends a little on the order that it meets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from covey.arrays import Words
from covey.crypto.rng import Rng, derive
from covey.crypto.secret import Secret
from covey.mpc import parcels
from covey.mpc.box import Box
from covey.mpc.kernels import DIGEST_WORDS, Shuffled
from covey.mpc.lockstep import Lockstep
from covey.mpc.outside import SEED_WORDS
from covey.mpc.planes import blocks, width_of
from covey.mpc.quicksort import PIVOTS
from covey.mpc.shared import Shared, aligned, alike
from covey.mpc.streams import permutation

T = TypeVar("T")


class Load(NamedTuple):
    """Words that travel in one round: from each of the three to the previous party and to the next; lines outside."""

    to_previous: tuple[int, int, int] = (0, 0, 0)
    to_next: tuple[int, int, int] = (0, 0, 0)
    outside: tuple[int, ...] = ()


def _back(words: int) -> Load:
    return Load((words, words, words))


def _around(words: int) -> Load:
    return Load((words, words, words), (words, words, words))


def _of(party: int, words: int) -> tuple[int, int, int]:
    return tuple(words * (party == sender) for sender in range(3))  # type: ignore[return-value]


def share_loads(width: int, records: int, holder: int) -> Iterator[Load]:
    """Yields the loads of an input: what the two others cannot draw themselves."""
    words = width * blocks(records)
    if holder < 3:
        yield Load(_of(holder, words), _of(holder, words))
    elif words:
        yield Load(outside=(2 * SEED_WORDS, SEED_WORDS + words, SEED_WORDS + words))


def both_loads(width: int, records: int) -> Iterator[Load]:
    """Yields the load of ANDs."""
    yield _back(width * blocks(records))


def open_loads(width: int, records: int, to: int | None) -> Iterator[Load]:
    """Yields the load of an opening."""
    words = width * blocks(records)
    if to is None:
        yield _back(words)
    elif to < 3:
        yield Load(_of((to + 1) % 3, words))
    else:
        yield Load(outside=(words, words))


def all_loads(width: int, records: int) -> Iterator[Load]:
    """Yields the loads of a tree of ANDs."""
    while width > 1:
        yield _back(width // 2 * blocks(records))
        width -= width // 2


def less_loads(width: int, records: int, *, distinct: bool = False) -> Iterator[Load]:
    """Yields the loads of a comparison; of distinct words the last AND is opened in its own round."""
    groups = width + (not distinct)
    while groups > 1:
        pairs = groups // 2
        words = (2 * pairs - 1 + groups % 2) * blocks(records)
        yield _around(words) if distinct and groups == 2 else _back(words)
        groups -= pairs
    if distinct and width == 1:
        yield _around(blocks(records))


def add_loads(width: int, records: int) -> Iterator[Load]:
    """Yields the loads of an adder whose spans double."""
    yield _back(width * blocks(records))
    for level in range(width_of(width - 1)):
        yield _back(2 * (width - (1 << level)) * blocks(records))


def shuffle_loads(width: int, records: int, firsts: Sequence[int] = (0, 1, 2)) -> Iterator[Load]:
    """Yields the loads of three passes, each by the party `first` and its next."""
    words = width * blocks(records)
    for first in firsts:
        yield Load(_of((first + 1) % 3, words), _of(first, words))


class Clear(Box):
    """One party that holds everything. `messages` and `bytes` are those of all three computing parties."""

    ones = np.full((1, 1, 1), 0xFFFFFFFFFFFFFFFF, np.uint64)

    def __init__(self, seeds: Sequence[Secret], *, attempt: int = 1, pivots: int = PIVOTS) -> None:
        super().__init__(pivots)
        self._rngs = [Rng(derive(seed, "box", attempt)) for seed in seeds]
        self._shuffles = 0
        self._steps = Lockstep[Load, None](self._carry)
        self.messages = self.bytes = 0
        self.words: Counter[str] = Counter()
        """Words that travelled, by kernel."""

    async def share(self, values: Words | None, width: int, records: int, holder: int) -> Shared:
        """Returns the column; the cost is that of an input."""
        await self._spend("share", share_loads(width, records, holder))
        return self.public(values, width)

    async def both(self, a: Shared, b: Shared) -> Shared:
        """Returns a & b, bit by bit."""
        alike(a, b)
        planes = a.planes & b.planes
        await self._spend("both", both_loads(planes.shape[1], a.records))
        return Shared(self, planes, a.records)

    async def all(self, value: Shared) -> Shared:
        """Returns for each record 1 if all its bits are 1."""
        await self._spend("all", all_loads(value.width, value.records))
        return Shared(self, np.bitwise_and.reduce(value.planes, 1, keepdims=True), value.records)

    async def less(self, a: Shared, b: Shared) -> Shared:
        """Returns for each record 1 if a < b."""
        a, b = aligned(a, b)
        await self._spend("less", less_loads(a.width, a.records))
        return Shared(self, _less(a, b)[None, None], a.records)

    async def add(self, a: Shared, b: Shared) -> Shared:
        """Returns a + b, one bit wider than the wider of them."""
        a, b = aligned(a, b)
        await self._spend("add", add_loads(a.width, a.records))
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
        await self._spend("shuffle", shuffle_loads(value.width, records))
        return value.at(first[second[third]]), shuffled

    async def unshuffle(self, value: Shared, shuffled: Shuffled) -> Shared:
        """Returns the records in the order from before that shuffle."""
        await self._spend("shuffle", shuffle_loads(value.width, value.records, (2, 1, 0)))
        for order in reversed(shuffled.inverses):
            if order is not None:
                value = value.at(order)
        return value

    async def together(self, *work: Coroutine[object, object, T]) -> list[T]:
        """Returns the results of work side by side."""
        return await self._steps.together(work)

    async def _reveal(self, value: Shared, to: int | None = None) -> Words:
        await self._spend("open", open_loads(value.width, value.records, to))
        planes: Words = value.planes[0]
        return planes

    async def _precedes(self, a: Shared, b: Shared) -> Words:
        a, b = aligned(a, b)
        await self._spend("order", less_loads(a.width, a.records, distinct=True))
        return _less(a, b)[None]

    async def _told(self, parties: Sequence[int], words: Words) -> None:
        await self._spend("tell", iter([Load(outside=(words.size, DIGEST_WORDS, DIGEST_WORDS) * len(parties))]))

    async def compare(self, *columns: Shared) -> None:
        """Takes the round of a comparison."""
        await self._spend("compare", iter([_around(DIGEST_WORDS)]))

    async def _agree(self) -> None:
        await self._steps.exchange([])

    async def _spend(self, kernel: str, loads: Iterator[Load]) -> None:
        """Takes a round for each load; a load of nothing takes none."""
        for load in loads:
            total = sum(load.to_previous + load.to_next + load.outside)
            self.words[kernel] += total
            if total:
                await self._steps.exchange([load])

    async def _carry(self, loads: Sequence[Load]) -> list[None]:
        """Counts a round: one message on each line that something travels on."""
        self.rounds += 1
        digest = len(self._declared())
        previous = [sum(load.to_previous[party] for load in loads) + digest for party in range(3)]
        following = [sum(load.to_next[party] for load in loads) + digest for party in range(3)]
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
